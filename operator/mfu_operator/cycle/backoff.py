"""Waiting longer after each failure of the same thing, and as long as it takes where the time is known.

All times here are seconds on a clock that nobody sets: a wall clock that is set back by an hour must not stop anything
for an hour.
"""

from dataclasses import dataclass, field

from mfu_operator.cycle.request_pacing import LONGEST_S, RequestPacing
from mfu_operator.errors import Wait
from mfu_operator.model.pauses import growing_pause_s
from mfu_operator.reconcile.conclude import Failure


@dataclass(slots=True)
class Backoff:
    """The failures and the waits of one baseline, by condition. A new generation of the spec forgets them all."""

    first_s: float
    generation: int = 0
    _failures: dict[str, tuple[Failure, int, float]] = field(default_factory=dict)
    _waits: dict[str, tuple[Wait, float]] = field(default_factory=dict)
    _new: list[Failure] = field(default_factory=list)
    pacing: RequestPacing = field(init=False)

    def __post_init__(self) -> None:
        self.pacing = RequestPacing(self.first_s)

    def due(self, condition: str, steady_s: float) -> bool:
        """Whether the step behind a condition may be tried."""
        known, waits = self._failures.get(condition), self._waits.get(condition)
        return (known is None or steady_s >= known[2]) and (waits is None or steady_s >= waits[1])

    def fail(self, failure: Failure, steady_s: float) -> float:
        """Note a failure; the pause in seconds, which doubles from `first_s` up to five minutes."""
        count = self._failures[failure.condition][1] + 1 if failure.condition in self._failures else 1
        pause_s = growing_pause_s(self.first_s, LONGEST_S, count)
        self._failures[failure.condition] = (failure, count, steady_s + pause_s)
        self._waits.pop(failure.condition, None)
        self._new.append(failure)
        return pause_s

    def newly_failed(self) -> tuple[Failure, ...]:
        """The failures noted since the last call."""
        new, self._new = tuple(self._new), []
        return new

    def wait(self, condition: str, error: Wait, left_s: float, steady_s: float) -> None:
        """Note what a step waits for, in place of its failures. It is not asked again for `left_s`, and for five
        minutes at most."""
        self._failures.pop(condition, None)
        self._waits[condition] = (error, steady_s + min(max(left_s, 0.0), LONGEST_S))

    def succeed(self, condition: str) -> None:
        """Forget the failures of a condition, and what it waited for."""
        self._failures.pop(condition, None)
        self._waits.pop(condition, None)

    def outlived_by(self, condition: str | None) -> None:
        """Forget every failure and wait but that of `condition`: what is done now comes after what had failed."""
        self._failures = {kind: known for kind, known in self._failures.items() if kind == condition}
        self._waits = {kind: known for kind, known in self._waits.items() if kind == condition}

    def renew(self, generation: int) -> None:
        """Forget everything where the spec is another one."""
        if generation != self.generation:
            self.generation = generation
            self._failures.clear()
            self._waits.clear()
            self.pacing.forget()

    def standing(self) -> tuple[Failure, ...]:
        """What is failing, the oldest first."""
        return tuple(failure for failure, _, _ in self._failures.values())

    def waiting(self) -> tuple[Wait, ...]:
        """What is waited for, the oldest first."""
        return tuple(error for error, _ in self._waits.values())
