"""Recorders that keep things from a file, or write them by another clock."""

from dataclasses import dataclass

from tests.support.synthetic.loop import Recorder


@dataclass(frozen=True)
class Lacking:
    """Passes everything on but what a recording of other settings would lack."""

    file: Recorder
    calls: bool = False
    host_ops: bool = False
    ranges: bool = False
    os_calls: bool = False

    def range(self, name: str, start: int, end: int | None, thread: int = 1) -> None:
        if not self.ranges or name.startswith("ProfilerStep"):
            self.file.range(name, start, end, thread)

    def host_op(self, name: str, start: int, end: int, thread: int = 1) -> None:
        if not self.host_ops:
            self.file.host_op(name, start, end, thread)

    def os_call(self, name: str, start: int, end: int, thread: int = 1) -> None:
        if not self.os_calls:
            self.file.os_call(name, start, end, thread)

    def call(self, name: str, start: int, end: int, thread: int = 1) -> int:
        return 0 if self.calls else self.file.call(name, start, end, thread)

    def kernel(
        self, name: str, start: int, end: int, correlation: int | None, stream: int = 7, device: int = 0, grid: int = 1
    ) -> None:
        self.file.kernel(name, start, end, correlation or None, stream, device, grid)

    def copy(
        self,
        kind: int,
        start: int,
        end: int,
        correlation: int | None,
        size: int = 4096,
        pageable: bool = False,
        stream: int = 7,
        device: int = 0,
    ) -> None:
        self.file.copy(kind, start, end, correlation or None, size, pageable, stream, device)

    def gpu(self, device: int, name: str) -> None:
        self.file.gpu(device, name)


@dataclass(frozen=True)
class Skewed:
    """Writes by a clock that is `offset_ns` ahead and gains `drift` (1e-6: one microsecond a second)."""

    file: Recorder
    offset_ns: int
    drift: float = 0.0

    def _by_clock(self, time: int) -> int:
        return time + self.offset_ns + round(time * self.drift)

    def range(self, name: str, start: int, end: int | None, thread: int = 1) -> None:
        self.file.range(name, self._by_clock(start), None if end is None else self._by_clock(end), thread)

    def host_op(self, name: str, start: int, end: int, thread: int = 1) -> None:
        self.file.host_op(name, self._by_clock(start), self._by_clock(end), thread)

    def os_call(self, name: str, start: int, end: int, thread: int = 1) -> None:
        self.file.os_call(name, self._by_clock(start), self._by_clock(end), thread)

    def call(self, name: str, start: int, end: int, thread: int = 1) -> int:
        return self.file.call(name, self._by_clock(start), self._by_clock(end), thread)

    def kernel(
        self, name: str, start: int, end: int, correlation: int | None, stream: int = 7, device: int = 0, grid: int = 1
    ) -> None:
        self.file.kernel(name, self._by_clock(start), self._by_clock(end), correlation, stream, device, grid)

    def copy(
        self,
        kind: int,
        start: int,
        end: int,
        correlation: int | None,
        size: int = 4096,
        pageable: bool = False,
        stream: int = 7,
        device: int = 0,
    ) -> None:
        times = (self._by_clock(start), self._by_clock(end))
        self.file.copy(kind, *times, correlation, size, pageable, stream, device)

    def gpu(self, device: int, name: str) -> None:
        self.file.gpu(device, name)
