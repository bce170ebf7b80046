"""A training job of several ranks on this machine, and the questions that a coordinator asks them."""

import gzip
import http.client
import json
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.live.environment import python
from tests.support.awaited import awaited

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(__file__).parent / "scripts"
TOKEN = "a-token-of-the-tests"
AHEAD = 12
"""Steps between the question and the first one recorded: a second or so."""

PATIENCE_S = 180.0
"""For what a loaded machine takes long over: torch's import in each process."""


@dataclass
class Job:
    """`torchrun` with `ranks` processes; a context manager that ends it.

    Attributes:
        folder: where the ranks leave their steps, and their traces.
        port: of the first rank; the others follow.
        probed: whether `mfu_probe run` starts it.
        restarts: how often torchrun starts the ranks again: on a busy machine gloo's often do not find each other.
        largest_file: bytes that no file may grow beyond.
    """

    folder: Path
    ranks: int
    port: int
    script: str = "train.py"
    words: Sequence[str] = ()
    probed: bool = True
    restarts: int = 5
    largest_file: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def __enter__(self) -> "Job":
        self.folder.mkdir(exist_ok=True)
        (self.folder / "token").write_text(TOKEN)
        (self.folder / "traces").mkdir(exist_ok=True)
        interpreter = str(python())
        launcher = [
            interpreter, "-m", "torch.distributed.run",
            f"--nproc-per-node={self.ranks}", f"--max-restarts={self.restarts}",
            "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{self.port - 1}", "--local-addr=127.0.0.1",
            str(SCRIPTS / self.script), "--out", str(self.folder), *self.words,
        ]  # fmt: skip
        command = [interpreter, "-m", "mfu_probe", "run", "--", *launcher] if self.probed else launcher
        self.log = self.folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                env=self._variables(),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=self._limit,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
        return {
            **kept,
            "PYTHONPATH": str(ROOT / "operator"),
            "MFU_PROBE_PORT": str(self.port),
            "MFU_PROBE_TOKEN_FILE": str(self.folder / "token"),
            "MFU_PROBE_TRACE_DIR": str(self.folder / "traces"),
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",  # ranks started again would find those of before
            **self.environment,
        }

    def _limit(self) -> None:
        if self.largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.largest_file, self.largest_file))

    def attempt(self) -> int:
        """How often torchrun has started the ranks again, as far as they have come to train."""
        return max((int(path.name.rpartition("-")[2]) for path in self.folder.glob("steps-0-*")), default=0)

    def ends_s(self, rank: int) -> list[float]:
        """When the steps of a rank ended since torchrun started it last, by its own clock."""
        path = self.folder / f"steps-{rank}-{self.attempt()}"
        return [float(line) for line in path.read_text().splitlines()[:-1]] if path.exists() else []

    def process_of(self, rank: int) -> int:
        """The process of a rank since torchrun started it last."""
        return int((self.folder / f"pid-{rank}-{self.attempt()}").read_text())

    def trained(self, steps: int, rank: int = 0) -> None:
        """Wait until a rank has done so many steps."""
        reached(lambda: self.running() and len(self.ends_s(rank)) >= steps, str(self.log))

    def started_again(self, attempt: int) -> None:
        """Wait until the ranks train that torchrun has started after that attempt."""
        reached(lambda: self.running() and self.attempt() > attempt and len(self.ends_s(0)) > 1, str(self.log))

    def running(self) -> bool:
        """Whether it runs; AssertionError with what it said where it ended."""
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        return True

    def finish(self) -> int:
        """Let the ranks leave their loop, all after the same step; the exit status."""
        soon = self.folder / "soon"
        soon.write_text(str(max(len(self.ends_s(rank)) for rank in range(self.ranks)) + 4 * AHEAD))
        soon.rename(self.folder / "end")
        return self.process.wait(PATIENCE_S)

    def ask(
        self, rank: int, method: str, path: str, body: Any = None, token: str = TOKEN
    ) -> tuple[int, dict[str, Any] | bytes]:
        """A request to a rank's API; the answer decoded where it is JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port + rank, timeout=30)
        try:
            raw = None if body is None else json.dumps(body).encode()
            connection.request(method, path, raw, {"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if answer.headers["Content-Type"] == "application/json" else text
        finally:
            connection.close()

    def told(self, rank: int, path: str) -> dict[str, Any]:
        """What GET answers, which must be 200 and JSON."""
        status, said = self.ask(rank, "GET", path)
        assert status == 200 and isinstance(said, dict), (status, said)
        return said

    def serving(self) -> None:
        """Wait until every rank answers and knows how long its steps take."""
        reached(lambda: self.running() and all(map(self._steps_known, range(self.ranks))), str(self.log))

    def _steps_known(self, rank: int) -> bool:
        with suppress(OSError):
            return self.told(rank, "/capture")["stepSeconds"] is not None
        return False

    def step(self) -> int:
        """The furthest step of any rank."""
        return max(int(self.told(rank, "/capture")["step"]) for rank in range(self.ranks))

    def capture(self, name: str, steps: int = 7, first: int | None = None) -> int:
        """Ask every rank for the same steps; the first of them."""
        first = self.step() + AHEAD if first is None else first
        for rank in range(self.ranks):
            status, said = self.ask(rank, "POST", "/capture", {"id": name, "firstStep": first, "steps": steps})
            assert (status, said) == (202, {"id": name, "firstStep": first, "steps": steps})
        return first

    def state(self, name: str, rank: int) -> dict[str, Any]:
        """How far a capture is when it is over."""
        return awaited(
            lambda: self.told(rank, f"/capture/{name}"), lambda said: said["state"] in ("done", "failed"), PATIENCE_S
        )

    def fetch(self, name: str, ranks: Sequence[int] | None = None) -> Path:
        """The ranks' traces (all ranks' unless told), in one folder."""
        folder = self.folder / f"fetched-{name}"
        folder.mkdir()
        for rank in range(self.ranks) if ranks is None else ranks:
            status, trace = self.ask(rank, "GET", f"/capture/{name}/trace")
            assert status == 200 and isinstance(trace, bytes), trace
            gzip.decompress(trace)
            (folder / f"rank-{rank}.json.gz").write_bytes(trace)
        return folder


def reached(holds: Callable[[], bool], what: str) -> None:
    """Wait until it holds."""
    assert awaited(holds, bool, PATIENCE_S), f"not reached in {PATIENCE_S:.0f} s: {what}"


def step_seconds(ends: Sequence[float]) -> list[float]:
    """How long each step lasted, from the ends of the steps."""
    return [later - earlier for earlier, later in pairwise(ends)]
