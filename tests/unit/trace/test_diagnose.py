"""Diagnoses from accounts alone: what may be said, and when to say nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from mfu_operator.model.account import PARTS, KernelTotal, StepAccount
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.diagnosis import causes
from mfu_operator.trace.diagnosis.diagnose import diagnose
from mfu_operator.trace.diagnosis.difference import difference, kernel_deltas
from mfu_operator.trace.diagnosis.growth import GROUPS
from tests.support.facts import facts_of
from tests.support.synthetic.faults import FAULTS, RANK_FAULTS
from tests.support.synthetic.kineto_file import KinetoFile

MS = 1e6


def account(count: int = 10, std_ms: float = 0.1, **parts_ms: float) -> StepAccount:
    parts = {part: parts_ms.get(part, 0.0) * MS for part in PARTS}
    return StepAccount(count, sum(parts.values()), std_ms * MS, parts)


HEALTHY = account(compute=50, communication=40, idleInput=2, idleHost=8)


def test_the_bottleneck_is_what_grew_and_not_what_is_large() -> None:
    found = diagnose(account(compute=50, communication=40, idleInput=27, idleHost=8), HEALTHY)
    assert found.bottleneck is Bottleneck.INPUT_STARVED
    assert "input wait 27.0 ms of 125.0 ms per step, baseline 2 ms of 100.0 ms" in found.evidence


def test_growth_within_the_spread_of_the_steps_is_nothing() -> None:
    found = diagnose(account(std_ms=20, compute=58, communication=40, idleInput=2, idleHost=8), HEALTHY)
    assert found.bottleneck is None


def test_growth_that_the_spread_hides_is_said_and_nothing_is_less_sure() -> None:
    hidden = diagnose(account(std_ms=20, compute=66, communication=40, idleInput=2, idleHost=8), HEALTHY)
    assert hidden.bottleneck is None
    assert hidden.confidence <= 0.5
    assert (
        "uneven steps, which vary by 20.0 ms now and 0.1 ms in the baseline: growth of less than 22%"
        in hidden.evidence[-1]
    )
    assert diagnose(HEALTHY, HEALTHY).confidence == 1
    assert not [said for said in diagnose(HEALTHY, HEALTHY).evidence if "uneven" in said]


def with_facts(of: StepAccount, **facts: float) -> StepAccount:
    return replace(of, facts=facts_of(**facts))


WAITING = account(compute=50, communication=40, idleInput=2, idleSync=14, idleHost=8)


def test_checks_that_each_wait_for_the_device_are_what_waits() -> None:
    """Anomaly detection: isnan, any and .item() of every gradient. The checks themselves take little time."""
    healthy = with_facts(HEALTHY, syncCalls=1.0, debugCalls=0.0, debugNs=0.0)
    found = diagnose(with_facts(WAITING, syncCalls=49.0, debugCalls=48.0, debugNs=0.5 * MS), healthy)
    assert (found.bottleneck, found.cause) == (Bottleneck.HOST_BOUND, "DebugInstrumentation")


def test_one_check_does_not_explain_many_waits() -> None:
    healthy = with_facts(HEALTHY, syncCalls=1.0, debugCalls=0.0, debugNs=0.0)
    found = diagnose(with_facts(WAITING, syncCalls=49.0, debugCalls=1.0, debugNs=0.5 * MS), healthy)
    assert (found.bottleneck, found.cause) == (Bottleneck.HOST_BOUND, "Synchronisation")


@pytest.mark.parametrize(("steps", "named"), [(3, "WorkerRestart"), (2, None)])
def test_of_three_steps_one_may_be_the_event_and_of_two_none(steps: int, named: str | None) -> None:
    starved = account(steps, compute=50, communication=40, idleInput=90, idleHost=8)
    healthy = with_facts(HEALTHY, inputPeakShare=0.1, inputRangeNs=1.0)
    assert (
        diagnose(with_facts(starved, inputPeakShare=1.0, inputRangeNs=90 * MS, workerStarts=1.0), healthy).cause
        == named
    )


@pytest.mark.parametrize(("calls", "named"), [(0.2, "DataLoaderWorkers"), (0.0, None)])
def test_a_loader_that_calls_its_store_once_in_some_steps_and_works_itself_is_the_training_thread(
    calls: float, named: str | None
) -> None:
    starved = account(compute=50, communication=40, idleInput=27, idleHost=8)
    own = {"inputNetworkCalls": calls, "inputRangeNs": 27 * MS, "inputFileNs": 10 * MS, "inputOwnNs": 10 * MS}
    assert diagnose(with_facts(starved, **own), with_facts(HEALTHY, inputNetworkCalls=0.0)).cause == named


def matrix(ns: float, **calls: float) -> dict[str, float]:
    """Facts of a step whose matrix kernels take so long and are of the formats of `calls`, in equal parts."""
    each = {f"{one}MatrixNs": ns * count / sum(calls.values()) for one, count in calls.items()}
    return {"gemmNs": ns, **each, **{f"{one}MatrixCalls": count for one, count in calls.items()}}


def test_matrix_kernels_that_take_longer_in_the_format_that_they_had_are_no_loss_of_precision() -> None:
    healthy = with_facts(HEALTHY, **matrix(50 * MS, half=100.0, single=2.0))
    slower = account(compute=75, communication=40, idleInput=2, idleHost=8)
    for as_before_or_fewer in (100.0, 40.0):
        found = diagnose(with_facts(slower, **matrix(75 * MS, half=as_before_or_fewer, single=2.0)), healthy)
        assert found.bottleneck is Bottleneck.KERNEL_BOUND
        assert found.cause != "PrecisionLost"
    found = diagnose(with_facts(slower, **matrix(75 * MS, half=10.0, single=92.0)), healthy)
    assert (found.bottleneck, found.cause) == (Bottleneck.KERNEL_BOUND, "PrecisionLost")


def test_a_cause_makes_a_bottleneck_surer_and_nothing_makes_it_certain() -> None:
    healthy = with_facts(HEALTHY, **matrix(50 * MS, half=100.0, single=2.0))
    slower = account(compute=75, communication=40, idleInput=2, idleHost=8)
    named = diagnose(with_facts(slower, **matrix(75 * MS, half=10.0, single=92.0)), healthy)
    unnamed = diagnose(with_facts(slower, **matrix(75 * MS, half=100.0, single=2.0)), healthy)
    assert (named.cause, unnamed.cause) == ("PrecisionLost", None)
    assert unnamed.confidence == round(0.8 * named.confidence, 2)
    endless = account(compute=75_000, communication=40, idleInput=2, idleHost=8)
    found = diagnose(with_facts(endless, **matrix(75_000 * MS, half=10.0, single=92.0)), healthy)
    assert (found.cause, found.confidence) == ("PrecisionLost", 0.99)


def running_ahead(path: Path, waits_ms: list[float]) -> Path:
    """A loop that never waits for its device: in a step that waits for input, the device works off what was queued, and
    the steps after it are short until the queue is full again."""
    file = KinetoFile()
    now, free = 0.0, 140.0
    for index, wait in enumerate(waits_ms):
        begin, now = now, now + wait + 1.0
        file.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", round(begin * MS), round(now * MS))
        for _ in range(20):
            start = max(now + 0.1, free)
            call = file.call("cudaLaunchKernel", round(now * MS), round((now + 0.05) * MS))
            file.kernel("ampere_sgemm_128x64_tn", round(start * MS), round((start + 2.0) * MS), call)
            free, now = start + 2.0, max(now + 0.3, free - 100.0)
        file.range(f"ProfilerStep#{index + 3}", round(begin * MS), round(now * MS))
    return file.write(path)


def test_an_event_of_the_input_counts_though_a_loop_that_runs_ahead_makes_its_other_steps_vary(tmp_path: Path) -> None:
    steady = running_ahead(tmp_path / "steady", [0.1] * 14)
    waited = running_ahead(tmp_path / "waited", [0.1] * 7 + [300.0] + [0.1] * 6)
    found = analyze([waited], [steady]).diagnosis
    assert (found.bottleneck, found.cause) == ("InputStarved", None)
    assert any("no start of workers was seen: it may be one slow batch" in one for one in found.evidence)


def test_a_host_that_communicates_while_the_device_idles_is_communication() -> None:
    facts = {"kernelCalls": 100.0, "inputRangeNs": 2.0 * MS}
    busy = account(compute=50, communication=40, idleInput=2, idleHost=28)
    found = diagnose(with_facts(busy, hostCollectiveNs=18.0 * MS, **facts), with_facts(HEALTHY, **facts))
    assert (found.bottleneck, found.cause) == (Bottleneck.COMMS_BOUND, "HostCollectives")
    little = diagnose(with_facts(busy, hostCollectiveNs=2.0 * MS, **facts), with_facts(HEALTHY, **facts))
    assert (little.bottleneck, little.cause) == (Bottleneck.HOST_BOUND, "PythonOverhead")


@pytest.mark.parametrize(("before_ns", "named"), [(0.2 * MS, "PageableCopies"), (4 * MS, "LinkDegraded")])
def test_copies_that_were_pageable_before_are_not_slow_for_that(before_ns: float, named: str) -> None:
    same = {"h2dBytes": 1e8, "d2hBytes": 1e6, "h2dCalls": 4.0, "d2hCalls": 1.0, "d2hTotalNs": 0.0}
    before = with_facts(account(compute=95, h2d=5), pageableNs=before_ns, h2dTotalNs=5 * MS, **same)
    now = with_facts(account(compute=95, h2d=25), pageableNs=24 * MS, h2dTotalNs=25 * MS, **same)
    assert diagnose(now, before).cause == named


@pytest.mark.parametrize(("calls", "named"), [(9.0, None), (20.0, "ExposedCollectives")])
def test_a_collective_more_explains_no_more_than_it_can_last(calls: float, named: str | None) -> None:
    before = with_facts(account(compute=60, communication=40), communicationCalls=8.75, communicationLongestNs=10 * MS)
    now = with_facts(account(compute=60, communication=100), communicationCalls=calls, communicationLongestNs=20 * MS)
    found = diagnose(replace(now, communication_total_ns=100 * MS), replace(before, communication_total_ns=40 * MS))
    assert (found.bottleneck, found.cause) == (Bottleneck.COMMS_BOUND, named)


def test_one_rank_alone_blames_no_link_that_may_be_a_slow_rank() -> None:
    def linked(total_ms: float, of: StepAccount, **facts: float) -> StepAccount:
        return replace(of, communication_total_ns=total_ms * MS, facts=facts_of(communicationCalls=4.0, **facts))

    slower = account(compute=50, communication=60, idleInput=2, idleHost=8)
    doubt = "1 of 8 ranks recorded, and this does not distinguish transferring from waiting for one of the others"
    alone = diagnose(linked(65, slower, worldSize=8.0), linked(45, HEALTHY, worldSize=8.0))
    assert (alone.bottleneck, alone.cause, alone.evidence[-1]) == (Bottleneck.COMMS_BOUND, None, doubt)
    assert alone.confidence <= 0.5
    compared = {"worldSize": 8.0, "ranksRecorded": 8.0, "rankSkewNs": 0.0, "rankWaitNs": 0.0, "slowestRank": 3.0}
    every = diagnose(linked(65, slower, **compared), linked(45, HEALTHY, **compared))
    assert every.cause == "SlowLink"
    assert doubt not in every.evidence


COMPARED = {"worldSize": 8.0, "ranksRecorded": 8.0, "slowestRank": 3.0}
STRAGGLING = {**COMPARED, "rankSkewNs": 15.0 * MS, "rankWaitNs": 15.0 * MS}
"""One of eight ranks keeps the others waiting."""


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ({**STRAGGLING, "rankSkewNs": 0.0, "rankWaitNs": 0.0}, Bottleneck.STRAGGLER),
        (STRAGGLING, Bottleneck.COMMS_BOUND),
        ({"worldSize": 8.0, "ranksRecorded": 8.0}, Bottleneck.COMMS_BOUND),
    ],
    ids=["new", "as in the baseline", "not known of the baseline"],
)
def test_a_rank_that_others_wait_for_is_a_straggler_where_they_did_not_in_the_baseline(
    before: dict[str, float], expected: Bottleneck
) -> None:
    slower = account(compute=50, communication=60, idleInput=2, idleHost=8)
    assert diagnose(with_facts(slower, **STRAGGLING), with_facts(HEALTHY, **before)).bottleneck is expected


@pytest.mark.parametrize(("skew_ms", "wait_ms"), [(18.0, 8.0), (8.0, 18.0)])
def test_what_a_rank_loses_and_what_others_wait_for_it_both_count(skew_ms: float, wait_ms: float) -> None:
    sound = {**STRAGGLING, "rankSkewNs": 0.0, "rankWaitNs": 0.0, "slowestRank": 3.0}
    now = {**STRAGGLING, "rankSkewNs": skew_ms * MS, "rankWaitNs": wait_ms * MS}
    slower = account(compute=50, communication=60, idleInput=2, idleHost=8)
    assert diagnose(with_facts(slower, **now), with_facts(HEALTHY, **sound)).bottleneck is Bottleneck.STRAGGLER


@pytest.mark.parametrize("shown", ["inputRangeNs", "hostBlockedNs"])
def test_host_time_is_python_work_only_where_waiting_for_input_would_show(shown: str) -> None:
    busy = account(compute=50, communication=40, idleInput=2, idleHost=28)
    facts = {"kernelCalls": 100.0}
    assert diagnose(with_facts(busy, **facts), with_facts(HEALTHY, **facts)).cause is None
    facts[shown] = 2.0 * MS
    assert diagnose(with_facts(busy, **facts), with_facts(HEALTHY, **facts)).cause == "PythonOverhead"


def with_pointwise(of: StepAccount, *kernels: KernelTotal) -> StepAccount:
    calls, spent = sum(one.calls for one in kernels), sum(one.total_ns for one in kernels)
    return replace(of, kernels=kernels, facts=facts_of(elementwiseCalls=calls, elementwiseNs=spent))


ADDING = KernelTotal("add", "elementwise", 48, 2 * MS)


@pytest.mark.parametrize(
    ("added", "cause"),
    [
        ((KernelTotal("rope", "elementwise", 12, 12 * MS),), "NewKernel"),
        ((KernelTotal("mul", "elementwise", 48, 7 * MS), KernelTotal("pow", "elementwise", 48, 5 * MS)), "Unfused"),
    ],
)
def test_one_new_kernel_between_elements_is_new_and_several_are_unfused(
    added: tuple[KernelTotal, ...], cause: str
) -> None:
    healthy = with_pointwise(HEALTHY, ADDING)
    slower = account(compute=62, communication=40, idleInput=2, idleHost=8)
    assert diagnose(with_pointwise(slower, ADDING, *added), healthy).cause == cause


def test_a_faster_step_has_no_bottleneck_though_one_part_grew() -> None:
    assert diagnose(account(compute=30, communication=40, idleInput=12, idleHost=8), HEALTHY).bottleneck is None


def test_below_one_per_cent_nothing_is_blamed() -> None:
    assert (
        diagnose(account(std_ms=0, compute=50.9, communication=40, idleInput=2, idleHost=8), HEALTHY).bottleneck is None
    )


def test_growth_that_is_mostly_unknown_is_inconclusive() -> None:
    found = diagnose(account(compute=55, communication=40, idleInput=2, idleHost=8, idleUnknown=20), HEALTHY)
    assert found.bottleneck is Bottleneck.INCONCLUSIVE
    assert found.confidence == 0


def test_two_steps_on_either_side_need_a_larger_growth() -> None:
    few = account(count=2, std_ms=0, compute=56, communication=40, idleInput=2, idleHost=8)
    assert diagnose(few, HEALTHY).bottleneck is None
    assert diagnose(replace(few, count=10), HEALTHY).bottleneck is Bottleneck.KERNEL_BOUND


@pytest.mark.parametrize(
    ("fact", "now", "before"),
    [("worldSize", 8.0, 16.0), ("batchSize", 32.0, 64.0), ("profilerStacks", 1.0, 0.0), ("profilerMemory", 1.0, 0.0)],
)
def test_other_conditions_make_it_not_comparable(fact: str, now: float, before: float) -> None:
    found = diagnose(with_facts(HEALTHY, **{fact: now}), with_facts(HEALTHY, **{fact: before}))
    assert not found.comparable
    assert found.bottleneck is Bottleneck.INCONCLUSIVE


def test_an_account_from_ranges_is_not_compared_with_one_of_a_device() -> None:
    assert not diagnose(replace(HEALTHY, account_from="nvtx"), HEALTHY).comparable


def test_every_part_but_the_unknown_speaks_for_exactly_one_bottleneck() -> None:
    spoken = [part for parts in GROUPS.values() for part in parts]
    assert sorted(spoken) == sorted(set(PARTS) - {"idleUnknown"})


def test_every_cause_says_what_it_needs_what_contradicts_it_and_what_to_do() -> None:
    for cause in causes.CAUSES:
        assert cause.needs
        assert cause.contradicted_by
        assert cause.advice


def test_every_cause_is_switched_on_somewhere_in_the_tests() -> None:
    assert {cause.name for cause in causes.CAUSES} == set(FAULTS) | set(RANK_FAULTS)


def test_the_parts_differences_sum_to_the_steps() -> None:
    found = difference(account(compute=61, idleInput=3), HEALTHY)
    assert found.step_ns == pytest.approx(sum(found.account_ns.values()))


def test_a_kernel_that_was_renamed_is_one_row() -> None:
    before = [KernelTotal("gemm_v1", "gemm", 12, 100.0), KernelTotal("norm", "normalization", 4, 10.0)]
    now = [KernelTotal("gemm_v2", "gemm", 12, 150.0), KernelTotal("relu", "elementwise", 4, 5.0)]
    rows = {one.name: (one.delta_ns, one.calls_baseline, one.calls_now) for one in kernel_deltas(now, before)}
    assert rows == {"gemm_v2 (was gemm_v1)": (50.0, 12, 12), "norm": (-10.0, 4, 0.0), "relu": (5.0, 0.0, 4)}


def test_without_a_baseline_every_large_part_is_said() -> None:
    found = diagnose(account(compute=50, idleInput=40, idleHost=10))
    assert found.bottleneck is Bottleneck.INPUT_STARVED
    assert found.evidence[0] == "input wait 40.0 ms of 100.0 ms per step"
    assert "the host keeps the device idle for 10.0 ms per step" in found.evidence[1]
    assert found.evidence[2] == "compute 50.0 ms of 100.0 ms per step"


def test_ranges_of_the_host_alone_never_say_that_a_device_idles() -> None:
    found = diagnose(replace(account(idleHost=96, idleInput=4), account_from="nvtx"))
    assert found.bottleneck is Bottleneck.INCONCLUSIVE
    assert found.evidence == (
        "no device activity was recorded, and host time that no range explains 96.0 ms of 100.0 ms per step",
    )
    healthy = replace(account(compute=50, idleHost=6), account_from="nvtx")
    grown = diagnose(replace(account(compute=50, idleHost=26), account_from="nvtx"), healthy)
    assert grown.bottleneck is Bottleneck.HOST_BOUND
    assert "idle device" not in " ".join(grown.evidence)
    starved = diagnose(replace(account(compute=50, idleInput=26), account_from="nvtx"), healthy)
    assert starved.bottleneck is Bottleneck.INPUT_STARVED
    assert any(said.startswith("input wait 26.0 ms") for said in starved.evidence)


def test_without_a_baseline_no_advice_points_at_a_difference() -> None:
    assert "difference" not in " ".join(diagnose(account(compute=90, idleHost=10)).advice)
    assert "--baseline" in diagnose(account(compute=90, idleHost=10)).advice[0]
