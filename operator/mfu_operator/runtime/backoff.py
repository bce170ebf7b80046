"""Waiting longer after each failure of the same thing, and as long as it takes where the time is known."""

from dataclasses import dataclass, field

from mfu_operator.errors import Wait
from mfu_operator.reconcile.conclude import Failure
from mfu_operator.runtime.looks import Looks

LONGEST_S = 300.0
"""A cured cause is noticed within five minutes."""


@dataclass(slots=True)
class Backoff:
    """The failures and the waits of one baseline, by condition. A new generation of the spec forgets them all."""

    first_s: float
    generation: int = 0
    _failures: dict[str, tuple[Failure, int, float]] = field(default_factory=dict)
    _waits: dict[str, tuple[Wait, float]] = field(default_factory=dict)
    looks: Looks = field(init=False)

    def __post_init__(self) -> None:
        self.looks = Looks(self.first_s)

    def due(self, condition: str, now_s: float) -> bool:
        """Whether the step behind a condition may be tried."""
        known, waits = self._failures.get(condition), self._waits.get(condition)
        return (known is None or now_s >= known[2]) and (waits is None or now_s >= waits[1])

    def fail(self, failure: Failure, now_s: float) -> None:
        """Note a failure: the pause doubles from `first_s` up to five minutes."""
        count = self._failures[failure.condition][1] + 1 if failure.condition in self._failures else 0
        pause_s = min(LONGEST_S, self.first_s * 2**count)
        self._failures[failure.condition] = (failure, count, now_s + pause_s)
        self._waits.pop(failure.condition, None)

    def wait(self, condition: str, error: Wait, now_s: float) -> None:
        """Note what a step waits for, in place of its failures. It is not asked again before the time it knows."""
        self._failures.pop(condition, None)
        until_s = now_s if error.until_s is None else error.until_s
        self._waits[condition] = (error, min(until_s, now_s + LONGEST_S))

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
            self.looks.forget()

    def standing(self) -> tuple[Failure, ...]:
        """What is failing, the oldest first."""
        return tuple(failure for failure, _, _ in self._failures.values())

    def waiting(self) -> tuple[Wait, ...]:
        """What is waited for, the oldest first."""
        return tuple(error for error, _ in self._waits.values())
