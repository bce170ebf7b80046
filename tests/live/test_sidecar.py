"""Kineto's own code in an unmodified script, with our daemon beside it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Ranks
from tests.live.conftest import Table
from tests.live.job import ROOT, TOKEN, Job, reached

pytestmark = pytest.mark.torch
STEPS = 7
ROUND_UP = 600
"""Steps: well over the five seconds that lie between two ranks' polls."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short one: the kernel takes 107 characters for a socket's path, and Kineto's name has 52."""
    with tempfile.TemporaryDirectory(prefix="kineto-") as made:
        yield Path(made)


def variables_of(folder: Path) -> dict[str, str]:
    """Of the training container and of the sidecar."""
    return {
        "KINETO_USE_DAEMON": "1",
        "KINETO_IPC_SOCKET_DIR": str(folder),
        "KINETO_ONDEMAND_TRACE_DIR": str(folder),
        "KINETO_LOG_LEVEL": "5",
    }


@contextmanager
def sidecar(folder: Path, port: int) -> Iterator[None]:
    """The daemon as its container runs it."""
    own = {"PYTHONPATH": str(ROOT / "operator"), "MFU_PROBE_PORT": str(port), "MFU_PROBE_TOKEN": TOKEN}
    command = [sys.executable, "-m", "mfu_probe.daemon"]
    with subprocess.Popen(command, env={**os.environ, **variables_of(folder), **own}) as process:
        try:
            yield
        finally:
            process.terminate()
            assert process.wait(10) == 0


def polling(job: Job) -> bool:
    """Whether every rank is served: one that is not answers 404, or nobody does."""
    try:
        return all(job.ask(rank, "GET", "/capture")[0] == 200 for rank in range(job.ranks))
    except OSError:
        return False


def test_the_same_steps_of_an_unmodified_script(tmp_path: Path, folder: Path, port: int, table: Table) -> None:
    late = ("--late-rank", "1", "--late-seconds", "0.02")
    started = Job(tmp_path / "job", 2, port, words=late, probed=False, environment=variables_of(folder))
    with sidecar(folder, port), started as job:
        reached(lambda: job.running() and polling(job), str(job.log))
        job.trained(50)
        for attempt in range(3):
            starts_ns = _captured(job, f"a{attempt}")
            if max(starts_ns) - min(starts_ns) < 1e9:
                break
            time.sleep(31)
        step_s = job.told(0, "/capture")["stepSeconds"]
        assert max(starts_ns) - min(starts_ns) < step_s * 1e9 / 2, "the same steps"
        traces = job.fetch(f"a{attempt}")
        assert not list(folder.glob("*.json")), "nothing is left but the sockets"
        assert [job.told(0, "/capture")[name] for name in ("rank", "worldSize", "step", "phase")] == [0, 2, None, None]
        assert job.finish() == 0
    found = analyze([traces])
    assert len(found.traces) == 2
    assert {len(device.steps) for device in found.devices} <= {STEPS - 1, STEPS - 2, STEPS - 3}
    assert isinstance(found.ranks, Ranks)
    assert found.ranks.slowest == 1, found.ranks
    table.row("rank 1 late by 20 ms", "Kineto's daemon, sidecar", 2, f"rank 1 named, by {attempt + 1} captures")


def _captured(job: Job, name: str) -> list[int]:
    for rank in range(job.ranks):
        status, said = job.ask(rank, "POST", "/capture", {"id": name, "roundUp": ROUND_UP, "steps": STEPS})
        assert status == 202, said
    states = [job.state(name, rank) for rank in range(job.ranks)]
    assert {state["state"] for state in states} == {"done"}, states
    assert {state["optimizerSteps"] for state in states} == {STEPS}
    return [int(state["startNs"]) for state in states]


def test_a_sidecar_that_dies_and_comes_back(tmp_path: Path, folder: Path, port: int, table: Table) -> None:
    """Training goes on, and is captured by the next one."""
    with Job(tmp_path / "job", 2, port, probed=False, environment=variables_of(folder)) as job:
        for life in ("a", "b"):
            with sidecar(folder, port):
                reached(lambda: job.running() and polling(job), str(job.log))
                job.trained(len(job.ends_s(0)) + 20)
                _captured(job, life)
            job.trained(len(job.ends_s(0)) + 50)
        assert job.finish() == 0
    table.row("the sidecar dies and comes back", "Kineto's daemon, sidecar", 2, "trains on; captured by both")
