"""Places in a JSON value, and the value with another content there."""

from copy import deepcopy
from typing import Any


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of everything in a JSON value but the value itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in items for found in [(*path, key), *places(inner, (*path, key))]]


def put(value: Any, path: tuple[str | int, ...], content: Any) -> Any:
    """A copy with another content at a path; without it where the content is `...`."""
    copy = deepcopy(value)
    place = copy
    for step in path[:-1]:
        place = place[step]
    if content is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = content
    return copy
