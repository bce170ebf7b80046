"""A token stands in nobody's arguments, files or logs, and in no environment but git's own, for as long as git runs."""

import logging
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.model.commit import Source
from mfu_operator.model.proposal import Proposal, ProposalKind
from mfu_operator.ports import Credentials
from tests.support.git_http import served
from tests.support.git_repository import GitUpstream

TOKEN = "gh0st-t0ken-of-this-test"
OWN = "MFU_GIT_PASSWORD"


@dataclass
class Watch:
    """What every process of the machine shows, looked at again and again, and what lies in a folder."""

    folder: Path
    arguments: set[str] = field(default_factory=set)
    environment: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)

    def look(self) -> None:
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                with suppress(OSError):
                    self._look_at(process)
        with suppress(OSError):  # git takes folders away while they are walked: the next look comes at once
            for file in self.folder.rglob("*"):
                self._read(file)

    def _read(self, file: Path) -> None:
        with suppress(OSError):
            if file.is_file() and TOKEN.encode() in file.read_bytes():
                self.files.add(file.name)

    def _look_at(self, process: Path) -> None:
        arguments = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        if TOKEN in arguments:
            self.arguments.add(arguments)
        for variable in (process / "environ").read_bytes().split(b"\0"):
            name, _, value = variable.partition(b"=")
            if TOKEN.encode() in value:
                self.environment.add(name.decode())
                self.programs.add((process / "comm").read_text().strip())


@contextmanager
def watched(folder: Path) -> Iterator[Watch]:
    watch, over = Watch(folder), threading.Event()

    def run() -> None:
        while not over.is_set():
            watch.look()
            time.sleep(0.005)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()


def test_while_git_clones_and_pushes_the_token_is_where_git_reads_it_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "made").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "made"))
    upstream = GitUpstream(tmp_path)
    upstream.commit({"apps/gpt/train.yaml": "workers: 4\n"}, "Begin")
    slow = upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "None")
    proposal = Proposal(ProposalKind.REVERT, "mfu-operator/gpt-1", "main", "t", "b", "Undo\n", revert_sha=slow)
    with served(tmp_path, TOKEN) as base, watched(tmp_path / "made") as watch:
        source = Source(f"{base}/models.git", "main", "apps/gpt", (), None)
        diff = GitRepository(transports=("http",)).preview(source, proposal, Credentials(password=TOKEN))
        head = GitRepository(transports=("http",)).ensure_branch(source, proposal, Credentials(password=TOKEN))
    assert "+workers: 4" in diff and upstream.git("rev-parse", "mfu-operator/gpt-1", folder=upstream.bare) == head
    assert "git" in watch.programs, "git was never seen at work"
    assert watch.environment == {OWN}
    assert (watch.arguments, watch.files) == (set(), set())
    assert TOKEN not in caplog.text
    assert list((tmp_path / "made").iterdir()) == []
