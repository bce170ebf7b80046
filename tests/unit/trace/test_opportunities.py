"""Without a baseline: what there is to gain, the largest first, and a verdict that never hides the second largest."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Answer, OpportunityRow
from mfu_operator.trace.diagnosis import causes
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.diagnose import diagnose
from mfu_operator.trace.diagnosis.opportunities import opportunities
from tests.support.facts import facts_of

TRACES = Path("tests/data/traces")
MS = 1_000_000


def answer(name: str) -> Answer:
    return analyze([TRACES / f"{name}.json.gz"])


def offered(found: Answer) -> dict[str, OpportunityRow]:
    assert isinstance(found.opportunities, tuple)
    return {one.cause: one for one in found.opportunities}


def account(parts_ms: Mapping[str, float], observed: Mapping[str, float] | None = None) -> StepAccount:
    parts = {part: parts_ms.get(part, 0.0) * MS for part in PARTS}
    facts = facts_of(**(observed or {}))
    return StepAccount(10, sum(parts.values()), 0.0, parts, communication_total_ns=parts["communication"], facts=facts)


def step(facts: Mapping[str, float] | None = None, **parts_ms: float) -> StepAccount:
    return account(parts_ms, facts)


def computing(eligible_ms: float, used_ms: float, unknown_ms: float, gpu: str | None = None) -> StepAccount:
    tensor = {"eligible": eligible_ms * MS, "used": used_ms * MS, "unknown": unknown_ms * MS}
    return replace(step(compute=100), tensor_core_ns=tensor, gpu=gpu)


def test_a_loop_that_loads_for_itself_is_told_to_use_workers() -> None:
    """The TensorBoard plugin's own example, of which it says the same."""
    found = answer("kineto/resnet50_workers0_a")
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == ("InputStarved", "DataLoaderWorkers")
    first = next(iter(offered(found).values()))
    assert first.ms == pytest.approx(58.88, abs=0.01)
    assert first.share == pytest.approx(0.332, abs=0.001)
    assert "num_workers" in first.remedy


def test_the_second_largest_is_never_hidden() -> None:
    found = answer("kineto/resnet50_workers0_a")
    assert list(offered(found)) == ["DataLoaderWorkers", "TensorCoresUnused", "LaunchBound", "PageableCopies"]
    assert any("0.0 ms of 66.1 ms per step on tensor cores" in said for said in found.diagnosis.evidence)


def test_where_two_are_about_as_large_neither_is_the_verdict() -> None:
    found = diagnose(step(compute=60, communication=20, idleInput=19, idleSync=1))
    assert found.bottleneck is None
    assert [said for said in found.evidence if "communication" in said]
    assert [said for said in found.evidence if "input wait" in said]
    assert len(found.advice) == 2


def test_matrix_kernels_that_use_no_tensor_cores_stand_out() -> None:
    found = diagnose(computing(80, 0, 0, "NVIDIA A100-SXM4-80GB"))
    assert (found.bottleneck, found.cause) == ("KernelBound", "TensorCoresUnused")


@pytest.mark.parametrize("gpu", ["Tesla P100-PCIE-16GB", "Quadro GP100", "NVIDIA GeForce GTX 1080 Ti", "Tesla K80"])
def test_a_gpu_without_tensor_cores_is_not_told_to_use_them(gpu: str) -> None:
    assert not opportunities(computing(80, 0, 0, gpu))


def test_matrix_kernels_of_unknown_kind_are_not_said_to_miss_tensor_cores() -> None:
    assert not opportunities(computing(80, 0, 80))


def test_what_ranks_wait_for_one_of_them_is_not_told_to_overlap() -> None:
    compared = {"worldSize": 4.0, "rankSkewNs": 20.0 * MS, "rankWaitNs": 18.0 * MS, "slowestRank": 2.0}
    found = opportunities(step(compute=60, communication=40, facts=compared))
    assert [(one.cause, round(one.ns / MS)) for one in found] == [("ExposedCollectives", 22), ("UnevenRanks", 18)]
    assert "rank 2" in found[1].evidence[0]


def test_a_straggler_does_not_hide_what_else_is_to_be_gained() -> None:
    compared = {"worldSize": 4.0, "rankSkewNs": 30.0 * MS, "rankWaitNs": 30.0 * MS, "slowestRank": 2.0}
    found = diagnose(step(compute=30, communication=40, idleInput=30, facts=compared))
    assert found.bottleneck == "Straggler"
    assert any("input wait 30.0 ms" in said for said in found.evidence)
    assert any("for rank 2" in said for said in found.evidence)


