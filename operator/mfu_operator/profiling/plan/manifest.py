"""Looking into manifests that strangers wrote: a value of another shape than expected is an absent one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Manifest = Mapping[str, Any]


def mapping_at(value: Any, *path: str) -> Manifest:
    """The mapping at a path; empty where there is none."""
    found = value_at(value, *path)
    return found if isinstance(found, Mapping) else {}


def mappings_at(value: Any, *path: str) -> tuple[Manifest, ...]:
    """The mappings of the list at a path; others in it are left out."""
    found = value_at(value, *path)
    return tuple(each for each in found if isinstance(each, Mapping)) if isinstance(found, list | tuple) else ()


def value_at(value: Any, *path: str) -> Any:
    """The value at a path of keys; None where there is none."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def text_at(value: Any, *path: str) -> str | None:
    """The text at a path; None where there is none, or an empty one."""
    found = value_at(value, *path)
    return found if isinstance(found, str) and found else None


def count_at(value: Any, *path: str) -> int | None:
    """The whole number at a path, also one that is written as text; None where there is none."""
    found = value_at(value, *path)
    if isinstance(found, str) and found.isdecimal() and len(found) < 10:
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def words_at(value: Any, *path: str) -> tuple[str, ...]:
    """The texts of the list at a path; numbers in it are written out."""
    found = value_at(value, *path)
    return tuple(str(each) for each in found) if isinstance(found, Sequence) and not isinstance(found, str) else ()


def variables_of(container: Manifest) -> Iterator[tuple[str, str | None]]:
    """The environment variables that a container declares: name, and value or None where it comes from elsewhere."""
    for variable in mappings_at(container, "env"):
        name = text_at(variable, "name")
        if name is not None:
            value = variable.get("value")
            yield name, None if value is None or "valueFrom" in variable else str(value)


def containers_of(template: Manifest) -> tuple[Manifest, ...]:
    """The main containers of a pod template."""
    return mappings_at(template, "spec", "containers")


def sidecars_of(template: Manifest) -> tuple[Manifest, ...]:
    """The init containers that go on running beside the main ones."""
    return tuple(
        each for each in mappings_at(template, "spec", "initContainers") if each.get("restartPolicy") == "Always"
    )
