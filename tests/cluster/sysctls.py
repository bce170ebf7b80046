"""Kernel settings that a component changes for the whole machine, put back when the cluster is taken down."""

import json
from pathlib import Path

from tests.cluster.process import write_atomically

_SETTINGS = Path("/proc/sys")
KUBELET_CHANGES = (
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)


class SavedSettings:
    """The values of kernel settings as they were before the cluster came."""

    def __init__(self, saved: Path, names: tuple[str, ...], settings: Path = _SETTINGS) -> None:
        """Remember the settings ``names`` (paths below ``/proc/sys``) in the file ``saved``."""
        self._saved = saved
        self._names = names
        self._settings = settings

    def save(self) -> None:
        """Save the values, unless they have been saved already."""
        if not self._saved.exists():
            values = {name: (self._settings / name).read_text().strip() for name in self._names}
            write_atomically(self._saved, json.dumps(values))

    def restore(self) -> None:
        """Put back each value that differs, and forget them."""
        if not self._saved.exists():
            return
        for name, value in json.loads(self._saved.read_text()).items():
            setting = self._settings / name
            if setting.read_text().strip() != value:
                setting.write_text(value)
        self._saved.unlink()
