"""Where figures come from."""

import os
import platform
from pathlib import Path


def described() -> str:
    """The machine in one line ("2 × AMD EPYC, 24 GiB, Linux 6.1, Python 3.11.7")."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    system = f"{platform.system()} {platform.release()}"
    return f"{os.cpu_count()} × {_processor()}, {memory_gib:.0f} GiB, {system}, Python {platform.python_version()}"


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
