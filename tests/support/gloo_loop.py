"""Ranks that train on the CPU with gloo, as torch.profiler sees them; written from how DDP works, without the modelled
loop of `synthetic`.

Each rank waits for its batch, computes forward and backward, and its buckets are reduced on gloo's own thread: a
reduction begins when the rank has its bucket and ends when the last rank had its own, and has sent it. `backward`
returns when all are done, so that every rank leaves it with the last.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAIN, RUNLOOP = 100, 200


@dataclass(frozen=True)
class GlooRank:
    """Milliseconds per step; `late_ms` is spent in the forward pass."""

    input_ms: float = 5.0
    forward_ms: float = 60.0
    backward_ms: float = 110.0
    late_ms: float = 0.0


@dataclass(frozen=True)
class GlooJob:
    """`marks`: "ProfilerStep", or "Optimizer" where the profiler was asked by a daemon and nothing else marks steps.

    `scatter_ms`: how much later than the first a rank may leave a collective: where ranks share few cores, as many
    milliseconds as a scheduler's turn.
    """

    ranks: Sequence[GlooRank]
    steps: int = 7
    buckets: int = 3
    transfer_ms: float = 8.0
    scatter_ms: float = 0.4
    marks: str = "ProfilerStep"

    def write(self, folder: Path, seed: int = 1) -> Path:
        """One file per rank in a new folder, each by a clock of its own."""
        folder.mkdir()
        dice = random.Random(seed)
        events: list[list[dict[str, Any]]] = [[] for _ in self.ranks]
        now = [1000.0] * len(self.ranks)
        for step in range(self.steps):
            self._step(step, now, events, dice)
        for rank, found in enumerate(events):
            clock = 1000.0 * dice.uniform(0, 500)
            for event in found:
                event["ts"] += clock
            info = {"backend": "gloo", "rank": rank, "world_size": len(self.ranks)}
            (folder / f"{rank}.json").write_text(
                json.dumps({"schemaVersion": 1, "distributedInfo": info, "traceEvents": found})
            )
        return folder

    def _step(self, step: int, now: list[float], events: list[list[dict[str, Any]]], dice: random.Random) -> None:
        begins, ready = list(now), []
        for rank, one in enumerate(self.ranks):
            at = now[rank]
            for name, ms in (
                ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", one.input_ms),
                ("forward", one.forward_ms + one.late_ms),
            ):
                lasts = ms * dice.lognormvariate(0, 0.03)
                events[rank].append(_event(name, at, at + lasts, MAIN))
                at += lasts
            ready.append(at)
        done = 0.0
        for bucket in range(self.buckets):
            own = [
                at + one.backward_ms * (bucket + 1) / self.buckets for at, one in zip(ready, self.ranks, strict=True)
            ]
            starts = [max(at, done) for at in own]
            done = max(starts) + self.transfer_ms * dice.lognormvariate(0, 0.1)
            for rank, start in enumerate(starts):
                ends = done + dice.uniform(0, self.scatter_ms)
                events[rank].append(_event("gloo:all_reduce", start, ends, RUNLOOP))
        for rank, at in enumerate(ready):
            left = done + self.scatter_ms + dice.uniform(0.1, 0.6)
            events[rank].append(_event("backward", at, left, MAIN))
            ends = left + 4 * dice.lognormvariate(0, 0.05)
            events[rank].append(_event("Optimizer.step#SGD.step", left, ends, MAIN))
            now[rank] = ends + 0.5
            if self.marks == "ProfilerStep":
                events[rank].append(_event(f"ProfilerStep#{step}", begins[rank], now[rank], MAIN))


def _event(name: str, start_ms: float, end_ms: float, thread: int) -> dict[str, Any]:
    """An annotation, its times in microseconds."""
    time = {"ts": round(start_ms * 1000, 3), "dur": round((end_ms - start_ms) * 1000, 3)}
    return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 7, "tid": thread, **time, "args": {}}
