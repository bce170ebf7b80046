"""JSON merge patches (RFC 7386)."""

from collections.abc import Mapping
from typing import Any


def merged(stored: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """What a patch leaves of what is stored."""
    kept = {key: value for key, value in stored.items() if key not in patch}
    changed = {key: _applied(stored.get(key), value) for key, value in patch.items() if value is not None}
    return kept | changed


def merge_patch(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The patch that leads from what is stored to what is wanted, which holds no null."""
    changes: dict[str, Any] = dict.fromkeys(sorted(stored.keys() - wanted.keys()))
    for key, value in wanted.items():
        before = stored.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            nested = merge_patch(before, value)
            if nested:
                changes[key] = nested
        elif key not in stored or before != value:
            changes[key] = value
    return changes


def _applied(stored: Any, change: Any) -> Any:
    return merged(stored if isinstance(stored, Mapping) else {}, change) if isinstance(change, Mapping) else change
