"""What one workload gets of an application's rendered objects."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mfu_operator.gitops import fingerprints
from mfu_operator.gitops.rendered import environment, references
from mfu_operator.gitops.rendered.fields import Leaves, without_hash
from mfu_operator.gitops.rendered.leaf import Leaf, comparable
from mfu_operator.gitops.rendered.objects import Thing
from mfu_operator.gitops.rendered.paths import child
from mfu_operator.gitops.rendered.readers import readers

_ACTING = ("LimitRange", "ResourceQuota")
_NOT_SPEC = ("apiVersion", "kind", "metadata", "status")
_QUEUE = "kueue.x-k8s.io/queue-name"
_NETWORKS = "k8s.v1.cni.cncf.io/networks"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The workload that is asked about; `namespace` None: any."""

    kind: str
    name: str
    namespace: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Delivered:
    """What the workload gets: its leaves by object and key, and the objects that they are of.

    Objects are `Kind/name`, so that one that is given a namespace stays itself; `told` has their names with it.
    """

    leaves: Mapping[tuple[str, str], Leaf]
    told: Mapping[str, str]
    objects: tuple[str, ...]
    missing: tuple[str, ...] = ()
    containers: Mapping[str, bool] = field(default_factory=dict)
    """By name, whether a container runs the training: it asks for devices, or is the only one of its pod."""


def find(things: Sequence[Thing], wanted: Wanted) -> Thing | None:
    """The workload among rendered objects, a generator's hash aside; None where none or more than one is meant."""
    found = meaning(things, wanted)
    return found[0] if len(found) == 1 else None


def meaning(things: Sequence[Thing], wanted: Wanted) -> list[Thing]:
    """The rendered objects that may be the workload."""
    kind = [thing for thing in things if thing.kind.lower() == wanted.kind.lower()]
    for name in (lambda thing: thing.name, lambda thing: without_hash(thing.name)):
        named = [thing for thing in kind if name(thing) in (wanted.name, without_hash(wanted.name))]
        if wanted.namespace:
            exact = [thing for thing in named if thing.namespace == wanted.namespace]
            named = exact or [thing for thing in named if not thing.namespace]
        if len(named) == 1:
            return named
    return named


def find_renamed(things: Sequence[Thing], wanted: Wanted) -> Thing | None:
    """The workload under another name of the same stem: jobs cannot be changed, so that each run gets a name."""
    stem = _stem(wanted.name)
    alike = [thing for thing in things if thing.kind.lower() == wanted.kind.lower() and _stem(thing.name) == stem]
    return alike[0] if len(alike) == 1 and stem else None


def _stem(name: str) -> str:
    """A name without what tells runs apart at its end: `-v2`, `-20260101`, `-run-7`."""
    return re.sub(r"(?:[-.](?:v|r|run|rev|attempt|try)?[-.]?\d[\d.-]{0,40})+\Z", "", name)


def has_pods(thing: Thing) -> bool:
    """Whether an object makes pods."""
    return thing.kind in ("TrainJob", "RayJob", "RayCluster") or any(True for _ in pod_specs(thing.body))


def pod_specs(value: Any) -> Iterator[Mapping[str, Any]]:
    """The pod specs inside an object, wherever its kind keeps them."""
    if isinstance(value, Mapping):
        containers = value.get("containers")
        if isinstance(containers, list) and any(isinstance(each, Mapping) and "name" in each for each in containers):
            yield value
            return
        for inner in value.values():
            yield from pod_specs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from pod_specs(inner)


def delivered(workload: Thing, things: Sequence[Thing], secret_key: bytes, name: str | None = None) -> Delivered:
    """What a workload gets.

    Args:
        workload: one of `things`.
        things: the application's rendered objects.
        secret_key: keys the hashes of Secrets' values.
        name: the name under which it is known, where it bears another one in this revision.

    Raises:
        TooManyLeaves: it gets more than MAX_LEAVES values.
    """
    near = [thing for thing in things if not thing.namespace or not workload.namespace
            or thing.namespace == workload.namespace]  # fmt: skip
    acting = [thing for thing in near if thing.origin in ("", workload.origin)]
    leaves = Leaves(secret_key)
    named = f"{workload.kind}/{name or workload.name}"
    told = {named: str(workload)}
    for key, value in workload.body.items():
        if key not in _NOT_SPEC:
            leaves.plain(named, value, key)
    _marks(leaves, named, workload)
    found = references.of({key: value for key, value in workload.body.items() if key not in ("metadata", "status")})
    objects, missing = [named], list[str]()
    for thing in _named(workload, acting, found):
        objects.append(_named_as(thing, told))
        for key, value in thing.body.items():
            if key not in _NOT_SPEC:
                leaves.plain(objects[-1], value, key)
    pods = list(pod_specs(workload.body))
    hidden, prefixes = environment.overridden(pods, near), environment.prefixes(pods)
    reading, containers = readers(pods), _containers(workload)
    for (kind, name), entries in found.maps.items():
        used = next((each for each in near if (each.kind, each.name) == (kind, name)), None)
        if used is None:
            missing.append(f"{kind}/{name}")
            continue
        objects.append(_named_as(used, told))
        unseen = {each for each in hidden.get((kind, name), ()) if not found.reads(kind, name, each)}
        body = _seen(used.body, unseen)
        (leaves.config_map if kind == "ConfigMap" else leaves.secret)(objects[-1], body, entries)
        if (kind, name) in prefixes and (kind, name) not in found.beside:
            leaves.rename(objects[-1], prefixes[kind, name])
        beside = [each for each in reading.get((kind, name), ()) if containers.get(each) is False]
        if beside and len(beside) == len(reading[kind, name]):
            leaves.read_by(objects[-1], min(beside))
    return Delivered(leaves.found, told, tuple(dict.fromkeys(objects)), tuple(missing), containers)


