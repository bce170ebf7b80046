"""From the samples of many series to one reading."""

import pytest

from mfu_operator.detect.samples import INFO, THROUGHPUT, Assembly
from mfu_operator.model.baseline import Signal, WorkloadRef

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")


@pytest.mark.parametrize(("gpus", "per_gpu"), [("4", 250.0), ("0", 1000.0), ("²", 1000.0), ("9" * 5000, 1000.0)])
def test_a_count_of_gpus_that_is_no_number_is_one(gpus: str, per_gpu: float) -> None:
    assembly = Assembly()
    assembly.add(JOB, {}, "a", THROUGHPUT, [(10.0, 1000.0)])
    assembly.add(JOB, {"gpus": gpus}, "a", INFO, [(10.0, 1.0)])
    assert assembly.readings()[JOB][-1].values == {Signal.THROUGHPUT: per_gpu}
