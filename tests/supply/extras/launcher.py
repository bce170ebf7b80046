#!/usr/bin/env python3
"""`kubectl mfu` as krew installs it: the first call makes a virtual environment, the others only use it.

The packages are those of requirements.lock beside this file, by their hashes, from the index that pip is set to.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OLDEST = (3, 11)


def main() -> None:
    """Run the command in its environment."""
    if sys.version_info < OLDEST:
        sys.exit(f"kubectl-mfu: Python {OLDEST[0]}.{OLDEST[1]} or later is needed, this is {sys.version.split()[0]}")
    environment = place()
    if not (environment / "complete").exists():
        install(environment)
    program = str(environment / "bin" / "kubectl-mfu")
    os.execv(program, [program, *sys.argv[1:]])  # noqa: S606 - the program that was just installed


def place() -> Path:
    """Where the environment of this release and this Python is."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubectl-mfu"
    parts = [sys.version, *(hashlib.sha256(each.read_bytes()).hexdigest() for each in (lock(), wheel()))]
    return cache / hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def lock() -> Path:
    """The packages that the command needs, with their hashes."""
    return HERE / "requirements.lock"


def wheel() -> Path:
    """The command itself."""
    return next(HERE.glob("*.whl"))


def install(environment: Path) -> None:
    """Make the environment; one that was begun and not completed is made again."""
    sys.stderr.write(f"kubectl-mfu: installing into {environment}, once\n")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "-r", str(lock())], check=True)
    subprocess.run([*pip, "--no-deps", str(wheel())], check=True)
    (environment / "complete").touch()


if __name__ == "__main__":
    main()
