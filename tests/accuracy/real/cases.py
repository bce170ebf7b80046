"""What was run, what was changed, how it was recorded, and what is right to say of it."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from tests.accuracy.real import changes, raw, recordings
from tests.accuracy.real.changes import Change
from tests.accuracy.real.raw import Document
from tests.accuracy.real.recordings import Recording

TRACES = Path(__file__).resolve().parents[2] / "data/traces"
SIZES = (0.2, 0.4)
"""Of the step."""

UNSTEADY = (0.5, 1.0)
"""Of the step, where steps differ by a fifth by themselves."""

SIZES_OF_ONE_STEP = (1.5, 3.0)
"""Of the step, where only one whole step was recorded: how much steps differ by themselves is hardly known there."""

RUNS: Mapping[str, str] = {
    "DLRM, 4 V100": "torchrec/sst_long_a2a_optimizer_3",
    "DLRM, 4 V100, rank 2 late": "torchrec/sst_long_a2a_optimizer_2a",
    "DLRM, 8 ranks": "param/dlrm8",
    "ResNet-50, V100": "kineto/resnet50_workers4_a.json.gz",
    "ResNet-50, V100, again": "kineto/resnet50_workers4_b.json.gz",
    "ResNet-50, V100, no workers": "kineto/resnet50_workers0_a.json.gz",
    "DLRM, A100, rank 3 of 8": "hta/trace_diff_control_a100.json.gz",
    "A100, rank 0 of 2": "hta/nccl_data.json.gz",
    "ResNet, MI300, rank 0 of 8": "tracelens/resnet_act_checkpoint_mi300_rank0.json.gz",
}


@lru_cache(maxsize=2)
def run(name: str) -> tuple[Document, ...]:
    """The documents of a run, one per rank."""
    path = TRACES / RUNS[name]
    return raw.from_zero([raw.document(one) for one in (sorted(path.iterdir()) if path.is_dir() else [path])])


@dataclass(frozen=True)
class Right:
    """What is right: a bottleneck, and one of some causes or none; `doubted`: that with half a confidence at most.

    `rank` says whether the late rank must be named.
    """

    bottleneck: str | None
    causes: tuple[str, ...] = ()
    doubted: bool = False
    rank: bool = False


NOTHING = Right(None)
TRANSFER_OR_WAIT = Right("CommsBound", doubted=True)
"""One rank's collectives take longer: whether it waits for another only the others tell."""

ONE: Mapping[str, tuple[Change, Right]] = {
    "nothing": (changes.nothing, NOTHING),
    "lower clock": (changes.kernels, Right("HardwareDegraded", ("Throttled",))),
    "slower host": (changes.host, Right("HostBound", ("PythonOverhead", "ThreadOversubscription"))),
    "later input": (changes.inputs, Right("InputStarved")),
    "slower copies": (changes.copies, Right("HardwareDegraded", ("LinkDegraded",))),
    "allocation": (changes.allocation, Right("HostBound", ("Allocator",))),
    "a new kernel": (changes.new_kernel, Right("KernelBound", ("NewKernel",))),
}
OF_A_JOB: Mapping[str, tuple[Change, Right]] = {**ONE, "slower network": (changes.network, TRANSFER_OR_WAIT)}
SEVERAL: Mapping[str, tuple[Change, Right]] = {
    "nothing": ONE["nothing"],
    "slower network": (changes.network, Right("CommsBound", ("SlowLink",))),
    "a late device": (changes.late_kernels, Right("Straggler", ("SlowCompute",), rank=True)),
}
CHANGES = {name: change for name, (change, _) in {**OF_A_JOB, **SEVERAL}.items()} | {"a late host": changes.late_host}
LATE_HOST = Right("Straggler", ("SlowHost",), rank=True)


@dataclass(frozen=True)
class Case:
    """A run and its baseline, both by name (no baseline: None), what was changed by how much, how it was recorded."""

    run: str
    baseline: str | None
    change: str
    size: float
    recording: str
    right: Right
    seed: int = 0

    @property
    def changed(self) -> Change:
        return CHANGES[self.change]

    @property
    def recorded(self) -> Recording:
        return {**recordings.OF_ONE, **recordings.OF_SEVERAL, **recordings.HIDES_THE_LATE}[self.recording]

    def dice(self) -> random.Random:
        return random.Random(f"{self.run} {self.change} {self.recording} {self.size} {self.seed}")


def cases(seeds: Sequence[int]) -> Iterator[Case]:
    """All of them, by run, so that a run is read once."""
    yield from _as_recorded(seeds)
    several = "DLRM, 4 V100"
    for change, (_, right) in SEVERAL.items():
        yield from _every(several, change, right, recordings.OF_SEVERAL, seeds, SIZES_OF_ONE_STEP)
    for change in ("slower network", "a late device"):
        yield from _every(several, change, TRANSFER_OR_WAIT, recordings.HIDES_THE_LATE, seeds, SIZES_OF_ONE_STEP)
    alone = {**recordings.OF_SEVERAL, **recordings.HIDES_THE_LATE}
    for case in _every("DLRM, 8 ranks", "a late host", LATE_HOST, alone, seeds, SIZES_OF_ONE_STEP):
        hidden = case.recording in recordings.HIDES_THE_LATE
        yield replace(case, baseline=None, right=TRANSFER_OR_WAIT if hidden else LATE_HOST)
    for name, without, sizes in (
        ("ResNet-50, V100", ("slower network",), UNSTEADY),
        ("DLRM, A100, rank 3 of 8", (), SIZES),
        ("A100, rank 0 of 2", ("later input", "slower copies"), SIZES),
        ("ResNet, MI300, rank 0 of 8", (*_NEEDS_IDLE, "later input", "slower copies"), SIZES),
    ):
        for change, (_, right) in OF_A_JOB.items():
            if change not in without:
                yield from _every(name, change, right, recordings.OF_ONE, seeds, sizes)


_NEEDS_IDLE = ("slower host", "allocation", "a new kernel")
"""Changes that show where the device waits for its host, which it never does in some runs."""


def _every(
    name: str,
    change: str,
    right: Right,
    among: Mapping[str, Recording],
    seeds: Sequence[int],
    sizes: Sequence[float],
) -> Iterator[Case]:
    for seed in seeds:
        for place, recording in enumerate(among):
            size = sizes[(seed + place) % len(sizes)]
            yield Case(name, name, change, size, recording, right, seed)


def _as_recorded(seeds: Sequence[int]) -> Iterator[Case]:
    """Runs that differ by themselves."""
    for seed in seeds:
        for recording in recordings.OF_SEVERAL:
            for baseline in ("DLRM, 4 V100", None):
                yield Case("DLRM, 4 V100, rank 2 late", baseline, "nothing", 0, recording, LATE_HOST, seed)
            yield Case("DLRM, 8 ranks", None, "nothing", 0, recording, Right("Straggler", rank=True), seed)
        for recording in recordings.HIDES_THE_LATE:
            for baseline in ("DLRM, 4 V100", None):
                yield Case("DLRM, 4 V100, rank 2 late", baseline, "nothing", 0, recording, TRANSFER_OR_WAIT, seed)
        resnet = "ResNet-50, V100"
        for recording in recordings.OF_ONE:
            for name, right in (
                (f"{resnet}, no workers", Right("InputStarved", ("DataLoaderWorkers",))),
                (f"{resnet}, again", NOTHING),
            ):
                yield Case(name, resnet, "nothing", 0, recording, right, seed)
