"""Two accounts side by side: what causes look at."""

from dataclasses import dataclass

from mfu_operator.model.account import StepAccount


@dataclass(frozen=True, slots=True)
class Case:
    """The account now and, where there is one, of the baseline. Nanoseconds per mean step."""

    now: StepAccount
    baseline: StepAccount | None

    def growth(self, *parts: str) -> float:
        """How much the parts grew; without a baseline, how large they are."""
        return sum(self.now.parts_ns.get(part, 0.0) - self._before(part) for part in parts)

    def fact(self, name: str) -> float | None:
        """A number observed now; None where it was not observed."""
        return _number(self.now, name)

    def before(self, name: str) -> float | None:
        """The same number in the baseline; None where it was not observed or there is no baseline."""
        return None if self.baseline is None else _number(self.baseline, name)

    def more(self, name: str) -> float:
        """How much more of a fact there is than in the baseline; what was not observed counts as none."""
        return (self.fact(name) or 0.0) - (self.before(name) or 0.0)

    def grew(self, name: str, factor: float = 1.0, least: float = 0.0) -> bool:
        """Whether a fact was observed in both and is more than `factor` times, and `least` above, what it was."""
        now, before = self.fact(name), self.before(name)
        return now is not None and before is not None and now > before * factor and now - before > least

    def same(self, name: str, tolerance: float = 0.05) -> bool:
        """Whether a fact was observed in both and changed by at most `tolerance` of the larger."""
        now, before = self.fact(name), self.before(name)
        if now is None or before is None:
            return False
        return abs(now - before) <= tolerance * max(abs(now), abs(before))

    def change(self, label: str, name: str, unit: str = "") -> str:
        """A sentence's half: what a fact is and was ("recv calls 32, baseline 0")."""
        now, before = self.fact(name), self.before(name)
        said = f"{label} {_figure(now, name)}{unit}"
        return said if self.baseline is None else f"{said}, baseline {_figure(before, name)}{unit}"

    def _before(self, part: str) -> float:
        return 0.0 if self.baseline is None else self.baseline.parts_ns.get(part, 0.0)


def _number(account: StepAccount, name: str) -> float | None:
    value = account.facts.get(name)
    return None if value is None or isinstance(value, str) else value


def _figure(value: float | None, name: str) -> str:
    if value is None:
        return "not recorded"
    return milliseconds(value) if name.endswith("Ns") else f"{value:.4g}"


def milliseconds(nanoseconds: float) -> str:
    """ "58.7 ms"; small values keep two significant digits."""
    value = nanoseconds / 1e6
    return f"{value:.1f} ms" if abs(value) >= 10 or value == 0 else f"{value:.2g} ms"
