"""Taking away what is mounted below a folder, so that the folder itself can be removed."""

import re
from pathlib import Path

from tests.cluster.process import output_of

_MOUNT_POINT_FIELD = 4


def unmount_below(folder: Path) -> None:
    """Unmount everything that is mounted at or below ``folder``, the deepest first."""
    points = mount_points_below(folder, Path("/proc/self/mountinfo").read_text())
    for point in points:
        output_of(["umount", "--lazy", "--no-mtab", str(point)])


def mount_points_below(folder: Path, mountinfo: str) -> list[Path]:
    """Return the mount points at or below ``folder``, each before those that hold it.

    Args:
        folder: An absolute path.
        mountinfo: The text of ``/proc/<pid>/mountinfo``; a point that is mounted twice is named twice.
    """
    points = [Path(_unescaped(line.split()[_MOUNT_POINT_FIELD])) for line in mountinfo.splitlines()]
    below = [point for point in points if point == folder or folder in point.parents]
    return sorted(below, key=lambda point: len(point.parts), reverse=True)


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)
