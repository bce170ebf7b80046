"""Which windows of time are the steps of training."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mfu_operator.errors import Unreadable
from mfu_operator.model.trace import Flags, Ints, Spans, Trace, column
from mfu_operator.trace.columns.distinct import distinct

COUNTED = r"[\W_]*\d*(\W*(of|/)\W*\d+)?\W*$"
"""After a step's name: nothing, its number (" 5", "_5", "[5]"), or its number and how many there are ("5/100")."""

PATTERNS = (
    re.compile(r"^ProfilerStep#?\s*\d*\*?$"),
    re.compile(
        r"^\W*(epoch[ _]?\d+[ ,_:/-]*)?((global|train(ing)?)[ _-]?)?(step|iteration|iter)" + COUNTED, re.IGNORECASE
    ),
    re.compile(r"^\W*(train(ing)?[ _-]?)?(mini[ _-]?)?batch" + COUNTED, re.IGNORECASE),
    re.compile(r"^\[pl\]\[profile\]run_training_batch$"),
)
"""Names of step ranges, the surest first; the last is PyTorch Lightning's own."""

NUMBERS = re.compile(r"\d+")

FEWEST_INTERIOR = 3
"""The first captured step carries the device's tail of the one before, the last may lack records: steps between them
speak for the run. From this many on, their spread does too."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Windows [start, end) in order of time, with names. `thread` opened them (None: not from ranges).

    `left_out` are those that are not like the others (`windows/uneven.py`).
    """

    names: tuple[str, ...]
    start: Ints
    end: Ints
    thread: int | None
    warnings: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.start)

    @property
    def interior(self) -> tuple[bool, ...]:
        """For each step, whether it has neighbours on both sides."""
        return tuple(0 < index < len(self) - 1 for index in range(len(self)))

    @property
    def counted(self) -> tuple[int, ...]:
        """The steps that the mean is over: the interior ones that are like the others, or all where there is none."""
        inner = tuple(index for index, inside in enumerate(self.interior) if inside and index not in self.left_out)
        return inner or tuple(range(len(self)))

    @property
    def alike(self) -> tuple[int, ...]:
        """The steps whose spread speaks for the run: those of the mean, or all but those left out where these are few.

        The lengths of the first and the last are known well enough for that, their parts are not.
        """
        if len(self.counted) >= FEWEST_INTERIOR:
            return self.counted
        return tuple(index for index in range(len(self)) if index not in self.left_out)


def find_steps(trace: Trace, step_range: str | None = None, process: int | None = None) -> Steps | None:
    """The steps that the trace's ranges mark; None where no range is one.

    Args:
        trace: what was recorded.
        step_range: the ranges' name (a trailing number may follow it) instead of the usual ones.
        process: look at ranges of this process only, as long as it has any.

    Raises:
        Unreadable: NoSuchRange, where `step_range` is given and no range has that name.
    """
    for pattern in _patterns(step_range):
        chosen = _matching(trace, pattern)
        if len(chosen):
            return _windows(trace, _of_one_loop(trace, _of_process(trace, chosen, process)))
    if step_range is not None:
        raise Unreadable(
            "NoSuchRange", f"{trace.path}: no range is named {step_range!r}; leave --step-range away or correct it"
        )
    return None


def in_counted(at: Ints, steps: Steps, counted: Sequence[int]) -> Flags:
    """Whether each time lies in a counted step."""
    index = np.searchsorted(steps.start, at, side="right") - 1
    wanted = np.zeros(len(steps), dtype=np.bool_)
    wanted[list(counted)] = True
    inside: Flags = (index >= 0) & wanted[index] & (at < steps.end[index])
    return inside


def span(start: int, end: int) -> Steps:
    """One window over everything, for a trace whose steps are not to be told apart."""
    warning = (
        "no step range was found, so the account is of the whole recorded span, with whatever of it is warm-up; "
        "mark steps with an NVTX range"
    )
    return Steps(("span",), column([start]), column([end]), None, (warning,))


def _patterns(step_range: str | None) -> tuple[re.Pattern[str], ...]:
    if step_range is None:
        return PATTERNS
    return (re.compile(rf"^{re.escape(step_range)}[ _#:=-]*\d*$"),)


def _matching(trace: Trace, pattern: re.Pattern[str]) -> Spans:
    wanted = [index for index, name in enumerate(trace.names) if pattern.match(name)]
    ranges = trace.ranges
    return ranges.where(np.isin(ranges.name, column(wanted)) & (ranges.end > ranges.start))


def _of_process(trace: Trace, ranges: Spans, process: int | None) -> Spans:
    same = trace.processes[ranges.thread] == process
    return ranges.where(same) if same.any() else ranges


def _of_one_loop(trace: Trace, ranges: Spans) -> Spans:
    """The ranges of one thread whose names differ in numbers only: enough of them, then those that cover most.

    A step may hold ranges that look like steps too (micro-batches, a helper's own batches).
    """
    stem_of = {int(one): NUMBERS.sub("", trace.names[one]) for one in distinct(ranges.name)}
    stems = {stem: number for number, stem in enumerate(dict.fromkeys(stem_of.values()))}
    stem = column([stems[stem_of[int(one)]] for one in ranges.name])
    loops = [
        outermost(ranges.where((ranges.thread == thread) & (stem == number)))
        for thread in distinct(ranges.thread)
        for number in stems.values()
    ]
    return max(loops, key=lambda one: (min(len(one), FEWEST_INTERIOR + 2), int((one.end - one.start).sum())))


def outermost(ranges: Spans) -> Spans:
    """Ranges by time of start, without those that lie within another."""
    order = np.lexsort((-ranges.end, ranges.start))
    end = np.maximum.accumulate(ranges.end[order])
    inside = np.append(False, ranges.end[order][1:] <= end[:-1])[: len(order)]
    kept = order[~inside]
    return Spans(*(getattr(ranges, name)[kept] for name in Spans.__slots__))


def _windows(trace: Trace, ranges: Spans) -> Steps:
    start, first = np.unique(ranges.start, return_index=True)
    last = first[-1]
    end = np.append(start[1:], ranges.end[last])
    names = tuple(trace.names[index] for index in ranges.name[first])
    return Steps(names, start, end, int(ranges.thread[last]), too_few(len(start)))


def too_few(count: int) -> tuple[str, ...]:
    """A warning where few steps were recorded, which says whose mean it is."""
    inner = count - 2
    if inner >= FEWEST_INTERIOR:
        return ()
    recorded = f"only {count} step{'s' if count > 1 else ''} recorded"
    if inner > 0:
        speaks = "the one between them speaks alone" if inner == 1 else f"the mean is over the {inner} between them"
        said = f"the first and the last carry what belongs to their neighbours, so {speaks}"
        return (f"{recorded}: {said}; record at least five",)
    said = "so the mean includes the first and the last, which carry what belongs to their neighbours"
    return (f"{recorded}, {said}; record at least five",)
