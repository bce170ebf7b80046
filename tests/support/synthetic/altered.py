"""Recorders that keep things from a file, or write them by another clock."""

from dataclasses import dataclass

from tests.support.synthetic.loop import Recorder


@dataclass(frozen=True)
class Relay:
    """Passes everything on. A call that was kept back has the number 0; its kernel is written without one."""

    file: Recorder

    def by_clock(self, time: int) -> int:
        """The time that is written."""
        return time

    def range(self, name: str, start: int, end: int | None, thread: int = 1) -> None:
        self.file.range(name, self.by_clock(start), None if end is None else self.by_clock(end), thread)

    def host_op(self, name: str, start: int, end: int, thread: int = 1) -> None:
        self.file.host_op(name, self.by_clock(start), self.by_clock(end), thread)

    def os_call(self, name: str, start: int, end: int, thread: int = 1) -> None:
        self.file.os_call(name, self.by_clock(start), self.by_clock(end), thread)

    def call(self, name: str, start: int, end: int, thread: int = 1) -> int:
        return self.file.call(name, self.by_clock(start), self.by_clock(end), thread)

    def kernel(
        self, name: str, start: int, end: int, correlation: int | None, stream: int = 7, device: int = 0, grid: int = 1
    ) -> None:
        times = (self.by_clock(start), self.by_clock(end))
        self.file.kernel(name, *times, correlation or None, stream, device, grid)

    def copy(
        self, kind: int, start: int, end: int, correlation: int | None, size: int = 4096, pageable: bool = False
    ) -> None:
        times = (self.by_clock(start), self.by_clock(end))
        self.file.copy(kind, *times, correlation or None, size, pageable)

    def gpu(self, device: int, name: str) -> None:
        self.file.gpu(device, name)


@dataclass(frozen=True)
class Lacking(Relay):
    """Keeps back what a recording of other settings would lack."""

    calls: bool = False
    host_ops: bool = False
    ranges: bool = False
    os_calls: bool = False

    def range(self, name: str, start: int, end: int | None, thread: int = 1) -> None:
        if not self.ranges or name.startswith("ProfilerStep"):
            super().range(name, start, end, thread)

    def host_op(self, name: str, start: int, end: int, thread: int = 1) -> None:
        if not self.host_ops:
            super().host_op(name, start, end, thread)

    def os_call(self, name: str, start: int, end: int, thread: int = 1) -> None:
        if not self.os_calls:
            super().os_call(name, start, end, thread)

    def call(self, name: str, start: int, end: int, thread: int = 1) -> int:
        return 0 if self.calls else super().call(name, start, end, thread)


@dataclass(frozen=True)
class Skewed(Relay):
    """Writes by a clock that is `offset_ns` ahead and gains `drift` (1e-6: one microsecond a second)."""

    offset_ns: int = 0
    drift: float = 0.0

    def by_clock(self, time: int) -> int:
        return time + self.offset_ns + round(time * self.drift)