def _seen(body: Mapping[str, Any], unseen: Collection[str]) -> Mapping[str, Any]:
    return {
        part: {key: inner for key, inner in value.items() if key not in unseen} if isinstance(value, Mapping) else value
        for part, value in body.items()
    }


def _named_as(thing: Thing, told: dict[str, str]) -> str:
    name = without_hash(thing.name) if thing.kind in ("ConfigMap", "Secret") else thing.name
    told[f"{thing.kind}/{name}"] = (
        f"{thing.kind}/{thing.namespace}/{name}" if thing.namespace else f"{thing.kind}/{name}"
    )
    return f"{thing.kind}/{name}"


def _marks(leaves: Leaves, told: str, workload: Thing) -> None:
    """The labels and annotations of the workload itself by which something acts on its pods: queues, networks."""
    for part in ("labels", "annotations"):
        for key, value in ((workload.body.get("metadata") or {}).get(part) or {}).items():
            path = child(f"metadata.{part}", str(key))
            if fingerprints.marks_with_effect(str(key)):
                leaves.add(Leaf(told, path, path.replace('["', ".").replace('"]', ""), comparable(value), path, value))


def _named(workload: Thing, near: Sequence[Thing], found: references.References) -> list[Thing]:
    """The objects that act on the workload's pods, and what these refer to in their turn."""
    metadata = workload.body.get("metadata") or {}
    queue = (metadata.get("labels") or {}).get(_QUEUE)
    if queue:
        found.named["LocalQueue", str(queue)] = None
    taken = [thing for thing in near if thing.kind in _ACTING or _selects(thing, found.labels)]
    waiting = list(found.named)
    while waiting:
        kind, name = waiting.pop(0)
        for thing in near:
            if (thing.kind, thing.name) == (kind, name) and thing not in taken:
                taken.append(thing)
                more = references.of(_flavors(thing))
                waiting.extend(more.named)
                for (of_kind, of_name), entries in more.maps.items():
                    found.use(of_kind, of_name, entries)
    return taken


def _flavors(thing: Thing) -> Mapping[str, Any]:
    return {key: value for key, value in thing.body.items() if key not in _NOT_SPEC}


def _selects(thing: Thing, labels: Sequence[Mapping[str, str]]) -> bool:
    if thing.kind != "NetworkPolicy":
        return False
    wanted = ((thing.body.get("spec") or {}).get("podSelector") or {}).get("matchLabels") or {}
    return any(all(each.get(key) == value for key, value in wanted.items()) for each in labels or [{}])


def _containers(workload: Thing) -> Mapping[str, bool]:
    found: dict[str, bool] = {}
    for pod in pod_specs(workload.body):
        containers = [each for each in pod["containers"] if isinstance(each, Mapping)]
        greedy = {str(each.get("name")) for each in containers if _devices(each)}
        for each in containers:
            name = str(each.get("name"))
            found[name] = found.get(name, False) or name in greedy or (not greedy and _trains(name, containers))
        for each in pod.get("initContainers") or []:
            if isinstance(each, Mapping):
                found.setdefault(str(each.get("name")), False)
    return found


def _trains(name: str, containers: Sequence[Mapping[str, Any]]) -> bool:
    """Without a request for devices: the first container, as `kubectl logs` has it."""
    return str(containers[0].get("name")) == name


def _devices(container: Mapping[str, Any]) -> bool:
    resources = container.get("resources")
    limits = resources.get("limits") if isinstance(resources, Mapping) else None
    return isinstance(limits, Mapping) and any("gpu" in str(key) or "rdma" in str(key) for key in limits)
