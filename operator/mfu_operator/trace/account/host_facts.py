"""What the host did: observations about the training thread and its helpers that causes are told by.

All nanosecond and call facts are per mean counted step. A fact that the recording cannot show is absent.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from mfu_operator.model import facts
from mfu_operator.model.fact import Fact, Number, Observed
from mfu_operator.model.trace import Flags, Ints, Spans, Trace
from mfu_operator.trace.account.accounting import on_thread
from mfu_operator.trace.account.steps import Steps, in_counted
from mfu_operator.trace.columns import intervals
from mfu_operator.trace.columns.distinct import distinct, used
from mfu_operator.trace.columns.intervals import TimeSet
from mfu_operator.trace.names.range_names import select

PEAK = 3.0
"""Times the wait of the lower quarter of steps: a step that waits longer stands out, be it every second one."""

LEAST_READING = 0.01
"""Of the steps: a thread that is in calls to files for longer is a loader's."""

OS_CALLS: Mapping[str, tuple[Number, Number]] = {
    "network": (facts.INPUT_NETWORK_NS, facts.INPUT_NETWORK_CALLS),
    "poll": (facts.INPUT_POLL_NS, facts.INPUT_POLL_CALLS),
    "file": (facts.INPUT_FILE_NS, facts.INPUT_FILE_CALLS),
    "wait": (facts.INPUT_WAIT_NS, facts.INPUT_WAIT_CALLS),
    "sleep": (facts.INPUT_SLEEP_NS, facts.INPUT_SLEEP_CALLS),
}
"""By what the names' table calls blocking calls to the operating system: the facts of their time and number."""


def input_facts(trace: Trace, steps: Steps, counted: Sequence[int]) -> Observed:
    """How the step's thread spends its input ranges, and who else loads.

    loader: "inline" where the step's thread itself talks to the store, "workers" where it only waits for others;
    input{Network,Poll,File,Wait,Sleep}Ns and input…Calls; inputOwnNs: the rest, its own computing;
    loaderThreads: other threads that load; inputPeakShare: the largest step's share of all input time.
    """
    if steps.thread is None:
        return {}
    ranges = select(on_thread(trace.ranges, steps.thread), trace.names, "range", "idleInput")
    input_times = intervals.union(ranges.start, ranges.end)
    if not len(input_times.start):
        return {}
    observed = dict(_per_step(intervals.within(input_times, *_windows(steps, counted))))
    observed |= _loader(trace, ranges)
    observed |= _operators(trace, steps, counted, input_times)
    if len(trace.os_calls):
        observed |= _os_facts(trace, steps, counted, input_times)
    observed |= _marked_parts(trace, steps, counted)
    observed |= _worker_starts(trace, steps, counted)
    others = _loading_threads(trace, steps)
    if len(trace.os_calls) or others:
        observed[facts.LOADER_THREADS] = float(others)
        observed |= _helpers(trace, steps, counted)
    return observed


def loading(trace: Trace, steps: Steps) -> Ints:
    """Nanoseconds of each step in which its thread is in ranges that load, shape (steps,)."""
    if steps.thread is None:
        return np.zeros(len(steps), dtype=np.int64)
    ranges = select(on_thread(trace.ranges, steps.thread), trace.names, "range", "idleInput")
    return intervals.within(intervals.union(ranges.start, ranges.end), steps.start, steps.end)


def compiling(trace: Trace, steps: Steps) -> Ints:
    """Nanoseconds of each step in ranges and calls of a compiler, shape (steps,)."""
    marked = [select(one, trace.names, "mark", "compile") for one in (trace.ranges, trace.host_ops, trace.calls)]
    times = intervals.union(*(np.concatenate([getattr(one, edge) for one in marked]) for edge in ("start", "end")))
    return intervals.within(times, steps.start, steps.end)


