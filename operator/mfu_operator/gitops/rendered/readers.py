"""Which containers of a workload read a ConfigMap or Secret."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_PLACES = {
    "configMap": ("ConfigMap", "name"),
    "configMapRef": ("ConfigMap", "name"),
    "configMapKeyRef": ("ConfigMap", "name"),
    "secret": ("Secret", "secretName"),
    "secretRef": ("Secret", "name"),
    "secretKeyRef": ("Secret", "name"),
}
Named = tuple[str, str]


def readers(pods: Sequence[Mapping[str, Any]]) -> Mapping[Named, frozenset[str]]:
    """By kind and name, the containers that mount it or read variables of it; absent where none is seen to."""
    found: dict[Named, set[str]] = {}
    for pod in pods:
        volumes = {str(each.get("name")): each for each in pod.get("volumes") or [] if isinstance(each, Mapping)}
        for part in _CONTAINERS:
            for container in pod.get(part) or []:
                if isinstance(container, Mapping):
                    for named in _read(container, volumes):
                        found.setdefault(named, set()).add(str(container.get("name")))
    return {named: frozenset(containers) for named, containers in found.items()}


def _read(container: Mapping[str, Any], volumes: Mapping[str, Mapping[str, Any]]) -> Iterator[Named]:
    yield from _named([container.get("env"), container.get("envFrom")])
    for mount in container.get("volumeMounts") or []:
        if isinstance(mount, Mapping):
            yield from _named(volumes.get(str(mount.get("name"))))


def _named(value: object) -> Iterator[Named]:
    if isinstance(value, list):
        for each in value:
            yield from _named(each)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            kind, field = _PLACES.get(key, ("", ""))
            name = (inner.get(field) or inner.get("name")) if kind and isinstance(inner, Mapping) else None
            if isinstance(name, str):
                yield kind, name
            else:
                yield from _named(inner)
