"""Durations, percentages and times as a person writes them in a manifest."""

import re
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal

_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+")
_TERM = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_SECONDS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600)}
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE)


def duration_s(text: str) -> float:
    """Seconds of a duration as Go writes it ("90s", "10m", "1h30m", "1.5h").

    Raises:
        ValueError: saying how to write one.
    """
    if not _DURATION.fullmatch(text):
        raise ValueError(f'{text!r} is not a duration; write a number and a unit (ms, s, m, h), like "90s" or "1h30m"')
    return float(sum(Decimal(number) * _SECONDS[unit] for number, unit in _TERM.findall(text)))


def ratio(text: str) -> float:
    """The ratio that a percentage stands for ("5%" is 0.05).

    Raises:
        ValueError: saying how to write one.
    """
    match = _PERCENT.fullmatch(text)
    if not match:
        raise ValueError(f'{text!r} is not a percentage; write a number and a percent sign, like "5%"')
    return float(Decimal(match[1]) / 100)


def rfc3339(time_s: float) -> str:
    """A Unix time in RFC 3339, UTC, rounded to milliseconds ("2026-11-21T06:41:00.25Z"; no zeros at the end)."""
    milliseconds = int((Decimal(repr(time_s)) * 1000).to_integral_value(ROUND_HALF_EVEN))
    whole, fraction = divmod(milliseconds, 1000)
    text = datetime.fromtimestamp(whole, UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    digits = f".{fraction:03}".rstrip("0").rstrip(".")
    return f"{text}{digits}Z"


def unix_s(text: str) -> float:
    """The Unix time of an RFC 3339 text, with as many digits of a second as it has.

    Raises:
        ValueError: where it is none.
    """
    match = _TIME.fullmatch(text)
    if not match:
        raise ValueError(f'{text!r} is not an RFC 3339 time; write one like "2026-11-21T06:41:00Z"')
    zone = "+00:00" if match[3] in "Zz" else match[3]
    whole = datetime.fromisoformat(f"{match[1].upper()}{zone}").timestamp()
    return float(Decimal(int(whole)) + Decimal(match[2] or 0))


def milliseconds(ns: float) -> float:
    """Nanoseconds as milliseconds with six decimals: rounded to a whole nanosecond, exact from there on."""
    return float(Decimal(round(ns)).scaleb(-6))


def nanoseconds(ms: float) -> float:
    """The inverse of `milliseconds`, exact for every span below eleven days."""
    return float((Decimal(repr(float(ms))).scaleb(6)).to_integral_value(ROUND_HALF_EVEN))
