"""One reading of the samples of many processes."""

import math

import pytest

from mfu_operator.detect.samples import (
    INFO,
    MFU,
    PHASE,
    RUNNING_RATIO,
    SCRAPED_AT,
    STEP_TIME,
    STEPS,
    THROUGHPUT,
    Assembly,
)
from mfu_operator.model.baseline import Signal, WorkloadRef
from mfu_operator.model.series import Phase, Reading
from tests.unit.detect.series import about

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
OTHER = WorkloadRef("batch/v1", "Job", "team-a", "bert")
Sample = tuple[str, str, float, dict[str, str]]


def sample(pod: str, kind: str, value: float, **labels: str) -> Sample:
    return pod, kind, value, labels


def read(*samples: Sample, at_s: float = 100.0, compared: dict[str, str] | None = None) -> Reading:
    assembly = Assembly(compared)
    for pod, kind, value, labels in samples:
        assembly.add(JOB, labels, pod, kind, [(at_s, value)])
    (reading,) = assembly.readings()[JOB]
    return reading


def test_a_reading_is_the_mean_over_its_processes() -> None:
    told = read(
        sample("a", MFU, 0.4), sample("b", MFU, 0.5),
        sample("a", STEP_TIME, 2.0), sample("b", STEP_TIME, 4.0),
        sample("b", THROUGHPUT, 900.0),
        sample("a", RUNNING_RATIO, 0.8), sample("b", RUNNING_RATIO, 1.0),
    )  # fmt: skip
    assert told.values == {
        Signal.MFU: pytest.approx(0.45), Signal.STEP_TIME: pytest.approx(3.0), Signal.THROUGHPUT: pytest.approx(900.0)
    }  # fmt: skip
    assert told.running_ratio == pytest.approx(0.9)
    assert (told.time_s, told.incarnation, told.step, told.phase) == (100.0, "a,b", None, Phase.UNKNOWN)


