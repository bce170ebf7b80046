"""Traces as they arrive: each is fetched, analysed and gone before the next one is in memory."""

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from mfu_operator.adapters.capture_api import UNKNOWN, Progress, RankError, Refused
from mfu_operator.coordinate.agreement import Agreement, Beat
from mfu_operator.coordinate.crew import Crew, Rank, patiently
from mfu_operator.errors import Unreadable
from mfu_operator.trace.analyze import Read, read_any
from mfu_operator.trace.read.formats import TraceFile

LARGEST_TRACE = 256 << 20
"""Compressed bytes: more than the capture API lets a trace have before it is compressed."""

MOST_EVENTS = 4_000_000
"""Of one trace: 0.7 GB while it is analysed."""

PHASE_BEGAN = "PhaseBegan"
"""Why a rank recorded nothing: a checkpoint or an evaluation began at the agreed steps, or they had passed."""

_PASSES = re.compile(r"phase \S+ began|step \d+ passed")

CLOCKS_APART_NS = 250_000_000
"""By which clocks of nodes may differ; other steps are seconds away."""

MOST_HELD = 2 << 30
"""Bytes of traces that are held for a person: what the Job's volume holds, less those that wait to be analysed."""

WAITING_ON_DISK = 8
"""Traces that are fetched and not yet analysed: two gigabytes at the most."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A rank's capture that is done. `first_step` is what the recorder says, `span_ns` when it recorded on its node's
    clock where it does not know its steps, `pause_s` what the loop waited for it."""

    rank: Rank
    first_step: int | None
    span_ns: tuple[int, int] | None
    pause_s: float | None
    read: Read


def collected(crew: Crew, agreement: Agreement, folder: Path, most_held: int = 0) -> list[Recorded]:
    """The analysed traces, by rank. A rank without one is dropped from the crew, with why.

    Args:
        crew: those that were asked.
        agreement: what they were asked for.
        folder: where traces lie for a while.
        most_held: bytes of them that stay there; what goes beyond is removed as soon as it is analysed.
    """
    found: list[Recorded] = []
    held = 0
    room = threading.BoundedSemaphore(WAITING_ON_DISK)
    with ThreadPoolExecutor(max_workers=max(1, len(crew.ranks))) as pool:
        asked = {pool.submit(_fetched, crew, rank, agreement, folder, room): rank for rank in crew.ranks}
        for rank, outcome in _outcomes(asked):
            if isinstance(outcome, RankError):
                crew.drop({rank.number: outcome})
                continue
            path, progress = outcome
            try:
                found.append(_recorded(rank, progress, _analysed(path, rank)))
                crew.tell(f"rank {rank.number} is analysed: {len(found)} of {len(crew.ranks)}")
            except Unreadable as error:
                crew.drop({rank.number: RankError("TraceUnreadable", error.message)})
            finally:
                size = path.stat().st_size
                if held + size > most_held:
                    path.unlink()
                else:
                    held += size
                room.release()
            rank.api.forget(agreement.capture)
    found.sort(key=lambda one: one.rank.number)
    return _of_same_steps(crew, found)


def _outcomes(
    asked: dict["Future[tuple[Path, Progress]]", Rank],
) -> Iterator[tuple[Rank, tuple[Path, Progress] | RankError]]:
    for future in as_completed(asked):
        try:
            yield asked[future], future.result()
        except RankError as error:
            yield asked[future], error


def _fetched(
    crew: Crew, rank: Rank, agreement: Agreement, folder: Path, room: threading.BoundedSemaphore
) -> tuple[Path, Progress]:
    """The trace of one rank, once it is done. Raises RankError."""
    progress = _awaited(crew, rank, agreement)
    if not room.acquire(timeout=crew.left_s()):
        raise RankError("OutOfTime", "the deadline came before its trace could be fetched")
    path = folder / f"rank-{rank.number}.json.gz"
    try:
        patiently(
            lambda: rank.api.fetch(agreement.capture, path, LARGEST_TRACE, crew.left_s()), crew.pace, crew.left_s()
        )
    except BaseException:
        path.unlink(missing_ok=True)
        room.release()
        raise
    return path, progress


def _awaited(crew: Crew, rank: Rank, agreement: Agreement) -> Progress:
    while True:
        progress = patiently(lambda: _progress(rank, agreement), crew.pace, crew.left_s())
        if progress.state == "done":
            return progress
        if progress.state == "failed":
            reason = progress.reason or "without a reason"
            why = PHASE_BEGAN if _PASSES.match(reason) else "CaptureFailed"
            raise RankError(why, f"rank {rank.number}: {reason[:200]}")
        if crew.left_s() <= 0:
            rank.api.forget(agreement.capture)
            at = "" if progress.step is None else f" at step {progress.step}"
            raise RankError("OutOfTime", f"rank {rank.number} is {progress.state}{at} at the deadline")
        time.sleep(min(crew.pace.poll_s, crew.left_s()))


def _progress(rank: Rank, agreement: Agreement) -> Progress:
    """How far a capture is. A rank that accepted it and knows nothing of it is another process now."""
    try:
        return rank.api.progress(agreement.capture)
    except Refused as error:
        if error.status != UNKNOWN:
            raise
        told = f"rank {rank.number} restarted in the same pod while it was captured"
        raise RankError("RankRestarted", told) from error


def _analysed(path: Path, rank: Rank) -> Read:
    """The accounts of one trace, under the rank's own number. Raises Unreadable."""
    (read,), _ = read_any((TraceFile(path, Path(f"rank {rank.number}")),), None, MOST_EVENTS)
    said = read.row.rank
    if said is not None and said != rank.number:
        raise Unreadable("TraceUnreadable", f"rank {rank.number} sends a trace of rank {said}")
    row = msgspec.structs.replace(read.row, rank=rank.number, world_size=read.row.world_size or rank.world_size)
    return Read(row, read.devices)


def _recorded(rank: Rank, progress: Progress, read: Read) -> Recorded:
    known = progress.start_ns is not None and progress.end_ns is not None
    span = (progress.start_ns or 0, progress.end_ns or 0) if known else None
    return Recorded(rank, progress.first_step, span, progress.pause_seconds, read)


def _of_same_steps(crew: Crew, found: list[Recorded]) -> list[Recorded]:
    """Those that recorded the steps that most did: a recorder that chooses by itself may have chosen others."""
    steps = Counter(one.first_step for one in found if one.first_step is not None)
    usual = steps.most_common(1)[0][0] if steps else None
    spans = sorted(one.span_ns for one in found if one.span_ns is not None)
    middle = spans[len(spans) // 2] if spans else None
    others = {
        one.rank.number: RankError("OtherSteps", f"rank {one.rank.number} recorded other steps than most")
        for one in found
        if one.first_step not in (None, usual) or (middle is not None and _apart(one.span_ns, middle))
    }
    crew.drop(others)
    return [one for one in found if one.rank.number not in others]


def _apart(span: tuple[int, int] | None, middle: tuple[int, int]) -> bool:
    """Whether it began at another time, by more than half of what was recorded and more than clocks differ."""
    return span is not None and abs(span[0] - middle[0]) > max(CLOCKS_APART_NS, (middle[1] - middle[0]) / 2)


def beat_of(found: Sequence[Recorded], agreement: Agreement) -> Beat | None:
    """When the ranks that recorded the same steps reached the multiple at which they began; None where a recorder knows
    its steps."""
    begun = [one.span_ns[0] for one in found if one.span_ns is not None and one.first_step is None]
    return Beat(median(begun) / 1e9, agreement.round_up) if begun else None
