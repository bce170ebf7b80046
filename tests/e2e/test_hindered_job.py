"""A profiling Job that no node takes, then one that is evicted: each is told with its remedy, and nothing is lost."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.e2e.stories import DEVICE, HinderedJob

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]


def failed(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The condition ProfilingFailed."""
    [found] = [each for each in status["conditions"] if each["type"] == "ProfilingFailed"]
    assert isinstance(found, Mapping)
    return found


def test_a_job_that_no_node_takes_says_what_is_missing_while_it_waits(hindered: HinderedJob) -> None:
    assert DEVICE in failed(hindered.unschedulable)["message"]


def test_the_reason_outlives_the_pod_that_its_deadline_deletes(hindered: HinderedJob) -> None:
    assert failed(hindered.never_scheduled)["reason"] == "JobUnschedulable"
    assert hindered.never_scheduled["healthyProfile"]["failure"]["reason"] == "JobUnschedulable"


def test_the_copy_cannot_write_where_the_run_keeps_its_checkpoints(hindered: HinderedJob) -> None:
    assert "Read-only file system" in hindered.writing


def test_an_evicted_job_is_told_as_such(hindered: HinderedJob) -> None:
    assert "evicted" in failed(hindered.evicted)["message"]


def test_the_job_is_tried_again_and_brings_its_account(hindered: HinderedJob) -> None:
    profile = hindered.status["healthyProfile"]
    assert profile["attempt"] >= 3 and profile["account"]["count"] >= 5
    assert not [each for each in hindered.status["conditions"] if each["type"] == "ProfilingFailed"]


def test_the_training_run_and_its_verdict_are_untouched(hindered: HinderedJob) -> None:
    [pod] = hindered.pods
    assert [each["restartCount"] for each in pod["status"]["containerStatuses"]] == [0]
    assert "incident" not in hindered.status and hindered.status["baseline"]["level"]["mfu"] > 0
