"""The table at the end of a run of the suites of faults: what each did, and how much of it broke."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


class Row(Protocol):
    """What a test tells the table."""

    def note(self, **figures: float) -> None:
        """Figures of a test by their name: those of a suite are added up, the ones named `…_s` are the worst."""


@dataclass
class Suite:
    """The tests of one file."""

    passed: int = 0
    failed: int = 0
    expected: int = 0
    seconds: float = 0.0
    figures: dict[str, float] = field(default_factory=dict)

    def add(self, figures: Iterable[tuple[str, object]]) -> None:
        """Take what one test noted."""
        for name, value in figures:
            assert isinstance(value, int | float)
            known = self.figures.get(name, 0)
            self.figures[name] = max(known, value) if name.endswith("_s") else known + value


def lines(suites: Mapping[str, Suite]) -> list[str]:
    """The table."""
    head = f"{'suite':<22}{'passed':>8}{'failed':>8}{'known':>8}{'seconds':>9}  figures"
    body = [
        f"{name:<22}{each.passed:>8}{each.failed:>8}{each.expected:>8}{each.seconds:>9.1f}  "
        + ", ".join(f"{figure.replace('_', ' ')} {value:g}" for figure, value in sorted(each.figures.items()))
        for name, each in sorted(suites.items())
    ]
    return [head, *body, "known: fails as its xfail says, which is not mended yet"]
