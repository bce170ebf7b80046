"""What is carried to a cluster without a network: the chart, the images' names, and the script that moves them."""

from collections.abc import Sequence
from pathlib import Path

from tests.supply.extras.archive import Entry, tar_gz
from tests.supply.extras.destination import OPERATOR, PROFILER, Destination

SCRIPT = Path(__file__).parent / "airgapped.sh"


def images(version: str, destination: Destination) -> Sequence[str]:
    """The images that a cluster needs."""
    return [f"{destination.image(name)}:{version}" for name in (OPERATOR, PROFILER)]


def bundle(files: Sequence[Path], version: str, destination: Destination, at_s: int) -> bytes:
    """The bundle with these files; `airgapped.sh save` adds the images to it."""
    folder = f"{OPERATOR}-{version}-airgapped"
    entries = {each.name: Entry(each.read_bytes()) for each in files}
    entries["images.txt"] = Entry("".join(f"{each}\n" for each in images(version, destination)).encode())
    entries[SCRIPT.name] = Entry(SCRIPT.read_bytes(), 0o755)
    return tar_gz({f"{folder}/{name}": entry for name, entry in entries.items()}, at_s)
