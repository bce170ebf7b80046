"""The control: checkpoints, evaluations and a commit of no importance lead to nothing."""

import pytest

from tests.e2e.stories import QuietJob

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]


def test_dips_and_a_harmless_commit_open_no_incident(quiet: QuietJob) -> None:
    heard = [f"{event['reason']}: {event['note']}" for event in quiet.events]
    assert "incident" not in quiet.status and "history" not in quiet.status, heard
    assert quiet.status.get("incidents", 0) == 0, heard


def test_there_were_dips_to_be_taken_for_a_loss(quiet: QuietJob) -> None:
    assert quiet.least_running_ratio < 0.99


def test_only_the_healthy_job_was_profiled(quiet: QuietJob) -> None:
    assert quiet.jobs and all("-healthy-" in job["metadata"]["name"] for job in quiet.jobs)


def test_there_is_no_branch_and_no_pull_request(quiet: QuietJob) -> None:
    assert quiet.branches == ["main"] and quiet.pull_requests == []