def blocked_facts(trace: Trace, steps: Steps, counted: Sequence[int]) -> Observed:
    """How long the step's thread is blocked in the operating system, input or not; absent without such calls."""
    if steps.thread is None or not len(trace.os_calls):
        return {}
    calls = select(on_thread(trace.os_calls, steps.thread), trace.names, "os", *OS_CALLS)
    times = intervals.union(calls.start, calls.end)
    return {facts.HOST_BLOCKED_NS: float(intervals.within(times, *_windows(steps, counted)).mean())}


def _thread(steps: Steps) -> int:
    """The thread of the steps, which `input_facts` made sure of."""
    assert steps.thread is not None
    return steps.thread


def _windows(steps: Steps, counted: Sequence[int]) -> tuple[Ints, ...]:
    return steps.start[list(counted)], steps.end[list(counted)]


def _per_step(lengths: Ints) -> Observed:
    total = float(lengths.sum())
    if not total:
        return {}
    observed: dict[Fact, float | str] = {
        facts.INPUT_PEAK_SHARE: float(lengths.max()) / total,
        facts.INPUT_RANGE_NS: total / len(lengths),
    }
    period = rhythm(lengths)
    return observed if period is None else {**observed, facts.INPUT_PERIOD: float(period)}


def stands_out(lengths: Ints) -> Flags:
    """Whether each of the waits is far longer than most."""
    far: Flags = lengths > PEAK * max(float(np.quantile(lengths, 0.25)), lengths.max() / 10)
    return far


def rhythm(lengths: Ints) -> int | None:
    """Every how many steps a long wait comes, where it comes at least twice, evenly, and not between."""
    peaks = np.flatnonzero(stands_out(lengths))
    distances = distinct(np.diff(peaks))
    if len(distances) != 1 or distances[0] < 2:
        return None
    return int(distances[0])


def _loader(trace: Trace, ranges: Spans) -> Observed:
    """PyTorch names its two iterators."""
    names = {trace.names[one] for one in used(ranges.name)}
    if any("_SingleProcessDataLoaderIter" in one for one in names):
        return {facts.LOADER: "inline", facts.LOADER_THREADS: 0.0}
    return {facts.LOADER: "workers"} if any("_MultiProcessingDataLoaderIter" in one for one in names) else {}


def _operators(trace: Trace, steps: Steps, counted: Sequence[int], input_times: TimeSet) -> Observed:
    """How much of its input time the step's thread computes in framework operators, and how much it is blocked."""
    mine = on_thread(trace.host_ops, _thread(steps))
    if not len(mine) or len(trace.os_calls):
        return {}
    busy = intervals.intersect(intervals.union(mine.start, mine.end), input_times)
    start, end = _windows(steps, counted)
    own = float(intervals.within(busy, start, end).mean())
    return {
        facts.INPUT_OWN_NS: own,
        facts.INPUT_BLOCKED_NS: float(intervals.within(input_times, start, end).mean()) - own,
    }


def _marked_parts(trace: Trace, steps: Steps, counted: Sequence[int]) -> Observed:
    """What ranges on any thread name as reading from a store or as a transform, each innermost one by itself."""
    observed: dict[Fact, float | str] = {}
    for word, fact in (("store", facts.STORE_NS), ("transform", facts.TRANSFORM_NS)):
        marked = select(trace.ranges, trace.names, "mark", word)
        marked = marked.where(in_counted(marked.start, steps, counted))
        if len(marked):
            observed[fact] = float((marked.end - marked.start).sum()) / len(counted)
    return observed


def _worker_starts(trace: Trace, steps: Steps, counted: Sequence[int]) -> Observed:
    """Starts of the loader's workers on the step's thread; absent where none is seen, which may be for want of stacks
    and calls of the operating system."""
    frames = select(on_thread(trace.ranges, _thread(steps)), trace.names, "mark", "workers")
    forks = select(on_thread(trace.os_calls, _thread(steps)), trace.names, "os", "start")
    started = sum(int(in_counted(one.start, steps, counted).sum()) for one in (frames, forks))
    return {facts.WORKER_STARTS: started / len(counted)} if started else {}