def test_what_nobody_exports_is_absent() -> None:
    told = read(sample("a", STEPS, 7.0))
    assert (told.values, told.running_ratio, told.step) == ({}, None, 7.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_sample_that_is_no_finite_number_is_dropped_and_those_after_it_are_not(value: float) -> None:
    assembly = Assembly()
    assembly.add(JOB, {}, "a", MFU, [(10.0, value), (20.0, 0.4)])
    assert [reading.time_s for reading in assembly.readings()[JOB]] == [20.0]


def test_each_process_of_a_pod_counts_and_the_pod_is_named_once() -> None:
    told = read(sample("a", MFU, 0.2, instance="a:1"), sample("a", MFU, 0.4, instance="a:2"), sample("b", MFU, 0.6))
    assert told.values[Signal.MFU] == pytest.approx(0.4)
    assert told.incarnation == "a,b"


def test_the_step_is_that_of_the_rank_that_is_farthest() -> None:
    assert read(sample("a", STEPS, 7.0), sample("b", STEPS, 8.0), sample("c", STEPS, 6.0)).step == 8.0
    assert read(sample("a", STEPS, 9.0, rank="0"), sample("a", STEPS, 8.0, rank="1")).step == 9.0
    assert read(sample("a", STEPS, -2.0)).step == -2.0


@pytest.mark.parametrize(
    ("phases", "told"),
    [
        ("running starting", Phase.STARTING),
        ("running checkpoint evaluation", Phase.CHECKPOINT),
        ("paused evaluation", Phase.EVALUATION),
        ("running paused", Phase.PAUSED),
        ("running running", Phase.RUNNING),
        ("running dancing", Phase.RUNNING),
    ],
)
def test_what_gates_any_rank_gates_the_job(phases: str, told: Phase) -> None:
    samples = [sample(f"pod-{index}", PHASE, 1.0, phase=phase) for index, phase in enumerate(phases.split())]
    assert read(*samples).phase is told


def test_a_phase_is_the_one_whose_sample_is_one() -> None:
    told = read(sample("a", PHASE, 1.0, phase="running"), sample("a", PHASE, 0.0, phase="paused"))
    assert told.phase is Phase.RUNNING
    assert read(sample("a", MFU, 0.4), sample("a", PHASE, 1.0)).phase is Phase.UNKNOWN


def test_a_phase_alone_is_a_reading_and_what_a_job_says_of_itself_alone_is_none() -> None:
    assert read(sample("a", PHASE, 1.0, phase="paused")).values == {}
    assembly = Assembly()
    assembly.add(JOB, {"model": "gpt"}, "a", INFO, [(10.0, 1.0)])
    assert assembly.readings() == {}
    assembly.add(OTHER, {}, "a", MFU, [(10.0, 0.4)])
    assert list(assembly.readings()) == [OTHER]


def test_of_what_a_job_says_of_itself_the_known_fields_are_kept() -> None:
    told = read(sample("a", MFU, 0.4), sample("a", INFO, 1.0, model="gpt", precision="", rank="0"))
    assert told.info == {"model": "gpt"}
    twice = read(sample("a", MFU, 0.4), sample("a", INFO, 1.0, model="gpt"), sample("a", INFO, 1.0, model="b", gpu="H"))
    assert twice.info == {"model": "gpt", "gpu": "H"}


def test_the_first_process_that_says_something_of_the_job_speaks_for_it() -> None:
    told = read(sample("a", MFU, 0.4), sample("b", MFU, 0.4), sample("b", INFO, 1.0, model="gpt"))
    assert told.info == {"model": "gpt"}
    assert read(sample("a", MFU, 0.4)).info == {}


def test_labels_of_any_series_are_compared_where_they_are_named() -> None:
    compared = {"team": "model", "batch": "global_batch"}
    told = read(sample("a", MFU, 0.4, team="gpt", batch=""), sample("a", STEPS, 7.0, batch="256"), compared=compared)
    assert told.info == {"model": "gpt", "global_batch": "256"}
    assert read(sample("a", MFU, 0.4, team="gpt")).info == {}


def test_throughput_is_that_of_one_gpu() -> None:
    gpus = read(sample("a", THROUGHPUT, 800.0), sample("a", MFU, 0.4), sample("a", INFO, 1.0, gpus="8"))
    assert gpus.values == {Signal.THROUGHPUT: 100.0, Signal.MFU: 0.4}
    assert read(sample("a", THROUGHPUT, 800.0)).values == {Signal.THROUGHPUT: 800.0}


def scraped(pod: str, mfu: float, at_s: float, **labels: str) -> list[Sample]:
    return [sample(pod, MFU, mfu, **labels), sample(pod, SCRAPED_AT, at_s, **labels)]


def test_a_process_that_was_last_scraped_long_before_its_siblings_is_gone() -> None:
    told = read(*scraped("a", 0.2, 10.0), *scraped("b", 0.4, 100.0))
    assert (told.values[Signal.MFU], told.incarnation) == (about(0.3), "a,b")
    gone = read(*scraped("a", 0.2, 9.9), *scraped("b", 0.4, 100.0))
    assert (gone.values[Signal.MFU], gone.incarnation, gone.time_s) == (0.4, "b", 100.0)


def test_a_process_without_a_time_of_its_own_has_that_of_the_moment() -> None:
    told = read(sample("a", MFU, 0.2), *scraped("b", 0.4, 100.0), at_s=150.0)
    assert (told.time_s, told.incarnation) == (150.0, "a,b")
    assert read(sample("a", MFU, 0.2), *scraped("b", 0.4, 59.0), at_s=150.0).incarnation == "a"


def test_the_time_of_a_scrape_is_that_of_its_newest_series() -> None:
    assert read(*scraped("a", 0.4, 90.0), sample("a", SCRAPED_AT, 95.0), sample("a", SCRAPED_AT, 80.0)).time_s == 95.0


@pytest.mark.parametrize("label", ["prometheus_replica", "__replica__", "receive_replica", "replica"])
def test_of_a_pair_of_scrapers_the_one_that_saw_a_process_last_is_believed(label: str) -> None:
    told = read(*scraped("a", 0.2, 70.0, **{label: "0"}), *scraped("a", 0.4, 90.0, **{label: "1"}))
    assert (told.values[Signal.MFU], told.time_s) == (0.4, 90.0)
    again = read(*scraped("a", 0.4, 90.0, **{label: "0"}), *scraped("a", 0.2, 70.0, **{label: "1"}))
    assert again.values[Signal.MFU] == 0.4
    same = read(*scraped("a", 0.4, 90.0, **{label: "0"}), *scraped("a", 0.2, 90.0, **{label: "1"}))
    assert same.values[Signal.MFU] == 0.4


def test_of_a_pair_of_scrapers_one_that_knows_its_time_is_believed_before_one_that_does_not() -> None:
    told = read(sample("a", MFU, 0.2, replica="0"), *scraped("a", 0.4, 0.5, replica="1"))
    assert told.values[Signal.MFU] == 0.4
    again = read(*scraped("a", 0.4, 0.5, replica="0"), sample("a", MFU, 0.2, replica="1"))
    assert again.values[Signal.MFU] == 0.4


def test_readings_come_oldest_first_and_each_scrape_once() -> None:
    assembly = Assembly()
    assembly.add(JOB, {}, "a", MFU, [(60.0, 0.6), (30.0, 0.3), (90.0, 0.9)])
    assembly.add(JOB, {}, "a", SCRAPED_AT, [(60.0, 25.0), (30.0, 25.0), (90.0, 85.0)])
    told = assembly.readings()[JOB]
    assert [(reading.time_s, reading.values[Signal.MFU]) for reading in told] == [(25.0, 0.3), (85.0, 0.9)]


def test_jobs_are_kept_apart() -> None:
    assembly = Assembly()
    assembly.add(JOB, {}, "a", MFU, [(30.0, 0.3)])
    assembly.add(OTHER, {}, "a", MFU, [(30.0, 0.5)])
    told = assembly.readings()
    assert {job: readings[0].values[Signal.MFU] for job, readings in told.items()} == {JOB: 0.3, OTHER: 0.5}
