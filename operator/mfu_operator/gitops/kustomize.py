"""Which files outside an application's folder its kustomizations and charts read: bases, components, value files."""

import posixpath
from collections.abc import Callable, Iterator
from typing import Any

import yaml

_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_REFERRING = (
    "resources", "bases", "components", "configurations", "crds", "generators", "transformers", "validators",
    "patchesStrategicMerge",
)  # fmt: skip
MAX_FOLDERS = 200
"""Places that are followed at most: each may cost a request to the repository's server."""


def outside(path: str, also: tuple[str, ...], read: Callable[[str], str | None]) -> frozenset[str]:
    """Files and folders outside `path` that it refers to, followed through; `read` gives a file's text or None."""
    home = posixpath.normpath(path.strip("/") or ".")
    waiting, seen = [home, *(posixpath.normpath(other) for other in also)], set[str]()
    while waiting and len(seen) < MAX_FOLDERS:
        folder = waiting.pop()
        if folder in seen or folder.startswith(".."):
            continue
        seen.add(folder)
        waiting.extend(posixpath.normpath(posixpath.join(folder, other)) for other in _referred(folder, read))
    return frozenset(place for place in seen if place != home and not place.startswith(f"{home}/") and home != ".")


def _referred(folder: str, read: Callable[[str], str | None]) -> Iterator[str]:
    for name in _KUSTOMIZATIONS:
        content = _mapping(read(posixpath.normpath(posixpath.join(folder, name))))
        for field in _REFERRING:
            yield from _local(content.get(field))
        for patch in _listed(content.get("patches")):
            yield from _local([patch.get("path")] if isinstance(patch, dict) else [])
        for generator in [*_listed(content.get("configMapGenerator")), *_listed(content.get("secretGenerator"))]:
            yield from _generated(generator)
    chart = _mapping(read(posixpath.normpath(posixpath.join(folder, "Chart.yaml"))))
    for dependency in _listed(chart.get("dependencies")):
        repository = dependency.get("repository") if isinstance(dependency, dict) else None
        if isinstance(repository, str) and repository.startswith("file://"):
            yield repository.removeprefix("file://")


def _generated(generator: Any) -> Iterator[str]:
    if isinstance(generator, dict):
        files = [str(file).rpartition("=")[2] for file in _listed(generator.get("files"))]
        yield from _local([*files, *_listed(generator.get("envs"))])


def _local(values: Any) -> Iterator[str]:
    for value in _listed(values):
        if isinstance(value, str) and "\n" not in value and "://" not in value and "?ref=" not in value:
            yield value


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(text: str | None) -> dict[str, Any]:
    try:
        content = yaml.safe_load(text or "")
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
