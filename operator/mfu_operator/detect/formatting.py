"""Numbers as a person reads them in a status."""

from datetime import UTC, datetime

from mfu_operator.model.baseline import Signal

_NAMES = {Signal.MFU: "MFU", Signal.THROUGHPUT: "throughput", Signal.STEP_TIME: "step time"}
_UNITS = {Signal.MFU: "", Signal.THROUGHPUT: " tokens/s per GPU", Signal.STEP_TIME: " s"}


def name_of(signal: Signal) -> str:
    """The signal in a sentence: "MFU", "throughput", "step time"."""
    return _NAMES[signal]


def bare(signal: Signal, value: float) -> str:
    """A value without its unit, three or four digits: "0.381", "1250", "0.0857"."""
    if signal is Signal.MFU:
        return f"{value:.3f}" if value >= 0.1 else f"{value:.3g}"
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}" if value >= 100 else f"{value:.3g}"


def quantity(signal: Signal, value: float) -> str:
    """A value with its unit."""
    return bare(signal, value) + _UNITS[signal]


def duration(seconds: float) -> str:
    """A length of time: "40 s", "6.4 min", "12 min", "3.2 h", "5 days"."""
    seconds = max(seconds, 0.0)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        minutes = seconds / 60
        return f"{minutes:.1f} min" if minutes < 9.95 and round(minutes, 1) % 1 else f"{minutes:.0f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.0f} days"


def clock(time_s: float) -> str:
    """A moment, to the minute that has begun by then: "2026-09-21 14:33 UTC"."""
    return f"{datetime.fromtimestamp(-(-time_s // 60) * 60, UTC):%Y-%m-%d %H:%M} UTC"


def moment(time_s: float) -> str:
    """A moment that is past, to the second: "2026-09-21 14:32:07 UTC"."""
    return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


def per_cent(ratio: float) -> str:
    """A ratio as per cent: "5 %", "17.2 %"."""
    return f"{round(100 * ratio, 1):g} %"


def gibibytes(size: float) -> str:
    """Bytes in GiB (below one in MiB), three digits: "61.2 GiB", "240 MiB"."""
    return f"{size / 2**30:.3g} GiB" if size >= 2**30 else f"{size / 2**20:.3g} MiB"
