"""Readings from records of named cells: which name holds the time, the step, the speed and the phase."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mfu_operator.cli.replay.history import History
from mfu_operator.errors import Unreadable
from mfu_operator.model.baseline import Signal
from mfu_operator.model.series import Phase, Reading

_CLOCKS = ("time", "timestamp", "wall_time", "created_at", "date")
"""Names of a moment. One that counts from a run's start below 10⁹ is taken as seconds from there."""

_ELAPSED = ("elapsed_s", "train_runtime", "runtime", "elapsed_time", "relative_time_process", "relative_time_wall")
"""Names of seconds since the run started: ours, the Hugging Face Trainer's, and Weights & Biases'."""

_STEPS = ("step", "global_step", "iteration", "current_steps", "sample_or_step")

_NAMES: Mapping[Signal, tuple[str, ...]] = {
    Signal.MFU: ("mfu", "model_flops_utilization"),
    Signal.THROUGHPUT: (
        *("tokens_per_second_per_gpu", "tokens_per_sec_per_gpu", "tokens_per_second", "tokens_per_sec", "tps"),
        *("throughput", "items_per_sec", "samples_per_sec", "samples_per_second", "throughput_per_gpu_tflop_s_gpu"),
    ),
    Signal.STEP_TIME: ("step_time_s", "step_time", "iteration_time", "train_step_timing", "sec_per_step"),
}
"""Names of the speed, those that say most first: the probe's, Lightning's, NeMo's and Megatron-LM's among them."""

_MS_PER_STEP = ("elapsed_time_per_iteration_ms", "step_time_ms")
_COUNTED = ("num_input_tokens_seen", "consumed_samples")
"""What only grows: its growth over time is the throughput."""

_MOST_SHOWN = 12
_MOST_RECORDS = 2_000_000
_UNIX_S = 1e9


@dataclass(frozen=True, slots=True)
class Record:
    """A row, an entry or a line, with the place that a message names."""

    where: str
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Row:
    """A record's time, step and cells by their plain names."""

    where: str
    time_s: float
    is_date: bool
    step: float | None
    cells: Mapping[str, str]


def history_of(records: Sequence[Record], path: Path, signal: Signal, column: str | None) -> History:
    """The readings that records hold, oldest first. Where nothing says the speed but steps and times do, the step time
    is their quotient.

    Raises:
        Unreadable: (UnreadableSeries) where there is no time, or nothing that says `signal`.
    """
    if len(records) > _MOST_RECORDS:
        raise Unreadable("UnreadableSeries", f"{path}: more than {_MOST_RECORDS:,} records; give fewer")
    rows = list(_rows(records, path))
    readings = list(_readings(rows, path, signal, column))
    by_time = {reading.time_s: reading for reading in readings}
    return History(tuple(by_time[time_s] for time_s in sorted(by_time)), any(row.is_date for row in rows))


def plain(name: str) -> str:
    """A name without its group and its unit's marks: "train/device/tokens_per_sec" is "tokens_per_sec"."""
    last = name.rpartition(" - ")[2].strip() if " - " in name else name
    if "(" not in last:
        last = last.rpartition("/")[2]
    return re.sub(r"[^a-z0-9]+", "_", last.lower()).strip("_")


def _rows(records: Sequence[Record], path: Path) -> Iterator[_Row]:
    """With a time: a moment, seconds from the start, or the sum of the step times."""
    named = [(record.where, _by_plain_name(record.cells)) for record in records]
    clock = _known(named, (*_CLOCKS, *_ELAPSED))
    step = _known(named, _STEPS)
    sum_s, before = 0.0, None
    timed = False
    for where, cells in named:
        number = _number(cells.get(step, "")) if step else None
        if clock is not None:
            when = _moment(cells.get(clock, ""), where)
            if when is None:
                continue
            timed = True
            yield _Row(where, when[0], when[1], number, cells)
            continue
        step_s = _speed(cells, Signal.STEP_TIME)
        if step_s is None or number is None:
            continue
        sum_s += step_s * (number - before if before is not None and number > before else 1.0)
        before, timed = number, True
        yield _Row(where, sum_s, False, number, cells)
    if not timed:
        raise Unreadable(
            "UnreadableSeries",
            f"{path}: nothing says when: there is no {', '.join((*_CLOCKS[:3], *_ELAPSED[:3]))}, nor a step and its "
            f"time; found are {_shown(named)}. A trainer_state.json has train_runtime where the Trainer runs with "
            "include_num_input_tokens_seen; the TensorBoard event file of the same run has times",
        )


def _by_plain_name(cells: Mapping[str, str]) -> dict[str, str]:
    """Of several with one plain name (train/loss, val/loss) that of the training, else the first."""
    found: dict[str, str] = {}
    for name, cell in cells.items():
        if plain(name) not in found or name.lower().startswith("train"):
            found[plain(name)] = cell
    return found


