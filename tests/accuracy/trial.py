"""One trial: a random loop, a fault of a chosen size, two traces, one diagnosis."""

import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mfu_operator.model import facts
from mfu_operator.trace.analyze import profile
from mfu_operator.trace.diagnosis.diagnose import diagnose
from tests.support.synthetic.altered import Skewed
from tests.support.synthetic.faults import FAULTS, RANK_FAULTS
from tests.support.synthetic.kineto_file import VERSIONS, KinetoFile
from tests.support.synthetic.loop import FLASH, GEMM, NORM, POINTWISE, Kernel, Loop, Run
from tests.support.synthetic.nsys_file import SCHEMAS, NsysFile
from tests.support.synthetic.ranks import record_ranks

EVERY_FAULT = {**FAULTS, **RANK_FAULTS}


UNTOLD = {("PrefetchBursts", "kineto")}
"""Where a recording does not hold what tells the cause, and the bottleneck alone is right: torch.profiler does not see
the loader's workers."""


@dataclass(frozen=True)
class Outcome:
    """What was switched on and what was named; None where nothing was. `cost` is the fault's part of a step without
    noise."""

    cause: str
    found: str | None
    bottleneck: str | None
    cost: float
    form: str = "nsys"

    @property
    def right(self) -> bool:
        named = None if (self.cause, self.form) in UNTOLD else self.cause
        return self.found == named and self.bottleneck == EVERY_FAULT[self.cause][0]


def random_loop(dice: random.Random, cause: str) -> Loop:
    """A healthy loop; for some causes the one change that they presuppose (loading inline, long buckets)."""
    scale = dice.uniform(0.02, 0.04) if cause == "ThreadOversubscription" else dice.uniform(0.6, 2.5)
    forward = (
        Kernel(GEMM, scale * dice.uniform(60, 140), dice.randrange(64, 512)),
        Kernel(FLASH, scale * dice.uniform(40, 90), dice.randrange(64, 512)),
        Kernel(NORM, scale * dice.uniform(8, 25), dice.randrange(64, 512)),
        Kernel(POINTWISE, scale * dice.uniform(10, 30), dice.randrange(64, 512)),
    )
    loop = Loop(
        steps=dice.randrange(9, 16),
        layers=dice.randrange(6, 14),
        forward=forward,
        launch_us=dice.uniform(3.5, 7),
        op_us=dice.uniform(2, 4),
        input_us=dice.uniform(10, 60),
        h2d_us=dice.uniform(60, 260),
        buckets=dice.randrange(3, 6),
        noise=dice.uniform(0.005, 0.03),
        loader="inline" if cause in ("SlowStorage", "CpuTransform") else "workers",
    )
    return replace(loop, bucket_us=0.1 * step_us(loop) / loop.buckets)


def step_us(loop: Loop) -> float:
    """The step's length without noise."""
    run = replace(loop, noise=0.0, steps=3).record(NsysFile(), 0)
    return (run.marks[2] - run.marks[1]) / 1000


def prepared(loop: Loop, cause: str, size: float) -> Loop:
    """The baseline that the fault needs: buckets of a length of which whole ones can be lost."""
    if cause == "PrefetchBursts":
        return replace(loop, worker_threads=4, worker_read_us=2000.0)
    if cause == "LostOverlap":
        return replace(loop, bucket_us=max(loop.bucket_us / 2, size * step_us(loop) / max(1, loop.buckets - 1)))
    return loop


def attempt_ranks(cause: str, size: float, form: str, seed: int) -> Outcome:
    """Switch `cause` on for one of two to eight ranks, whose clocks differ by up to a second and drift."""
    dice = random.Random(f"{cause} {size} {form} {seed}")
    healthy = random_loop(dice, cause)
    count, kind = dice.choice((2, 4, 8)), dice.choice(sorted(SCHEMAS) if form == "nsys" else VERSIONS)
    slow = dice.randrange(count)
    faulty = RANK_FAULTS[cause][1](healthy, size * step_us(healthy))
    with tempfile.TemporaryDirectory(prefix="mfu-accuracy-") as folder:
        before = recorded_ranks([healthy] * count, form, kind, Path(folder) / "before", dice)
        loops = [faulty if rank == slow else healthy for rank in range(count)]
        after = recorded_ranks(loops, form, kind, Path(folder) / "after", dice)
        now, baseline = profile([after]), profile([before])
    found = diagnose(now, baseline)
    named = found.cause if now.facts.number(facts.SLOWEST_RANK) == slow else "another rank"
    bottleneck = found.bottleneck.value if found.bottleneck else None
    return Outcome(cause, named if bottleneck else None, bottleneck, step_us(faulty) / step_us(healthy) - 1, form)


def recorded_ranks(loops: Sequence[Loop], form: str, version: str, folder: Path, dice: random.Random) -> Path:
    """One file per rank in a new folder, each by a clock of its own."""
    folder.mkdir()
    files = [
        NsysFile(version) if form == "nsys" else KinetoFile(version, rank=rank, world_size=len(loops))
        for rank in range(len(loops))
    ]
    clocks = [Skewed(one, dice.randrange(10**9), dice.uniform(-5e-5, 5e-5)) for one in files]
    record_ranks(loops, clocks, dice.randrange(1 << 30))
    for rank, file in enumerate(files):
        file.write(folder / f"rank{rank}")
    return folder


def attempt(cause: str, size: float, form: str, seed: int) -> Outcome:
    """Switch `cause` on so that a step loses `size` of its length, in the format `form` (nsys, kineto)."""
    dice = random.Random(f"{cause} {size} {form} {seed}")
    healthy = prepared(random_loop(dice, cause), cause, size)
    faulty = FAULTS[cause][1](healthy, size * step_us(healthy))
    with tempfile.TemporaryDirectory(prefix="mfu-accuracy-") as folder:
        kind = dice.choice(sorted(SCHEMAS) if form == "nsys" else VERSIONS)
        before = _recorded(healthy, form, kind, Path(folder) / "before", dice.randrange(1 << 30))
        after = _recorded(faulty, form, kind, Path(folder) / "after", dice.randrange(1 << 30))
        now, baseline = profile([after]), profile([before])
    found = diagnose(now, baseline)
    bottleneck = found.bottleneck.value if found.bottleneck else None
    return Outcome(cause, found.cause, bottleneck, step_us(faulty) / step_us(healthy) - 1, form)


def _recorded(loop: Loop, form: str, version: str, path: Path, seed: int) -> Path:
    file = NsysFile(version) if form == "nsys" else KinetoFile(version)
    run: Run = loop.record(file, seed)
    assert isinstance(run.file, NsysFile | KinetoFile)
    return run.file.write(path)
