"""A workload that is put under watch, with what is known of what stands around it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mfu_operator.errors import AskPerson, Unreadable
from mfu_operator.model.baseline import BaselineSpec, Comparable, WorkloadRef
from mfu_operator.profiling.plan import Plan, plan_of
from mfu_operator.profiling.plan.manifest import Manifest, mapping_at, text_at
from mfu_operator.profiling.plan.training import Training

_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"""

MOST_LABELS = 16
"""What spec.workload.selector takes."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands around the workload's pods. None: not known, because nobody asked or may ask."""

    namespace: Mapping[str, Any] | None = None
    policies: Sequence[Manifest] | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """A workload, its plan, and its namespace (None: what deploys it from Git says which). `named_container`: a person
    said which one trains."""

    workload: Manifest
    plan: Plan
    training: Training
    namespace: str | None
    surroundings: Surroundings
    named_container: bool = False

    @property
    def name(self) -> str:
        """The name of the workload, or what the names of its runs begin with."""
        return text_at(self.workload, "metadata", "name") or self.begins_with.rstrip("-") or "training"

    @property
    def begins_with(self) -> str:
        """What the names of its runs begin with; empty where it has one name."""
        return (
            ""
            if text_at(self.workload, "metadata", "name")
            else text_at(self.workload, "metadata", "generateName") or ""
        )

    @property
    def pod_labels(self) -> Mapping[str, str]:
        """The labels that the manifest gives to the pods that train."""
        found = mapping_at(self.training.role.template, "metadata", "labels")
        return {str(key): each for key, each in found.items() if isinstance(each, str)}

    @property
    def reference(self) -> Mapping[str, Any]:
        """`spec.workload`: by its name, or by its pods' labels where each run has another one.

        Raises:
            AskPerson: (NoLabels) each run has another name, and its pods have no labels.
        """
        named = {key: text_at(self.workload, key) for key in ("apiVersion", "kind")}
        if not self.begins_with:
            return named | {"name": self.name}
        labels = {key: each for key, each in self.pod_labels.items() if _LABEL_VALUE.fullmatch(each)}
        if not labels:
            raise AskPerson(
                "NoLabels",
                f"{named['kind']} {self.begins_with}… has generateName, so every run has another name, and its pods "
                "have no labels to find them by: add one to the pod template, such as app: gpt",
            )
        return named | {"selector": {"matchLabels": dict(sorted(labels.items())[:MOST_LABELS])}}


def subject_of(
    documents: Sequence[Manifest],
    named: tuple[str, str] | None,
    container: str | None,
    namespace: str | None,
    surroundings: Surroundings,
) -> Subject:
    """The workload among the documents, and its plan.

    Args:
        documents: the workload, and what stands beside it.
        named: (kind, name) of the workload; None: the only one that runs pods.
        container: the one that trains, where the manifest does not tell; None: it does.
        namespace: of the workload, unless its manifest names one.
        surroundings: what is known of them.

    Raises:
        Unreadable: there is no such workload, or which of its containers trains cannot be seen.
    """
    plan = plan_of(documents, named=named, baseline=None if container is None else _naming(container))
    if plan.training is None:
        reason = plan.refused[0].reason
        told = plan.because.replace("spec.workload.container", "--container")
        raise Unreadable(reason, f"{text_at(plan.workload, 'kind')}: {told}")
    own = text_at(plan.workload, "metadata", "namespace")
    return Subject(plan.workload, plan, plan.training, own or namespace, surroundings, container is not None)


def _naming(container: str) -> BaselineSpec:
    """A spec that says nothing but which container trains."""
    return BaselineSpec(WorkloadRef("", "", "", "", container=container), Comparable(""))
