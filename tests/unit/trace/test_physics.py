"""Verdicts on a job simulated from its parts (`tests/support/physics`), which shares no habit with `synthetic`."""

from dataclasses import replace
from pathlib import Path

import pytest

from mfu_operator.model.account import StepAccount
from mfu_operator.trace.analyze import profile
from mfu_operator.trace.diagnosis.diagnose import diagnose
from tests.support.physics import File, Job, run, run_ranks
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.nsys_file import NsysFile

FORMS = ("kineto", "nsys")
HEALTHY = Job()
STEP_US = 7_500.0
"""Of the healthy job, which its device fills: a worker may take four of them for a batch, and four workers hide it."""


def file_of(form: str, rank: int | None = None, ranks: int = 1) -> File:
    return KinetoFile("2.4", rank=rank, world_size=ranks) if form == "kineto" else NsysFile("2025.3.1.90")


def account(jobs: tuple[Job, ...], form: str, seed: int, folder: Path) -> StepAccount:
    if len(jobs) == 1:
        folder.mkdir(exist_ok=True)
        return profile([run(jobs[0], file_of(form), seed).write(folder / "trace")])
    files = run_ranks(jobs, [file_of(form, rank, len(jobs)) for rank in range(len(jobs))], seed)
    for rank, file in enumerate(files):
        file.write(folder / f"rank{rank}")
    return profile([folder])


def verdict(now: tuple[Job, ...], before: tuple[Job, ...], form: str, folder: Path) -> tuple[str, float]:
    accounts = []
    for seed, (name, jobs) in enumerate((("now", now), ("before", before)), start=1):
        (folder / name).mkdir()
        accounts.append(account(jobs, form, seed, folder / name))
    found = diagnose(*accounts)
    return f"{found.bottleneck.value if found.bottleneck else None}/{found.cause}", found.confidence


SLOWER_STORE = replace(HEALTHY, read_us=4.5 * STEP_US)
STORE = replace(HEALTHY, read_us=2.5 * STEP_US)
TWO_WORKERS = replace(HEALTHY, workers=2, read_us=2.4 * STEP_US - 3_000)
FOUR_WORKERS = replace(TWO_WORKERS, workers=4)
ONE_SLOW_SHARD = replace(HEALTHY, shards=(1.0,) * 7 + (9.0,))

CASES = {
    "the same job twice": (HEALTHY, HEALTHY, {"None/None"}),
    "three kernels in place of one": (replace(HEALTHY, pieces=3), HEALTHY, {"KernelBound/Unfused"}),
    "two kernels in place of one": (replace(HEALTHY, pieces=2), HEALTHY, {"KernelBound/Unfused"}),
    "buckets in eighths": (
        replace(HEALTHY, split=8, split_overhead_us=60.0),
        HEALTHY,
        {"CommsBound/SmallMessages"},
    ),
    "copies on the device": (
        replace(HEALTHY, device_copies=8, device_copy_us=120.0),
        HEALTHY,
        {"CopyBound/ExtraCopies"},
    ),
    "recomputation": (replace(HEALTHY, recompute=True), HEALTHY, {"KernelBound/Recompute"}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_what_changed_is_named(case: str, form: str, tmp_path: Path) -> None:
    now, before, right = CASES[case]
    assert verdict((now,), (before,), form, tmp_path)[0] in right


@pytest.mark.parametrize("form", FORMS)
def test_recomputation_says_how_far_hfu_exceeds_mfu(form: str, tmp_path: Path) -> None:
    """One of three matrix kernels of a layer, its forward one, is run again: 4/3."""
    again = replace(HEALTHY, recompute=True)
    now, before = (account((one,), form, 1, tmp_path / str(place)) for place, one in enumerate((again, HEALTHY)))
    assert any("HFU is 1.33 times MFU" in said for said in diagnose(now, before).evidence)


LOADERS = {
    "a slower store": (SLOWER_STORE, STORE, "InputStarved/SlowStorage"),
    "a slower store behind marked workers": (
        replace(SLOWER_STORE, threads_marked=True),
        replace(STORE, threads_marked=True),
        "InputStarved/SlowStorage",
    ),
    "fewer workers": (TWO_WORKERS, FOUR_WORKERS, "InputStarved/DataLoaderWorkers"),
}
"""All of them make the step wait every Nth time, because N workers deliver together."""


@pytest.mark.parametrize("case", LOADERS)
def test_a_loader_that_is_too_slow_is_known_by_what_its_workers_do(case: str, tmp_path: Path) -> None:
    now, before, right = LOADERS[case]
    assert verdict((now,), (before,), "nsys", tmp_path)[0] == right


@pytest.mark.parametrize("case", LOADERS)
def test_where_workers_are_not_seen_the_rhythm_alone_is_doubted(case: str, tmp_path: Path) -> None:
    now, before, right = LOADERS[case]
    found, confidence = verdict((now,), (before,), "kineto", tmp_path)
    assert found.startswith("InputStarved/")
    assert found in (right, "InputStarved/None") or confidence <= 0.5


@pytest.mark.parametrize("form", FORMS)
def test_one_slow_batch_is_input_and_its_cause_is_doubted(form: str, tmp_path: Path) -> None:
    found, confidence = verdict((ONE_SLOW_SHARD,), (HEALTHY,), form, tmp_path)
    assert found.startswith("InputStarved/")
    assert confidence <= 0.5


RANKS = (replace(HEALTHY, steps=8),) * 4


@pytest.mark.parametrize(
    ("case", "right"),
    [
        ("recompute", "KernelBound/Recompute"),
        ("network", "CommsBound/SlowLink"),
        ("straggler", "Straggler/SlowCompute"),
        ("same", "None/None"),
    ],
)
def test_ranks_are_told_from_the_network_and_from_what_all_of_them_do(case: str, right: str, tmp_path: Path) -> None:
    one = RANKS[0]
    late = replace(one, device_factor=1.12)
    now = {
        "recompute": (replace(one, recompute=True),) * 4,
        "network": (replace(one, bucket_us=1_200.0),) * 4,
        "straggler": (one, one, late, one),
        "same": RANKS,
    }[case]
    assert verdict(now, RANKS, "kineto", tmp_path)[0] == right
