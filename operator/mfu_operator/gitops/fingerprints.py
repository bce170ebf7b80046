"""The table that ties causes to configuration keys (`fingerprints.yaml`), and what it says of one change."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import translate
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Six times as fast where libyaml is there: the table is read once in every command."""

_OFF = {"", "0", "0.0", "false", "no", "off", "none", "null", "disabled", "disable", "never"}
_FORMATS = ("fp4", "fp8", "fp16", "tf32", "fp32", "fp64")
_FORMAT_NAMES = {
    "e4m3": "fp8", "e5m2": "fp8", "float8": "fp8", "bf16": "fp16", "bfloat16": "fp16", "float16": "fp16",
    "half": "fp16", "16": "fp16", "float32": "fp32", "32": "fp32", "full": "fp32",
    "no": "fp32", "none": "fp32", "false": "fp32",
    "float64": "fp64", "double": "fp64", "64": "fp64",
}  # fmt: skip


_EVALUATION = {
    "eval", "evals", "evaluate", "evaluation", "evaluator", "valid", "validate", "validation", "inference", "predict",
    "prediction", "validating",
}  # fmt: skip
_MAYBE = {"val", "test"}
"""Words of evaluation where they are not the last one: `clip_val` is a value."""


class Changed(Protocol):
    """A key with another value: what it is called, and both values by meaning."""

    @property
    def name(self) -> str:
        """What the table calls it."""

    @property
    def old(self) -> Any:
        """The value before, by meaning."""

    @property
    def new(self) -> Any:
        """The value after, by meaning."""

    @property
    def was_there(self) -> bool:
        """Whether there was a value before."""

    @property
    def is_there(self) -> bool:
        """Whether there is one afterwards."""


class Pace(StrEnum):
    """What a change does to the pace of a step, as far as the table can tell.

    ASIDE: slower, but not by the book. RESEMBLING: a pattern meets the key, which has a word that no known
    key has.
    """

    SLOWER = "slower"
    ASIDE = "aside"
    FASTER = "faster"
    UNCLEAR = "unclear"
    RESEMBLING = "resembling"


@dataclass(frozen=True, slots=True)
class Key:
    """One pattern of keys; `slower` is the direction that costs time, `default` the value where the key is absent."""

    pattern: str
    slower: str
    default: Any = None
    order: tuple[str, ...] = ()
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A cause, the bottleneck it shows as, and the keys that can bring it about; `words` are those of its patterns."""

    cause: str
    bottleneck: str
    image: bool
    keys: tuple[Key, ...]
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Table:
    """All of `fingerprints.yaml`.

    `no_commit` are causes and bottlenecks that no commit brings about, `words` those of which known keys are made.
    """

    causes: Mapping[str, Fingerprint]
    no_commit: frozenset[str]
    images: tuple[str, ...]
    without_effect: tuple[str, ...]
    with_effect: tuple[str, ...]
    without_pace: tuple[str, ...]
    words: frozenset[str]


@cache
def table() -> Table:
    """The table that ships with the operator."""
    return read(files(__package__).joinpath("fingerprints.yaml").read_text(encoding="utf-8"))


def read(text: str) -> Table:
    """A table from its YAML text; KeyError or TypeError where it is not of the form that the file's head describes."""
    raw = yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe one
    causes = {cause: _fingerprint(cause, entry) for cause, entry in raw["causes"].items()}
    nobody = frozenset(raw["no_commit"]) | frozenset(raw["no_commit_bottlenecks"])
    images, without, with_effect, pace_less = (
        tuple(raw[name]) for name in ("images", "without_effect", "with_effect", "without_pace")
    )
    return Table(causes, nobody, images, without, with_effect, pace_less, frozenset(raw["words"]))


def _fingerprint(cause: str, entry: Mapping[str, Any]) -> Fingerprint:
    keys = tuple(
        Key(
            key["key"],
            key["slower"],
            key.get("default"),
            tuple(map(str, key.get("order", ()))),
            key.get("aside", False),
        )
        for key in entry["keys"]
    )
    words = frozenset(word for key in keys if "*" in key.pattern for word in _words(key.pattern))
    return Fingerprint(cause, entry["bottleneck"], entry.get("image", False), keys, words)


def without_effect(change: Changed) -> bool:
    """Whether the change is of a key whose value no training step sees."""
    name = normal(change.name)
    return _any(table().without_effect, name) and not _any(table().with_effect, name)


def without_pace(change: Changed) -> bool:
    """Whether the change is of a key that says what is learned, and is switched neither on nor off."""
    before, after = (_is_on(value) if there else False for value, there in
                     ((change.old, change.was_there), (change.new, change.is_there)))  # fmt: skip
    return before == after and _any(table().without_pace, normal(change.name))


def of_evaluation(name: str) -> bool:
    """Whether a key is of what happens between training steps: validation, tests, inference."""
    segments = re.split(r"[.\[\]/]+", normal(name))
    for segment in segments:
        words = segment.split("_")
        if _EVALUATION & set(words) or (_MAYBE & set(words[:-1])) or segment in _MAYBE:
            return "train" not in words
    return False


