"""A control group of our own, so that every process of every pod can be found and ended."""

import os
import signal
from collections.abc import Iterable
from pathlib import Path

from tests.cluster.layout import CGROUP
from tests.cluster.process import await_condition

_ROOT = Path("/sys/fs/cgroup")
_COPIED_FROM_PARENT = ("cpuset.cpus", "cpuset.mems")
_PROCESSOR_WEIGHTS = {"cpu.shares": "8192", "cpu.weight": "800"}
"""Eight times a group's usual one (1024, and 100 with cgroup v2). With that all pods together would have the processor
time of one busy process of the machine; with this a pod gets what its quota allows, whatever else is busy: beside four
busy processes on two cores, two pods of half a core get 0.5 each, and 0.26 with the usual weight."""


class ControlGroup:
    """Our control group in every hierarchy of this machine (cgroup v1), or in the one that there is (v2)."""

    def __init__(self, root: Path = _ROOT) -> None:
        """Use the hierarchies that are mounted below ``root``."""
        self._root = root

    @property
    def unified(self) -> bool:
        """Whether this machine has the one hierarchy of cgroup v2."""
        return (self._root / "cgroup.controllers").exists()

    def make(self) -> None:
        """Make the group, with all that its parent may use."""
        for hierarchy in self._hierarchies():
            group = hierarchy / CGROUP
            group.mkdir(exist_ok=True)
            for name in _COPIED_FROM_PARENT:
                if (group / name).exists() and not (group / name).read_text().strip():
                    (group / name).write_text((hierarchy / name).read_text())
        if self.unified:
            self._delegate_controllers()
        for weight in self._files(_PROCESSOR_WEIGHTS):
            weight.write_text(_PROCESSOR_WEIGHTS[weight.name])

    def remove(self) -> None:
        """End every process of the group and remove the group."""
        groups = [hierarchy / CGROUP for hierarchy in self._hierarchies() if (hierarchy / CGROUP).exists()]
        await_condition("the end of all pods' processes", lambda: not _kill_all(groups), timeout_s=60, interval_s=0.05)
        for group in groups:
            below = sorted(group.rglob("*/"), key=lambda folder: len(folder.parts), reverse=True)
            for folder in [*below, group]:
                if folder.is_dir():
                    folder.rmdir()

    def _files(self, names: Iterable[str]) -> list[Path]:
        """Return the files of these names that our group has, in whichever hierarchy."""
        files = [hierarchy / CGROUP / name for hierarchy in self._hierarchies() for name in names]
        return [file for file in files if file.exists()]

    def _hierarchies(self) -> list[Path]:
        if self.unified:
            return [self._root]
        mounted = [folder for folder in sorted(self._root.iterdir()) if not folder.is_symlink()]
        return [folder for folder in mounted if (folder / "cgroup.procs").exists()]

    def _delegate_controllers(self) -> None:
        controllers = (self._root / "cgroup.controllers").read_text().split()
        wanted = " ".join(f"+{controller}" for controller in controllers)
        for group in (self._root, self._root / CGROUP):
            (group / "cgroup.subtree_control").write_text(wanted)


def _kill_all(groups: list[Path]) -> bool:
    """Kill every process of the groups; tell whether there was one."""
    found = False
    for procs in (file for group in groups for file in [group / "cgroup.procs", *group.rglob("cgroup.procs")]):
        try:
            pids = [int(pid) for pid in procs.read_text().split()]
        except FileNotFoundError:
            continue
        for pid in pids:
            found = True
            _kill(pid)
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
