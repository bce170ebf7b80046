"""Memory as torch, the cgroup and /proc tell it, without torch and without a device."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mfu_probe.memory import DeviceMemory, DeviceMeter, HostMemory, device_memory, host_memory

GIB = 2**30
SECOND_NS = 1_000_000_000


class Cuda:
    """torch.cuda, as far as the probe looks at it: one device of 80 GiB of which others have taken 2."""

    def __init__(self, allocated: int = 30 * GIB, reserved: int = 40 * GIB, initialized: bool = True) -> None:
        self.allocated, self.reserved, self.initialized = allocated, reserved, initialized
        self.looks = 0

    def is_initialized(self) -> bool:
        return self.initialized

    def memory_stats(self) -> dict[str, int]:
        self.looks += 1
        return {"allocated_bytes.all.current": self.allocated, "reserved_bytes.all.current": self.reserved}

    def mem_get_info(self) -> tuple[int, int]:
        return 78 * GIB - self.reserved, 80 * GIB


def modules(cuda: object) -> dict[str, object]:
    return {"torch": SimpleNamespace(cuda=cuda)}


def test_the_limit_is_what_the_allocator_holds_and_what_is_free() -> None:
    assert device_memory(modules(Cuda())) == DeviceMemory(30 * GIB, 40 * GIB, 78 * GIB)


def test_a_script_without_torch_has_no_device_memory_and_torch_is_not_imported_for_it() -> None:
    assert device_memory({}) is None
    meter = DeviceMeter()
    meter.sample(0)
    assert meter.latest is None
    assert "torch" not in sys.modules


def test_a_device_that_the_script_has_not_used_is_not_touched() -> None:
    cuda = Cuda(initialized=False)
    assert device_memory(modules(cuda)) is None
    assert cuda.looks == 0


def test_a_device_that_failed_is_no_end_of_training() -> None:
    class Failed(Cuda):
        def memory_stats(self) -> dict[str, int]:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    assert device_memory(modules(Failed())) is None
    assert device_memory(modules(SimpleNamespace())) is None


def test_fast_steps_do_not_look_every_time() -> None:
    cuda = Cuda()
    meter = DeviceMeter(modules(cuda))
    for step in range(100):
        meter.sample(step * SECOND_NS // 20)
    assert cuda.looks == 5
    assert meter.latest == DeviceMemory(30 * GIB, 40 * GIB, 78 * GIB)


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine of 64 GiB on which this process takes 3 MiB of its own and 5 of a file."""
    write(tmp_path, "proc/meminfo", f"MemTotal:       {64 * 2**20} kB\nMemFree: 1 kB\n")
    write(tmp_path, "proc/self/status", "Name:\tpython\nRssAnon:\t 2048 kB\nRssFile:\t 5120 kB\nRssShmem:\t 1024 kB\n")
    return tmp_path


def test_a_container_is_held_against_its_limit_without_page_cache(root: Path) -> None:
    write(root, "sys/fs/cgroup/memory.max", f"{8 * GIB}\n")
    write(root, "sys/fs/cgroup/memory.stat", f"anon {3 * GIB}\nfile {4 * GIB}\nshmem {GIB}\n")
    assert host_memory(root) == HostMemory(4 * GIB, 8 * GIB)


def test_a_container_without_a_limit_is_held_against_the_machine(root: Path) -> None:
    write(root, "sys/fs/cgroup/memory.max", "max\n")
    write(root, "sys/fs/cgroup/memory.stat", f"anon {3 * GIB}\nfile 0\nshmem 0\n")
    assert host_memory(root) == HostMemory(3 * GIB, 64 * GIB)


def test_the_older_cgroups_are_read_too(root: Path) -> None:
    write(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    write(root, "sys/fs/cgroup/memory/memory.stat", f"rss 1\ntotal_rss {3 * GIB}\ntotal_shmem {GIB}\n")
    assert host_memory(root) == HostMemory(4 * GIB, 64 * GIB)


def test_without_a_cgroup_it_is_the_process_alone(root: Path) -> None:
    assert host_memory(root) == HostMemory(3 * 2**20, 64 * GIB)


def test_where_the_kernel_does_not_tell_there_is_no_reading(tmp_path: Path) -> None:
    assert host_memory(tmp_path) is None
