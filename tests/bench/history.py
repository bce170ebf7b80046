"""One investigation of a long history: 5,000 commits, a window of 300, a server that answers after 250 ms."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mfu_operator.adapters.git.environment import environment
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.investigation import Question
from mfu_operator.ports import Credentials
from tests.cluster.toolchain import go_binaries
from tests.support.git_http import served
from tests.support.suspect_story import job

COMMITS, WINDOW, OTHER_FILES = 5_000, 300, 400
LATENCY_S = 0.25
MOST_S, MOST_MIB = 60.0, 512.0
PASSWORD = "bench-only"  # of a server on the loopback, for as long as this runs
OVERLAY = "resources: [../base]\nconfigMapGenerator:\n  - name: gpt-config\n    files: [train.yaml]\n"


class Late(list[str]):
    """What a server notes of each request; noting takes as long as the network would."""

    def append(self, path: str) -> None:
        """Note it, late."""
        time.sleep(LATENCY_S)
        super().append(path)


@dataclass
class Memory:
    """The most that a process tree held at one time, in MiB, this process aside."""

    most_mib: float = 0.0
    _over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch until the block ends."""
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            self.most_mib = max(self.most_mib, sum(map(_resident_mib, _below(os.getpid()))))


def _below(root: int) -> Iterator[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(stat[1]), []).append(int(entry.name))
    waiting = list(parents.get(root, []))
    for pid in waiting:
        waiting.extend(parents.get(pid, []))
        yield pid


def _resident_mib(pid: int) -> float:
    """A process' proportional share, so that what two of them map counts once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def commits() -> Iterator[tuple[str, dict[str, str]]]:
    """(subject, files) of each: a third of the window touches what production reads, and one of them its workers."""
    base = {"base/kustomization.yaml": "resources: [job.yaml]\n", "base/job.yaml": job()}
    first = {f"apps/{number:03}/values.yaml": f"a: {number}\n" for number in range(OTHER_FILES)}
    yield "Begin", {**base, "prod/kustomization.yaml": OVERLAY, **first, "prod/train.yaml": _train(0, 8)}
    for number in range(1, COMMITS):
        guilty = number == COMMITS - WINDOW // 2
        workers = 0 if number >= COMMITS - WINDOW // 2 else 8
        if guilty or number % 3 == 0:
            yield ("Workers" if guilty else f"Seed {number}"), {"prod/train.yaml": _train(number, workers)}
        else:
            yield f"Other {number}", {f"apps/{number % OTHER_FILES:03}/values.yaml": f"a: {number}\n"}


def _train(seed: int, workers: int) -> str:
    return f"loader:\n  num_workers: {workers}\nseed: {seed}\n"


def imported(bare: Path) -> None:
    """The history, written at once."""
    lines: list[str] = []
    for number, (subject, files) in enumerate(commits()):
        lines.append(
            f"commit refs/heads/main\nmark :{number + 1}\ncommitter P <p@invalid> {1_600_000_000 + number} +0000"
        )
        lines.append(f"data {len(subject)}\n{subject}" + (f"\nfrom :{number}" if number else ""))
        lines += [f"M 100644 inline {path}\ndata {len(text)}\n{text}" for path, text in files.items()]
    git = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "init", "-q", "--bare", "--initial-branch=main", str(bare)], check=True, env=git)
    subprocess.run(["git", "-C", str(bare), "fast-import", "--quiet"], input="\n".join(lines).encode() + b"\n",
                   check=True, env=git)  # fmt: skip
    for name in ("http.receivepack", "uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        subprocess.run(["git", "-C", str(bare), "config", name, "true"], check=True, env=git)


def main() -> int:
    """Measure once and say so; 1 where a bound is missed."""
    os.environ["PATH"] = os.pathsep.join([str(go_binaries("kustomize")), os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "models.git"
        imported(bare)
        asked, memory = Late(), Memory()
        good, bad = (_sha(bare, revision) for revision in (f"main~{WINDOW}", "main"))
        with served(Path(folder), PASSWORD, asked) as address, memory.watched():
            source = Source(f"{address}/models.git", "main", "prod", (), None)
            workload = WorkloadRef("batch/v1", "Job", "training", "gpt")
            question = Question(source, good, bad, workload, "DataLoaderWorkers")
            began = time.monotonic()
            found = GitRepository(transports=("http",)).investigate(question, Credentials("x", PASSWORD))
            took_s = time.monotonic() - began
    chosen = found.ranking.chosen
    said = chosen.commit.subject if chosen else found.ranking.because
    sys.stdout.write(
        f"{COMMITS} commits, a window of {WINDOW}, {len(asked)} requests of {LATENCY_S * 1000:.0f} ms: {said}\n"
        f"{took_s:.1f} s (at most {MOST_S:.0f}), {memory.most_mib:.0f} MiB (at most {MOST_MIB:.0f})\n"
    )
    met = chosen is not None and said == "Workers" and took_s <= MOST_S and memory.most_mib <= MOST_MIB
    return 0 if met else 1


def _sha(bare: Path, revision: str) -> str:
    env = environment({}, str(bare), ())
    done = subprocess.run(["git", "-C", str(bare), "rev-parse", revision], capture_output=True, check=True, env=env)
    return done.stdout.decode().strip()


if __name__ == "__main__":
    sys.exit(main())
