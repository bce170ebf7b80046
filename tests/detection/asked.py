"""What the operator's rule must be at least as good as, cell by cell, and whether it is.

The bounds are the figures of the rule that it came from, in 300 simulated job-months for each profile, and where one
was raised, the raised one.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.detection.figures import Delay, Rate, physical_limit_min
from tests.detection.profiles import PROFILES, Profile

A, B, C = PROFILES


@dataclass(frozen=True)
class Measured:
    """What was measured of one profile: alarms on healthy jobs, and how losses were found."""

    rate: Rate
    delays: Mapping[float, Delay]


@dataclass(frozen=True)
class Bound:
    """One cell: what is asked, what of the measurement it is about, the loss it is about (None: healthy jobs)."""

    profile: Profile
    loss: float | None
    what: str
    asked: str
    told: Callable[[Measured], str]
    kept: Callable[[Measured], bool]


def _confirmed() -> Iterator[Bound]:
    for profile in PROFILES:
        yield Bound(
            profile,
            None,
            "confirmed, though healthy",
            "0 in 3,000 job-months",
            lambda seen: f"{seen.rate.confirmed} in {seen.rate.months:,.0f}",
            lambda seen: seen.rate.confirmed == 0,
        )


def _regressed() -> Iterator[Bound]:
    for profile in PROFILES:
        yield Bound(
            profile,
            None,
            "Regressed, though healthy",
            "0 in 300 job-months",
            lambda seen: f"{seen.rate.alarms} in {seen.rate.months:,.0f}",
            lambda seen: seen.rate.alarms <= seen.rate.months / 900,
        )


def _median(profile: Profile, loss: float, most_min: float) -> Bound:
    return Bound(
        profile,
        loss,
        f"−{loss:.0%}, median to Regressed",
        f"{most_min:g} min",
        lambda seen: _minutes(seen.delays[loss].median_min),
        lambda seen: seen.delays[loss].median_min <= most_min,
    )


def _missed(profile: Profile, loss: float, most: float) -> Bound:
    return Bound(
        profile,
        loss,
        f"−{loss:.0%}, missed in 6 h",
        f"{most:.0%}",
        lambda seen: f"{seen.delays[loss].missed:.1%}",
        lambda seen: seen.delays[loss].missed <= most,
    )


def _within_30(profile: Profile, loss: float, least: float) -> Bound:
    return Bound(
        profile,
        loss,
        f"−{loss:.0%}, found within 30 min",
        f"{least:.0%}",
        lambda seen: f"{seen.delays[loss].within_30:.1%}",
        lambda seen: seen.delays[loss].within_30 >= least,
    )


BOUNDS = (
    *_confirmed(),
    *_regressed(),
    _median(A, 0.03, 10),
    _median(A, 0.05, 8),
    _median(B, 0.03, 12),
    _missed(B, 0.03, 0.05),
    _median(B, 0.05, 8),
    _median(B, 0.10, 8),
    _median(C, 0.03, 131),
    _missed(C, 0.03, 0.39),
    _median(C, 0.05, 14),
    _missed(C, 0.05, 0.08),
    _within_30(C, 0.05, 0.95),
)
"""Every cell of the table, the raised ones raised. "0 in 300" is kept by at most one in 900: then three of four spans
of 300 job-months show none."""


def verdicts(measured: Mapping[str, Measured]) -> Iterator[str]:
    """The bounds as a Markdown table."""
    yield "| profile | | asked | measured | physical limit | |"
    yield "|---|---|---|---|---|---|"
    for bound in BOUNDS:
        seen = measured[bound.profile.name]
        limit = "" if bound.loss is None else f"{physical_limit_min(bound.profile, bound.loss):.1f} min"
        kept = "kept" if bound.kept(seen) else "**not kept**"
        yield f"| {bound.profile.name} | {bound.what} | {bound.asked} | {bound.told(seen)} | {limit} | {kept} |"


def _minutes(value: float) -> str:
    return "missed" if math.isinf(value) else f"{value:g} min"
