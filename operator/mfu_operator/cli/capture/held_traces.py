"""The traces of a capture by hand, fetched from the Job that holds them.

Its pod runs an image that others may have chosen: what it says is bounded on this side, by the size of the files that
kubectl writes it to.
"""

import re
import resource
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mfu_operator.errors import Retry, Stall
from mfu_operator.profiling.live.job import COMPLETE, FETCHED, HELD, TRACES
from mfu_operator.profiling.live.request import MOST_TARGETS
from mfu_operator.profiling.surgery import ANALYSIS_CONTAINER

HOLD_S = 300.0
"""For which the Job waits to be asked for its traces: a person's `kubectl` asks within seconds."""

LOOK_S, FETCH_S = 20.0, 120.0
"""A look at the folder, and one trace of the largest size over a slow line."""

LARGEST_TRACE = 256 << 20
"""Bytes: the Job fetches none that is larger."""

MOST_LISTED = 16 << 20
"""Bytes that kubectl may write beside a trace: its own cache is some, a list of the folder a few thousand."""

_READ = 8192
_TRACE = re.compile(r"rank-[0-9]{1,7}\.json\.gz")

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
        with tempfile.TemporaryFile() as file:
            listed = self._kubectl(namespace, job, LOOK_S, MOST_LISTED, file, "ls", folder)
            names = _said(file).split() if listed is None else []
        if COMPLETE not in names:
            return
        found: list[Path] = []
        for name in sorted(filter(_TRACE.fullmatch, names))[:MOST_TARGETS]:
            found.append(self._carried(namespace, job, f"{folder}/{name}", self.into / name))
        with tempfile.TemporaryFile() as file:
            self._kubectl(namespace, job, LOOK_S, MOST_LISTED, file, "touch", f"{folder}/{FETCHED}")
        self.fetched = tuple(found)
        self.tell(f"{len(found)} traces are in {self.into}: kubectl mfu analyze {self.into}/rank-*")

    def _carried(self, namespace: str, job: str, source: str, target: Path) -> Path:
        with target.open("wb") as file:
            failed = self._kubectl(namespace, job, FETCH_S, LARGEST_TRACE, file, "cat", source)
        if failed is not None:
            target.unlink()
            raise Retry("TracesNotFetched", f"{source} of Job {job}: {failed or 'it is larger than any trace'}")
        self.tell(f"{target.name}: {target.stat().st_size / 1e6:.1f} MB")
        return target

    def _kubectl(
        self, namespace: str, job: str, within_s: float, most_bytes: int, file: IO[bytes], *command: str
    ) -> str | None:
        """Run a command in the pod, its answer into the file; None, or the words with which it failed."""
        place = ("--namespace", namespace, f"job/{job}", "--container", ANALYSIS_CONTAINER)
        words: Sequence[str] = ("kubectl", *self.connection, "exec", *place, "--", *command)

        def limit() -> None:
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            least = most_bytes if hard == resource.RLIM_INFINITY else min(most_bytes, hard)
            resource.setrlimit(resource.RLIMIT_FSIZE, (least, least))

        with tempfile.TemporaryFile() as words_of_failure:
            try:
                done = self.run(
                    words, stdout=file, stderr=words_of_failure, timeout=within_s, check=False, preexec_fn=limit
                )
            except FileNotFoundError:
                raise Stall("KubectlMissing", "--keep needs kubectl in the PATH, which carries the traces") from None
            except subprocess.TimeoutExpired:
                raise Retry("TracesNotFetched", f"kubectl exec took more than {within_s:.0f} s; ask again") from None
            return None if done.returncode == 0 else " ".join(_said(words_of_failure).split())[:300]


def _said(file: IO[bytes]) -> str:
    """The beginning of what was written to a file."""
    file.seek(0)
    return file.read(_READ).decode(errors="replace")
