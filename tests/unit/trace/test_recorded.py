"""A cause that rests on something that was not recorded is not named, or with a confidence of at most a half."""

import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.fact import Fact, Facts, Observed
from mfu_operator.trace.analyze import analyze, profile
from mfu_operator.trace.diagnosis.causes import CAUSES
from mfu_operator.trace.diagnosis.diagnose import diagnose
from mfu_operator.trace.diagnosis.recorded import MOST_WITHOUT, NEEDS
from tests.accuracy.trial import EVERY_FAULT, prepared, random_loop, recorded_ranks, step_us
from tests.support.cases import case_of
from tests.support.rank_oracle import documents, rank_of, write
from tests.support.synthetic.faults import FAULTS, RANK_FAULTS
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.nsys_file import NsysFile

SIZE = 0.2
WITHOUT: dict[str, tuple[Fact, ...]] = {
    "launch calls": (facts.LAUNCH_CALLS, facts.LAUNCH_CALL_NS),
    "message sizes": (facts.MESSAGE_BYTES, facts.MESSAGE_MEDIAN_BYTES),
    "launch grids": (facts.GRID_BLOCKS,),
    "input ranges": (facts.INPUT_RANGE_NS,),
    "bytes of copies": (facts.H2D_BYTES, facts.D2H_BYTES, facts.D2D_BYTES),
}
"""The facts that an account lacks where the need was not recorded."""

OF_WORKERS = ("PrefetchBursts",)
"""Told by what a loader's workers do, which torch.profiler does not see. Nor does it rule out that every rank's loader
is as slow as that of the rank which is waited for: SlowInput stays doubted."""

OF_RANKS = ("every rank", "every rank, without a baseline")


@cache
def pair(cause: str, folder: Path) -> tuple[StepAccount, StepAccount]:
    """(now, baseline) where the cause is switched on, all of it recorded."""
    dice = random.Random(cause)
    healthy = prepared(random_loop(dice, cause), cause, SIZE)
    faulty = EVERY_FAULT[cause][1](healthy, SIZE * step_us(healthy))
    of_ranks = cause in RANK_FAULTS or (NEEDS[cause] and NEEDS[cause][0].name in OF_RANKS)
    if of_ranks:
        slow = [faulty] * 2 if cause in FAULTS else [healthy, faulty]
        runs = {"now": slow, "before": [healthy] * 2}
        now, before = (profile([recorded_ranks(runs[one], "kineto", "2.4", folder / one, dice)]) for one in runs)
        return now, before
    files: dict[str, KinetoFile | NsysFile] = {
        name: NsysFile() if cause in OF_WORKERS else KinetoFile("2.4") for name in ("now", "before")
    }
    faulty.record(files["now"], 1)
    healthy.record(files["before"], 2)
    for file in files.values():
        if isinstance(file, KinetoFile):
            sized(file)
    now, before = (profile([file.write(folder / name)]) for name, file in files.items())
    return now, before


