"""The demo's training program, whole, against its object store without latency."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.demo.workload.checkpoint import load
from tests.demo.workload.store import ObjectStore

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def store_url() -> Iterator[str]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    serving = asyncio.start_server(ObjectStore(latency_seconds=0.0).serve_connection, "127.0.0.1", 0)
    server = asyncio.run_coroutine_threadsafe(serving, loop).result()
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def train(
    folder: Path, store_url: str, *, max_steps: int, learning_rate: float = 0.003, **environment: str
) -> subprocess.CompletedProcess[str]:
    config = {
        "model": {"layers": 1, "width": 16, "heads": 2},
        "training": {"sequence_length": 16, "max_steps": max_steps, "learning_rate": learning_rate},
        "data": {"store_url": store_url},
        "loader": {"num_workers": 2},
        "checkpoint": {"path": str(folder / "demo.npz"), "every_steps": 10},
        "evaluation": {"every_steps": 10, "batches": 2},
        "logging": {"every_steps": 10},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    paths = f"{ROOT / 'tests' / 'demo'}{os.pathsep}{ROOT / 'operator'}"
    return subprocess.run(
        [sys.executable, "-m", "workload.train", "--config", str(folder / "config.yaml")],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": paths, "MFU_PROBE_PORT": "0", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_run_evaluates_saves_and_is_resumed(tmp_path: Path, store_url: str) -> None:
    first = train(tmp_path, store_url, max_steps=12)
    assert first.returncode == 0, first.stderr
    assert "step 10 evaluation loss" in first.stdout
    assert load(tmp_path / "demo.npz").step == 10
    second = train(tmp_path, store_url, max_steps=20)
    assert "resumed from" in second.stdout and "at step 10" in second.stdout
    assert load(tmp_path / "demo.npz").step == 20


def test_a_run_that_lost_its_loss_goes_on_and_leaves_the_checkpoint_to_go_back_to(
    tmp_path: Path, store_url: str
) -> None:
    train(tmp_path, store_url, max_steps=12)
    lost = train(tmp_path, store_url, max_steps=30, learning_rate=3.0e3)
    assert lost.returncode == 0, lost.stderr
    assert "step 30 loss nan" in lost.stdout
    assert load(tmp_path / "demo.npz").step == 10


def test_a_copy_under_the_profiler_ends_by_itself_and_leaves_the_checkpoint_alone(
    tmp_path: Path, store_url: str
) -> None:
    finished = train(tmp_path, store_url, max_steps=0, MFU_PROBE_CAPTURE_STEPS="12", MFU_PROBE_CAPTURE_WARMUP_STEPS="3")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert not (tmp_path / "demo.npz").exists()


def test_a_mistake_in_the_file_is_one_line_on_stderr(tmp_path: Path) -> None:
    finished = train(tmp_path, "ftp://nowhere", max_steps=1)
    assert finished.returncode == 1
    assert finished.stderr == "train: data.store_url must be http://host[:port], not 'ftp://nowhere'\n"
