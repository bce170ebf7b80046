"""Variables that a container never sees: of whole ConfigMaps and Secrets, those that something later sets again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mfu_operator.gitops.rendered.objects import Thing

_SOURCES = (("configMapRef", "ConfigMap"), ("secretRef", "Secret"))


def overridden(pods: Sequence[Mapping[str, Any]], things: Sequence[Thing]) -> Mapping[tuple[str, str], frozenset[str]]:
    """By (kind, name) of an `envFrom` source, the entries that no container gets by it.

    `env` wins over `envFrom`, and of two `envFrom` sources the later one.
    """
    found: dict[tuple[str, str], frozenset[str]] = {}
    for container in _containers(pods):
        taken = {str(each.get("name")) for each in container.get("env") or [] if isinstance(each, Mapping)}
        for source in reversed([each for each in container.get("envFrom") or [] if isinstance(each, Mapping)]):
            prefix = str(source.get("prefix") or "")
            for field, kind in _SOURCES:
                reference = source.get(field)
                if isinstance(reference, Mapping):
                    place = kind, str(reference.get("name"))
                    entries = _entries(*place, things)
                    hidden = frozenset(entry for entry in entries if prefix + entry in taken)
                    found[place] = found.get(place, hidden) & hidden
                    taken |= {prefix + entry for entry in entries}
    return found


def prefixes(pods: Sequence[Mapping[str, Any]]) -> Mapping[tuple[str, str], str]:
    """By (kind, name) of an `envFrom` source, what its variables' names begin with, where every container agrees."""
    found: dict[tuple[str, str], str] = {}
    differing: set[tuple[str, str]] = set()
    for container in _containers(pods):
        for source in [each for each in container.get("envFrom") or [] if isinstance(each, Mapping)]:
            for field, kind in _SOURCES:
                reference = source.get(field)
                if isinstance(reference, Mapping):
                    place, prefix = (kind, str(reference.get("name"))), str(source.get("prefix") or "")
                    if found.setdefault(place, prefix) != prefix:
                        differing.add(place)
    return {place: prefix for place, prefix in found.items() if prefix and place not in differing}


def _containers(pods: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for pod in pods:
        for part in ("initContainers", "containers"):
            yield from (each for each in pod.get(part) or [] if isinstance(each, Mapping))


def _entries(kind: str, name: str, things: Sequence[Thing]) -> frozenset[str]:
    for thing in things:
        if (thing.kind, thing.name) == (kind, name):
            parts = (thing.body.get(part) for part in ("data", "stringData"))
            return frozenset(str(entry) for part in parts if isinstance(part, Mapping) for entry in part)
    return frozenset()
