"""What the kubelet needs of the machine and would leave changed: a control group for pods, kernel settings."""

from pathlib import Path

from tests.cluster.cgroups import ControlGroup
from tests.cluster.sysctls import KUBELET_CHANGES, SavedSettings


class Node:
    """The machine as a node: prepared before the kubelet starts, put back after its containers have ended."""

    name = "node"

    def __init__(self, state: Path) -> None:
        """Remember below ``state`` how the machine was."""
        self._control_group = ControlGroup()
        self._settings = SavedSettings(state / self.name / "settings-before.json", KUBELET_CHANGES)

    def start(self) -> None:
        """Make the control group of all pods and remember the kernel settings."""
        self._settings.save()
        self._control_group.make()

    def ready(self) -> None:
        """Return at once: the machine is there."""

    def stop(self) -> None:
        """End whatever still runs in the pods' control group, remove it, and put the kernel settings back."""
        self._control_group.remove()
        self._settings.restore()
