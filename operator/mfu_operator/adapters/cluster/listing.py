"""Which pods are listed together, and whose they are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mfu_operator.model.baseline import WorkloadRef

NAMES_IN_A_SELECTOR = 100
"""Label values in one selector: a request's address may hold 8 KB."""


@dataclass(frozen=True, slots=True)
class Group:
    """Workloads of one namespace whose pods have the same label: one request. `owners` by the label's value: several
    baselines may watch one workload, and kinds that share a label may share a name."""

    namespace: str
    label: str
    owners: Mapping[str, tuple[WorkloadRef, ...]]

    @property
    def selector(self) -> str:
        """Of the pods of all of them."""
        return f"{self.label} in ({','.join(sorted(self.owners))})"

    @property
    def workloads(self) -> tuple[WorkloadRef, ...]:
        """All of them."""
        return tuple(ref for refs in self.owners.values() for ref in refs)

    def owners_of(self, pod: Mapping[str, Any]) -> tuple[WorkloadRef, ...]:
        """Whose the pod is: of several kinds the one that its controller is of, where that is one of them."""
        refs = self.owners.get((pod["metadata"].get("labels") or {}).get(self.label, ""), ())
        kinds = {owner.get("kind") for owner in pod["metadata"].get("ownerReferences") or ()}
        return tuple(ref for ref in refs if ref.kind in kinds) or refs


def groups_of(labelled: Sequence[tuple[WorkloadRef, str, str]]) -> Iterator[Group]:
    """Groups that fit into one request each.

    Args:
        labelled: workloads, each with the label of its pods and the label's value.
    """
    found: dict[tuple[str, str], dict[str, tuple[WorkloadRef, ...]]] = {}
    for ref, label, value in labelled:
        owners = found.setdefault((ref.namespace, label), {})
        owners[value] = (*owners.get(value, ()), ref)
    for (namespace, label), owners in found.items():
        values = list(owners.items())
        for start in range(0, len(values), NAMES_IN_A_SELECTOR):
            yield Group(namespace, label, dict(values[start : start + NAMES_IN_A_SELECTOR]))
