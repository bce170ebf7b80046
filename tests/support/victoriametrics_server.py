"""A real VictoriaMetrics over a database made of given samples: it speaks Prometheus' API, and takes less of it."""

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.cluster.toolchain import go_binaries
from tests.support.awaited import awaited
from tests.support.built import built
from tests.support.held_port import held_port

READY_S = 180.0
NEEDS_VICTORIAMETRICS = [] if built("victoriametrics", "victoria-metrics") else [pytest.mark.cluster]
"""Where it is not built yet, its tests wait for the cluster's and compile it: 20 s to 2 min."""


@contextmanager
def serving(families: Iterable[tuple[str, str, Iterable[str]]], folder: Path) -> Iterator[str]:
    """Yield the address of a server whose database holds `families`: (name, type, lines of `sample`)."""
    with held_port() as port:
        yield from _serving(families, folder, f"127.0.0.1:{port}")


def _serving(families: Iterable[tuple[str, str, Iterable[str]]], folder: Path, address: str) -> Iterator[str]:
    program = built("victoriametrics", "victoria-metrics") or go_binaries("victoriametrics") / "victoria-metrics"
    arguments = [f"-httpListenAddr={address}", f"-storageDataPath={folder / 'data'}", "-retentionPeriod=100y"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([str(program), *arguments], stdout=subprocess.DEVNULL, stderr=log)
    try:
        with httpx.Client(base_url=f"http://{address}", trust_env=False, timeout=30) as client:
            awaited(lambda: _answers(client), lambda ready: ready, READY_S)
            lines = [_in_milliseconds(line) for _, _, written in families for line in written]
            client.post("/api/v1/import/prometheus", content="".join(lines)).raise_for_status()
            client.get("/internal/force_flush").raise_for_status()
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(60)


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/health").is_success
    except httpx.TransportError:
        return False


def _in_milliseconds(line: str) -> str:
    """A line of OpenMetrics as the older text format has it."""
    series, _, time_s = line.rstrip("\n").rpartition(" ")
    return f"{series} {round(float(time_s) * 1000)}\n"
