"""The plugin for krew: an archive with the command, and the manifest that names its digest."""

from pathlib import Path

import yaml

from tests.supply.extras.archive import Entry, tar_gz
from tests.supply.extras.destination import Destination

LAUNCHER = Path(__file__).parent / "launcher.py"
ARCHIVE, MANIFEST = "kubectl-mfu.tar.gz", "mfu.yaml"
COMMAND = "kubectl-mfu"


def archive(wheel: Path, lock: Path, license_file: Path, at_s: int) -> bytes:
    """What krew unpacks: the command as a small program, its wheel, and the list of the packages that it needs."""
    files = {each.name: Entry(each.read_bytes()) for each in (wheel, lock, license_file)}
    return tar_gz({**files, COMMAND: Entry(LAUNCHER.read_bytes(), 0o755)}, at_s)


def manifest(version: str, sha256: str, destination: Destination) -> str:
    """The manifest, as `kubectl krew install --manifest=mfu.yaml --archive=kubectl-mfu.tar.gz` takes it."""
    platform = {
        "selector": {
            "matchExpressions": [
                {"key": "os", "operator": "In", "values": ["darwin", "linux"]},
                {"key": "arch", "operator": "In", "values": ["amd64", "arm64"]},
            ]
        },
        "uri": destination.file(ARCHIVE),
        "sha256": sha256,
        "bin": COMMAND,
    }
    plugin = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "mfu"},
        "spec": {
            "version": f"v{version}",
            "homepage": destination.file(""),
            "shortDescription": "Explain why training became slow, and which commit did it",
            "description": "Shows the baselines of mfu-operator and their incidents, analyses nsys and torch.profiler\n"
            "traces, captures running jobs, and names the commit that made one slow.\n",
            "caveats": "Needs Python 3.11 or later with venv. The first call installs its packages, by their hashes,\n"
            "from the index that pip is set to.\n",
            "platforms": [platform],
        },
    }
    return yaml.safe_dump(plugin, sort_keys=False, width=120)
