"""Runs that are submitted again under another name: which pods belong to which, and which one is judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from mfu_operator.profiling.plan.manifest import Manifest, mapping_at, mappings_at, text_at

ACTIVE = ("Pending", "Running")
"""Phases of pods that are not done."""


@dataclass(frozen=True, slots=True)
class Run:
    """The pods of one submission, under the name of the object that made them."""

    name: str
    pods: tuple[Manifest, ...]

    @property
    def active(self) -> bool:
        """Whether any of its pods is not done."""
        return any(text_at(pod, "status", "phase") in ACTIVE for pod in self.pods)

    @property
    def began(self) -> str:
        """When its first pod that is still there was made, as the API writes it: such texts sort as times do."""
        return min(text_at(pod, "metadata", "creationTimestamp") or "" for pod in self.pods)


def runs_of(pods: Sequence[Manifest], name_of: Callable[[Manifest], str | None]) -> tuple[Run, ...]:
    """The runs, those that are active first, of each the newest first.

    Args:
        pods: all that the selector finds.
        name_of: the name of the object that made a pod; None: of another kind, and left out.
    """
    found: dict[str, list[Manifest]] = {}
    for pod in pods:
        name = name_of(pod)
        if name is not None:
            found.setdefault(name, []).append(pod)
    runs = [Run(name, tuple(those)) for name, those in found.items()]
    return tuple(sorted(runs, key=lambda run: (run.active, run.began, run.name), reverse=True))


def name_of_bare(pods: Sequence[Manifest]) -> str:
    """The name of a run whose pods no object made: what their names begin with."""
    names = [text_at(pod, "metadata", "name") or "" for pod in pods]
    if len(names) < 2:
        return "".join(names)
    common = "".join(letters[0] for letters in takewhile(lambda each: len(set(each)) == 1, zip(*names, strict=False)))
    return common.rstrip("-0123456789") or common


def controller_name(pod: Manifest, kind: str) -> str | None:
    """The name of the object of a kind that a pod names as its owner; None where another one made it. A Deployment's
    pods name its ReplicaSet, which has their hash behind the Deployment's name."""
    owners = mappings_at(pod, "metadata", "ownerReferences")
    direct = next((text_at(each, "name") for each in owners if each.get("kind") == kind), None)
    if direct is not None or kind != "Deployment":
        return direct
    mark = text_at(mapping_at(pod, "metadata", "labels"), "pod-template-hash")
    replicas = next((text_at(each, "name") for each in owners if each.get("kind") == "ReplicaSet"), None)
    return replicas.removesuffix(f"-{mark}") if replicas is not None and mark is not None else None


def pods_of_run(pods: Sequence[Manifest], workload: Manifest, labels: Sequence[tuple[str, str]]) -> Sequence[Manifest]:
    """Of pods of several runs those of this workload, else of the newest run that is active; all where no owner tells
    the runs apart."""
    kind, name = text_at(workload, "kind") or "", text_at(workload, "metadata", "name")
    marked = [pod for pod in pods if labels and set(labels) <= set(mapping_at(pod, "metadata", "labels").items())]
    runs = runs_of(marked, lambda pod: controller_name(pod, kind))
    same = next((run.pods for run in runs if run.name == name), None)
    return same or next((run.pods for run in runs), tuple(pods))
