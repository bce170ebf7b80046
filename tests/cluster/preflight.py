"""Can this machine run the cluster?"""

import os
import platform
import re
import shutil
from pathlib import Path

from tests.cluster.state import cache_dir

_NEEDED_PROGRAMS = ("apt-get", "dpkg-query", "go")
_NEEDED_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_CHROOT": 18, "CAP_SYS_ADMIN": 21, "CAP_MKNOD": 27}
_NEEDED_DISK_BYTES = 10 * 1024**3


def why_not() -> str | None:
    """Return in one line why this machine cannot run the cluster, or None where it can."""
    if platform.system() != "Linux":
        return f"the cluster needs Linux, and this is {platform.system()}"
    if os.geteuid() != 0:
        return "the cluster needs root: containers, a network bridge and control groups are made"
    return _missing_program() or _missing_capability() or _unfit_system() or _too_little_disk()


def missing_capabilities(status: str) -> list[str]:
    """Return the capabilities that the cluster needs and the text of ``/proc/<pid>/status`` does not grant."""
    granted = re.search(r"(?m)^CapEff:\s*([0-9a-f]+)", status)
    bits = int(granted.group(1), 16) if granted else 0
    return [name for name, bit in _NEEDED_CAPABILITIES.items() if not bits >> bit & 1]


def _missing_program() -> str | None:
    if "/usr/sbin" not in os.environ.get("PATH", "").split(os.pathsep):
        return "the cluster needs /usr/sbin on PATH: runc, iptables and debootstrap are there"
    missing = [program for program in _NEEDED_PROGRAMS if shutil.which(program) is None]
    return f"the cluster needs {', '.join(missing)} on PATH (Debian 12 with Go)" if missing else None


def _missing_capability() -> str | None:
    missing = missing_capabilities(Path("/proc/self/status").read_text())
    return f"root lacks {', '.join(missing)} here (an unprivileged container?)" if missing else None


def _unfit_system() -> str | None:
    if "VERSION_CODENAME=bookworm" not in Path("/etc/os-release").read_text():
        return "the cluster needs Debian 12 (bookworm): it takes containerd, nsys and more from there"
    if not any(Path("/sys/fs/cgroup").iterdir()):
        return "the cluster needs control groups, and none are mounted at /sys/fs/cgroup"
    if "overlay" not in Path("/proc/filesystems").read_text().split() and shutil.which("modprobe") is None:
        return "the cluster needs the overlay file system, which this kernel does not offer"
    return None


def _too_little_disk() -> str | None:
    existing = next(folder for folder in [cache_dir(), *cache_dir().parents] if folder.exists())
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes >= _NEEDED_DISK_BYTES or (cache_dir() / "bin").exists():
        return None
    return f"the cluster needs 10 GiB below {cache_dir()}, and {free_bytes / 1024**3:.1f} GiB are free"
