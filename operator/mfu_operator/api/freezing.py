"""spec.remediation.freeze: when a team wants no pull request."""

import re
from collections.abc import Mapping

from mfu_operator.api import quantities
from mfu_operator.api.section import Section
from mfu_operator.model.freeze import Freeze, FreezeDates, FreezeWeekly

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MOST = 20
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


def freezes(section: Section) -> tuple[Freeze, ...]:
    """The items of `freeze`: with days every week, else once."""
    items = section.items("freeze")
    if len(items) > MOST:
        section.refuse("freeze", f"has {len(items)} items; write at most {MOST}")
    return tuple(_one(section, index, item) for index, item in enumerate(items))


def _one(section: Section, index: int, item: object) -> Freeze:
    if not isinstance(item, Mapping):
        section.refuse(f"freeze[{index}]", f"is {item!r}; write a mapping of fields")
    one = Section(f"{section.path}.freeze[{index}]", item)
    return _weekly(one) if one.has("days") else _dates(one)


def _weekly(one: Section) -> FreezeWeekly:
    days = one.texts("days")
    for day in days:
        if day not in DAYS:
            one.refuse("days", f"has {day!r}; write some of {', '.join(DAYS)}")
    if not days:
        one.refuse("days", "is empty; write some days, or remove it and give dates")
    numbers = frozenset(DAYS.index(day) for day in days)
    return FreezeWeekly(numbers, _minute(one, "from"), _minute(one, "until"), one.text("reason"))


def _minute(one: Section, name: str) -> int:
    text = one.text(name)
    found = _TIME.fullmatch(text or "00:00")
    if found is None:
        one.refuse(name, f'is {text!r}; with days write a time of the day, UTC, like "18:00"')
    return int(found[1]) * 60 + int(found[2])


def _dates(one: Section) -> FreezeDates:
    from_s, until_s = (_moment(one, name) for name in ("from", "until"))
    if until_s <= from_s:
        one.refuse("until", "is not after from; write a later time")
    return FreezeDates(from_s, until_s, one.text("reason"))


def _moment(one: Section, name: str) -> float:
    try:
        return quantities.unix_s(one.required(name))
    except ValueError as error:
        one.refuse(name, f"cannot be read: {error}")
