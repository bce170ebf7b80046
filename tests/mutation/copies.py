"""Copies of the project in which a file is changed and the tests run, each run in a forked child."""

import contextlib
import importlib
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "operator/mfu_operator"
LEFT_BEHIND = (".git", ".venv*", ".[pri]*_cache", ".hypothesis", "__pycache__", "build")
"""Not mypy's cache, with which it needs a second for a file."""

IMPORTED_ONCE = ("hypothesis", "numpy", "httpx", "kubernetes.client", "git", "kopf", "rich.console", "yaml")
"""What most tests import and no mutant changes: imported before the fork, paid for once."""

POLL_S = 0.5
"""How often is looked whether a test still goes on."""

MEMORY_BYTES = 8 * 2**30
"""A mutant that allocates without end dies alone."""


def preload() -> None:
    """Import what every child needs."""
    for name in IMPORTED_ONCE:
        importlib.import_module(name)


def copy_to(folder: Path) -> Path:
    """A copy of the project in the folder."""
    tree = folder / "copy"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_BEHIND), symlinks=True)
    return tree


@contextlib.contextmanager
def changed(path: Path, content: bytes, version: int) -> Iterator[None]:
    """The file with another content, written at the time `version`: no compiled file of another one passes for it."""
    original, stat = path.read_bytes(), path.stat()
    path.write_bytes(content)
    os.utime(path, (version, version))
    try:
        yield
    finally:
        path.write_bytes(original)
        os.utime(path, (stat.st_atime, stat.st_mtime))


class Progress:
    """A pytest plugin that counts the tests that began, seen by the process that forked the one with the tests."""

    def __init__(self) -> None:
        self._begun = multiprocessing.get_context("fork").Value("q", 0)

    @property
    def begun(self) -> int:
        """How many tests began."""
        return int(self._begun.value)

    def pytest_runtest_logstart(self) -> None:
        self._begun.value += 1


def run_tests(tree: Path, arguments: Sequence[str], plugins: Sequence[Any], test_s: float) -> int | None:
    """pytest's exit status in a copy; None where one test took longer than `test_s` on a processor of its own: what its
    process waited for one does not count, so that the outcome does not depend on what else the machine does."""
    progress = Progress()
    child = multiprocessing.get_context("fork").Process(target=_run, args=(tree, arguments, [*plugins, progress]))
    child.start()
    begun, since_s, waited_s = -1, 0.0, 0.0
    while child.exitcode is None:
        waited_s = max(waited_s, _waited_s(child.pid))
        own_s = time.monotonic() - waited_s
        if progress.begun != begun:
            begun, since_s = progress.begun, own_s
        elif own_s > since_s + test_s:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid or 0, 9)
            child.join()
            return None
        child.join(POLL_S)
    return child.exitcode


def well_typed(tree: Path, path: str) -> bool:
    """Whether mypy takes a file of the package in a copy, as `make lint` asks it, which `make test` begins with."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", f"{PACKAGE}/{path}"]
    return subprocess.run(command, cwd=tree, stdout=subprocess.DEVNULL, check=False).returncode == 0


def _waited_s(pid: int | None) -> float:
    """How long a process was ready to run and had to wait for a processor, in all."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _run(tree: Path, arguments: Sequence[str], plugins: Sequence[Any]) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    os.chdir(tree)
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        del sys.modules[name]
    places = [str(tree / "operator"), str(tree)]
    sys.path[:] = [*places, *(each for each in sys.path if each and not Path(each).is_relative_to(ROOT / "operator"))]
    sys.path[:] = [each for each in sys.path if Path(each) != ROOT]
    os.environ["PYTHONPATH"] = os.pathsep.join(places)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "--hypothesis-seed=0")
    os._exit(int(pytest.main([*options, *arguments], plugins=list(plugins))))
