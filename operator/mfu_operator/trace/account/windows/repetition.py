"""Steps of a trace that marks none: told by what every step does once, and only where the kernels between repeat.

Two things happen once a step and hardly elsewhere: what PyTorch annotates by itself (the loader's next batch, the
optimizer's step), and the optimizer's kernels. Either gives places to cut; they are steps where the same kernels run
between one cut and the next, time after time. Layers repeat too, but no layer holds the optimizer.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mfu_operator.model.trace import NONE, DeviceOps, Flags, Ints, Spans, Trace, column
from mfu_operator.trace.account.accounting import on_thread
from mfu_operator.trace.account.steps import FEWEST_INTERIOR, Steps, outermost, too_few
from mfu_operator.trace.columns.distinct import with_places
from mfu_operator.trace.columns.parts import COMMUNICATION, COMPUTE
from mfu_operator.trace.names import kernels

MARKS = (
    ("the loader's next batch", re.compile(r"^enumerate\(DataLoader\)#.*__next__")),
    ("the optimizer's step", re.compile(r"^Optimizer\.step#")),
    ("zero_grad", re.compile(r"^Optimizer\.zero_grad#")),
)
"""What is annotated once a step, and how its name begins; the best edge of a step first."""

ALIKE = 0.9
"""Of two windows' kernels by name, the share that they have in common (Jaccard's index of the bags)."""

LEAST_KERNELS = 5
"""In a step: fewer repeat by chance."""

MOST = 0.5
"""Of the device's kernels: repetitions that hold fewer are not what the trace is of."""


@dataclass(frozen=True, slots=True)
class _Cuts:
    """Where steps may begin, ascending. `at` is when each kernel counts: on the host's side or on the device's."""

    start: Ints
    at: Ints
    thread: int | None
    told_by: str


def repeated(trace: Trace, ops: DeviceOps) -> Steps | None:
    """The steps between repetitions; None where nothing repeats beyond doubt.

    Args:
        trace: where the annotations are.
        ops: the operations of one device, by time of start.
    """
    return next((steps for cuts in _candidates(trace, ops) if (steps := _alike(ops, cuts)) is not None), None)


def between_optimizer_steps(trace: Trace) -> Steps | None:
    """The windows between two starts of the optimizer's step, where nothing else tells steps apart; None where there
    are not enough."""
    told_by, pattern = MARKS[1]
    marks = _marks(trace, pattern)
    if len(marks) <= FEWEST_INTERIOR:
        return None
    count = len(marks) - 1
    warning = f"no step range was found: {count} steps are distinguished by {told_by}; mark steps to be sure"
    names = tuple(f"repetition {number + 1}" for number in range(count))
    return Steps(names, marks.start[:-1], marks.start[1:], int(marks.thread[0]), (warning, *too_few(count)))


def _candidates(trace: Trace, ops: DeviceOps) -> Iterator[_Cuts]:
    issued = _issued(trace, ops)
    for told_by, pattern in MARKS:
        marks = _marks(trace, pattern)
        if len(marks) > FEWEST_INTERIOR:
            yield _Cuts(marks.start, issued, int(marks.thread[0]), told_by)
    optimizer = _optimizer(trace, ops)
    thread = _launching_thread(trace, ops.launch[optimizer])
    yield _Cuts(_after_optimizer(ops, optimizer), ops.start, thread, "the optimizer's kernels")


def _issued(trace: Trace, ops: DeviceOps) -> Ints:
    """When each operation was launched, or where that is not known when it started."""
    if not len(trace.calls):
        return ops.start
    return np.where(ops.launch == NONE, ops.start, trace.calls.start[np.maximum(ops.launch, 0)])


def _marks(trace: Trace, pattern: re.Pattern[str]) -> Spans:
    wanted = column([index for index, name in enumerate(trace.names) if pattern.match(name)])
    ranges = trace.ranges.where(np.isin(trace.ranges.name, wanted))
    if not len(ranges):
        return ranges
    return outermost(on_thread(ranges, int(np.argmax(np.bincount(ranges.thread)))))


def _optimizer(trace: Trace, ops: DeviceOps) -> Flags:
    """Whether each operation is a kernel of the optimizer."""
    named = column([int(kernels.category(name) == "optimizer") for name in trace.names])
    of_kernels: Flags = (ops.part == COMPUTE) & (named[ops.name] == 1)
    return of_kernels


def _after_optimizer(ops: DeviceOps, optimizer: Flags) -> Ints:
    """The starts of the kernels that follow each run of the optimizer's, on the stream that computes most."""
    compute = np.flatnonzero(ops.part == COMPUTE)
    if not len(compute):
        return column()
    _, place = with_places(ops.stream[compute])
    rows = compute[place == np.argmax(np.bincount(place))]
    places = np.flatnonzero(optimizer[rows])
    between = np.diff(places)
    if not len(between) or between.max() <= LEAST_KERNELS:
        return column()
    ends = np.append(places[:-1][between > between.max() / 2], places[-1])
    following = ops.start[rows[np.minimum(ends + 1, len(rows) - 1)]]
    return column(np.where(ends + 1 < len(rows), following, ops.end.max()))


def _launching_thread(trace: Trace, launch: Ints) -> int | None:
    """The thread of most of the launch calls; autograd's own launches more kernels than the one that trains."""
    launch = launch[launch != NONE]
    return int(np.argmax(np.bincount(trace.calls.thread[launch]))) if len(launch) else None


def _alike(ops: DeviceOps, cuts: _Cuts) -> Steps | None:
    """The longest run of windows between cuts in which the same kernels run."""
    if len(cuts.start) <= FEWEST_INTERIOR:
        return None
    mine = ops.part <= COMMUNICATION
    name, at = ops.name[mine], cuts.at[mine]
    order = np.argsort(at, kind="stable")
    edges = np.searchsorted(at[order], cuts.start)
    bags = [np.bincount(one, minlength=1) for one in np.split(name[order], edges)[1:-1]]
    first, last = _longest_run(bags)
    held = int(sum(bag.sum() for bag in bags[first:last]))
    if last - first < FEWEST_INTERIOR or held < max(MOST * len(name), LEAST_KERNELS * (last - first)):
        return None
    count = last - first
    warning = (
        f"no step range was found: {count} steps are distinguished by {cuts.told_by}, between which the same kernels "
        "repeat; mark steps with an NVTX range to be sure"
    )
    return Steps(
        tuple(f"repetition {number + 1}" for number in range(count)),
        cuts.start[first:last],
        cuts.start[first + 1 : last + 1],
        cuts.thread,
        (warning, *too_few(count)),
    )


def _longest_run(bags: list[Ints]) -> tuple[int, int]:
    """[first, last) of the longest run of bags of which each is like the one before."""
    best, first = (0, 0), 0
    for index in range(len(bags)):
        if index and not _same(bags[index - 1], bags[index]):
            first = index
        if index + 1 - first > best[1] - best[0]:
            best = (first, index + 1)
    return best


def _same(one: Ints, other: Ints) -> bool:
    width = max(len(one), len(other))
    one, other = (np.pad(bag, (0, width - len(bag))) for bag in (one, other))
    return int(np.minimum(one, other).sum()) >= ALIKE * max(int(np.maximum(one, other).sum()), LEAST_KERNELS)
