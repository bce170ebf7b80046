"""With Observe and DryRun nothing leaves the cluster; credentials that are refused are said and tried again."""

import pytest

from tests.e2e.stories import CarefulJob

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]


def test_mode_off_diagnoses_and_proposes_nothing(careful: CarefulJob) -> None:
    assert careful.off is not None
    incident = careful.off.status["incident"]
    assert incident["diagnosis"]["cause"] == "DataLoaderWorkers"
    assert "proposal" not in incident and "suspect" not in incident
    assert careful.off.branches == ["main"] and careful.off.pull_requests == []


def test_a_refused_token_is_a_condition_with_a_remedy(careful: CarefulJob) -> None:
    failed = next(each for each in careful.refused["conditions"] if each["type"] == "ProposalFailed")
    assert failed["reason"] == "RepositoryAccessDenied"
    assert "secretRef" in failed["message"]
    assert "not-the-token" not in str(careful.refused)


def test_a_dry_run_shows_what_it_would_propose_and_touches_nothing(careful: CarefulJob) -> None:
    proposal = careful.status["incident"]["proposal"]
    assert proposal["dryRun"] is True
    assert "+  num_workers: 4" in proposal["diff"] and "-  num_workers: 0" in proposal["diff"]
    assert "url" not in proposal
    assert careful.branches == ["main"] and careful.pull_requests == []
    assert careful.status["summary"]["pullRequest"] == "dry run"
