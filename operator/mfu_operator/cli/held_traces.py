"""The traces of a capture by hand, fetched from the Job that holds them."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mfu_operator.errors import Retry, Stall
from mfu_operator.profiling.live.job import COMPLETE, FETCHED, HELD, TRACES
from mfu_operator.profiling.surgery import ANALYSIS_CONTAINER

HOLD_S = 300.0
"""For which the Job waits to be asked for its traces: a person's `kubectl` asks within seconds."""

LOOK_S, FETCH_S = 20.0, 120.0
"""A look at the folder, and one trace of the largest size over a slow line."""

Program = Callable[..., "subprocess.CompletedProcess[bytes]"]


@dataclass
class HeldTraces:
    """What a Job holds, and where it belongs. kubectl carries it, with the rights and the context of whoever asks."""

    into: Path
    tell: Callable[[str], None]
    run: Program = subprocess.run
    fetched: tuple[Path, ...] = ()
    connection: Sequence[str] = ()

    def fetch(self, namespace: str, job: str) -> None:
        """Fetch every trace once all of them are there, and let the Job end; nothing happens before.

        Raises:
            Stall: (KubectlMissing) there is no kubectl to carry them.
            Retry: (TracesNotFetched) a trace could not be read; the Job holds it for a while.
        """
        if self.fetched:
            return
        folder = f"{TRACES}/{HELD}"
        listed = self._kubectl(namespace, job, LOOK_S, "ls", folder)
        names = listed.stdout.decode().split() if listed.returncode == 0 else []
        if COMPLETE not in names:
            return
        found: list[Path] = []
        for name in sorted(name for name in names if name.startswith("rank-") and "/" not in name):
            found.append(self._carried(namespace, job, f"{folder}/{name}", self.into / name))
        self._kubectl(namespace, job, LOOK_S, "touch", f"{folder}/{FETCHED}")
        self.fetched = tuple(found)
        self.tell(f"{len(found)} traces are in {self.into}: kubectl mfu analyze {self.into}/rank-*")

    def _carried(self, namespace: str, job: str, source: str, target: Path) -> Path:
        with target.open("wb") as file:
            ended = self._kubectl(namespace, job, FETCH_S, "cat", source, file=file.fileno())
        if ended.returncode != 0:
            target.unlink()
            said = " ".join(ended.stderr.decode(errors="replace").split())[:300]
            raise Retry("TracesNotFetched", f"{source} of Job {job}: {said}")
        self.tell(f"{target.name}: {target.stat().st_size / 1e6:.1f} MB")
        return target

    def _kubectl(
        self, namespace: str, job: str, within_s: float, *command: str, file: int = subprocess.PIPE
    ) -> "subprocess.CompletedProcess[bytes]":
        place = ("--namespace", namespace, f"job/{job}", "--container", ANALYSIS_CONTAINER)
        words: Sequence[str] = ("kubectl", *self.connection, "exec", *place, "--", *command)
        try:
            return self.run(words, stdout=file, stderr=subprocess.PIPE, timeout=within_s, check=False)
        except FileNotFoundError:
            raise Stall("KubectlMissing", "--keep needs kubectl in the PATH, which carries the traces") from None
        except subprocess.TimeoutExpired:
            raise Retry("TracesNotFetched", f"kubectl exec took more than {within_s:.0f} s; ask again") from None
