"""What the cluster puts back when it is taken down, and whether a machine can carry it at all."""

import os
import subprocess
from pathlib import Path
from threading import Thread

from tests.cluster.cgroups import ControlGroup
from tests.cluster.layout import CGROUP
from tests.cluster.mounts import mount_points_below
from tests.cluster.preflight import missing_capabilities
from tests.cluster.process import await_condition
from tests.cluster.sysctls import SavedSettings

_MOUNTINFO = r"""22 1 254:0 / / rw - ext4 /dev/vda rw
40 22 0:30 / /state/kubelet/pods/a rw - tmpfs tmpfs rw
41 40 0:31 / /state/kubelet/pods/a/volumes/with\040blank rw - tmpfs tmpfs rw
42 22 0:32 / /state-of-others rw - tmpfs tmpfs rw
"""


def test_mounts_are_taken_away_from_the_inside_out() -> None:
    assert mount_points_below(Path("/state"), _MOUNTINFO) == [
        Path("/state/kubelet/pods/a/volumes/with blank"),
        Path("/state/kubelet/pods/a"),
    ]


def test_a_setting_that_was_changed_is_put_back(tmp_path: Path) -> None:
    (tmp_path / "vm").mkdir()
    setting = tmp_path / "vm" / "overcommit_memory"
    setting.write_text("0\n")
    SavedSettings(tmp_path / "saved.json", ("vm/overcommit_memory",), tmp_path).save()
    setting.write_text("1\n")
    again = SavedSettings(tmp_path / "saved.json", ("vm/overcommit_memory",), tmp_path)
    again.save()
    again.restore()
    assert setting.read_text() == "0"


def test_what_was_never_saved_is_not_put_back(tmp_path: Path) -> None:
    SavedSettings(tmp_path / "saved.json", ("vm/overcommit_memory",), tmp_path).restore()


def test_processes_of_pods_are_ended_through_their_control_group(tmp_path: Path) -> None:
    child = subprocess.Popen(["sleep", "60"])
    hierarchy = tmp_path / "memory"
    hierarchy.mkdir()
    (hierarchy / "cgroup.procs").write_text(f"{os.getpid()}\n")
    ControlGroup(tmp_path).make()
    procs = hierarchy / CGROUP / "cgroup.procs"
    procs.write_text(f"{child.pid}\n")

    def forget_the_dead() -> bool:
        if child.poll() is not None:
            procs.unlink()
        return child.poll() is not None

    kernel = Thread(target=await_condition, args=("the child's end", forget_the_dead, 10, 0.01))
    kernel.start()
    ControlGroup(tmp_path).remove()
    kernel.join()
    assert not (hierarchy / CGROUP).exists()


def test_pods_have_more_of_the_processor_than_one_busy_process_of_the_machine(tmp_path: Path) -> None:
    group = tmp_path / "cpu" / CGROUP
    group.mkdir(parents=True)
    (tmp_path / "cpu" / "cgroup.procs").write_text("")
    (group / "cpu.shares").write_text("1024\n")
    ControlGroup(tmp_path).make()
    assert (group / "cpu.shares").read_text() == "8192"


def test_missing_capabilities_are_named() -> None:
    assert missing_capabilities("CapEff:\t000001ffffffffff\n") == []
    assert missing_capabilities("CapEff:\t00000000a80425fb\n") == ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"]
