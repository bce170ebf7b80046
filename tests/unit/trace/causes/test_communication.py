"""What proves each cause of exposed communication, and what falls just short of it. Times in nanoseconds."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.trace.diagnosis.causes import communication
from tests.support.cases import case_of

Named = Mapping[str, Any]

BEFORE = {"communication": 10e6, "communication_total": 40e6, "communicationCalls": 100.0}
OVERLAP = "communication in all 44.0 ms, baseline 40.0 ms: nearly the same work, 10.0 ms more of it exposed"


@pytest.mark.parametrize(
    ("changed", "baseline", "said"),
    [
        ({}, BEFORE, OVERLAP),
        ({}, None, None),
        ({"communicationCalls": 0.0, "communication_total": 4e6}, None, None),
        ({"communicationCalls": 102.0}, BEFORE, OVERLAP),
        ({"communicationCalls": 103.0}, BEFORE, None),
        ({"communication_total": 45e6}, BEFORE, None),
        ({"communication_total": 44.9e6}, BEFORE, OVERLAP.replace("44.0", "44.9")),
    ],
)
def test_overlap_is_lost_where_as_many_collectives_take_no_longer_and_more_of_them_is_exposed(
    changed: Named, baseline: Named | None, said: str | None
) -> None:
    now = {**BEFORE, "communication": 20e6, "communication_total": 44e6, **changed}
    assert communication._lost_overlap(case_of(now, baseline)) == (() if said is None else (said,))


LARGE = {
    "communicationCalls": 10.0,
    "communication_total": 20e6,
    "communicationLongestNs": 100.0,
    "messageMedianBytes": 100.0,
    "messageBytes": 1000.0,
}
SPLIT = {
    "communicationCalls": 20.0,
    "communication_total": 30e6,
    "communicationLongestNs": 80.0,
    "messageMedianBytes": 50.0,
    "messageBytes": 1000.0,
}
CALLS = "collectives 20 per step, baseline 10; each 1.5 ms, baseline 2 ms"
SIZES = "the median message 50 bytes, baseline 100 bytes"
UNSIZED = {"communicationCalls", "communication_total", "communicationLongestNs"}


def without_sizes(shown: Named) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if name in UNSIZED}


@pytest.mark.parametrize(
    ("now", "baseline", "said"),
    [
        (SPLIT, LARGE, (CALLS, SIZES)),
        (SPLIT, None, ()),
        (SPLIT, {**LARGE, "communicationCalls": 0.0}, ()),
        ({**SPLIT, "communicationCalls": 12.9}, LARGE, ()),
        (
            {**SPLIT, "communicationCalls": 13.0, "communication_total": 13e6},
            LARGE,
            ("collectives 13 per step, baseline 10; each 1 ms, baseline 2 ms", SIZES),
        ),
        ({**SPLIT, "messageMedianBytes": 80.0}, LARGE, (CALLS, SIZES.replace("50", "80"))),
        ({**SPLIT, "messageMedianBytes": 81.0}, LARGE, ()),
        ({**SPLIT, "messageBytes": 1300.0}, LARGE, (CALLS, SIZES)),
        ({**SPLIT, "messageBytes": 1301.0}, LARGE, ()),
        ({**SPLIT, "communicationLongestNs": 81.0}, LARGE, ()),
        (without_sizes(SPLIT), without_sizes(LARGE), (CALLS,)),
        (without_sizes(SPLIT), LARGE, (CALLS,)),
        (SPLIT, without_sizes(LARGE), (CALLS, "the median message 50 bytes, baseline not recorded bytes")),
        ({**without_sizes(SPLIT), "communicationLongestNs": 81.0}, without_sizes(LARGE), ()),
        ({"communicationCalls": 20.0, "communication_total": 30e6}, without_sizes(LARGE), ()),
        (without_sizes(SPLIT), {"communicationCalls": 10.0, "communication_total": 20e6}, ()),
    ],
)
def test_messages_are_small_where_many_more_carry_no_more_or_even_the_longest_is_shorter(
    now: Named, baseline: Named | None, said: tuple[str, ...]
) -> None:
    assert communication._small_messages(case_of(now, baseline)) == said


@pytest.mark.parametrize(
    ("changed", "baseline", "slow"),
    [
        ({}, BEFORE, True),
        ({}, None, False),
        ({"communication_total": 44e6}, BEFORE, False),
        ({"communicationCalls": 103.0}, BEFORE, False),
        ({"communicationCalls": 0.0}, {**BEFORE, "communicationCalls": 0.0}, False),
    ],
)
def test_a_link_is_slow_where_the_same_collectives_take_longer(
    changed: Named, baseline: Named | None, slow: bool
) -> None:
    now = {**BEFORE, "communication": 20e6, "communication_total": 45e6, **changed}
    said = "the same 100 collectives take 45.0 ms per step, baseline 40.0 ms"
    assert communication._slow_link(case_of(now, baseline)) == ((said,) if slow else ())


@pytest.mark.parametrize(
    ("now", "baseline", "said"),
    [
        (
            {"communication": 20e6, "communication_total": 40e6, "communicationCalls": 5.0},
            None,
            ("50% of 40.0 ms of communication per step is not overlapped", "collectives per step 5"),
        ),
        ({"communication": 19e6, "communication_total": 40e6, "communicationCalls": 5.0}, None, ()),
        ({"communication": 20e6}, None, ()),
        (
            {"communication": 20e6, "communication_total": 40e6},
            None,
            ("50% of 40.0 ms of communication per step is not overlapped", "collectives per step not recorded"),
        ),
        (
            {"communication": 10e6, "communication_total": 50e6, "communicationCalls": 103.0},
            BEFORE,
            ("20% of 50.0 ms of communication per step is not overlapped", "collectives per step 103, baseline 100"),
        ),
        ({"communication": 10e6, "communication_total": 50e6, "communicationCalls": 102.0}, BEFORE, ()),
        (
            {"communication": 10e6, "communicationCalls": 103.0},
            BEFORE,
            ("0% of 0.0 ms of communication per step is not overlapped", "collectives per step 103, baseline 100"),
        ),
        (
            {"communication": 10e6, "communicationCalls": 1.0},
            {"communication": 1.0},
            (
                "0% of 0.0 ms of communication per step is not overlapped",
                "collectives per step 1, baseline not recorded",
            ),
        ),
        ({"communication": 10e6}, {"communication": 1.0}, ()),
        # Ten more, each as long as the longest at most, explain half of the growth or not.
        (
            {"communication_total": 50e6, "communicationCalls": 110.0, "communicationLongestNs": 0.5e6},
            BEFORE,
            ("0% of 50.0 ms of communication per step is not overlapped", "collectives per step 110, baseline 100"),
        ),
        ({"communication_total": 50e6, "communicationCalls": 110.0, "communicationLongestNs": 0.49e6}, BEFORE, ()),
    ],
)
def test_exposed_collectives_are_more_ones_that_explain_the_growth_or_mostly_exposed_ones(
    now: Named, baseline: Named | None, said: tuple[str, ...]
) -> None:
    assert communication._exposed(case_of(now, baseline)) == said
