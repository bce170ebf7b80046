"""A TrainingBaseline's status ↔ Status. What of it cannot be read is set aside (api/salvage).

`decode(encode(status)) == status` for every status within these bounds; beyond them encode gives way, here and nowhere
else:

- times are rounded to milliseconds, a condition's to the second;
- an account's nanoseconds are rounded to whole ones, and its parts still sum to its step;
- a judgement's numbers are rounded to six digits: it is made again at every tick;
- prose is cut (LIMITS; PAST_LIMITS for incidents of the past, which also lose diff and kernels), names never are;
- of the past, the latest HISTORY incidents and PREVIOUS baselines are kept.

So a status stays below 100 KB whatever a trace or a person wrote. `summary` is written for people and never read back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import fsum
from typing import Any, TypeVar

from mfu_operator.api import codec
from mfu_operator.api.merge_patch import merge_patch, merged
from mfu_operator.api.salvage import decode, salvage
from mfu_operator.api.summary import summary
from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.incident import Incident, ProfileFact, Status
from mfu_operator.model.verdict import Judgement

__all__ = ["HISTORY", "PREVIOUS", "decode", "encode", "patch", "salvage", "whole_nanoseconds"]

T = TypeVar("T")

HISTORY = 10
PREVIOUS = 5
DIFF_CHARACTERS = 8000
KERNELS = 10

PROSE = frozenset(
    {
        "message",
        "title",
        "subject",
        "author",
        "problem",
        "singleVariable",
        "accepted",
        "superseded",
        "replacedBecause",
        "withdrawn",
    }
)
"""Texts that may be cut."""

LISTS = frozenset({"evidence", "advice", "warnings", "because", "notComparableBecause", "changed", "hardware", "told"})
"""Lists of texts that may be cut."""

RETIRED = frozenset({"picture"})
"""Fields of incidents of the past that an earlier version wrote; they go with the next write."""

MAPS = frozenset({"tensorCoreMilliseconds", "rangesMilliseconds", "facts"})
"""Mappings with names of the trace's own that may be cut."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The longest prose in characters, the longest list of texts, and the most entries of a trace's own mapping."""

    characters: int
    items: int
    entries: int


LIMITS = Limits(characters=500, items=6, entries=160)
PAST_LIMITS = Limits(characters=120, items=4, entries=15)


def encode(status: Status) -> dict[str, Any]:
    """The status as the API server stores it."""
    encoded = codec.encode(_within_bounds(status))
    history = encoded.pop("history", None)
    bounded: dict[str, Any] = _bounded(encoded, LIMITS)
    if history:
        bounded["history"] = _bounded(history, PAST_LIMITS)
    columns = summary(status)
    return bounded | ({"summary": dict(columns)} if columns else {})


def patch(stored: Mapping[str, Any] | None, wanted: Status) -> dict[str, Any]:
    """The JSON merge patch from what is stored to `wanted`; empty where nothing changed.

    Fields that this version does not know were written by a newer one. They stay as they are, also in items of lists
    that did not change; with another incident they go. What `salvage` sets aside and RETIRED ones always go.
    """
    sound = salvage(stored)
    readable = _without_retired(sound.readable)
    before = encode(sound.status)
    after = before if wanted == sound.status else encode(wanted)
    understood = {key: value for key, value in before.items() if key != "summary"}
    if "summary" in readable:
        understood["summary"] = readable["summary"]
    return merge_patch(stored or {}, merged(readable, _difference(readable, understood, after)))


def _without_retired(stored: Mapping[str, Any]) -> dict[str, Any]:
    history = stored.get("history")
    if not isinstance(history, list):
        return dict(stored)
    kept = [
        {key: value for key, value in item.items() if key not in RETIRED} if isinstance(item, Mapping) else item
        for item in history
    ]
    return {**stored, "history": kept}


def _difference(stored: Mapping[str, Any], understood: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    another = understood.get("id") != wanted.get("id")
    gone = (stored if another else understood).keys() - wanted.keys()
    changes: dict[str, Any] = dict.fromkeys(sorted(gone))
    for key, value in wanted.items():
        before = understood.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            nested = _difference(stored[key], before, value)
            if nested:
                changes[key] = nested
        elif before != value:
            changes[key] = _items(stored.get(key), before, value) if isinstance(value, list) else value
    return changes


def _items(stored: Any, understood: Any, wanted: list[Any]) -> list[Any]:
    """`wanted`, where an item that was understood and is wanted unchanged is taken as it is stored."""
    known = list(zip(understood or (), stored or (), strict=False))
    return [next((raw for same, raw in known if same == item), item) for item in wanted]


def _within_bounds(status: Status) -> Status:
    return replace(
        status,
        judgement=None if status.judgement is None else _rounded(status.judgement),
        healthy_profile=_whole(status.healthy_profile),
        incident=None if status.incident is None else _present(status.incident),
        history=_history(status.history),
        previous_baselines=_latest(status.previous_baselines, PREVIOUS, lambda each: each.replaced_at or 0.0),
    )


def _history(incidents: Sequence[Incident]) -> tuple[Incident, ...]:
    return tuple(_past(each) for each in _latest(incidents, HISTORY, lambda each: each.opened_at))


def _latest(items: Sequence[T], count: int, time_s: Callable[[T], float]) -> tuple[T, ...]:
    """The `count` latest, in the order in which they stand."""
    kept = sorted(range(len(items)), key=lambda index: time_s(items[index]))[-count:]
    return tuple(items[index] for index in sorted(kept))


def _rounded(judgement: Judgement) -> Judgement:
    numbers: dict[str, Any] = {
        field.name: float(f"{value:.6g}")
        for field in fields(judgement)
        if isinstance(value := getattr(judgement, field.name), float) and field.name not in codec.TIMES
    }
    return replace(judgement, **numbers)


def _present(incident: Incident) -> Incident:
    proposal = incident.proposal
    if proposal is not None and proposal.diff is not None:
        proposal = replace(proposal, diff=_cut(proposal.diff, DIFF_CHARACTERS))
    return replace(incident, profile=_whole(incident.profile), proposal=proposal)


def _past(incident: Incident) -> Incident:
    proposal = None if incident.proposal is None else replace(incident.proposal, diff=None)
    profile = _whole(incident.profile)
    if profile is not None and profile.account is not None:
        profile = replace(profile, account=replace(profile.account, kernels=()))
    return replace(incident, profile=profile, proposal=proposal)


def _whole(profile: ProfileFact | None) -> ProfileFact | None:
    if profile is None or profile.account is None:
        return profile
    return replace(profile, account=whole_nanoseconds(profile.account))


def whole_nanoseconds(account: StepAccount) -> StepAccount:
    """The account in whole nanoseconds: parts that sum to the step still do, by the largest remainder."""
    parts = {name: round(value) for name, value in account.parts_ns.items()}
    missing = round(account.mean_ns) - sum(parts.values())
    if abs(fsum(account.parts_ns.values()) - account.mean_ns) < 0.5:
        direction = 1 if missing > 0 else -1
        by_remainder = sorted(parts, key=lambda name: direction * (parts[name] - account.parts_ns[name]))
        for name in by_remainder[: abs(missing)]:
            parts[name] += direction
    return replace(
        account,
        mean_ns=float(round(account.mean_ns)),
        parts_ns={name: float(value) for name, value in parts.items()},
        kernels=account.kernels[:KERNELS],
        facts=account.facts | {facts.KERNELS_CUT: 1.0} if len(account.kernels) > KERNELS else account.facts,
    )


def _bounded(value: Any, limits: Limits, key: str = "") -> Any:
    if isinstance(value, Mapping):
        kept = list(value)[: limits.entries] if key in MAPS else list(value)
        return {name: _bounded(value[name], limits, name) for name in kept}
    if isinstance(value, list):
        kept_items = value[: limits.items] if key in LISTS else value
        return [_bounded(item, limits, key) for item in kept_items]
    if isinstance(value, str) and key in PROSE | LISTS:
        return _cut(value, limits.characters)
    return value


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
