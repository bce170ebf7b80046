"""What proves a straggler's causes and a debugging aid that was left on. Times in nanoseconds."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.trace.diagnosis.causes import instrumentation, straggler
from tests.support.cases import case_of

Named = Mapping[str, Any]

LATE = {"slowestRank": 3.0, "rankSkewNs": 15e6, "slowestIn": "compute"}
SAID = "rank 3 arrives last: the others wait up to 15.0 ms per step; it is slow in compute"


@pytest.mark.parametrize(
    ("now", "baseline", "said"),
    [
        (LATE, None, SAID),
        ({**LATE, "slowestNode": "node-7"}, None, SAID.replace("rank 3", "rank 3 on node node-7")),
        ({**LATE, "slowestIn": "input"}, None, None),
        ({"rankSkewNs": 15e6, "slowestIn": "compute"}, None, None),
        ({"slowestRank": 3.0, "slowestIn": "compute"}, None, None),
        ({**LATE, "rankWaitNs": 30e6}, None, SAID),
        ({**LATE, "rankWaitNs": 31e6}, None, None),
        ({**LATE, "rankWaitNs": 31e6}, {"rankWaitNs": 2e6}, SAID),
        ({**LATE, "rankWaitNs": 30e6}, {"rankSkewNs": 1e6}, None),
    ],
)
def test_a_rank_is_named_where_half_of_what_the_others_wait_more_is_for_it(
    now: Named, baseline: Named | None, said: str | None
) -> None:
    assert straggler._slow_in(case_of(now, baseline), "compute") == (() if said is None else (said,))


@pytest.mark.parametrize("word", ["compute", "input", "copies", "host"])
def test_each_cause_of_a_straggler_is_told_by_its_own_word(word: str) -> None:
    case = case_of({**LATE, "slowestIn": word})
    proved = {one.name for one in straggler.CAUSES if one.evidence(case)}
    assert proved == {f"Slow{word.title()}"}


QUIET = {"compute": 100.0, "debugCalls": 1.0, "debugNs": 0.0, "syncCalls": 1.0}
CHECKS = "checks of a debugging aid per step {}, baseline 1"
TIME = "time in them {}, baseline 0.0 ms"
WAITS = "blocking synchronisations per step {}, baseline 1"


@pytest.mark.parametrize(
    ("now", "baseline", "said"),
    [
        ({**QUIET, "debugCalls": 9.0, "debugNs": 90.0}, None, ()),
        # They take time: three tenths of what the step grew.
        (
            {**QUIET, "compute": 10e6 + 100, "debugCalls": 2.0, "debugNs": 3e6},
            QUIET,
            (CHECKS.format(2), TIME.format("3 ms")),
        ),
        ({**QUIET, "compute": 10e6 + 100, "debugCalls": 2.0, "debugNs": 2.9e6}, QUIET, ()),
        ({**QUIET, "compute": 10e6 + 100, "debugCalls": 1.9, "debugNs": 9e6}, QUIET, ()),
        # Or the host waits after each.
        (
            {**QUIET, "compute": 10e6, "debugCalls": 3.0, "syncCalls": 5.0},
            QUIET,
            (CHECKS.format(3), TIME.format("0.0 ms"), WAITS.format(5)),
        ),
        ({**QUIET, "compute": 10e6, "debugCalls": 3.0, "syncCalls": 4.9}, QUIET, ()),
        ({**QUIET, "compute": 10e6, "debugCalls": 3.0, "syncCalls": 5.1}, QUIET, ()),
    ],
)
def test_a_debugging_aid_is_told_where_it_takes_time_or_the_host_waits_after_its_checks(
    now: Named, baseline: Named | None, said: tuple[str, ...]
) -> None:
    assert instrumentation._debug(case_of(now, baseline)) == said
