"""The interpreter with a real torch, and with the frameworks whose hooks are tested: installed once, kept with the
other tools, named after what is in it."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.cluster.cache import content_key, exclusive
from tests.cluster.process import CommandFailed
from tests.cluster.state import cache_dir
from tests.live import stand_ins

LOCK = Path(__file__).with_name("torch.lock")
NEEDED = ("cc", "readelf", "nm")


def python() -> Path:
    """The interpreter; installs it where it is not there yet (0.8 GB, about a minute).

    Raises:
        CommandFailed: a program that is needed is missing, or the packages cannot be installed.
    """
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        raise CommandFailed(f"{', '.join(missing)} not found: install gcc and binutils")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = content_key(LOCK.read_text(), Path(stand_ins.__file__).read_text(), version)
    folder = cache_dir() / "torch" / key
    interpreter = folder / "bin" / "python"
    with exclusive(folder.with_suffix(".lock")):
        if not (folder / "done").exists():
            _install(folder, interpreter, version)
            (folder / "done").touch()
    return interpreter


def _install(folder: Path, interpreter: Path, version: str) -> None:
    print("  install torch and its frameworks into an environment of their own", file=sys.stderr)  # noqa: T201
    commands = (
        (sys.executable, "-m", "venv", "--clear", str(folder)),
        (str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--require-hashes", "-r", str(LOCK)),
    )  # fmt: skip
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CommandFailed(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-2000:]}")
    stand_ins.make(folder / "lib" / f"python{version}" / "site-packages")
