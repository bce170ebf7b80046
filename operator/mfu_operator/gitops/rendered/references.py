"""What a workload refers to: ConfigMaps and Secrets with the entries that it gets of them, claims, classes, queues."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Entries = frozenset[str] | None
"""The entries of a ConfigMap or Secret that are used; None: all."""

_MAPS = {"configMapRef": "ConfigMap", "configMapKeyRef": "ConfigMap", "secretRef": "Secret", "secretKeyRef": "Secret"}
_VOLUMES = {"configMap": ("ConfigMap", "name"), "secret": ("Secret", "secretName")}
_CLASSES = {
    "claimName": ("PersistentVolumeClaim",),
    "storageClassName": ("StorageClass",),
    "priorityClassName": ("PriorityClass", "WorkloadPriorityClass"),
    "runtimeClassName": ("RuntimeClass",),
    "resourceClaimTemplateName": ("ResourceClaimTemplate",),
    "resourceClaimName": ("ResourceClaim",),
    "deviceClassName": ("DeviceClass",),
    "volumeName": ("PersistentVolume",),
    "clusterQueue": ("ClusterQueue",),
}


@dataclass(slots=True)
class References:
    """What was found.

    `maps` are all uses of ConfigMaps and Secrets, `beside` those by other ways than `envFrom`; `named` are (kind, name)
    of all other objects, `labels` those of each pod template.
    """

    maps: dict[tuple[str, str], Entries] = field(default_factory=dict)
    beside: dict[tuple[str, str], Entries] = field(default_factory=dict)
    named: dict[tuple[str, str], None] = field(default_factory=dict)
    labels: list[Mapping[str, str]] = field(default_factory=list)

    def use(self, kind: str, name: object, entries: Entries) -> None:
        """Note that entries of a ConfigMap or Secret are used."""
        self.use_as_environment(kind, name, entries)
        if isinstance(name, str) and name:
            self.beside[kind, name] = _both(self.beside.get((kind, name), frozenset()), entries)

    def use_as_environment(self, kind: str, name: object, entries: Entries = None) -> None:
        """Note that a ConfigMap or Secret is read into a container's variables."""
        if isinstance(name, str) and name:
            self.maps[kind, name] = _both(self.maps.get((kind, name), frozenset()), entries)

    def reads(self, kind: str, name: str, entry: str) -> bool:
        """Whether an entry is used by another way than as one of all variables."""
        entries = self.beside.get((kind, name), frozenset())
        return entries is None or entry in entries


def _both(one: Entries, other: Entries) -> Entries:
    return None if one is None or other is None else one | other


def of(body: Mapping[str, Any]) -> References:
    """The references of one object, wherever its pod templates stand."""
    found = References()
    _walk(body, found)
    return found


def _walk(value: Any, found: References) -> None:
    if isinstance(value, list):
        for each in value:
            _walk(each, found)
    if not isinstance(value, Mapping):
        return
    if isinstance(value.get("containers"), list):
        _volumes(value, found)
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("labels"), Mapping) and "spec" in value:
        found.labels.append({str(key): str(text) for key, text in metadata["labels"].items()})
    for key, inner in value.items():
        if key in _MAPS and isinstance(inner, Mapping):
            entry = inner.get("key")
            if key in ("configMapRef", "secretRef"):
                found.use_as_environment(_MAPS[key], inner.get("name"))
                continue
            found.use(_MAPS[key], inner.get("name"), frozenset({str(entry)}) if entry is not None else None)
        elif key in _CLASSES and isinstance(inner, str):
            found.named.update(dict.fromkeys((kind, inner) for kind in _CLASSES[key]))
        elif key == "runtimeRef" and isinstance(inner, Mapping):
            for kind in ("ClusterTrainingRuntime", "TrainingRuntime"):
                found.named[kind, str(inner.get("name"))] = None
        else:
            _walk(inner, found)


def _volumes(pod: Mapping[str, Any], found: References) -> None:
    for volume in pod.get("volumes") or []:
        if not isinstance(volume, Mapping):
            continue
        mounted = _mounted(pod, str(volume.get("name")))
        for source in _sources(volume):
            for key, (kind, name) in _VOLUMES.items():
                inner = source.get(key)
                if isinstance(inner, Mapping):
                    found.use(kind, inner.get(name) or inner.get("name"), _items(inner, mounted))


def _sources(volume: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield volume
    projected = volume.get("projected")
    for source in (projected.get("sources") or []) if isinstance(projected, Mapping) else []:
        if isinstance(source, Mapping):
            yield source


def _items(source: Mapping[str, Any], mounted: Entries) -> Entries:
    items = source.get("items")
    if not isinstance(items, list):
        return mounted
    kept = [item for item in items if isinstance(item, Mapping)]
    return frozenset(
        str(item.get("key")) for item in kept if mounted is None or str(item.get("path")).split("/")[0] in mounted
    )


def _mounted(pod: Mapping[str, Any], volume: str) -> Entries:
    """The entries that subPath mounts pick of a volume; None where it is mounted whole, or not seen to be mounted."""
    picked: set[str] = set()
    for part in ("containers", "initContainers", "ephemeralContainers"):
        for container in pod.get(part) or []:
            mounts = container.get("volumeMounts") if isinstance(container, Mapping) else None
            for mount in mounts or []:
                if isinstance(mount, Mapping) and mount.get("name") == volume:
                    if not mount.get("subPath"):
                        return None
                    picked.add(str(mount["subPath"]).split("/")[0])
    return frozenset(picked) or None
