"""Statuses for property tests: everything a status may hold, within the bounds that encode states."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from mfu_operator.api import codec, quantities
from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.baseline import Signal
from mfu_operator.model.incident import Incident, ProfileFact, Status
from mfu_operator.model.verdict import Judgement

_TEXT = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=40)
_NUMBER = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False).map(lambda value: value + 0.0)
_SIX_DIGITS = _NUMBER.map(lambda value: float(f"{value:.6g}"))
_NANOSECONDS = st.integers(min_value=-(10**13), max_value=10**13).map(float)
_TIME = st.integers(min_value=0, max_value=4 * 10**12).map(
    lambda milliseconds: quantities.unix_s(quantities.rfc3339(milliseconds / 1000))
)
_SECOND = st.integers(min_value=0, max_value=4 * 10**9).map(float)


_NAMED: Mapping[tuple[type, str], st.SearchStrategy[Any]] = {
    (Incident, "id"): st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True),
    (Incident, "signal"): st.sampled_from([str(signal) for signal in Signal]),
    (ProfileFact, "attempt"): st.integers(1, 9999),
}


def values(kind: type) -> st.SearchStrategy[Any]:
    """Any value of a dataclass of the model."""
    hints = get_type_hints(kind)
    number = _SIX_DIGITS if kind is Judgement else _NUMBER
    built = {field.name: _field(kind, field.name, hints[field.name], number) for field in fields(kind)}
    return st.builds(kind, **built)


def _field(kind: type, name: str, hint: Any, number: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    if (kind, name) == (StepAccount, "parts_ns"):
        return st.fixed_dictionaries(dict.fromkeys(PARTS, _NANOSECONDS))
    if (kind, name) == (Status, "history"):
        return st.lists(_past(), max_size=2).map(tuple)
    if (kind, name) == (Status, "previous_baselines"):
        return st.lists(_of(get_args(hint)[0], number), max_size=2).map(tuple)
    if (kind, name) in _NAMED:
        return _NAMED[kind, name]
    scalar = _scalar(name, number)
    return _of(hint, scalar)


def _past() -> st.SearchStrategy[Incident]:
    return values(Incident).filter(lambda incident: _without_bulk(incident))


def _without_bulk(incident: Incident) -> bool:
    account = incident.profile.account if incident.profile else None
    return not (account and account.kernels) and not (incident.proposal and incident.proposal.diff is not None)


def _scalar(name: str, number: st.SearchStrategy[float]) -> st.SearchStrategy[float]:
    if name in codec.SECONDS_ONLY:
        return _SECOND
    if name in codec.TIMES or name.endswith("_at"):
        return _TIME
    return _NANOSECONDS if name.endswith("_ns") else number


def _of(hint: Any, number: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return st.one_of(*(st.none() if each is NoneType else _of(each, number) for each in arguments))
    if origin is tuple and Ellipsis not in arguments:
        return st.tuples(*(_of(each, number) for each in arguments))
    if origin is tuple:
        return st.lists(_of(arguments[0], number), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(_TEXT, _of(arguments[1], number), max_size=3)
    if is_dataclass(hint) and isinstance(hint, type):
        return values(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return st.sampled_from(list(hint))
    return {float: number, int: st.integers(0, 2**31), str: _TEXT, bool: st.booleans()}[hint]


def statuses() -> st.SearchStrategy[Status]:
    """Any Status within the bounds."""
    return values(Status)
