"""What the kubelet needs of the machine and would leave changed: a control group, kernel settings, folders."""

import json
import shutil
from pathlib import Path

from tests.cluster.cgroups import ControlGroup
from tests.cluster.process import write_atomically
from tests.cluster.sysctls import KUBELET_CHANGES, SavedSettings

_FIXED_FOLDERS = ("/var/lib/kubelet", "/var/log/containers", "/var/lib/cni", "/run/containerd")


class Node:
    """The machine as a node: prepared before the kubelet starts, put back after its containers have ended."""

    name = "node"

    def __init__(self, state: Path) -> None:
        """Remember below ``state`` how the machine was."""
        folder = state / self.name
        self._control_group = ControlGroup()
        self._settings = SavedSettings(folder / "settings-before.json", KUBELET_CHANGES)
        self._new_folders = folder / "folders-new.json"

    def start(self) -> None:
        """Make the control group of all pods, and remember the kernel settings and which folders were not there."""
        self._settings.save()
        if not self._new_folders.exists():
            absent = [folder for folder in _FIXED_FOLDERS if not Path(folder).exists()]
            write_atomically(self._new_folders, json.dumps(absent))
        self._control_group.make()

    def ready(self) -> None:
        """Return at once: the machine is there."""

    def stop(self) -> None:
        """End whatever still runs in the pods' control group, remove it, and put settings and folders back."""
        self._control_group.remove()
        self._settings.restore()
        if self._new_folders.exists():
            for folder in map(Path, json.loads(self._new_folders.read_text())):
                if not (folder / "containerd.sock").exists():
                    shutil.rmtree(folder, ignore_errors=True)
