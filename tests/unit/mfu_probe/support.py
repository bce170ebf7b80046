"""A clock that moves when told, and ranges that remember what was opened and closed."""

from dataclasses import dataclass, field


@dataclass
class ManualClock:
    """Nanoseconds that pass only by `advance`."""

    now_ns: int = 1_000_000_000

    def __call__(self) -> int:
        return self.now_ns

    def advance(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


@dataclass
class RecordedRanges:
    """Every push and pop in order, and what is open now."""

    events: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def push(self, name: str) -> None:
        self.events.append(f"+{name}")
        self.open.append(name)

    def pop(self) -> None:
        self.events.append(f"-{self.open.pop()}")
