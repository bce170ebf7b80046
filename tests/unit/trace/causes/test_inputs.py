"""What proves each cause of a slow input, and what falls just short of it. Times in nanoseconds."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.trace.diagnosis.causes import inputs
from tests.support.cases import case_of

Named = Mapping[str, Any]

ALONE = "the training thread loads its batches itself: no worker hides the wait"
BEFORE_WORKERS = "the training thread loads its batches itself; in the baseline workers did"


@pytest.mark.parametrize(
    ("now", "baseline", "said"),
    [
        ({"loader": "inline"}, None, (ALONE,)),
        ({"loader": "workers"}, None, ()),
        ({}, None, ()),
        ({"loader": "inline"}, {}, (BEFORE_WORKERS,)),
        ({"loader": "inline"}, {"loader": "workers"}, (BEFORE_WORKERS,)),
        ({"loader": "inline"}, {"loader": "inline"}, ()),
        ({"loader": "inline", "inputNetworkCalls": 0.0}, {}, (BEFORE_WORKERS,)),
        (
            {"loader": "inline", "inputNetworkCalls": 3.0},
            {"loader": "workers"},
            (
                BEFORE_WORKERS,
                "calls to the store by the training thread itself, per step 3, baseline not recorded",
            ),
        ),
        (
            {"loader": "inline", "loaderThreads": 0.0},
            {"loader": "workers", "loaderThreads": 4.0},
            (BEFORE_WORKERS, "other threads that load 0, baseline 4"),
        ),
        ({"loader": "inline", "loaderThreads": 0.0}, {"loaderThreads": 0.0}, (BEFORE_WORKERS,)),
        ({"loader": "inline"}, {"loaderThreads": 4.0}, (BEFORE_WORKERS,)),
    ],
)
def test_a_training_thread_that_began_to_load_for_itself_is_told(
    now: Named, baseline: Named | None, said: tuple[str, ...]
) -> None:
    assert inputs._inline(case_of(now, baseline)) == said


@pytest.mark.parametrize(
    ("shown", "itself"),
    [
        ({}, None),
        ({"inputFileNs": 10.0, "inputRangeNs": 10.0}, None),
        ({"loader": "inline", "inputNetworkCalls": 0.0}, True),
        ({"loader": "workers", "inputNetworkCalls": 9.0}, False),
        ({"inputNetworkCalls": 0.0}, False),
        ({"inputNetworkCalls": 0.51}, True),
        ({"inputNetworkCalls": 0.5}, False),
        ({"inputNetworkCalls": 0.5, "inputRangeNs": 3.0}, False),
        ({"inputNetworkCalls": 0.5, "inputRangeNs": 8.0, "inputFileNs": 5.0}, True),
        ({"inputNetworkCalls": 0.5, "inputRangeNs": 8.0, "inputOwnNs": 5.0}, True),
        ({"inputNetworkCalls": 0.5, "inputRangeNs": 8.0, "inputFileNs": 3.0, "inputOwnNs": 2.0}, True),
        ({"inputNetworkCalls": 0.5, "inputRangeNs": 8.0, "inputFileNs": 2.0, "inputOwnNs": 2.0}, False),
        ({"inputNetworkCalls": 0.0, "inputRangeNs": 8.0, "inputFileNs": 5.0}, False),
        ({"inputNetworkCalls": 0.5, "inputFileNs": 5.0}, False),
        ({"inputNetworkCalls": 0.5, "inputRangeNs": 0.0, "inputFileNs": 5.0}, False),
    ],
)
def test_a_thread_loads_for_itself_where_its_loader_says_so_or_it_calls_the_store_and_works_while_it_waits(
    shown: Named, itself: bool | None
) -> None:
    assert inputs._loads_itself(case_of(shown).now) is itself


@pytest.mark.parametrize(
    ("now", "baseline", "fewer"),
    [
        ({"loaderThreads": 2.0, "idleInput": 20.0}, {"loaderThreads": 4.0}, True),
        ({"loaderThreads": 4.0, "idleInput": 20.0}, {"loaderThreads": 4.0}, False),
        ({"loaderThreads": 5.0, "idleInput": 20.0}, {"loaderThreads": 4.0}, False),
        ({"idleInput": 20.0}, {"loaderThreads": 4.0}, False),
        ({"loaderThreads": 2.0, "idleInput": 20.0}, {}, False),
        ({"loaderThreads": 2.0, "idleInput": 20.0}, None, False),
        ({"loaderThreads": 2.0, "idleInput": 20.0, "loadOwnNs": 10.0}, {"loaderThreads": 4.0}, True),
        ({"loaderThreads": 2.0, "idleInput": 20.0, "loadOwnNs": 11.0}, {"loaderThreads": 4.0}, False),
        (
            {"loaderThreads": 2.0, "idleInput": 20.0, "loadNetworkNs": 4.0, "loadFileNs": 4.0, "loadOwnNs": 4.0},
            {"loaderThreads": 4.0},
            False,
        ),
    ],
)
def test_fewer_threads_are_the_cause_where_they_do_not_load_for_longer(
    now: Named, baseline: Named | None, fewer: bool
) -> None:
    said = ("threads that load 2, baseline 4",) if fewer else ()
    assert inputs._fewer_workers(case_of(now, baseline)) == said


@pytest.mark.parametrize(
    ("now", "baseline", "period"),
    [
        ({"inputPeriod": 4.0}, {}, 4),
        ({"inputPeriod": 2.0}, None, 2),
        ({"inputPeriod": 1.0}, {}, None),
        ({}, {"inputPeriod": 4.0}, None),
        ({"inputPeriod": 4.0}, {"inputPeriod": 4.0}, None),
        ({"inputPeriod": 4.0}, {"inputPeriod": 8.0}, 4),
        # Workers that are too slow deliver together: every fourth time, or every second of these.
        ({"inputPeriod": 4.0, "loaderThreads": 4.0}, None, None),
        ({"inputPeriod": 4.0, "loaderThreads": 4.0}, {"loaderThreads": 8.0}, None),
        ({"inputPeriod": 8.0, "loaderThreads": 4.0}, {"loaderThreads": 4.0}, None),
        ({"inputPeriod": 6.0, "loaderThreads": 4.0}, {"loaderThreads": 4.0}, 6),
        ({"inputPeriod": 6.0, "loaderThreads": 0.0}, {"loaderThreads": 4.0}, 6),
    ],
)
def test_a_wait_that_comes_every_nth_step_is_told_where_it_did_not_before(
    now: Named, baseline: Named | None, period: int | None
) -> None:
    said = () if period is None else (f"the input wait comes every {period} steps and not between them",)
    assert inputs._bursts(case_of(now, baseline)) == said


@pytest.mark.parametrize(
    ("count", "share", "before", "event"),
    [
        (10, 0.6, None, True),
        (10, 0.6, 0.59, True),
        (10, 0.59, None, False),
        (10, None, 0.1, False),
        (10, 0.7, 0.7, False),
        (10, 0.7, 0.8, False),
        (3, 0.7, None, True),
        (3, 2 / 3, None, True),
        (3, 0.66, None, False),
        (2, 1.0, None, False),
        (0, 1.0, None, False),
    ],
)
def test_an_event_is_most_of_the_wait_in_one_step_of_three_or_more(
    count: int, share: float | None, before: float | None, event: bool
) -> None:
    shown = {"inputPeakShare": share} if share is not None else {}
    baseline = {"inputPeakShare": before} if before is not None else {}
    assert inputs._restart(case_of({"count": count, **shown}, baseline)) == ()
    found = inputs._restart(case_of({"count": count, "workerStarts": 0.5, **shown}, baseline))
    said = (f"one step of {count} holds {share or 0:.0%} of the input wait", "starts of workers per step 0.5")
    assert [one.partition(", baseline")[0] for one in found] == list(said if event else ())


STORE = "waiting for the store ({}) per step {} ms, baseline {} ms"


@pytest.mark.parametrize(
    ("now", "baseline", "said"),
    [
        ({"idleInput": 20e6, "loadNetworkNs": 20e6}, None, None),
        (
            {"idleInput": 20e6, "inputNetworkNs": 10e6},
            {"inputNetworkNs": 0.0},
            ("training thread, network", "10.0", "0.0"),
        ),
        ({"idleInput": 20e6, "inputNetworkNs": 9e6}, {"inputNetworkNs": 0.0}, None),
        (
            {"idleInput": 20e6, "inputBlockedNs": 12e6},
            {"inputBlockedNs": 0.0},
            ("training thread, blocked", "12.0", "0.0"),
        ),
        ({"idleInput": 20e6, "inputPollNs": 12e6}, {"inputPollNs": 0.0}, ("training thread, poll", "12.0", "0.0")),
        ({"idleInput": 20e6, "inputFileNs": 12e6}, {"inputFileNs": 0.0}, ("training thread, files", "12.0", "0.0")),
        (
            {"idleInput": 20e6, "loadNetworkNs": 12e6},
            {"loadNetworkNs": 0.0},
            ("loader threads, network", "12.0", "0.0"),
        ),
        ({"idleInput": 20e6, "loadFileNs": 12e6}, {"loadFileNs": 0.0}, ("loader threads, files", "12.0", "0.0")),
        ({"idleInput": 20e6, "storeNs": 12e6}, {"storeNs": 0.0}, ("by the names of ranges", "12.0", "0.0")),
        # Of two that grew the one that grew most is named.
        (
            {"idleInput": 20e6, "loadFileNs": 12e6, "loadNetworkNs": 14e6},
            {"loadFileNs": 0.0, "loadNetworkNs": 1e6},
            ("loader threads, network", "14.0", "1"),
        ),
        # The loader's own work grew as much or more.
        ({"idleInput": 20e6, "storeNs": 12e6, "loadOwnNs": 12e6}, {"storeNs": 0.0}, None),
        (
            {"idleInput": 20e6, "storeNs": 12e6, "loadOwnNs": 11e6},
            {"storeNs": 0.0},
            ("by the names of ranges", "12.0", "0.0"),
        ),
        # While others load, the training thread's wait is one for them.
        ({"idleInput": 20e6, "inputPollNs": 12e6, "loader": "workers"}, {"inputPollNs": 0.0}, None),
        ({"idleInput": 20e6, "inputPollNs": 12e6, "loaderThreads": 2.0}, {"inputPollNs": 0.0}, None),
        (
            {"idleInput": 20e6, "inputPollNs": 12e6, "loaderThreads": 0.0, "loader": "inline"},
            {"inputPollNs": 0.0},
            ("training thread, poll", "12.0", "0.0"),
        ),
    ],
)
def test_a_store_is_slow_where_waiting_for_it_is_half_of_what_the_input_grew_and_more_than_the_own_work(
    now: Named, baseline: Named | None, said: tuple[str, str, str] | None
) -> None:
    assert inputs._storage(case_of(now, baseline)) == (() if said is None else (STORE.format(*said),))


@pytest.mark.parametrize(
    ("now", "baseline", "said"),
    [
        ({"idleInput": 20e6, "loadOwnNs": 12e6}, None, None),
        (
            {"idleInput": 20e6, "loadOwnNs": 10e6},
            {"loadOwnNs": 0.0},
            "(loader threads, own work) per step 10.0 ms, baseline 0.0 ms",
        ),
        ({"idleInput": 20e6, "loadOwnNs": 9e6}, {"loadOwnNs": 0.0}, None),
        (
            {"idleInput": 20e6, "inputOwnNs": 12e6},
            {"inputOwnNs": 2e6},
            "(training thread, own work) per step 12.0 ms, baseline 2 ms",
        ),
        (
            {"idleInput": 20e6, "transformNs": 12e6},
            {},
            "(by the names of ranges) per step 12.0 ms, baseline not recorded",
        ),
        (
            {"idleInput": 20e6, "transformNs": 12e6, "loadOwnNs": 13e6},
            {"loadOwnNs": 0.0},
            "(loader threads, own work) per step 13.0 ms, baseline 0.0 ms",
        ),
    ],
)
def test_a_transform_is_slow_where_the_loaders_own_work_is_half_of_what_the_input_grew(
    now: Named, baseline: Named | None, said: str | None
) -> None:
    assert inputs._transform(case_of(now, baseline)) == (() if said is None else (f"computing in the loader {said}",))


WAITS = {"loadNetworkNs": 100e6, "loadFileNs": 60e6, "loaderThreads": 4.0}
NO_WAITS = {"loadNetworkNs": 0.0, "loadFileNs": 0.0}


@pytest.mark.parametrize(
    ("now", "baseline", "waits"),
    [
        (WAITS, WAITS, "network"),
        ({**WAITS, "loadNetworkNs": 104e6}, WAITS, "network"),
        ({**WAITS, "loadNetworkNs": 105e6}, WAITS, "network"),
        ({**WAITS, "loadNetworkNs": 106e6}, WAITS, None),
        ({**WAITS, "loadNetworkNs": 74e6}, WAITS, None),
        ({**WAITS, "loadFileNs": 170e6}, {**WAITS, "loadFileNs": 170e6}, "files"),
        ({**WAITS, "loadNetworkNs": 0.0}, {**WAITS, "loadNetworkNs": 0.0}, "files"),
        (WAITS, {"loaderThreads": 4.0}, None),
        ({**WAITS, **NO_WAITS}, {**WAITS, **NO_WAITS}, None),
        ({**WAITS, "loaderThreads": 0.0}, {**WAITS, "loaderThreads": 0.0}, None),
        ({**WAITS, "loaderThreads": 4.1}, WAITS, None),
        (WAITS, {**WAITS, "loaderThreads": 3.0}, None),
    ],
)
def test_what_as_many_threads_take_longer_for_is_their_own_where_they_wait_for_the_store_as_long(
    now: Named, baseline: Named, waits: str | None
) -> None:
    case = case_of({"idleInput": 20e6, **now}, baseline)
    found = inputs._transform(case)
    assert [said.split(" per step")[0] for said in found] == (
        []
        if waits is None
        else [f"waiting for the store (loader threads, {waits})", "by as many threads as before 4, baseline 4"]
    )


def test_the_loader_is_named_for_either_way_in_which_its_workers_are_gone() -> None:
    (cause,) = [one for one in inputs.CAUSES if one.name == "DataLoaderWorkers"]
    assert cause.evidence(case_of({"loader": "inline"})) == (ALONE,)
    fewer = case_of({"loaderThreads": 2.0, "idleInput": 20.0}, {"loaderThreads": 4.0})
    assert cause.evidence(fewer) == ("threads that load 2, baseline 4",)
    assert cause.evidence(case_of({})) == ()