def marks_with_effect(name: str) -> bool:
    """Whether something acts on pods by a label or annotation of this name."""
    return _any(table().with_effect, normal(name))


def is_image(change: Changed) -> bool:
    """Whether the change is of an image's name, tag or digest."""
    return _any(table().images, normal(change.name))


def pace(fingerprint: Fingerprint, change: Changed) -> Pace | None:
    """What the change does by this fingerprint; None where none of its keys is meant."""
    name = normal(change.name)
    beside = of_evaluation(name)
    told = [_told(key, change, fingerprint.words) for key in fingerprint.keys
            if _meets(key.pattern, name) and (not beside or of_evaluation(key.pattern.replace("*", "")))]  # fmt: skip
    ranked = (Pace.SLOWER, Pace.ASIDE, Pace.FASTER, Pace.UNCLEAR, Pace.RESEMBLING)
    return next((pace for pace in ranked if pace in told), None)


@cache
def normal(name: str) -> str:
    """A dotted key as the table writes keys: snake case, dashes as underscores."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9])(?=[A-Z][a-z])", "_", name).replace("-", "_").lower()


def _any(patterns: Sequence[str], name: str) -> bool:
    return any(_meets(pattern, name) for pattern in patterns)


def _meets(pattern: str, name: str) -> bool:
    return _compiled(pattern).match(name) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(f"(?:{translate(pattern)})|(?:{translate(f'*.{pattern}')})")


def _told(key: Key, change: Changed, words: frozenset[str]) -> Pace | None:
    found = _direction(key, change)
    if found is not None and not _is_tied(key.pattern, normal(change.name), words):
        return Pace.RESEMBLING
    return Pace.ASIDE if key.aside and found is Pace.SLOWER else found


_PREFIX = re.compile(r"[a-z0-9_.]+[_.]\*")
"""All that begins with a name that somebody else's program owns: `nccl_fastrak_*`, `parameters.*`."""


@cache
def _is_tied(pattern: str, name: str, words: frozenset[str]) -> bool:
    """Whether a pattern means this key and does not only happen to meet it: `*amp` means use_amp and not timestamp.

    It does where it names the key in full or by its prefix, where a field of Kubernetes is meant, and where every word
    of the key is one of the cause's patterns (`words`), or one that stands before or after such names.
    """
    if "*" not in pattern or _PREFIX.fullmatch(pattern) or name.startswith(("spec.", "metadata.")):
        return True
    return _words(name) <= words | table().words


def _words(name: str) -> frozenset[str]:
    """The words of a key's last part (of a pattern also those that it holds in part), without numbers."""
    last = re.split(r"[./]", re.sub(r"\[[^\]]*\]", "", name))[-1]
    return frozenset(filter(None, (word.rstrip("0123456789") for word in re.split(r"[^a-z0-9]+", last))))


def _direction(key: Key, change: Changed) -> Pace | None:
    before = change.old if change.was_there else key.default
    after = change.new if change.is_there else key.default
    if (
        (not change.was_there or not change.is_there)
        and key.default is None
        and key.slower not in ("on", "off", "switched_on")
    ):
        return Pace.UNCLEAR
    if key.slower == "switched_on":
        return None if _is_on(before) == _is_on(after) else _on(before, after)
    if key.slower == "later":
        return _later(key.order, before, after)
    return _COMPARE[key.slower](before, after)


def _rise(old: float | None, new: float | None) -> Pace:
    """Of what costs time where it rises; None: not a value of its kind."""
    if old is None or new is None or old == new:
        return Pace.UNCLEAR
    return Pace.SLOWER if new > old else Pace.FASTER


def _down(before: Any, after: Any) -> Pace:
    return _rise(_number(after), _number(before))


def _up(before: Any, after: Any) -> Pace:
    return _rise(_number(before), _number(after))


def _off(before: Any, after: Any) -> Pace:
    return _rise(_is_on(after), _is_on(before))


def _on(before: Any, after: Any) -> Pace:
    return _rise(_is_on(before), _is_on(after))


def _wider(before: Any, after: Any) -> Pace:
    return _rise(_width(before), _width(after))


def _later(order: Sequence[str], before: Any, after: Any) -> Pace:
    words = [str(value).strip().strip('"').lower().replace("-", "_").rpartition(".")[2] for value in (before, after)]
    old, new = (order.index(word) if word in order else None for word in words)
    return _rise(old, new)


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
    if value == "unlimited":
        return float("inf")
    found = re.fullmatch(r"\s*([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([a-z]*)\s*", str(value).lower())
    if not found or found[2] not in ("", *_SUFFIXES):
        return None
    return float(found[1]) * (_SUFFIXES[found[2]] if found[2] else 1.0)


def _is_on(value: Any) -> bool:
    return str(value).strip().lower() not in _OFF


def _width(value: Any) -> int | None:
    text = str(value).strip().lower()
    text = re.sub(r"^torch\.|[-_](?:mixed|true)$", "", text)
    name = _FORMAT_NAMES.get(text, text)
    return _FORMATS.index(name) if name in _FORMATS else None
