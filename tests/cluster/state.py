"""Where the cluster keeps its things: what survives runs, and what belongs to the running cluster."""

import os
from pathlib import Path


def cache_dir() -> Path:
    """Return the folder of everything that survives runs: built binaries, image archives.

    The folder is not created here; whoever writes below it creates what it needs.
    """
    return _xdg("XDG_CACHE_HOME", ".cache") / "mfu-operator"


def state_dir() -> Path:
    """Return the folder of everything that belongs to the running cluster; taking the cluster down removes it."""
    chosen = os.environ.get("MFU_CLUSTER_STATE")
    return Path(chosen) if chosen else _xdg("XDG_STATE_HOME", ".local/state") / "mfu-operator" / "cluster"


def _xdg(variable: str, below_home: str) -> Path:
    chosen = os.environ.get(variable)
    return Path(chosen) if chosen else Path.home() / below_home