def sized(file: KinetoFile) -> None:
    """Collectives that say what they carry: the same together, however many they are."""
    found = [event for event in file.events if "nccl" in event["name"]]
    for event in found:
        said = {"Collective name": "allreduce", "In msg nelems": 10**9 // len(found), "dtype": "BFloat16"}
        event["args"] |= said


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pairs")


def accounts(cause: str, folder: Path) -> tuple[StepAccount, StepAccount]:
    own = folder / cause
    own.mkdir(exist_ok=True)
    return pair(cause, own)


def lacking(account: StepAccount, *missing: Fact) -> StepAccount:
    names = {one.name for one in missing}
    return replace(account, facts=Facts({k: v for k, v in account.facts.named.items() if k not in names}))


def test_every_cause_says_what_must_have_been_recorded() -> None:
    assert [one.name for one in CAUSES if one.name not in NEEDS] == []
    assert NEEDS.keys() == {one.name for one in CAUSES}


@pytest.mark.parametrize("cause", NEEDS)
def test_a_cause_is_named_with_confidence_where_all_was_recorded(cause: str, folder: Path) -> None:
    found = diagnose(*accounts(cause, folder))
    assert found.cause == cause
    assert (found.confidence > MOST_WITHOUT) == (cause != "SlowInput")


@pytest.mark.parametrize(
    ("cause", "need"),
    [(cause, need.name) for cause, needs in NEEDS.items() for need in needs if need.name in WITHOUT],
)
def test_a_cause_without_what_it_needs_is_not_named_or_doubted(cause: str, need: str, folder: Path) -> None:
    now, before = accounts(cause, folder)
    found = diagnose(lacking(now, *WITHOUT[need]), lacking(before, *WITHOUT[need]))
    if found.cause == cause:
        assert found.confidence <= MOST_WITHOUT
        assert any("not recorded" in one for one in found.evidence)


@pytest.mark.parametrize("cause", [cause for cause, needs in NEEDS.items() if needs and needs[0].name == OF_RANKS[0]])
def test_a_cause_that_only_other_ranks_could_rule_out_is_not_named_from_one_rank_of_several(
    cause: str, folder: Path
) -> None:
    world: Observed = {facts.WORLD_SIZE: 8.0, facts.RANKS_RECORDED: 1.0, facts.RANKS_MISSING: "rank 1-7"}
    gone = (facts.RANK_SKEW_NS, facts.RANK_WAIT_NS, facts.SLOWEST_RANK, facts.SLOWEST_IN)
    now, before = (lacking(one, *gone) for one in accounts(cause, folder))
    found = diagnose(replace(now, facts=now.facts | world), replace(before, facts=before.facts | world))
    assert found.cause is None
    assert found.confidence <= MOST_WITHOUT
    assert any("1 of 8 ranks recorded: rank 1-7 were not recorded" in one for one in found.evidence)
    assert "record every rank" in found.advice[0]


@pytest.mark.parametrize(("count", "peak", "sure"), [(13, 0.35, True), (12, 0.35, False), (11, 0.7, False)])
def test_two_waits_name_bursts_with_doubt_and_the_third_makes_them_sure(count: int, peak: float, sure: bool) -> None:
    workers = {"loaderThreads": 4.0, "loadFileNs": 9e6, "compute": 80e6}
    waits = {"idleInput": 20e6, "inputRangeNs": 20e6, "inputPeriod": 6.0, "inputPeakShare": peak}
    case = case_of({"count": count, **workers, **waits}, {**workers, "idleInput": 1e6, "inputRangeNs": 1e6})
    found = diagnose(case.now, case.baseline)
    assert (found.bottleneck, found.cause) == ("InputStarved", "PrefetchBursts")
    assert (found.confidence > MOST_WITHOUT) is sure
    assert any("only two such waits" in one for one in found.evidence) is not sure


@pytest.mark.parametrize("ranges", [{"inputRangeNs": 1e5}, {}], ids=["recorded", "not recorded"])
def test_host_work_without_a_cause_is_doubted_where_it_may_be_the_loading(ranges: dict[str, float]) -> None:
    """An event simulator's loader without workers, of which nsys saw no range, read HostBound at 0.71."""
    said = {"count": 12, "compute": 12.6e6, "launchCalls": 900.0, **ranges}
    case = case_of({**said, "idleHost": 3.3e6}, {**said, "idleHost": 0.56e6})
    found = diagnose(case.now, case.baseline)
    assert (found.bottleneck, found.cause) == ("HostBound", None)
    assert (found.confidence <= MOST_WITHOUT) is (not ranges)
    assert any("tell loading from other host work" in one for one in found.evidence) is (not ranges)


def test_exposed_collectives_of_one_rank_of_eight_are_doubted_without_a_baseline() -> None:
    found = analyze([Path("tests/data/traces/tracelens/resnet_act_checkpoint_mi300_rank0.json.gz")]).diagnosis
    assert (found.cause, found.confidence) == ("ExposedCollectives", MOST_WITHOUT)
    assert any("rank 1-7 were not recorded" in one for one in found.evidence)


def test_rank_0_alone_blames_no_link(tmp_path: Path) -> None:
    """torchrec's rank 0 waits for rank 2, and has collectives that take five times as long."""
    folder = Path("tests/data/traces/torchrec")
    alone = [
        write([one for one in documents(folder / name) if rank_of(one) == 0], tmp_path / name)
        for name in ("sst_long_a2a_optimizer_2a", "sst_long_a2a_optimizer_3")
    ]
    found = analyze([alone[0]], [alone[1]]).diagnosis
    assert (found.bottleneck, found.cause) == ("CommsBound", None)
    assert found.confidence <= MOST_WITHOUT
