"""The rendering engines that go into the operator's image: kustomize and helm, compiled from their Go modules."""

import shutil
from pathlib import Path

from tests.cluster.cache import exclusive
from tests.cluster.toolchain import go_binaries

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "renderers"
"""Where operator/Dockerfile takes them from."""

ENGINES = ("kustomize", "helm")


def lay_out(folder: Path = FOLDER) -> None:
    """Put the engines into the build context; those that are there already stay.

    Raises:
        CommandFailed: one of them does not compile.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(folder / ".lock"):
        for name in ENGINES:
            compiled, target = go_binaries(name) / name, folder / name
            if not target.exists() or target.read_bytes() != compiled.read_bytes():
                unfinished = target.with_suffix(".unfinished")
                shutil.copyfile(compiled, unfinished)
                unfinished.chmod(0o755)
                unfinished.rename(target)


if __name__ == "__main__":
    lay_out()
