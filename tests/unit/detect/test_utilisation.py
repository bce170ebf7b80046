from dataclasses import replace

import pytest

from mfu_operator.detect.utilisation import mfu_problem, with_mfu
from mfu_operator.model.baseline import BaselineSpec, Comparable, MetricsSource, Signal, WorkloadRef
from mfu_operator.model.series import Reading

FLOPS = 6 * 7e9
SPEC = BaselineSpec(
    WorkloadRef("batch/v1", "Job", "team-a", "gpt"),
    Comparable("gpt", gpu="NVIDIA H100 80GB HBM3", precision="bf16"),
    metrics=MetricsSource(model_flops_per_token=FLOPS),
)
READING = Reading(1000.0, {Signal.THROUGHPUT: 10_000.0})


def declared(**changes: object) -> BaselineSpec:
    return replace(SPEC, comparable=replace(SPEC.comparable, **changes))  # type: ignore[arg-type]


def test_mfu_is_model_flops_by_dense_peak() -> None:
    assert with_mfu(READING, SPEC).values == {
        Signal.THROUGHPUT: 10_000.0,
        Signal.MFU: pytest.approx(10_000 * FLOPS / 989.4e12),
    }


def test_what_the_job_exports_itself_stands() -> None:
    reading = replace(READING, values={**READING.values, Signal.MFU: 0.5})
    assert with_mfu(reading, SPEC) is reading


def test_without_the_models_flops_nothing_is_computed() -> None:
    assert with_mfu(READING, replace(SPEC, metrics=MetricsSource())) is READING


def test_the_jobs_own_gpu_and_precision_count_before_the_declared_ones() -> None:
    reading = replace(READING, info={"gpu": "NVIDIA H200", "precision": "fp8"})
    assert with_mfu(reading, SPEC).values[Signal.MFU] == pytest.approx(10_000 * FLOPS / 1979e12)


def test_a_declared_peak_counts_before_the_table() -> None:
    spec = replace(SPEC, metrics=replace(SPEC.metrics, peak_flops_per_gpu=1e15))
    assert with_mfu(READING, spec).values[Signal.MFU] == pytest.approx(0.42)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (declared(gpu=None), "declare comparable.gpu"),
        (declared(precision=None), "declare comparable.precision"),
        (declared(gpu="H100"), "fits several cards"),
    ],
)
def test_a_peak_that_is_not_known_leaves_the_reading_and_says_why(spec: BaselineSpec, told: str) -> None:
    assert with_mfu(READING, spec) is READING
    problem = mfu_problem(spec, READING)
    assert problem is not None
    assert problem.reason == "UnknownPeak"
    assert told in problem.message


def test_more_than_the_peak_is_no_mfu_and_says_what_may_be_wrong() -> None:
    """The throughput of eight ranks, exported as that of one."""
    reading = replace(READING, values={Signal.THROUGHPUT: 80_000.0})
    assert with_mfu(reading, SPEC) is reading
    problem = mfu_problem(SPEC, reading)
    assert problem is not None
    assert problem.reason == "MfuImpossible"
    for told in ("3.4", "80000", "989.4 TFLOP/s", "one rank", "metrics.modelFlopsPerToken"):
        assert told in problem.message


def test_there_is_nothing_to_say_where_nothing_is_asked_for_or_all_is_known() -> None:
    assert mfu_problem(SPEC, READING) is None
    assert mfu_problem(SPEC, Reading(1000.0, {})) is None
    assert mfu_problem(replace(SPEC, metrics=MetricsSource()), READING) is None
