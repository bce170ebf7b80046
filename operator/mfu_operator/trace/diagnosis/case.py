"""Two accounts side by side: what causes look at."""

from dataclasses import dataclass

from mfu_operator.model.account import StepAccount
from mfu_operator.model.fact import Number, Unit
from mfu_operator.trace.formatting import milliseconds


@dataclass(frozen=True, slots=True)
class Case:
    """The account now and, where there is one, of the baseline. Nanoseconds per mean step."""

    now: StepAccount
    baseline: StepAccount | None

    def growth(self, *parts: str) -> float:
        """How much the parts grew; without a baseline, how large they are."""
        return sum(self.now.parts_ns.get(part, 0.0) - self._before(part) for part in parts)

    def fact(self, fact: Number) -> float | None:
        """A number observed now; None where it was not observed."""
        return self.now.facts.number(fact)

    def before(self, fact: Number) -> float | None:
        """The same number in the baseline; None where it was not observed or there is no baseline."""
        return None if self.baseline is None else self.baseline.facts.number(fact)

    def more(self, fact: Number) -> float:
        """How much more of a fact there is than in the baseline; what was not observed counts as none."""
        return (self.fact(fact) or 0.0) - (self.before(fact) or 0.0)

    def grew(self, fact: Number, factor: float = 1.0, least: float = 0.0) -> bool:
        """Whether a fact was observed in both and is more than `factor` times, and `least` above, what it was."""
        now, before = self.fact(fact), self.before(fact)
        return now is not None and before is not None and now > before * factor and now - before > least

    def same(self, fact: Number, tolerance: float = 0.05) -> bool:
        """Whether a fact was observed in both and changed by at most `tolerance` of the larger."""
        now, before = self.fact(fact), self.before(fact)
        if now is None or before is None:
            return False
        return abs(now - before) <= tolerance * max(abs(now), abs(before))

    def change(self, label: str, fact: Number, unit: str = "") -> str:
        """A sentence's half: what a fact is and was ("recv calls 32, baseline 0")."""
        now, before = self.fact(fact), self.before(fact)
        said = f"{label} {_figure(now, fact)}{unit}"
        return said if self.baseline is None else f"{said}, baseline {_figure(before, fact)}{unit}"

    def _before(self, part: str) -> float:
        return 0.0 if self.baseline is None else self.baseline.parts_ns.get(part, 0.0)


def _figure(value: float | None, fact: Number) -> str:
    if value is None:
        return "not recorded"
    return milliseconds(value) if fact.unit is Unit.NS else f"{value:.4g}"
