"""Ranks of a run that serve recorded traces: mfu_probe's own server and session, a recorder that records nothing.

What they answer is what a real rank answers, because the same code answers it; only the trace is another run's.
"""

import gzip
import itertools
import os
import re
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from mfu_operator.profiling.live.request import CaptureRequest, TargetPod
from mfu_probe import RankIdentity
from mfu_probe.live.server import ProbeServer
from mfu_probe.live.session import CaptureSession
from mfu_probe.live.storage import Storage
from mfu_probe.metrics import Snapshot
from mfu_probe.phases import Phase
from mfu_probe.probe import Probe

TRACES = Path(__file__).parents[1] / "data" / "traces"
TOKEN = "s3cret"  # of the test's own ranks
STEP_S = 0.02
PORT = 9400
_addresses = itertools.count(1)


class RecordedTrace:
    """A recorder whose steps were recorded elsewhere. `fails` is raised at its start."""

    name = "torch.profiler"

    def __init__(self, trace: Path, rank: int, world_size: int) -> None:
        self._trace, self._rank, self._world_size = trace, rank, world_size
        self.fails: Exception | None = None

    def start(self, activities: Sequence[str]) -> None:
        if self.fails is not None:
            raise self.fails

    def mark(self, step: int | None) -> None:
        """Nothing: the marks are in the trace."""

    def stop(self) -> None:
        """Nothing was recorded here."""

    def discard(self) -> None:
        """Nothing was recorded here."""

    def export(self, path: Path) -> None:
        text = gzip.decompress(self._trace.read_bytes()).decode()
        text = re.sub(r'("rank":\s*)\d+', rf"\g<1>{self._rank}", text, count=1)
        path.write_text(re.sub(r'("world_size":\s*)\d+', rf"\g<1>{self._world_size}", text, count=1))


class SidecarServer(ProbeServer):
    """What the sidecar of Kineto's daemon protocol tells: no rank, step and phase, and when it recorded."""

    begins_ns = 0
    rounds: ClassVar[list[int]] = []

    def description(self) -> dict[str, Any]:
        known = super().description()
        return {**known, "recorder": "kineto", **dict.fromkeys(("rank", "worldSize", "step", "phase", "stepSeconds"))}

    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        round_up = body["roundUp"]
        self.rounds.append(round_up)
        first = (self.session.step // round_up + 1) * round_up
        self.begins_ns = first * 1_000_000
        taken = self.session.request({"id": body["id"], "firstStep": first, "steps": body["steps"]}, 0.1)
        return {"id": taken["id"], "steps": taken["steps"]}

    def state(self, capture: str) -> dict[str, Any]:
        told = super().state(capture)
        told.pop("firstStep")
        return {**told, "startNs": self.begins_ns, "endNs": self.begins_ns + 5_000_000}


@dataclass
class ServedRank:
    """One rank. `step` is the one it runs; while `holds` it runs no further. `seen` are the tokens it was sent."""

    number: int
    session: CaptureSession
    server: ProbeServer
    recorder: RecordedTrace
    step: int
    phase: Phase = "running"
    holds: bool = False
    alive: bool = True
    connections: list[socket.socket] = field(default_factory=list)

    def stop(self) -> None:
        """The process is gone."""
        if self.alive:
            self.alive = False
            self.server.stop()
            for connection in self.connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


@dataclass
class RankServers:
    """A run of pods with `processes` ranks each, on loopback, whose steps go on by themselves until `stop`."""

    folder: Path
    traces: Sequence[Path]
    processes: int = 1
    step_s: float = STEP_S
    first_step: int = 100
    token: str = TOKEN
    ranks: list[ServedRank] = field(default_factory=list)
    pods: list[TargetPod] = field(default_factory=list)
    kineto: bool = False
    """Whether a sidecar answers, which knows neither ranks nor steps."""

    meanwhile: list[Callable[[], None]] = field(default_factory=list)
    """Called on each tick of the loop."""

    def __post_init__(self) -> None:
        self._ended = threading.Event()
        self._loop = threading.Thread(target=self._run, daemon=True)
        (self.folder / "token").write_text(self.token + "\n")
        world_size = len(self.traces)
        for number, trace in enumerate(self.traces):
            pod, local = divmod(number, self.processes)
            if local == 0:
                self.pods.append(self._pod(pod))
            self.ranks.append(self._rank(number, local, world_size, trace, self.pods[pod]))
        self._loop.start()

    def request(self, **changes: object) -> CaptureRequest:
        """What the operator would ask for."""
        made = CaptureRequest("mfu-gpt-a1", 5, 60.0, len(self.pods), tuple(self.pods))
        return replace(made, **changes)  # type: ignore[arg-type]

    def stop(self) -> None:
        """The run ends."""
        self._ended.set()
        self._loop.join()
        with ThreadPoolExecutor(max_workers=len(self.ranks)) as pool:
            list(pool.map(ServedRank.stop, self.ranks))

    def _pod(self, index: int) -> TargetPod:
        ip = f"127.{os.getpid() % 200 + 20}.{next(_addresses) % 250 + 1}.{index + 1}"
        uid = f"00000000-0000-4000-8000-{index:012d}"
        return TargetPod(uid, f"gpt-{index}", ip, f"node-{index}", PORT)

    def _rank(self, number: int, local: int, world_size: int, trace: Path, pod: TargetPod) -> ServedRank:
        place = self.folder / f"rank-{number}"
        place.mkdir()
        recorder = RecordedTrace(trace, number, world_size)
        session = CaptureSession(recorder, Storage(place))
        environment = {"MFU_PROBE_TOKEN_FILE": str(self.folder / "token"), "MFU_PROBE_POD_UID": pod.uid}
        identity = RankIdentity(number, world_size, local)
        base = Probe().snapshot()
        rank: ServedRank

        def snapshot() -> Snapshot:
            return replace(base, phase=rank.phase, step_seconds=self.step_s)

        kind = SidecarServer if self.kineto else ProbeServer
        server = kind(snapshot, session, identity, environment)
        rank = ServedRank(number, session, server, recorder, self.first_step)
        session.before_step(rank.step)
        server.start(PORT + local, pod.ip)
        _note_connections(server, rank.connections)
        return rank

    def _run(self) -> None:
        while not self._ended.wait(self.step_s):
            for rank in self.ranks:
                if rank.alive and not rank.holds:
                    rank.step += 1
                    rank.session.before_step(rank.step)
            for act in list(self.meanwhile):
                act()


def _note_connections(server: ProbeServer, into: list[socket.socket]) -> None:
    """Those of a process that is killed end with it."""
    listening = server._server
    assert listening is not None
    accept = listening.get_request

    def noted() -> tuple[socket.socket, object]:
        connection, address = accept()
        into.append(connection)
        return connection, address

    listening.get_request = noted  # type: ignore[method-assign]


def torchrec(slow: bool = True) -> list[Path]:
    """Four ranks of a TorchRec run; `slow`: that in which rank 2 is late by its host."""
    folder = TRACES / "torchrec" / ("sst_long_a2a_optimizer_2a" if slow else "sst_long_a2a_optimizer_3")
    return sorted(folder.iterdir())


def dlrm() -> list[Path]:
    """Eight ranks of a DLRM run."""
    return sorted((TRACES / "param" / "dlrm8").iterdir())
