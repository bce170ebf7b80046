"""What is told of the training thread's input and of those who load for it. Times in nanoseconds."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mfu_operator.model import facts
from mfu_operator.model.trace import Trace, column
from mfu_operator.trace.account import host_facts
from mfu_operator.trace.account.steps import Steps
from tests.support.recording import Row, steps_of, trace_of

Named = Mapping[str, Any]

STEPS = steps_of(0, 100, 200, 300)
COUNTED = (1, 2)
"""Of these steps the first is not in the mean."""

DATA = [("data", 110, 130), ("data", 210, 220)]


def told(trace: Trace, steps: Steps = STEPS, counted: Sequence[int] = COUNTED) -> Named:
    """The facts by their names."""
    return facts_of_observed(host_facts.input_facts(trace, steps, counted))


def facts_of_observed(observed: Mapping[Any, float | str]) -> Named:
    return {fact.name: value for fact, value in observed.items()}


def test_nothing_is_told_of_input_without_a_thread_or_its_input_ranges() -> None:
    trace = trace_of(ranges=DATA)
    assert told(trace, steps_of(0, 100, 200, 300, thread=None)) == {}
    assert told(trace, steps_of(0, 100, 200, 300, thread=1)) == {}
    assert told(trace_of(ranges=[("forward", 110, 130)])) == {}
    assert told(trace_of(ranges=[("data", 110, 110)])) == {}


def test_input_is_told_per_counted_step_with_the_largest_ones_share() -> None:
    early = ("data", 0, 50)
    assert told(trace_of(ranges=[early, *DATA])) == {"inputPeakShare": 20 / 30, "inputRangeNs": 15.0}
    assert told(trace_of(ranges=[early])) == {}


@pytest.mark.parametrize(
    ("lengths", "period"),
    [
        ([1, 10, 1, 10, 1, 10], 2),
        ([1, 1, 10, 1, 1, 10, 1, 1], 3),
        ([10, 1, 1, 1, 10, 1, 1, 1], 4),
        ([1, 1, 10, 1, 1, 1], None),
        ([1, 10, 10, 1, 1, 1], None),
        ([1, 10, 1, 10, 1, 1, 10], None),
        ([1, 1, 1, 1], None),
        # Three times the lower quarter's, and of the longest more than three tenths.
        ([10, 31, 10, 31, 10, 31], 2),
        ([10, 30, 10, 30, 10, 30], None),
        ([0, 31, 0, 100, 0, 31], 2),
        ([0, 30, 0, 100, 0, 30], None),
        # Waits of every second step stand out, those of three in four do not.
        ([10, 10, 10, 10], None),
        ([10, 90, 90, 90, 10, 90, 90, 90], None),
    ],
)
def test_a_rhythm_is_a_long_wait_that_comes_at_least_twice_evenly_and_not_between(
    lengths: Sequence[int], period: int | None
) -> None:
    assert host_facts.rhythm(column(lengths)) == period
    observed = facts_of_observed(host_facts._per_step(column(lengths)))
    assert observed.get("inputPeriod") == period


def test_what_stands_out_is_far_longer_than_the_lower_quarter_and_than_a_tenth_of_the_longest() -> None:
    assert host_facts.stands_out(column([10, 10, 31, 30])).tolist() == [False, False, True, False]
    assert host_facts.stands_out(column([0, 0, 31, 30, 100])).tolist() == [False] * 2 + [True, False, True]
    assert host_facts.stands_out(column([20, 10, 10, 10, 10, 100])).tolist() == [False] * 5 + [True]


@pytest.mark.parametrize(
    ("name", "loads"),
    [
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", {"loader": "inline", "loaderThreads": 0.0}),
        ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", {"loader": "workers"}),
        ("data", {}),
    ],
)
def test_pytorchs_iterators_tell_who_loads(name: str, loads: Named) -> None:
    observed = told(trace_of(ranges=[(name, 110, 130), ("data", 210, 220)]))
    assert {key: observed[key] for key in ("loader", "loaderThreads") if key in observed} == loads


def test_operators_show_how_much_of_its_input_the_thread_computes() -> None:
    operators = [("aten::stack", 105, 120), ("aten::stack", 112, 125), ("aten::stack", 215, 216), ("aten::mm", 50, 60)]
    observed = told(trace_of(ranges=DATA, host_ops=operators))
    assert (observed["inputOwnNs"], observed["inputBlockedNs"]) == (8.0, 7.0)
    elsewhere = told(trace_of(ranges=DATA, host_ops=[("aten::stack", 110, 120, 1)]))
    assert "inputOwnNs" not in elsewhere
    calling = told(trace_of(ranges=DATA, host_ops=operators, os_calls=[("read", 110, 112)]))
    assert (calling["inputOwnNs"], "inputBlockedNs" in calling) == (14.0, False)


def test_the_operators_are_those_of_the_steps_own_thread() -> None:
    ranges = [(name, start, end, 2) for name, start, end in DATA]
    trace = trace_of(ranges=ranges, host_ops=[("aten::stack", 110, 120, 2), ("aten::stack", 110, 130, 0)])
    assert told(trace, steps_of(0, 100, 200, 300, thread=2))["inputOwnNs"] == 5.0


def test_calls_of_the_operating_system_split_the_input_by_what_they_wait_for() -> None:
    calls: list[Row] = [
        ("recv", 110, 114),
        ("poll", 112, 116),
        ("read", 116, 117),
        ("sem_wait", 117, 119),
        ("nanosleep", 119, 122),
        ("recv", 214, 230),
        ("recv", 108, 200, 1),
        ("recv", 109, 111),
        ("getpid", 122, 123),
    ]
    observed = told(trace_of(ranges=DATA, os_calls=calls))
    expected = {
        "inputNetworkNs": (4 + 6) / 2, "inputNetworkCalls": 1.0, "inputPollNs": 1.0, "inputPollCalls": 0.5,
        "inputFileNs": 0.5, "inputFileCalls": 0.5, "inputWaitNs": 1.0, "inputWaitCalls": 0.5,
        "inputSleepNs": 1.5, "inputSleepCalls": 0.5, "inputOwnNs": (30 - 10 - 2 - 1 - 2 - 3) / 2,
    }  # fmt: skip
    assert {name: observed[name] for name in expected} == expected


def test_ranges_name_what_is_read_from_the_store_and_what_is_a_transform() -> None:
    marked: list[Row] = [
        ("read_shard", 120, 130, 3),
        ("read_shard", 20, 30, 3),
        ("augment", 250, 256),
        ("augment", 300, 400),
    ]
    observed = told(trace_of(ranges=[*DATA, *marked]))
    assert (observed["storeNs"], observed["transformNs"]) == (5.0, 3.0)
    assert not {"storeNs", "transformNs"} & told(trace_of(ranges=DATA)).keys()


def test_starts_of_workers_are_counted_on_the_steps_thread() -> None:
    frame = "torch/utils/data/dataloader.py(1046): __init__"
    starts: list[Row] = [(frame, 120, 121), (frame, 20, 21), (frame, 120, 121, 1)]
    forks: list[Row] = [("fork", 130, 131), ("clone", 140, 141), ("fork", 130, 131, 1), ("fork", 300, 301)]
    assert told(trace_of(ranges=[*DATA, *starts], os_calls=forks))["workerStarts"] == 1.5
    assert told(trace_of(ranges=[*DATA, *starts]))["workerStarts"] == 0.5
    assert "workerStarts" not in told(trace_of(ranges=DATA, os_calls=[("read", 110, 111)]))


@pytest.mark.parametrize(
    ("ranges", "calls", "threads"),
    [
        ([], [("read", 0, 1)], 0.0),
        ([("data", 110, 120, 1)], [], 1.0),
        ([("data", 110, 120, 1), ("data", 110, 120, 2)], [("recv", 0, 5, 3)], 3.0),
        ([], [("recv", 0, 5)], 0.0),
        # During the steps: not before, not after.
        ([("data", -20, 0, 1), ("data", 300, 320, 2)], [("recv", 0, 5)], 0.0),
        ([("data", -20, 1, 1), ("data", 299, 320, 2)], [("recv", 0, 5)], 2.0),
        # Of calls to files a hundredth of the steps.
        ([], [("read", 10, 14, 4)], 1.0),
        ([], [("read", 10, 13, 4)], 0.0),
        ([], [("read", 10, 12, 4), ("pread", 20, 22, 4)], 1.0),
        ([], [("read", -100, 0, 4), ("read", 300, 400, 5)], 0.0),
        ([], [("read", -100, 1, 4), ("read", 299, 400, 5)], 2.0),
        ([], [("poll", 10, 290, 4)], 0.0),
    ],
)
def test_other_threads_load_that_run_input_ranges_talk_to_a_store_or_read_files(
    ranges: Sequence[Row], calls: Sequence[Row], threads: float
) -> None:
    assert told(trace_of(ranges=[*DATA, *ranges], os_calls=calls))["loaderThreads"] == threads


def test_the_part_that_a_reader_spends_in_files_is_of_the_steps_length() -> None:
    later = steps_of(10_000, 10_100, 10_200, 10_300)
    trace = trace_of(ranges=[("data", 10_110, 10_130)], os_calls=[("read", 10_010, 10_014, 4)])
    assert told(trace, later)["loaderThreads"] == 1.0


def test_the_steps_own_thread_is_no_other_one() -> None:
    ranges: list[Row] = [("data", 110, 130, 2), ("data", 110, 130, 0)]
    assert told(trace_of(ranges=ranges), steps_of(0, 100, 200, 300, thread=2))["loaderThreads"] == 1.0


def test_without_another_thread_and_without_calls_nothing_is_said_of_loaders() -> None:
    assert not {"loaderThreads", "loadOwnNs", "loadNetworkNs"} & told(trace_of(ranges=DATA)).keys()
    alone = told(trace_of(ranges=[*DATA, ("data", 110, 190, 1)]))
    assert (alone["loaderThreads"], "loadOwnNs" in alone) == (1.0, False)


def test_a_loaders_threads_wait_for_the_store_or_compute_in_their_input_ranges() -> None:
    ranges: list[Row] = [*DATA, ("data", 50, 190, 1), ("data", 110, 150, 2)]
    calls: list[Row] = [
        ("recv", 100, 120, 1), ("poll", 120, 130, 1), ("read", 130, 140, 1), ("sem_wait", 140, 150, 1),
        ("nanosleep", 150, 160, 1), ("recv", 140, 180, 2), ("recv", 110, 150, 0), ("recv", 200, 300, 3),
        ("fork", 180, 190, 1),
    ]  # fmt: skip
    observed = told(trace_of(ranges=ranges, os_calls=calls))
    assert (observed["loadNetworkNs"], observed["loadOwnNs"]) == ((60 + 10) / 2, (90 + 40 - 70) / 2)


def test_threads_that_mark_no_range_tell_only_what_they_wait_for() -> None:
    calls: list[Row] = [
        ("recv", 90, 120, 1), ("recv", 110, 130, 1), ("recv", 110, 130, 2), ("read", 250, 270, 2),
        ("recv", 110, 190, 0), ("read", 110, 190, 0),
    ]  # fmt: skip
    observed = told(trace_of(ranges=DATA, os_calls=calls))
    assert (observed["loadNetworkNs"], observed["loadFileNs"], "loadOwnNs" in observed) == ((30 + 20) / 2, 10.0, False)


def test_the_thread_of_the_steps_is_none_of_the_loaders() -> None:
    steps = steps_of(0, 100, 200, 300, thread=2)
    ranges: list[Row] = [("data", 110, 130, 2), ("data", 110, 150, 0)]
    calls: list[Row] = [("recv", 110, 130, 2), ("recv", 120, 130, 0), ("fork", 115, 116, 2)]
    marked = told(trace_of(ranges=ranges, os_calls=calls), steps)
    assert (marked["loadNetworkNs"], marked["loadOwnNs"], marked["inputNetworkNs"]) == (5.0, 15.0, 10.0)
    assert marked["workerStarts"] == 0.5
    unmarked = told(trace_of(ranges=ranges[:1], os_calls=calls), steps)
    assert unmarked["loadNetworkNs"] == 5.0


def test_loading_is_told_of_every_step_of_the_thread() -> None:
    trace = trace_of(ranges=[*DATA, ("data", 10, 190, 1), ("forward", 0, 90)])
    assert host_facts.loading(trace, STEPS).tolist() == [0, 20, 10]
    assert host_facts.loading(trace, steps_of(0, 100, 200, 300, thread=None)).tolist() == [0, 0, 0]
    assert host_facts.loading(trace, steps_of(0, 100, 200, 300, thread=1)).tolist() == [90, 90, 0]


def test_compiling_is_told_of_every_step_wherever_it_is_marked() -> None:
    trace = trace_of(
        ranges=[("compile_fx", 10, 20, 5)],
        host_ops=[("TorchDynamo Cache Lookup", 15, 30, 1)],
        calls=[("cuModuleLoadDataEx", 110, 115), ("cudaLaunchKernel", 100, 190)],
    )
    assert host_facts.compiling(trace, STEPS).tolist() == [20, 5, 0]


def test_a_thread_is_blocked_in_calls_that_wait_for_something() -> None:
    calls: list[Row] = [
        ("recv", 90, 120),
        ("poll", 110, 130),
        ("fork", 150, 160),
        ("read", 100, 200, 1),
        ("nanosleep", 290, 310),
    ]
    trace = trace_of(os_calls=calls)
    assert host_facts.blocked_facts(trace, STEPS, COUNTED) == {facts.HOST_BLOCKED_NS: 20.0}
    assert host_facts.blocked_facts(trace, steps_of(0, 100, thread=None), (0,)) == {}
    assert host_facts.blocked_facts(trace_of(), STEPS, COUNTED) == {}
