"""What proves each cause of exposed copies, and what falls just short of it. Times in nanoseconds."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.model import facts
from mfu_operator.trace.diagnosis.causes import copies
from tests.support.cases import case_of

Named = Mapping[str, Any]

PINNED = {"h2d": 5.0, "pageableNs": 0.0, "h2dTotalNs": 10.0, "d2hTotalNs": 10.0, "h2dBytes": 100.0, "d2hBytes": 100.0}
PAGEABLE = {**PINNED, "h2d": 25.0, "pageableNs": 10.0}


@pytest.mark.parametrize(
    ("now", "baseline", "pageable"),
    [
        (PAGEABLE, PINNED, True),
        ({**PAGEABLE, "pageableNs": 9.0}, PINNED, False),
        # Of the copies that are exposed more, and of the host's time that is, the larger one counts.
        ({**PAGEABLE, "idleHost": 21.0}, PINNED, False),
        ({**PAGEABLE, "h2d": 5.0, "idleSync": 20.0}, PINNED, True),
        ({**PAGEABLE, "h2dBytes": 110.0}, PINNED, True),
        ({**PAGEABLE, "h2dBytes": 112.0}, PINNED, False),
        ({**PAGEABLE, "d2hBytes": 112.0}, PINNED, False),
        # Half of the share now was pageable before.
        ({**PAGEABLE, "pageableNs": 20.0}, {**PINNED, "pageableNs": 10.0}, True),
        ({**PAGEABLE, "pageableNs": 22.0}, {**PINNED, "pageableNs": 12.0}, False),
        ({**PAGEABLE, "h2d": 8.0}, {**PINNED, "pageableNs": 5.0}, True),
        ({**PAGEABLE, "h2d": 8.0}, {**PINNED, "pageableNs": 6.0}, False),
        ({"h2d": 5.0, "pageableNs": 5.0}, None, True),
        ({"h2d": 5.0, "pageableNs": 2.0}, None, False),
    ],
)
def test_pageable_copies_are_the_cause_where_they_are_new_and_half_of_what_was_lost(
    now: Named, baseline: Named | None, pageable: bool
) -> None:
    case = case_of(now, baseline)
    said = (case.change("copies from or to pageable memory per step", facts.PAGEABLE_NS),)
    assert copies._pageable(case) == (said if pageable else ())


@pytest.mark.parametrize(
    ("shown", "share"),
    [
        ({}, 0.0),
        ({"pageableNs": 5.0}, 0.0),
        ({"h2dTotalNs": 10.0}, 0.0),
        ({"pageableNs": 5.0, "h2dTotalNs": 10.0}, 0.5),
        ({"pageableNs": 5.0, "d2hTotalNs": 10.0}, 0.5),
        ({"pageableNs": 5.0, "h2dTotalNs": 15.0, "d2hTotalNs": 10.0}, 0.2),
    ],
)
def test_the_pageable_share_is_of_the_copies_between_host_and_device(shown: Named, share: float) -> None:
    assert copies._pageable_share(case_of(shown).now) == share


BYTES = {"h2dBytes": 100.0, "d2hBytes": 100.0}


@pytest.mark.parametrize(
    ("now", "baseline", "said"),
    [
        ({"h2d": 51.0, "compute": 49.0}, None, ("pinned copies to the device take 51% of the time",)),
        ({"h2d": 50.0, "compute": 50.0}, None, ()),
        (
            {"h2dBytes": 131.0, "d2hBytes": 131.0},
            BYTES,
            ("bytes to the device per step 131, baseline 100", "bytes to the host 131, baseline 100"),
        ),
        ({"h2dBytes": 127.0, "d2hBytes": 131.0}, BYTES, ()),
        ({"h2dBytes": 131.0, "d2hBytes": 130.0}, BYTES, ()),
        # Beside a large batch, as many bytes come back as were sent away.
        (
            {"h2dBytes": 1100.0, "d2hBytes": 105.0},
            {"h2dBytes": 1010.0, "d2hBytes": 5.0},
            ("bytes to the device per step 1100, baseline 1010", "bytes to the host 105, baseline 5"),
        ),
        (
            {"h2dBytes": 1110.0, "d2hBytes": 95.0},
            {"h2dBytes": 1010.0, "d2hBytes": 5.0},
            ("bytes to the device per step 1110, baseline 1010", "bytes to the host 95, baseline 5"),
        ),
        ({"h2dBytes": 1099.0, "d2hBytes": 105.0}, {"h2dBytes": 1010.0, "d2hBytes": 5.0}, ()),
        ({"h2dBytes": 1110.0, "d2hBytes": 94.0}, {"h2dBytes": 1010.0, "d2hBytes": 5.0}, ()),
        ({"h2dBytes": 1010.0, "d2hBytes": 105.0}, {"h2dBytes": 1010.0, "d2hBytes": 5.0}, ()),
        # Four times the bytes in one direction are enough, where the other has some of them.
        (
            {"h2dBytes": 401.0, "d2hBytes": 20.0 + 0.2 * 301.0},
            {**BYTES, "d2hBytes": 20.0},
            ("bytes to the device per step 401, baseline 100", "bytes to the host 80.2, baseline 20"),
        ),
        (
            {"h2dBytes": 450.0, "d2hBytes": 170.0},
            {**BYTES, "d2hBytes": 100.0},
            ("bytes to the device per step 450, baseline 100", "bytes to the host 170, baseline 100"),
        ),
        ({"h2dBytes": 450.0, "d2hBytes": 169.0}, {**BYTES, "d2hBytes": 140.0}, ()),
        ({"h2dBytes": 399.0, "d2hBytes": 1070.0}, {**BYTES, "d2hBytes": 1000.0}, ()),
        (
            {"h2dBytes": 450.0, "d2hBytes": 1070.0},
            {**BYTES, "d2hBytes": 1000.0},
            ("bytes to the device per step 450, baseline 100", "bytes to the host 1070, baseline 1000"),
        ),
        ({"h2dBytes": 200.0, "d2hBytes": 6.0}, {"h2dBytes": 100.0, "d2hBytes": 1.0}, ()),
    ],
)
def test_an_offload_moves_many_more_bytes_in_both_directions_or_fills_the_step(
    now: Named, baseline: Named | None, said: tuple[str, ...]
) -> None:
    assert copies._offload(case_of(now, baseline)) == said


@pytest.mark.parametrize(
    ("now", "baseline", "said"),
    [
        (
            {"h2d": 10.0, "h2dCalls": 12.0, "h2dBytes": 5.0},
            {"h2dCalls": 10.0, "h2dBytes": 5.0},
            ("copies to the device per step 12, baseline 10", "their bytes 5, baseline 5"),
        ),
        ({"h2d": 10.0, "h2dCalls": 10.9, "h2dBytes": 5.0}, {"h2dCalls": 10.0, "h2dBytes": 5.0}, ()),
        ({"h2d": 10.0, "h2dCalls": 0.6, "h2dBytes": 5.0}, {"h2dCalls": 0.2, "h2dBytes": 5.0}, ()),
        ({"h2d": 10.0, "h2dCalls": 2.5, "h2dBytes": 5.0}, {"h2dCalls": 2.0, "h2dBytes": 5.0}, ()),
        (
            {"h2d": 10.0, "h2dCalls": 2.6, "h2dBytes": 5.0},
            {"h2dCalls": 2.0, "h2dBytes": 5.0},
            ("copies to the device per step 2.6, baseline 2", "their bytes 5, baseline 5"),
        ),
        (
            {"h2d": 10.0, "h2dCalls": 22.1, "h2dBytes": 5.0},
            {"h2dCalls": 20.0, "h2dBytes": 5.0},
            ("copies to the device per step 22.1, baseline 20", "their bytes 5, baseline 5"),
        ),
        (
            {"d2h": 10.0, "d2hCalls": 1.0, "d2hBytes": 112.0},
            {"d2hCalls": 1.0, "d2hBytes": 100.0},
            ("copies to the host per step 1, baseline 1", "their bytes 112, baseline 100"),
        ),
        ({"d2h": 10.0, "d2hCalls": 1.0, "d2hBytes": 110.0}, {"d2hCalls": 1.0, "d2hBytes": 100.0}, ()),
        # A direction with less than three tenths of the growth stayed as it was.
        (
            {"h2d": 2.9, "d2d": 7.1, "h2dBytes": 200.0, "d2dBytes": 200.0},
            {"h2dBytes": 100.0, "d2dBytes": 100.0},
            ("copies on the device per step not recorded, baseline not recorded", "their bytes 200, baseline 100"),
        ),
        (
            {"h2d": 3.0, "memset": 7.0, "h2dBytes": 200.0, "d2dBytes": 200.0},
            {"h2dBytes": 100.0, "d2dBytes": 100.0},
            ("copies to the device per step not recorded, baseline not recorded", "their bytes 200, baseline 100"),
        ),
    ],
)
def test_extra_copies_are_more_calls_or_bytes_of_a_direction_that_grew(
    now: Named, baseline: Named, said: tuple[str, ...]
) -> None:
    assert copies._extra(case_of(now, baseline)) == said


SAME = {"h2dBytes": 100.0, "d2hBytes": 100.0, "h2dCalls": 100.0, "h2dTotalNs": 1e6, "d2hTotalNs": 1e6}
LONGER = {**SAME, "h2d": 20e6, "h2dTotalNs": 7e6, "d2hTotalNs": 5e6}
LINK = ("the same bytes between host and device take 10.0 ms longer per step",)


@pytest.mark.parametrize(
    ("changed", "before", "said"),
    [
        ({}, {}, LINK),
        ({"h2d": 20.1e6}, {}, ()),
        ({"h2d": 10e6, "memset": 11e6}, {}, ()),
        ({"h2dBytes": 102.0, "d2hBytes": 98.0, "h2dCalls": 102.0}, {}, LINK),
        ({"h2dBytes": 103.0}, {}, ()),
        ({"d2hBytes": 103.0}, {}, ()),
        ({"h2dCalls": 103.0}, {}, ()),
        ({"h2dBytes": 0.0}, {"h2dBytes": 0.0}, ()),
    ],
)
def test_a_link_is_slow_where_the_same_copies_of_the_same_bytes_take_longer(
    changed: Named, before: Named, said: tuple[str, ...]
) -> None:
    assert copies._link(case_of({**LONGER, **changed}, {**SAME, **before})) == said
