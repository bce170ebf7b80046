"""What Go modules hold beside their code: manifests, templates."""

import json
import subprocess
from pathlib import Path

_BUILDS = Path(__file__).parent / "go"


def module_folder(build: str, module: str) -> Path:
    """Return the folder of a Go module in the version that ``tests/cluster/go/<build>`` pins, fetching it if need be.

    Raises:
        subprocess.CalledProcessError: It cannot be fetched; go's words are on standard error.
    """
    download = ["go", "mod", "download", "-json", module]
    answer = subprocess.run(download, cwd=_BUILDS / build, stdout=subprocess.PIPE, text=True, check=True)
    return Path(json.loads(answer.stdout)["Dir"])