def _os_facts(trace: Trace, steps: Steps, counted: Sequence[int], input_times: TimeSet) -> Observed:
    start, end = _windows(steps, counted)
    mine = on_thread(trace.os_calls, _thread(steps))
    inside = mine.where(intervals.covers(input_times, mine.start))
    observed: dict[Fact, float | str] = {}
    left = input_times
    for one, (spent, number) in OS_CALLS.items():
        calls = select(inside, trace.names, "os", one)
        times = intervals.intersect(intervals.union(calls.start, calls.end), left)
        left = intervals.subtract(left, times)
        observed[spent] = float(intervals.within(times, start, end).mean())
        observed[number] = _calls_in(calls, start, end)
    observed[facts.INPUT_OWN_NS] = float(intervals.within(left, start, end).mean())
    return observed


def _calls_in(calls: Spans, start: Ints, end: Ints) -> float:
    starts = np.sort(calls.start)
    inside = np.searchsorted(starts, end) - np.searchsorted(starts, start)
    return float(inside.mean())


def _loading_threads(trace: Trace, steps: Steps) -> int:
    """Other threads that, during the steps, ran input ranges or talked to a store."""
    low, high = int(steps.start[0]), int(steps.end[-1])
    ranges = select(trace.ranges, trace.names, "range", "idleInput")
    calls = select(trace.os_calls, trace.names, "os", "network")
    seen: set[int] = set()
    for spans in (ranges, calls):
        during = spans.where((spans.end > low) & (spans.start < high))
        seen |= {int(one) for one in used(during.thread)}
    return len((seen | _reading(trace, low, high)) - {_thread(steps)})


def _reading(trace: Trace, low: int, high: int) -> set[int]:
    """Threads that spend a part of [low, high) in calls to files, which is more than a look at one."""
    calls = select(trace.os_calls, trace.names, "os", "file")
    during = calls.where((calls.end > low) & (calls.start < high))
    spent = np.bincount(during.thread, during.end - during.start)
    return {int(one) for one in np.flatnonzero(spent > LEAST_READING * (high - low))}


def _helpers(trace: Trace, steps: Steps, counted: Sequence[int]) -> Observed:
    """What the loader's own threads spend per step: waiting for the store, and computing in their input ranges.

    Without calls of the operating system nobody can tell the one from the other.
    """
    if not len(trace.os_calls):
        return {}
    ranges = select(trace.ranges, trace.names, "range", "idleInput")
    ranges = ranges.where(ranges.thread != _thread(steps))
    if not len(ranges):
        return _unmarked_helpers(trace, steps, counted)
    start, end = _windows(steps, counted)
    waiting, whole = 0, 0
    for thread in used(ranges.thread):
        mine = on_thread(ranges, int(thread))
        loading = intervals.union(mine.start, mine.end)
        calls = select(
            on_thread(trace.os_calls, int(thread)), trace.names, "os", "network", "poll", "file", "wait", "sleep"
        )
        blocked = intervals.intersect(intervals.union(calls.start, calls.end), loading)
        whole += int(intervals.within(loading, start, end).sum())
        waiting += int(intervals.within(blocked, start, end).sum())
    return {facts.LOAD_NETWORK_NS: waiting / len(start), facts.LOAD_OWN_NS: (whole - waiting) / len(start)}


def _unmarked_helpers(trace: Trace, steps: Steps, counted: Sequence[int]) -> Observed:
    """What other threads wait for a store, where none of them marks its ranges: what they compute is not known."""
    start, end = _windows(steps, counted)
    others = trace.os_calls.where(trace.os_calls.thread != _thread(steps))
    observed: dict[Fact, float | str] = {}
    for fact, meaning in ((facts.LOAD_NETWORK_NS, "network"), (facts.LOAD_FILE_NS, "file")):
        calls = select(others, trace.names, "os", meaning)
        spent = 0
        for thread in used(calls.thread):
            mine = on_thread(calls, int(thread))
            spent += int(intervals.within(intervals.union(mine.start, mine.end), start, end).sum())
        observed[fact] = spent / len(start)
    return observed