def _readings(rows: Sequence[_Row], path: Path, signal: Signal, column: str | None) -> Iterator[Reading]:
    if column is not None:
        yield from _of_column(rows, path, signal, plain(column))
        return
    if any("kind" in row.cells for row in rows):
        yield from _of_kinds(rows, signal)
        return
    running_mean = any("train_runtime" in row.cells for row in rows)
    stated = [] if running_mean else [(row, _speed(row.cells, signal)) for row in rows]
    if any(value is not None for _, value in stated):
        for row, value in stated:
            if value is not None:
                yield Reading(row.time_s, {signal: value}, _phase(row), row.step)
        return
    derived = list(_derived(rows, signal))
    if not derived:
        raise Unreadable(
            "UnreadableSeries",
            f"{path}: nothing says the {signal}: name the column with --column, or another signal with --signal; found "
            f"are {_shown([(row.where, row.cells) for row in rows])}",
        )
    yield from derived


def _of_column(rows: Sequence[_Row], path: Path, signal: Signal, column: str) -> Iterator[Reading]:
    found = False
    for row in rows:
        if column in row.cells:
            value = _number(row.cells[column])
            if value is None:
                raise Unreadable("UnreadableSeries", f"{row.where}: {row.cells[column][:40]!r} is not a number")
            found = True
            yield Reading(row.time_s, {signal: value}, _phase(row), row.step)
    if not found:
        shown = _shown([(row.where, row.cells) for row in rows])
        raise Unreadable("UnreadableSeries", f"{path}: there is no column {column}; found are {shown}")


def _of_kinds(rows: Sequence[_Row], signal: Signal) -> Iterator[Reading]:
    """Rows of one kind of value each, as in MLPerf's logs: an evaluation lasts from `eval_start` to `eval_stop`."""
    phase = Phase.RUNNING
    for row in rows:
        kind, value = row.cells.get("kind", ""), _number(row.cells.get("value", ""))
        if kind in ("eval_start", "eval_stop"):
            phase = Phase.EVALUATION if kind == "eval_start" else Phase.RUNNING
            yield Reading(row.time_s, {}, phase, None)
        elif kind in _NAMES[signal] and value is not None:
            yield Reading(row.time_s, {signal: value}, phase, row.step)


def _derived(rows: Sequence[_Row], signal: Signal) -> Iterator[Reading]:
    """From one record to the next: seconds for each step, or what was counted for each second. Time that a record says
    it evaluated for (`eval_runtime`) is taken off."""
    counter = next((name for name in _COUNTED if sum(name in row.cells for row in rows) > 1), None)
    evaluated_s = 0.0
    last: _Row | None = None
    for row in rows:
        evaluated_s += _number(row.cells.get("eval_runtime", "")) or 0.0
        if row.step is None or "eval_runtime" in row.cells:
            continue
        if last is not None and last.step is not None and row.step > last.step:
            spent_s = row.time_s - last.time_s - evaluated_s
            grew = _growth(last, row, counter) if signal is Signal.THROUGHPUT else row.step - last.step
            if spent_s > 0 and grew and signal is not Signal.MFU:
                value = grew / spent_s if signal is Signal.THROUGHPUT else spent_s / grew
                yield Reading(row.time_s, {signal: value}, Phase.UNKNOWN, row.step)
        last, evaluated_s = row, 0.0


def _growth(before: _Row, now: _Row, counter: str | None) -> float | None:
    if counter is None:
        return None
    first, last = _number(before.cells.get(counter, "")), _number(now.cells.get(counter, ""))
    return None if first is None or last is None or last <= first else last - first


def _speed(cells: Mapping[str, str], signal: Signal) -> float | None:
    for name in _NAMES[signal]:
        value = _number(cells.get(name, ""))
        if value is not None:
            return value
    if signal is Signal.STEP_TIME:
        for name in _MS_PER_STEP:
            milliseconds = _number(cells.get(name, ""))
            if milliseconds is not None:
                return milliseconds / 1000.0
    return None


def _phase(row: _Row) -> Phase:
    """A step that an evaluation stands before is no step of the training."""
    return Phase.EVALUATION if _number(row.cells.get("after_eval", "")) == 1.0 else Phase.UNKNOWN


def _known(named: Sequence[tuple[str, Mapping[str, str]]], names: Sequence[str]) -> str | None:
    """The first of the names that more than one record has, or the only one has."""
    least = min(2, len(named))
    return next((name for name in names if sum(name in cells for _, cells in named) >= least), None)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _moment(text: str, where: str) -> tuple[float, bool] | None:
    """Seconds, and whether they are a moment rather than counted from the start; None for an empty cell."""
    if not text.strip():
        return None
    number = _number(text)
    if number is not None:
        seconds = number / 1000.0 if number > 1e11 else number
        return seconds, seconds > _UNIX_S
    try:
        found = datetime.fromisoformat(text.strip().upper())
    except ValueError:
        raise Unreadable("UnreadableSeries", f"{where}: {text[:40]!r} is not a time") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp(), True


def _shown(named: Sequence[tuple[str, Mapping[str, str]]]) -> str:
    """The names that hold numbers, the commonest first."""
    counts: dict[str, int] = {}
    for _, cells in named:
        for name, cell in cells.items():
            if _number(cell) is not None:
                counts[name] = counts.get(name, 0) + 1
    names = sorted(counts, key=lambda name: -counts[name])
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return (", ".join(names[:_MOST_SHOWN]) or "no numbers") + more