def test_one_rank_of_several_makes_no_verdict_on_communication_sure() -> None:
    found = diagnose(step(compute=40, communication=60, facts={"worldSize": 8.0}))
    assert (found.bottleneck, found.confidence) == ("CommsBound", 0.5)
    assert any("waiting for one of the 8 ranks" in said for said in found.evidence)


@pytest.mark.parametrize(
    ("parts", "facts", "cause"),
    [
        ({"idleHost": 40.0}, {"kernelCalls": 2000.0}, "LaunchBound"),
        ({"idleHost": 40.0}, {"kernelCalls": 20.0}, "HostWork"),
        ({"idleHost": 40.0}, {"kernelCalls": 2000.0, "compileNs": 39.5 * MS}, "Recompilation"),
        ({"idleSync": 40.0}, {"syncCalls": 9.0}, "Synchronisation"),
        ({"idleAlloc": 40.0}, {"allocCalls": 9.0}, "Allocator"),
        ({"h2d": 40.0}, {"pageableNs": 60.0 * MS}, "PageableCopies"),
        ({"d2h": 40.0}, {}, "ExposedCopies"),
        ({}, {"tinyCalls": 9000.0, "tinyNs": 40.0 * MS}, "TinyKernels"),
        ({"idleInput": 40.0}, {}, "InputWait"),
    ],
)
def test_each_part_has_its_remedy(parts: dict[str, float], facts: dict[str, float], cause: str) -> None:
    found = opportunities(account({"compute": 60, **parts}, facts))
    assert found[0].cause == cause
    assert found[0].ns == pytest.approx(40 * MS, rel=0.02)
    assert found[0].remedy


@pytest.mark.parametrize(("ms", "worth"), [(1.0, True), (0.99, False)])
def test_what_takes_one_per_cent_of_the_step_is_worth_a_line_and_less_is_not(ms: float, worth: bool) -> None:
    assert bool(opportunities(step(compute=100 - ms, d2h=ms))) is worth


def test_opportunities_are_ordered_and_none_is_more_than_the_step() -> None:
    for name in ("kineto/resnet50_workers4_a", "hta/trace_diff_test_v100", "tracelens/bert_small_h100"):
        found = list(offered(answer(name)).values())
        assert [one.ms for one in found] == sorted((one.ms for one in found), reverse=True)
        assert all(0 < one.share <= 1 and one.evidence and one.remedy for one in found)


def test_with_a_baseline_what_grew_is_told_instead() -> None:
    now, before = (TRACES / f"kineto/resnet50_workers{name}.json.gz" for name in ("0_a", "4_a"))
    assert not isinstance(analyze([now], [before]).opportunities, tuple)


def test_a_recording_that_forbids_a_verdict_offers_nothing() -> None:
    assert offered(answer("hta/sampled_rank-0")) == {}


LOOP = {"DataLoaderWorkers", "InputWait", "Allocator", "Synchronisation", "LaunchBound", "HostWork", "Recompilation"}


def test_a_span_carries_nothing_that_presumes_a_loop() -> None:
    span = step(compute=10, idleInput=20, idleSync=20, idleAlloc=20, idleHost=30, h2d=10, facts={"wholeSteps": 0.0})
    assert not LOOP & {one.cause for one in opportunities(span)}
    assert diagnose(span).cause is None
    said = " ".join(diagnose(span).evidence)
    assert "of the recorded span" in said
    assert "per step" not in said


def test_model_copies_of_a_start_up_are_not_to_be_gained() -> None:
    span = step(compute=50, h2d=50, facts={"wholeSteps": 0.0, "startupNs": 60.0 * MS, "startupCopiesNs": 50.0 * MS})
    assert not opportunities(span)
    assert opportunities(replace(span, facts=facts_of(wholeSteps=0.0)))[0].cause == "ExposedCopies"


@pytest.mark.parametrize(("waiting_ms", "found"), [(5.0, False), (40.0, True)])
def test_without_a_baseline_synchronisations_are_a_cause_where_the_device_idles_behind_them(
    waiting_ms: float, found: bool
) -> None:
    waits = step(compute=50, idleHost=45 - waiting_ms, idleSync=waiting_ms, facts={"syncCalls": 100.0})
    cause = causes.find(Case(waits, None), Bottleneck.HOST_BOUND)
    assert (cause is not None and cause.cause.name == "Synchronisation") is found
