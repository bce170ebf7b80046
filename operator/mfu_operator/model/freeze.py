"""Times in which a team wants no pull request."""

from dataclasses import dataclass
from datetime import UTC, datetime

MINUTES_A_DAY = 24 * 60
_DAY_S, _MINUTE_S = 86400.0, 60.0


@dataclass(frozen=True, slots=True)
class FreezeDates:
    """Once, from one moment to another, Unix seconds."""

    from_s: float
    until_s: float
    reason: str | None = None

    def ends_s(self, now_s: float) -> float | None:
        """When it is over; None where it is not in force."""
        return self.until_s if self.from_s <= now_s < self.until_s else None


@dataclass(frozen=True, slots=True)
class FreezeWeekly:
    """Every week, on `days` (0 is Monday), from one minute of the day to another, UTC. Where it does not end after it
    begins, it ends on the next day."""

    days: frozenset[int]
    from_minute: int = 0
    until_minute: int = 0
    reason: str | None = None

    def ends_s(self, now_s: float) -> float | None:
        """When it is over; None where it is not in force. Days that follow each other without a gap are one."""
        at_s = now_s
        for _ in range(8):
            end_s = self._one_end_s(at_s)
            if end_s is None:
                break
            at_s = end_s
        return at_s if at_s > now_s else None

    def _one_end_s(self, now_s: float) -> float | None:
        length = (self.until_minute - self.from_minute - 1) % MINUTES_A_DAY + 1
        today_s = now_s - now_s % _DAY_S
        for midnight_s in (today_s, today_s - _DAY_S):
            start_s = midnight_s + self.from_minute * _MINUTE_S
            end_s = start_s + length * _MINUTE_S
            if datetime.fromtimestamp(midnight_s, UTC).weekday() in self.days and start_s <= now_s < end_s:
                return end_s
        return None


Freeze = FreezeDates | FreezeWeekly
