"""How often something happened in a row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Streak:
    """`length` in a row up to now, `total` ever; None before the first time that it was counted whether it happened."""

    length: int | None = None
    total: int | None = None

    def count(self, happened: bool) -> None:
        """One more time, at which it happened or did not."""
        self.length = (self.length or 0) + 1 if happened else 0
        self.total = (self.total or 0) + happened
