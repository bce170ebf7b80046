"""Fields that act with more than their author's own authority, and whether his was asked for them.

The chart's admission policy asks the API server what the author of an object may do. The operator cannot ask that
afterwards, because an object does not say who wrote it: it trusts objects that the policy saw.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mfu_operator.api.group import GUARDED_ANNOTATION
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import (
    CAPTURE_SECRET,
    BaselineSpec,
    MetricsSource,
    Profiling,
    Remediation,
    RemediationMode,
    SecretRef,
)

TAKES_EFFECT_S = 10.0
"""An API server asks a new policy within about a second; the clocks of several may differ by some."""

EVERYWHERE = "*"
"""The namespace of a binding that is for all."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One of the policy's bindings. A release that guards more fields brings another binding, which is as old as that.

    Args:
        uid: the binding's.
        made_s: when it was made (Unix seconds).
        fields: the paths of the fields that the policy asks for since then.
    """

    uid: str
    made_s: float
    fields: frozenset[str]


def guarded_fields(spec: BaselineSpec) -> tuple[str, ...]:
    """The guarded fields that a spec has, by their paths."""
    return (*_profiling(spec.profiling), *_remediation(spec.remediation), *_metrics(spec.metrics))


def unguarded(spec: BaselineSpec, metadata: Mapping[str, Any], made_s: float, guards: Sequence[Guard]) -> Stall | None:
    """Why the guarded fields of an object count for nothing; None where they count, or where it has none.

    A guard saw an object that was made after it, and one that carries its uid: a write that changes this annotation is
    judged like a new object, and nobody knows the uid before there is a guard.

    Args:
        metadata: of the object.
        made_s: when it was made.
        guards: of its namespace; none where no admission policy runs.
    """
    mark = (metadata.get("annotations") or {}).get(GUARDED_ANNOTATION)
    saw = [each for each in guards if mark == each.uid or made_s > each.made_s + TAKES_EFFECT_S]
    unseen = [field for field in guarded_fields(spec) if not any(field in each.fields for each in saw)]
    if not unseen:
        return None
    named = f"{', '.join(unseen)} need the authority of who writes them"
    asking = next((each for each in guards if each.fields.issuperset(unseen)), None)
    if asking is None:
        return Stall(
            "Unguarded",
            f"{named}, and no admission policy asks for it: enable the chart's admissionPolicy"
            f"{', and upgrade the chart to the version of the operator' if guards else ''}, or accept it with "
            "authority.acceptUnguarded, or remove the fields",
        )
    return Stall(
        "Unguarded",
        f"{named}, and this object was made before the admission policy that asks for it took effect. Let "
        f"somebody who may set them run: kubectl annotate tb {metadata['name']} -n {metadata['namespace']} --overwrite "
        f"{GUARDED_ANNOTATION}={asking.uid}",
    )


def _profiling(profiling: Profiling) -> Iterator[str]:
    for name, value in (
        ("command", profiling.command),
        ("image", profiling.image),
        ("env", profiling.env),
        ("writableVolumes", profiling.writable_volumes),
        ("priorityClassName", profiling.priority_class),
    ):
        if value:
            yield f"spec.profiling.{name}"
    if profiling.capture_secret not in (None, SecretRef(CAPTURE_SECRET)):
        yield "spec.profiling.capture.secretRef"


def _remediation(remediation: Remediation) -> Iterator[str]:
    if remediation.mode is RemediationMode.PULL_REQUEST:
        yield "spec.remediation.mode"
    for name, value in (
        ("repository", remediation.repository),
        ("branch", remediation.branch),
        ("forge.kind", remediation.forge),
        ("forge.address", remediation.forge_address),
        ("forge.secretRef", remediation.secret),
        ("credentials", remediation.credentials or None),
        ("application", remediation.application),
    ):
        if value is not None:
            yield f"spec.remediation.{name}"


def _metrics(metrics: MetricsSource) -> Iterator[str]:
    if metrics.address is not None and "namespace" in metrics.labels:
        yield "spec.metrics.labels.namespace"
    for name, value in (
        ("secretRef", metrics.secret),
        ("caSecretRef", metrics.ca),
        ("certificateSecretRef", metrics.certificate),
    ):
        if value is not None:
            yield f"spec.metrics.prometheus.{name}"
