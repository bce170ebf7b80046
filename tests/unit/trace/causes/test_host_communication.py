"""What proves each cause of waiting for collectives of the host, and what falls just short of it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.fact import Facts
from mfu_operator.trace.analyze import analyze, profile
from mfu_operator.trace.diagnosis.causes import host_communication
from mfu_operator.trace.diagnosis.diagnose import diagnose
from tests.support.cases import case_of

Named = Mapping[str, Any]

GLOO = Path("tests/data/traces/gloo")

WAITED = {
    "account_from": "nvtx",
    "compute": 20e6,
    "idleHost": 50e6,
    "hostCollectiveNs": 40e6,
    "hostCollectiveExposedNs": 10e6,
    "hostCollectiveCalls": 6.0,
    "hostCollectiveLongestNs": 8e6,
    "messageBytes": 6000.0,
    "messageMedianBytes": 1000.0,
}
"""Of 70 ms, 10 are waiting for collectives."""

MOVED = {"compute": 0.0, "idleHost": 90e6}
"""20 ms more, and what was in a range before is in none now: what the parts are called says nothing."""

OVERLAP = (
    "collectives of the host (gloo, UCC, MPI) in all 40.0 ms, baseline 40.0 ms",
    "while nothing computes 30.0 ms of that, baseline 10.0 ms: nearly the same work, 20.0 ms more of it exposed",
)


@pytest.mark.parametrize(
    ("changed", "proved"),
    [
        ({}, True),
        ({"hostCollectiveExposedNs": 20e6}, True),
        ({"hostCollectiveExposedNs": 19.9e6}, False),
        ({"hostCollectiveNs": 49.9e6}, True),
        ({"hostCollectiveNs": 50e6}, False),
        ({"messageBytes": 7800.0}, True),
        ({"messageBytes": 7801.0}, False),
        ({"hostCollectiveCalls": 48.0, "messageMedianBytes": 100.0}, True),
        ({"idleHost": 70e6}, False),
        ({"idleHost": 49e6, "idleInput": 41e6}, False),
    ],
)
def test_overlap_is_lost_where_collectives_take_no_longer_and_nothing_computes_beside_them(
    changed: Named, proved: bool
) -> None:
    now = {**WAITED, **MOVED, "hostCollectiveExposedNs": 30e6, **changed}
    assert bool(host_communication._lost_overlap(case_of(now, WAITED))) is proved


def test_lost_overlap_says_what_was_recorded() -> None:
    now = {**WAITED, **MOVED, "hostCollectiveExposedNs": 30e6}
    assert host_communication._lost_overlap(case_of(now, WAITED)) == OVERLAP


@pytest.mark.parametrize("known", [(), ("now",), ("before",)])
def test_overlap_is_not_lost_where_it_was_not_recorded(known: tuple[str, ...]) -> None:
    """A baseline of a version that did not look for it has none."""
    now, before = {**WAITED, **MOVED, "hostCollectiveExposedNs": 30e6}, dict(WAITED)
    for name, account in (("now", now), ("before", before)):
        if name not in known:
            del account["hostCollectiveExposedNs"]
    assert host_communication._lost_overlap(case_of(now, before)) == ()
    assert host_communication._lost_overlap(case_of(now)) == ()


SPLIT = {
    **WAITED,
    "idleHost": 90e6,
    "hostCollectiveNs": 80e6,
    "hostCollectiveExposedNs": 50e6,
    "hostCollectiveCalls": 48.0,
    "messageMedianBytes": 125.0,
}
UNSIZED = ("messageBytes", "messageMedianBytes")


@pytest.mark.parametrize(
    ("changed", "proved"),
    [
        ({}, True),
        ({"hostCollectiveCalls": 7.81}, True),
        ({"hostCollectiveCalls": 7.79}, False),
        ({"messageMedianBytes": 800.0}, True),
        ({"messageMedianBytes": 801.0}, False),
        ({"messageBytes": 7801.0}, False),
        ({"hostCollectiveLongestNs": 80e6}, True),
        ({"hostCollectiveNs": 60e6}, True),
        ({"hostCollectiveNs": 59.9e6}, False),
        ({"idleHost": 50e6}, False),
        ({"hostCollectiveCalls": None}, False),
        # Without sizes even the longest is shorter.
        ({**dict.fromkeys(UNSIZED), "hostCollectiveLongestNs": 6.4e6}, True),
        ({**dict.fromkeys(UNSIZED), "hostCollectiveLongestNs": 6.5e6}, False),
        ({**dict.fromkeys(UNSIZED), "hostCollectiveLongestNs": None}, False),
        # The account of a device: only that it idles.
        ({"account_from": "gpu", "idleHost": 50e6, "compute": 60e6}, False),
        ({"account_from": "gpu"}, True),
    ],
)
def test_messages_are_small_where_many_more_carry_the_same_and_take_longer(changed: Named, proved: bool) -> None:
    now = {name: value for name, value in {**SPLIT, **changed}.items() if value is not None}
    assert bool(host_communication._small_messages(case_of(now, WAITED))) is proved
    assert host_communication._small_messages(case_of(now)) == ()


def test_small_messages_say_their_number_and_size_where_it_is_recorded() -> None:
    said = host_communication._small_messages(case_of(SPLIT, WAITED))
    assert said == (
        "collectives of the host (gloo, UCC, MPI) per step 48, baseline 6",
        "in all 80.0 ms, baseline 40.0 ms",
        "the median message 125 bytes, baseline 1000 bytes",
    )
    unsized = {name: value for name, value in SPLIT.items() if name not in UNSIZED}
    told = host_communication._small_messages(case_of({**unsized, "hostCollectiveLongestNs": 1.0}, WAITED))
    assert told == said[:2]


@pytest.mark.parametrize(
    ("parts", "spent", "proved"),
    [
        ({"idleHost": 10e6}, 5e6, True),
        ({"idleHost": 10e6}, 4.9e6, False),
        ({"idleSync": 4e6, "idleAlloc": 2e6, "idleHost": 2e6, "idleLaunch": 2e6}, 4.9e6, False),
        ({"idleHost": 0.0}, 5e6, False),
        ({"idleHost": 1.0}, 5e6, True),
    ],
)
def test_collectives_of_the_host_are_the_cause_where_they_take_half_of_what_the_device_idles_more(
    parts: Named, spent: float, proved: bool
) -> None:
    case = case_of({**parts, "hostCollectiveNs": spent}, {"hostCollectiveNs": 0.0})
    said = case.change("collectives of the host (gloo, UCC, MPI) per step", facts.HOST_COLLECTIVE_NS)
    assert host_communication._of_the_host(case) == ((said,) if proved else ())


@pytest.mark.parametrize(("run", "cause"), [("small_buckets", "SmallMessages"), ("reduced_after", "LostOverlap")])
def test_four_real_ranks_on_gloo_tell_small_buckets_from_lost_overlap(run: str, cause: str) -> None:
    found = analyze([GLOO / run], [GLOO / "healthy"]).diagnosis
    assert (found.bottleneck, found.cause) == ("CommsBound", cause)
    assert found.confidence > 0.5


def _unsized(account: StepAccount) -> StepAccount:
    named = {name: value for name, value in account.facts.named.items() if name not in UNSIZED}
    return replace(account, facts=Facts(named))


def test_small_messages_of_real_ranks_are_doubted_where_their_sizes_were_not_recorded() -> None:
    now, before = (_unsized(profile([GLOO / run])) for run in ("small_buckets", "healthy"))
    found = diagnose(now, before)
    assert found.bottleneck == "CommsBound"
    assert found.confidence <= 0.5
