"""How much memory there is and how much of it is taken: of the device by torch, of the host by this container.

Nothing here imports torch: it is looked at only where the training script has imported it and used a device. Nothing
here waits for the device either: torch keeps its allocator's counters in the host's memory, and cudaMemGetInfo asks the
driver.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS_BETWEEN_SAMPLES = 1.0
"""The allocator's counters cost about 0.1 ms to read, so a step of milliseconds does not read them every time."""

_CGROUP_2 = ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.stat", ("anon", "shmem"))
_CGROUP_1 = (
    "sys/fs/cgroup/memory/memory.limit_in_bytes",
    "sys/fs/cgroup/memory/memory.stat",
    ("total_rss", "total_shmem"),
)
_ROOT = Path("/")
KIBIBYTE = 1024


@dataclass(frozen=True)
class DeviceMemory:
    """The current device's memory in bytes: in tensors, held by the caching allocator, and what it could hold.

    `limit` is what the allocator holds and what the driver still has to give: less than the card's memory by what
    contexts, NCCL and other processes take.
    """

    allocated: int
    reserved: int
    limit: int


@dataclass(frozen=True)
class HostMemory:
    """Memory in bytes that the kernel cannot take back (anonymous and shared, no page cache), and its limit."""

    used: int
    limit: int


class DeviceMeter:
    """The device's memory as it was at the end of a step, when activations are free: between two such moments, what
    grows is kept. `clock_ns` times are of one monotonic clock."""

    def __init__(self, modules: Mapping[str, Any] | None = None) -> None:
        self._modules = sys.modules if modules is None else modules
        self._sampled_ns: int | None = None
        self.latest: DeviceMemory | None = None

    def sample(self, now_ns: int) -> None:
        """Look again, unless the last look was less than SECONDS_BETWEEN_SAMPLES ago."""
        if self._sampled_ns is None or now_ns - self._sampled_ns >= SECONDS_BETWEEN_SAMPLES * 1e9:
            self._sampled_ns = now_ns
            self.latest = device_memory(self._modules)


def device_memory(modules: Mapping[str, Any]) -> DeviceMemory | None:
    """The memory of torch's current device; None without torch, or before it has used a device."""
    cuda = getattr(modules.get("torch"), "cuda", None)
    if cuda is None:
        return None
    try:
        if not cuda.is_initialized():
            return None
        counted = cuda.memory_stats()
        free, total = cuda.mem_get_info()
    except (AttributeError, RuntimeError):  # a torch without CUDA; a device that failed, which training will report
        return None
    reserved = int(counted.get("reserved_bytes.all.current", 0))
    allocated = int(counted.get("allocated_bytes.all.current", 0))
    return DeviceMemory(allocated, reserved, min(int(total), reserved + int(free)))


def host_memory(root: Path = _ROOT) -> HostMemory | None:
    """This container's memory, worker processes included, against its limit or the machine's memory.

    Where there is no cgroup it is this process alone; None where the kernel does not tell (no Linux).
    """
    machine = _fields(root / "proc/meminfo", KIBIBYTE).get("MemTotal")
    for limit_file, stat_file, names in (_CGROUP_2, _CGROUP_1):
        limit, used = _text(root / limit_file), _sum(_fields(root / stat_file), names)
        if limit is not None and used is not None:
            limits = [int(limit)] if limit.isdigit() else []
            return _host(used, min([*limits, *([machine] if machine else [])], default=None))
    return _host(_sum(_fields(root / "proc/self/status", KIBIBYTE), ("RssAnon", "RssShmem")), machine)


def _host(used: int | None, limit: int | None) -> HostMemory | None:
    return None if used is None or limit is None else HostMemory(used, limit)


def _sum(fields: Mapping[str, int], names: tuple[str, ...]) -> int | None:
    return None if names[0] not in fields else sum(fields.get(name, 0) for name in names)


def _fields(path: Path, unit: int = 1) -> dict[str, int]:
    """`name value` or `name: value kB`, line by line; what is not a number is left out. Values times `unit`."""
    lines = (line.split() for line in (_text(path) or "").splitlines())
    return {words[0].rstrip(":"): int(words[1]) * unit for words in lines if len(words) > 1 and words[1].isdigit()}


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
