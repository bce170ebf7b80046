"""Where two renderings give a workload different things."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mfu_operator.gitops.rendered.leaf import Leaf, Scalar
from mfu_operator.gitops.rendered.workload import Delivered

_LONG = 60
"""Characters of a value that a sentence shows."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that is another one afterwards. `before` or `after` None: it was not, or is no longer, there.

    `object` and `field` are as they are told; `identity` and `key` tell the value apart across renderings. `name` is
    what the table of causes calls it, `old` and `new` are the values by meaning.
    """

    object: str
    identity: str
    key: str
    name: str
    field: str
    before: Scalar
    after: Scalar
    old: Any
    new: Any
    was_there: bool
    is_there: bool
    text: bool
    file: str
    container: str
    beside: str

    @property
    def place(self) -> tuple[str, str]:
        """What tells the value apart."""
        return self.identity, self.key

    def __str__(self) -> str:
        long = any(isinstance(side, str) and len(side) > _LONG for side in (self.before, self.after))
        if long and not self.text:
            was, now = self.old if self.was_there else None, self.new if self.is_there else None
            return f"{self.object} {self.field}: {self.name} {_short(was)} → {_short(now)}"
        return f"{self.object} {self.field}: {_short(self.before)} → {_short(self.after)}"


Scripts = tuple[Mapping[tuple[str, str], Scalar], Mapping[tuple[str, str], Scalar]]


@dataclass(frozen=True, slots=True)
class Row:
    """A difference as it is told: several options that changed in one field are one row."""

    object: str
    field: str
    before: Scalar
    after: Scalar


def differences(before: Delivered, after: Delivered) -> tuple[Difference, ...]:
    """What `after` gives otherwise than `before`, by object and field.

    An object that only bears another name, with the reference to it, is the same object.
    """
    renamed = _renamed(before, after)
    scripts = _scripts(before, renamed), _scripts(after, {})
    old = {(renamed.get(leaf.object, leaf.object), leaf.key): leaf for leaf in before.leaves.values()}
    found = [
        _difference(place, old.get(place), after.leaves.get(place), {**before.told, **after.told}, scripts)
        for place in old.keys() | after.leaves.keys()
        if _differ(place, old, after.leaves)
    ]
    followed = {place for place, leaf in after.leaves.items() if leaf.name == "reference" and _followed(
        old.get(place), leaf, renamed, before, after)}  # fmt: skip
    return tuple(sorted((each for each in found if each.place not in followed), key=lambda each: each.place))


def rows(found: Iterable[Difference]) -> tuple[Row, ...]:
    """Differences as they are told, each field once."""
    seen: dict[tuple[str, str, bool], Row] = {}
    for each in found:
        seen.setdefault(
            (each.object, each.field, each.is_there or each.text), Row(each.object, each.field, each.before, each.after)
        )
    return tuple(sorted(set(seen.values()), key=lambda row: (row.object, row.field, str(row.before), str(row.after))))


def _scripts(side: Delivered, renamed: Mapping[str, str]) -> Mapping[tuple[str, str], Scalar]:
    """The fields that hold whole programs: one of their options can go, and the field stays."""
    return {
        (renamed.get(leaf.object, leaf.object), leaf.field): leaf.raw
        for leaf in side.leaves.values()
        if _holds_more(leaf)
    }


def _holds_more(leaf: Leaf) -> bool:
    return " " in leaf.key and isinstance(leaf.raw, str) and bool(set(leaf.raw) & set(" \n"))


def _differ(place: tuple[str, str], old: Mapping[tuple[str, str], Leaf], new: Mapping[tuple[str, str], Leaf]) -> bool:
    return place not in old or place not in new or old[place].value != new[place].value


def _difference(
    place: tuple[str, str], old: Leaf | None, new: Leaf | None, told: Mapping[str, str], sides: Scripts
) -> Difference:
    one = new or old
    assert one is not None
    before = old.raw if old else sides[0].get((place[0], one.field)) if _holds_more(one) else None
    after = new.raw if new else sides[1].get((place[0], one.field)) if _holds_more(one) else None
    return Difference(
        told.get(place[0], place[0]), place[0], one.key, one.name, one.field, before, after,
        old.value if old else None, new.value if new else None, old is not None, new is not None,
        one.text, one.file, one.container, one.beside,
    )  # fmt: skip


def _renamed(before: Delivered, after: Delivered) -> dict[str, str]:
    """Objects before by the object that is referred to in their place afterwards."""
    found: dict[str, str] = {}
    for place, leaf in after.leaves.items():
        old = before.leaves.get(place)
        if leaf.name == "reference" and old is not None:
            one, other = _object(before, str(old.value)), _object(after, str(leaf.value))
            if one and other and one.split("/")[0] == other.split("/")[0] and one not in after.objects:
                found[one] = other
    return found


def _followed(old: Leaf | None, new: Leaf, renamed: Mapping[str, str], before: Delivered, after: Delivered) -> bool:
    if old is None:
        return False
    one, other = _object(before, str(old.value)), _object(after, str(new.value))
    return other is not None and renamed.get(one or "") == other


def _object(side: Delivered, name: str) -> str | None:
    return next(
        (each for each in side.objects if each.startswith(("ConfigMap/", "Secret/")) and each.endswith(f"/{name}")),
        None,
    )


def _short(value: Scalar) -> str:
    if value is None:
        return "(absent)"
    text = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}…"
