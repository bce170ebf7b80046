"""From the samples of many series to one reading."""

import pytest

from mfu_operator.detect.samples import INFO, STEP_TIME, THROUGHPUT, Assembly
from mfu_operator.model.baseline import Signal, WorkloadRef

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")


def rank_step_s(processes: list[tuple[str, str, str, float]]) -> dict[str, float]:
    """Of processes given as pod, instance, rank ("" where it is not exported) and seconds per step."""
    assembly = Assembly()
    for pod, instance, rank, seconds in processes:
        labels = {"instance": instance}
        assembly.add(JOB, labels, pod, STEP_TIME, [(10.0, seconds)])
        if rank:
            assembly.add(JOB, labels | {"rank": rank}, pod, INFO, [(10.0, 1.0)])
    return dict(assembly.readings()[JOB][-1].rank_step_s)


def test_ranks_in_pods_of_their_own_are_called_by_the_pod() -> None:
    assert rank_step_s([("a", "1:9400", "0", 2.0), ("b", "2:9400", "1", 2.5)]) == {"a": 2.0, "b": 2.5}


def test_ranks_that_share_a_pod_are_told_apart() -> None:
    shared = [("a", "1:9400", "0", 2.0), ("a", "1:9401", "1", 2.5), ("b", "2:9400", "2", 2.1)]
    assert rank_step_s(shared) == {"a rank 0": 2.0, "a rank 1": 2.5, "b": 2.1}


def test_ranks_that_do_not_say_who_they_are_are_counted() -> None:
    assert set(rank_step_s([("a", "1:9400", "", 2.0), ("a", "1:9401", "", 2.5)])) == {"a rank 0", "a rank 1"}


def test_one_process_has_nobody_to_be_slower_than() -> None:
    assert rank_step_s([("a", "1:9400", "0", 2.0)]) == {}


@pytest.mark.parametrize(("gpus", "per_gpu"), [("4", 250.0), ("0", 1000.0), ("²", 1000.0), ("9" * 5000, 1000.0)])
def test_a_count_of_gpus_that_is_no_number_is_one(gpus: str, per_gpu: float) -> None:
    assembly = Assembly()
    assembly.add(JOB, {}, "a", THROUGHPUT, [(10.0, 1000.0)])
    assembly.add(JOB, {"gpus": gpus}, "a", INFO, [(10.0, 1.0)])
    assert assembly.readings()[JOB][-1].values == {Signal.THROUGHPUT: per_gpu}
