"""Guarded fields count where the admission policy saw the object."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.api.group import GUARDED_ANNOTATION
from mfu_operator.api.guarded import TAKES_EFFECT_S, Guard, guarded_fields, unguarded
from mfu_operator.model.baseline import (
    ApplicationRef,
    BaselineSpec,
    ForgeKind,
    MetricsSource,
    Profiling,
    Remediation,
    RemediationMode,
    SecretRef,
)
from tests.support import worlds

PLAIN = replace(worlds.spec(), remediation=Remediation(), metrics=MetricsSource(), profiling=Profiling())
RICH = replace(PLAIN, profiling=Profiling(command=("id",)))
FIELDS: list[tuple[str, BaselineSpec]] = [
    ("spec.profiling.command", RICH),
    ("spec.profiling.image", replace(PLAIN, profiling=Profiling(image="x"))),
    ("spec.profiling.env", replace(PLAIN, profiling=Profiling(env={"A": "b"}))),
    ("spec.profiling.writableVolumes", replace(PLAIN, profiling=Profiling(writable_volumes=("x",)))),
    ("spec.profiling.priorityClassName", replace(PLAIN, profiling=Profiling(priority_class="x"))),
    ("spec.profiling.capture.secretRef", replace(PLAIN, profiling=Profiling(capture_secret=SecretRef("payroll")))),
    ("spec.remediation.mode", replace(PLAIN, remediation=Remediation(RemediationMode.PULL_REQUEST))),
    ("spec.remediation.repository", replace(PLAIN, remediation=Remediation(repository="x"))),
    ("spec.remediation.branch", replace(PLAIN, remediation=Remediation(branch="x"))),
    ("spec.remediation.forge.kind", replace(PLAIN, remediation=Remediation(forge=ForgeKind.GITEA))),
    ("spec.remediation.forge.address", replace(PLAIN, remediation=Remediation(forge_address="x"))),
    ("spec.remediation.forge.secretRef", replace(PLAIN, remediation=Remediation(secret=SecretRef("x")))),
    ("spec.remediation.credentials", replace(PLAIN, remediation=Remediation(credentials=(SecretRef("x"),)))),
    (
        "spec.remediation.application",
        replace(PLAIN, remediation=Remediation(application=ApplicationRef("Application", "argocd", "x"))),
    ),
    (
        "spec.metrics.labels.namespace",
        replace(PLAIN, metrics=MetricsSource(address="http://p.monitoring.svc:9090", labels={"namespace": "job"})),
    ),
    ("spec.metrics.prometheus.secretRef", replace(PLAIN, metrics=MetricsSource(secret=SecretRef("x")))),
    ("spec.metrics.prometheus.caSecretRef", replace(PLAIN, metrics=MetricsSource(ca=SecretRef("x")))),
    (
        "spec.metrics.prometheus.certificateSecretRef",
        replace(PLAIN, metrics=MetricsSource(certificate=SecretRef("x"))),
    ),
]
POLICY = Guard("a-uid", 1000.0, frozenset(path for path, _ in FIELDS))
METADATA: Mapping[str, Any] = {"name": "gpt", "namespace": "team-a"}
MARKED = {**METADATA, "annotations": {GUARDED_ANNOTATION: "a-uid"}}
LONG_AFTER_S = POLICY.made_s + TAKES_EFFECT_S + 1


@pytest.mark.parametrize(("path", "spec"), FIELDS)
def test_a_field_that_acts_for_its_author_is_guarded(path: str, spec: BaselineSpec) -> None:
    assert guarded_fields(spec) == (path,)
    refused = unguarded(spec, METADATA, LONG_AFTER_S, ())
    assert refused is not None and refused.reason == "Unguarded" and path in refused.message


def test_the_namespace_label_of_the_fleets_own_prometheus_needs_no_policy_for_it_is_fixed() -> None:
    assert guarded_fields(replace(PLAIN, metrics=MetricsSource(labels={"namespace": "ns"}))) == ()


def test_the_secret_of_the_capture_api_that_is_the_default_may_be_written_out() -> None:
    assert guarded_fields(replace(PLAIN, profiling=Profiling(capture_secret=SecretRef("mfu-capture")))) == ()


@pytest.mark.parametrize("made_s", [0.0, LONG_AFTER_S])
@pytest.mark.parametrize("guards", [(), (POLICY,)])
def test_what_asks_for_nothing_needs_no_policy(made_s: float, guards: tuple[Guard, ...]) -> None:
    assert unguarded(PLAIN, METADATA, made_s, guards) is None


def test_the_policy_saw_what_was_made_after_it() -> None:
    assert unguarded(RICH, METADATA, LONG_AFTER_S, (POLICY,)) is None


@pytest.mark.parametrize("made_s", [0.0, POLICY.made_s, POLICY.made_s + TAKES_EFFECT_S])
def test_what_is_older_than_the_policy_is_unguarded_until_it_is_written_under_it(made_s: float) -> None:
    refused = unguarded(RICH, METADATA, made_s, (POLICY,))
    assert refused is not None
    assert refused.message.endswith("kubectl annotate tb gpt -n team-a --overwrite mfu-operator.io/guarded=a-uid")
    assert unguarded(RICH, MARKED, made_s, (POLICY,)) is None


def test_another_policy_did_not_see_what_the_one_before_it_saw() -> None:
    assert unguarded(RICH, MARKED, 0.0, (replace(POLICY, uid="another"),)) is not None
    assert unguarded(RICH, {**METADATA, "annotations": {GUARDED_ANNOTATION: ""}}, 0.0, (POLICY,)) is not None


LATER = replace(POLICY, uid="later", made_s=5000.0)
OLDER = replace(POLICY, fields=POLICY.fields - {"spec.profiling.command"})
BOTH = (OLDER, LATER)
OTHER = replace(PLAIN, profiling=Profiling(image="x"))


def test_a_field_that_a_later_release_guards_counts_in_what_was_made_or_written_since_then() -> None:
    between_s, later_s = OLDER.made_s + TAKES_EFFECT_S + 1, LATER.made_s + TAKES_EFFECT_S + 1
    refused = unguarded(RICH, METADATA, between_s, BOTH)
    assert refused is not None and refused.message.endswith("mfu-operator.io/guarded=later")
    assert unguarded(RICH, MARKED, 0.0, BOTH) is not None, "it was written under the release before"
    assert unguarded(RICH, METADATA, later_s, BOTH) is None
    since = {**METADATA, "annotations": {GUARDED_ANNOTATION: "later"}}
    assert unguarded(RICH, since, 0.0, BOTH) is None


@pytest.mark.parametrize("metadata", [MARKED, {**METADATA, "annotations": {GUARDED_ANNOTATION: "later"}}])
def test_a_later_release_takes_nothing_away_from_the_fields_that_it_does_not_guard_anew(
    metadata: Mapping[str, Any],
) -> None:
    assert unguarded(OTHER, metadata, 0.0, BOTH) is None
    both = replace(PLAIN, profiling=Profiling(image="x", command=("id",)))
    refused = unguarded(both, MARKED, 0.0, BOTH)
    assert refused is not None and refused.message.startswith("spec.profiling.command need")


def test_an_operator_that_knows_more_guarded_fields_than_its_chart_says_to_upgrade_the_chart() -> None:
    refused = unguarded(RICH, METADATA, LONG_AFTER_S, (OLDER,))
    assert refused is not None and "upgrade the chart to the version of the operator" in refused.message
    assert unguarded(OTHER, METADATA, LONG_AFTER_S, (OLDER,)) is None
