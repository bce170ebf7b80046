"""Whose series they are: a selector for the series of many workloads, and the workload that owns a series."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mfu_operator.adapters.metric_names import MetricNames
from mfu_operator.model.baseline import WorkloadRef


def matcher(workloads: Sequence[WorkloadRef], names: MetricNames) -> str:
    """A selector for all these workloads; it may match more, which `owners` leaves out."""
    namespaces = alternatives({workload.namespace for workload in workloads})
    matchers = [f'{names.namespace}=~"{namespaces}"']
    if all(_by_label(workload, names) for workload in workloads):
        matchers.append(f'{names.workload}=~"{alternatives({workload.name for workload in workloads})}"')
    else:
        itself = "(-.*)?" if any(workload.kind == "Pod" for workload in workloads) else "-.*"
        matchers.append(f'{names.pod}=~"({alternatives({workload.name for workload in workloads})}){itself}"')
    return "{" + ",".join(matchers) + "}"


def runs_of(workload: WorkloadRef) -> tuple[WorkloadRef, ...]:
    """A workload, and the runs before it where labels follow them."""
    return (workload, *(replace(workload, name=name, earlier=()) for name in workload.earlier))


def alternatives(texts: set[str]) -> str:
    """A regular expression in a PromQL string that matches these texts and no others."""
    escaped = (re.escape(text).replace("\\-", "-").replace("\\", "\\\\").replace('"', '\\"') for text in sorted(texts))
    return "|".join(escaped)


def owners(workloads: Sequence[WorkloadRef], names: MetricNames) -> Callable[[Mapping[str, str]], WorkloadRef | None]:
    """Finds the workload that a series belongs to, by its labels."""
    labelled = {(w.namespace, w.name): w for w in workloads if _by_label(w, names)}
    prefixed = {(w.namespace, w.name): w for w in workloads if not _by_label(w, names)}

    def owner_of(labels: Mapping[str, str]) -> WorkloadRef | None:
        namespace = labels.get(names.namespace, "")
        owner = labelled.get((namespace, labels.get(names.workload, "")))
        if owner is not None or not prefixed:
            return owner
        return by_prefix(prefixed, namespace, labels.get(names.pod, ""))

    return owner_of


def by_prefix(workloads: Mapping[tuple[str, str], WorkloadRef], namespace: str, pod: str) -> WorkloadRef | None:
    """The workload, of those by (namespace, name), with the longest name that a pod's name begins with. A bare pod has
    the very name."""
    itself = workloads.get((namespace, pod))
    if itself is not None and itself.kind == "Pod":
        return itself
    prefix = pod
    while "-" in prefix:
        prefix = prefix.rpartition("-")[0]
        if (namespace, prefix) in workloads:
            return workloads[(namespace, prefix)]
    return None


def _by_label(workload: WorkloadRef, names: MetricNames) -> bool:
    """A Job's name is a label of its pods' series; other kinds are known by the names that they give their pods."""
    return workload.kind == "Job" and bool(names.workload)
