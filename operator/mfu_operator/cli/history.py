"""A series of readings from a CSV file."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from mfu_operator.api.quantities import rfc3339, unix_s
from mfu_operator.errors import Unreadable
from mfu_operator.model.baseline import Signal
from mfu_operator.model.series import Phase, Reading

_PHASES = {str(phase): phase for phase in Phase}


@dataclass(frozen=True, slots=True)
class History:
    """Readings oldest first, and whether their times were written as RFC 3339 (otherwise as seconds)."""

    readings: tuple[Reading, ...]
    dated: bool

    def written(self, time_s: float) -> str | float:
        """A time as the series writes its own."""
        return rfc3339(time_s) if self.dated else round(time_s, 3)


def read_csv(path: Path, signal: Signal) -> History:
    """Read columns `time` (RFC 3339, Unix seconds, or seconds from the start), `value`, and optionally `phase`.

    Rows without a value are gaps. Rows may come in any order; of several with one time the last counts.

    Raises:
        Unreadable: (UnreadableSeries) naming the line and what it must hold.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable("UnreadableSeries", f"{path}: {error}") from None
    rows = csv.DictReader(text.splitlines(), skipinitialspace=True)
    missing = {"time", "value"} - set(rows.fieldnames or ())
    if missing:
        raise Unreadable("UnreadableSeries", f"{path}: the first line must name the columns time,value[,phase]")
    dated = False
    by_time: dict[float, Reading] = {}
    for line, row in enumerate(rows, 2):
        where = f"{path}, line {line}"
        stamp = (row["time"] or "").strip()
        dated = dated or "T" in stamp
        time_s = _time_s(stamp, where)
        value = _value(row["value"], where)
        phase = _phase((row.get("phase") or "").strip(), where)
        by_time[time_s] = Reading(time_s, {} if value is None else {signal: value}, phase)
    return History(tuple(by_time[time_s] for time_s in sorted(by_time)), dated)


def _time_s(text: str, where: str) -> float:
    try:
        time_s = float(text) if "T" not in text else unix_s(text)
    except ValueError:
        time_s = math.nan
    if not math.isfinite(time_s):
        raise Unreadable("UnreadableSeries", f"{where}: {text!r} is no time: write RFC 3339 or seconds")
    return time_s


def _value(text: str | None, where: str) -> float | None:
    if not (text or "").strip():
        return None
    try:
        return float(str(text))
    except ValueError:
        raise Unreadable("UnreadableSeries", f"{where}: {text!r} is no number") from None


def _phase(text: str, where: str) -> Phase:
    if not text:
        return Phase.UNKNOWN
    if text not in _PHASES:
        raise Unreadable("UnreadableSeries", f"{where}: phase {text!r} is none of {', '.join(_PHASES)}")
    return _PHASES[text]
