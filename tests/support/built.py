"""Programs that were compiled before; where one is not, its tests wait for the cluster's, which compile theirs too."""

import shutil

from tests.cluster.state import cache_dir


def built(module: str, name: str) -> str | None:
    """A program of `tests/cluster/go/<module>` as it was compiled last, or as it is installed."""
    found = sorted(cache_dir().glob(f"bin/{module}-*/{name}"), key=lambda path: path.stat().st_mtime)
    return str(found[-1]) if found else shutil.which(name)
