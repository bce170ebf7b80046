"""The objects that hold Flux' variables, found in a repository by their name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mfu_operator.gitops.rendered.objects import UnreadableText, things
from mfu_operator.gitops.sources import flux
from mfu_operator.gitops.sources.tree import NotRenderable, Tree

Known = dict[tuple[str, str, str], tuple[str, Mapping[str, str]] | None]
"""By file, kind and name: the namespace and the entries of the object in it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A repository's files; `deployed` are those that a part of the plan reads."""

    tree: Tree
    read: Callable[[str], str | None]
    deployed: Callable[[], set[str]]


def of_object(
    asked: Asked, kind: str, name: str, namespace: str, known: Known
) -> tuple[tuple[str, ...], Mapping[str, str] | None]:
    """The files that hold an object, and its entries; of several the one that is deployed.

    Raises:
        NotRenderable: more than one may be meant.
    """
    found: dict[str, tuple[str, Mapping[str, str]]] = {}
    for path in sorted(path for path in asked.tree if path.endswith((".yaml", ".yml"))):
        key = (asked.tree[path].oid, kind, name)
        if key not in known:
            text = asked.read(path) or ""
            known[key] = _entries(text, kind, name) if name in text and kind in text else None
        data = known[key]
        if data is not None:
            found[path] = data
    near = {path: data for path, (space, data) in found.items() if not space or not namespace or space == namespace}
    if len(near) > 1:
        deployed = asked.deployed()
        near = {path: data for path, data in near.items() if path in deployed} or near
    if len(near) > 1:
        raise NotRenderable(
            f"{kind}/{name}, which postBuild.substituteFrom names, is in {', '.join(sorted(near)[:3])}: give the "
            "Kustomization that deploys the one that is meant by --application"
        )
    return tuple(near), next(iter(near.values()), None)


def _entries(text: str, kind: str, name: str) -> tuple[str, Mapping[str, str]] | None:
    try:
        found = things(text)
    except UnreadableText:
        return None
    for thing in found:
        if (thing.kind, thing.name) == (kind, name):
            return thing.namespace, flux.entries(thing.body)
    return None
