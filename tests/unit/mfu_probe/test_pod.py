"""A process tells which pod it runs in, by what the kubelet mounts or by the downward API."""

from pathlib import Path

import pytest

from mfu_probe.live.pod import pod_uid

UID = "1d7a8c1e-52a3-4f3b-9d92-0f6f0c6b6f10"
CONTAINERD = f"512 480 259:1 /var/lib/kubelet/pods/{UID}/etc-hosts /etc/hosts rw,relatime - ext4 /dev/root rw\n"
OWN_DISK = f"512 480 259:1 /kubelet/pods/{UID}/containers/train/ab12 /dev/termination-log rw - xfs /dev/nvme1n1 rw\n"
STATIC = "1 2 3:4 /var/lib/kubelet/pods/0123456789abcdef0123456789abcdef/etc-hosts /etc/hosts rw - ext4 x rw\n"


@pytest.mark.parametrize(
    ("mounts", "uid"),
    [(CONTAINERD, UID), (OWN_DISK, UID), (STATIC, "0123456789abcdef0123456789abcdef"), ("21 1 0:3 / /proc rw\n", None)],
)
def test_the_kubelets_mounts_tell(tmp_path: Path, mounts: str, uid: str | None) -> None:
    table = tmp_path / "mountinfo"
    table.write_text("20 1 0:2 / / rw - overlay overlay rw\n" + mounts)
    assert pod_uid({}, table) == uid


def test_the_downward_api_goes_first_and_what_is_no_uid_is_not_told(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(CONTAINERD)
    assert pod_uid({"MFU_PROBE_POD_UID": "abc-1"}, table) == "abc-1"
    assert pod_uid({"MFU_PROBE_POD_UID": "a\r\nSet-Cookie: b"}, table) is None


def test_outside_of_linux_nothing_tells(tmp_path: Path) -> None:
    assert pod_uid({}, tmp_path / "none") is None
