"""A series of readings from a CSV file."""

import csv
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mfu_operator.api.quantities import rfc3339
from mfu_operator.detect.formatting import moment
from mfu_operator.errors import Unreadable
from mfu_operator.model.baseline import Signal
from mfu_operator.model.series import Phase, Reading

_PHASES = {str(phase): phase for phase in Phase} | {
    "run": Phase.RUNNING,
    "train": Phase.RUNNING,
    "training": Phase.RUNNING,
    "eval": Phase.EVALUATION,
    "evaluating": Phase.EVALUATION,
    "validation": Phase.EVALUATION,
    "ckpt": Phase.CHECKPOINT,
    "checkpointing": Phase.CHECKPOINT,
    "save": Phase.CHECKPOINT,
    "start": Phase.STARTING,
    "warmup": Phase.STARTING,
    "restarting": Phase.STARTING,
    "pause": Phase.PAUSED,
    "idle": Phase.PAUSED,
    "hung": Phase.PAUSED,
}
"""The phases, and what trainers' logs call them."""

_LAST_S = 1e11
"""In the year 5138, as Unix seconds; in 1973, as milliseconds."""

_FIRST_UNIX_S = 1e9
"""In 2001 as Unix seconds, 32 years from the start of a series."""

_MOST_SHOWN = 60

_NO_VALUE = frozenset({"", "null", "none", "na", "n/a"})


@dataclass(frozen=True, slots=True)
class History:
    """Readings oldest first, and whether their times were written as RFC 3339 (otherwise as seconds)."""

    readings: tuple[Reading, ...]
    dated: bool

    def written(self, time_s: float) -> str | float:
        """A time as the series writes its own, for programs."""
        return rfc3339(time_s) if self.dated else round(time_s, 3)

    def told(self, time_s: float) -> str:
        """A time as people read it: "2026-09-21 14:32:07 UTC", or "1h52m30s" from the start of the series."""
        if self.dated or time_s > _FIRST_UNIX_S:
            return moment(time_s)
        minutes, seconds = divmod(round(time_s), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}h{minutes:02}m{seconds:02}s" if hours else f"{minutes}m{seconds:02}s"


def read_csv(path: Path, signal: Signal, text: str | None = None) -> History:
    """Read columns `time` (RFC 3339, Unix seconds, or seconds from the start), `value`, and optionally `phase`.

    Times without an offset are UTC. Rows without a value are gaps. Rows may come in any order; of several with one time
    the last counts. `text` is the content where it was read already. The path "-" is the standard input.

    Raises:
        Unreadable: (UnreadableSeries) naming the line and what it must hold.
    """
    rows = _rows(path, _text(path) if text is None else text)
    _, head = next(rows, ("", []))
    time_at, value_at, phase_at = _columns(path, head)
    dated: bool | None = None
    by_time: dict[float, Reading] = {}
    for where, row in rows:
        time_s, is_date = _time_s(_cell(row, time_at), where)
        if dated is not None and is_date is not dated:
            kinds = ("is a date", "in seconds") if is_date else ("is in seconds", "dates")
            raise Unreadable(
                "UnreadableSeries",
                f"{where}: {_cell(row, time_at)!r} {kinds[0]} and the times before it are {kinds[1]}",
            )
        dated = is_date
        value = _value(_cell(row, value_at), where)
        phase = _phase(_cell(row, phase_at), where)
        by_time[time_s] = Reading(time_s, {} if value is None else {signal: value}, phase)
    return History(tuple(by_time[time_s] for time_s in sorted(by_time)), bool(dated))


def _rows(path: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    """Each row that is not empty, and where it ends."""
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    try:
        for row in rows:
            if row:
                yield f"{path}, line {rows.line_num}", row
    except csv.Error as error:
        raise Unreadable("UnreadableSeries", f"{path}, line {rows.line_num}: {error}: is a quote not closed?") from None


def _text(path: Path) -> str:
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise Unreadable("UnreadableSeries", f"{path}: {error}") from None
    except UnicodeDecodeError as error:
        raise Unreadable("UnreadableSeries", f"{path}: {error}: save it as UTF-8") from None


def _columns(path: Path, head: list[str]) -> tuple[int, int, int | None]:
    """Where time, value and phase stand."""
    names = [name.strip().lower() for name in head]
    for name in ("time", "value", "phase"):
        if names.count(name) > 1:
            raise Unreadable("UnreadableSeries", f"{path}: the first line names the column {name} twice")
    if not {"time", "value"} <= set(names):
        found = f"; it is {','.join(head)[:_MOST_SHOWN]!r}" if head else ""
        raise Unreadable(
            "UnreadableSeries",
            f"{path}: the first line must name the columns time,value[,phase], separated by commas{found}",
        )
    return names.index("time"), names.index("value"), names.index("phase") if "phase" in names else None


def _cell(row: list[str], place: int | None) -> str:
    return row[place].strip() if place is not None and place < len(row) else ""


def _time_s(text: str, where: str) -> tuple[float, bool]:
    """Seconds, and whether they were written as a date."""
    try:
        time_s, is_date = float(text), False
    except ValueError:
        time_s, is_date = _date_s(text), True
    if not math.isfinite(time_s):
        raise Unreadable("UnreadableSeries", f"{where}: {text!r} is not a time: write RFC 3339 or seconds")
    if abs(time_s) > _LAST_S:
        raise Unreadable(
            "UnreadableSeries", f"{where}: {text!r} is beyond the year 5000: write seconds, not milliseconds"
        )
    return time_s, is_date


def _date_s(text: str) -> float:
    """The Unix time of a date and time as ISO 8601 has it, with a blank for the T as well; NaN where it is none."""
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return math.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _value(text: str, where: str) -> float | None:
    if text.lower() in _NO_VALUE:
        return None
    try:
        return float(text)
    except ValueError:
        raise Unreadable("UnreadableSeries", f"{where}: {text!r} is not a number") from None


def _phase(text: str, where: str) -> Phase:
    if not text:
        return Phase.UNKNOWN
    phase = _PHASES.get(text.lower())
    if phase is None:
        raise Unreadable("UnreadableSeries", f"{where}: phase {text!r} is unknown; write one of {', '.join(Phase)}")
    return phase
