"""When what costs a request is looked at again: later after each failure, and no sooner than it can change.

All times here are seconds on a clock that nobody sets.
"""

from dataclasses import dataclass, field

from mfu_operator.errors import MfuError, Wait
from mfu_operator.model.pauses import growing_pause_s
from mfu_operator.reconcile.world import Need

LONGEST_S = 300.0
"""A cured cause is noticed within five minutes."""

PULL_REQUEST_TICKS = 4
"""An open pull request is looked at every fourth tick: once a minute at the default interval of 15 s. People answer
within hours, and forges count requests."""


@dataclass(slots=True)
class RequestPacing:
    """The looks of one baseline: when each is due, and what the last one failed with."""

    interval_s: float
    _due: dict[Need, float] = field(default_factory=dict)
    _failures: dict[Need, int] = field(default_factory=dict)
    _problems: dict[Need, MfuError] = field(default_factory=dict)

    def due(self, need: Need, steady_s: float) -> bool:
        """Whether to look now."""
        return steady_s >= self._due.get(need, steady_s)

    def problem(self, need: Need) -> MfuError | None:
        """What the last look failed with; it stands until the next one."""
        return self._problems.get(need)

    def made(self, need: Need, problem: MfuError | None, steady_s: float) -> None:
        """Note a look. After a failure the pause doubles from the interval of the ticks up to five minutes."""
        if problem is None or isinstance(problem, Wait):
            self._failures.pop(need, None)
            self._problems.pop(need, None)
            self._due[need] = steady_s + (PULL_REQUEST_TICKS * self.interval_s if need is Need.PULL_REQUEST else 0.0)
            return
        count = self._failures.get(need, 0) + 1
        self._failures[need], self._problems[need] = count, problem
        self._due[need] = steady_s + growing_pause_s(self.interval_s, LONGEST_S, count)

    def forget(self) -> None:
        """Look at everything again."""
        for each in (self._due, self._failures, self._problems):
            each.clear()
