"""The table that ties causes to configuration keys (`fingerprints.yaml`), and what it says of one change."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from mfu_operator.gitops.changes import Change

_OFF = {"", "0", "0.0", "false", "no", "off", "none", "null", "disabled", "disable", "never"}
_FORMATS = ("fp4", "fp8", "fp16", "tf32", "fp32", "fp64")
_FORMAT_NAMES = {
    "e4m3": "fp8", "e5m2": "fp8", "float8": "fp8", "bf16": "fp16", "bfloat16": "fp16", "float16": "fp16",
    "half": "fp16", "16": "fp16", "float32": "fp32", "32": "fp32", "full": "fp32",
    "no": "fp32", "none": "fp32", "false": "fp32",
    "float64": "fp64", "double": "fp64", "64": "fp64",
}  # fmt: skip


class Pace(StrEnum):
    """What a change does to the pace of a step, as far as the table can tell."""

    SLOWER = "slower"
    FASTER = "faster"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Key:
    """One pattern of keys; `slower` is the direction that costs time, `default` the value where the key is absent."""

    pattern: str
    slower: str
    default: Any = None


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A cause, the bottleneck it shows as, and the keys that can bring it about."""

    cause: str
    bottleneck: str
    image: bool
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """All of `fingerprints.yaml`."""

    causes: Mapping[str, Fingerprint]
    images: tuple[str, ...]
    without_effect: tuple[str, ...]
    with_effect: tuple[str, ...]


@cache
def table() -> Table:
    """The table that ships with the operator."""
    return read(files(__package__).joinpath("fingerprints.yaml").read_text(encoding="utf-8"))


def read(text: str) -> Table:
    """A table from its YAML text; KeyError or TypeError where it is not of the form that the file's head describes."""
    raw = yaml.safe_load(text)
    causes = {
        cause: Fingerprint(
            cause,
            entry["bottleneck"],
            entry.get("image", False),
            tuple(Key(key["key"], key["slower"], key.get("default")) for key in entry["keys"]),
        )
        for cause, entry in raw["causes"].items()
    }
    return Table(causes, tuple(raw["images"]), tuple(raw["without_effect"]), tuple(raw["with_effect"]))


def without_effect(change: Change) -> bool:
    """Whether the change is of a key whose value no training step sees."""
    name = normal(change)
    return _any(table().without_effect, name) and not _any(table().with_effect, name)


def is_image(change: Change) -> bool:
    """Whether the change is of an image's name, tag or digest."""
    return _any(table().images, normal(change))


def pace(fingerprint: Fingerprint, change: Change) -> Pace | None:
    """What the change does by this fingerprint; None where none of its keys is meant."""
    name = normal(change)
    told = [_direction(key, change) for key in fingerprint.keys if _meets(key.pattern, name)]
    return next((pace for pace in (Pace.SLOWER, Pace.FASTER, Pace.UNCLEAR) if pace in told), None)


def normal(change: Change) -> str:
    """The dotted key as the table writes keys: snake case, an environment variable by its name."""
    key = change.place.inner or change.place.key
    variable = re.search(r"(?:^|\.)env\[([^\]]+)\]\.value$", key)
    words = variable[1] if variable else key.replace(": ", ".")
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words)
    return words.replace("-", "_").lower()


def _any(patterns: Sequence[str], name: str) -> bool:
    return any(_meets(pattern, name) for pattern in patterns)


def _meets(pattern: str, name: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(name, f"*.{pattern}")


def _direction(key: Key, change: Change) -> Pace:
    before = change.before if change.was_there else key.default
    after = change.after if change.is_there else key.default
    if (not change.was_there or not change.is_there) and key.default is None and key.slower not in ("on", "off"):
        return Pace.UNCLEAR
    return _COMPARE[key.slower](before, after)


def _down(before: Any, after: Any) -> Pace:
    old, new = _number(before), _number(after)
    if old is None or new is None or old == new:
        return Pace.UNCLEAR
    return Pace.SLOWER if new < old else Pace.FASTER


def _up(before: Any, after: Any) -> Pace:
    return _down(after, before)


def _off(before: Any, after: Any) -> Pace:
    old, new = _is_on(before), _is_on(after)
    if old == new:
        return Pace.UNCLEAR
    return Pace.SLOWER if old else Pace.FASTER


def _on(before: Any, after: Any) -> Pace:
    return _off(after, before)


def _wider(before: Any, after: Any) -> Pace:
    old, new = _width(before), _width(after)
    if old is None or new is None or old == new:
        return Pace.UNCLEAR
    return Pace.SLOWER if new > old else Pace.FASTER


def _changed(before: Any, after: Any) -> Pace:
    return Pace.UNCLEAR


_COMPARE = {"down": _down, "up": _up, "off": _off, "on": _on, "wider": _wider, "changed": _changed}
_SUFFIXES = {
    "m": 1e-3,
    "k": 1e3,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
    "mb": 1e6,
    "gb": 1e9,
    "g": 1e9,
    "ms": 1e-3,
    "s": 1.0,
}


def _number(value: Any) -> float | None:
    found = re.fullmatch(r"\s*([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([a-z]*)\s*", str(value).lower())
    if not found or isinstance(value, bool) or found[2] not in ("", *_SUFFIXES):
        return None
    return float(found[1]) * (_SUFFIXES[found[2]] if found[2] else 1.0)


def _is_on(value: Any) -> bool:
    return str(value).strip().lower() not in _OFF


def _width(value: Any) -> int | None:
    text = str(value).strip().lower()
    text = re.sub(r"^torch\.|[-_](?:mixed|true)$", "", text)
    name = _FORMAT_NAMES.get(text, text)
    return _FORMATS.index(name) if name in _FORMATS else None
