"""Writes Kineto JSON in the spellings of several PyTorch versions."""

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.synthetic.loop import COMPUTE_STREAM

VERSIONS = ("1.8", "2.0", "2.4")
OLD = {
    "kernel": "Kernel",
    "gpu_memcpy": "Memcpy",
    "gpu_memset": "Memset",
    "cuda_runtime": "Runtime",
    "cpu_op": "Operator",
    "user_annotation": "Operator",
}
COPY_NAMES = {1: "HtoD ({} -> Device)", 2: "DtoH (Device -> {})", 8: "DtoD (Device -> Device)"}


@dataclass
class KinetoFile:
    """Collects events, then writes one trace. Times are integer nanoseconds, as in `NsysFile`."""

    version: str = "2.4"
    rank: int | None = None
    world_size: int | None = None
    gpus: dict[int, str] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    correlation: int = 100
    process: int = 4711

    def _event(self, cat: str, name: str, start: int, end: int, pid: int, tid: int, **arguments: Any) -> None:
        spelled = OLD[cat] if self.version == "1.8" else cat
        thread: int | str = f"stream {tid}" if self.version == "1.8" and "device" in arguments else tid
        time = {"ts": start / 1000, "dur": (end - start) / 1000}
        self.events.append(
            {"ph": "X", "cat": spelled, "name": name, "pid": pid, "tid": thread, **time, "args": arguments}
        )

    def range(self, name: str, start: int, end: int | None, thread: int = 1) -> None:
        assert end is not None
        self._event("user_annotation", name, start, end, self.process, self.process + thread)

    def host_op(self, name: str, start: int, end: int, thread: int = 1) -> None:
        self._event("cpu_op", name, start, end, self.process, self.process + thread)

    def os_call(self, name: str, start: int, end: int, thread: int = 1) -> None:
        """Kineto does not record these."""

    def call(self, name: str, start: int, end: int, thread: int = 1) -> int:
        self.correlation += 1
        self._event("cuda_runtime", name, start, end, self.process, self.process + thread, correlation=self.correlation)
        return self.correlation

    def kernel(
        self, name: str, start: int, end: int, correlation: int | None, stream: int = 7, device: int = 0, grid: int = 1
    ) -> None:
        where = {
            "device": device,
            "stream": stream,
            "correlation": correlation,
            "grid": [grid, 1, 1],
            "block": [128, 1, 1],
        }
        self._event("kernel", name, start, end, device, stream, **where)

    def copy(
        self, kind: int, start: int, end: int, correlation: int | None, size: int = 4096, pageable: bool = False
    ) -> None:
        name = "Memcpy " + COPY_NAMES[kind].format("Pageable" if pageable else "Pinned")
        where = {"device": 0, "stream": COMPUTE_STREAM, "correlation": correlation, "bytes": size}
        self._event("gpu_memcpy", name, start, end, 0, COMPUTE_STREAM, **where)

    def gpu(self, device: int, name: str) -> None:
        self.gpus[device] = name

    def write(self, path: Path) -> Path:
        document: dict[str, Any] = {"schemaVersion": 1}
        document["deviceProperties"] = [{"id": device, "name": name} for device, name in self.gpus.items()]
        if self.rank is not None:
            document["distributedInfo"] = {"backend": "nccl", "rank": self.rank, "world_size": self.world_size}
        document["traceEvents"] = self.events
        if self.version == "2.4":
            document["baseTimeNanoseconds"] = 1_767_189_312_000_000_000
        path.write_bytes(gzip.compress(json.dumps(document).encode(), 1))
        return path
