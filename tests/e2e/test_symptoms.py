"""A hang and a lost loss, out of a real training run: each is told once, with its remedy, and nothing is proposed."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.cli.reasons import reasons as table
from tests.e2e.ailments import AilingJob, Told
from tests.e2e.stories import Seen

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]


def both(told: Told) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The statuses of both baselines."""
    return told.by_prometheus, told.by_pages


def condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The condition of a type."""
    [found] = [each for each in status["conditions"] if each["type"] == kind]
    assert isinstance(found, Mapping)
    return found


def notes(seen: Seen, reason: str) -> list[str]:
    """What the baseline's Events of a reason say."""
    return [str(each["note"]) for each in seen.events if each["reason"] == reason]


def test_the_pods_own_pages_give_a_recorded_level_and_a_verdict(ailing: AilingJob) -> None:
    by_prometheus, by_pages = both(ailing.healthy)
    assert by_pages["baseline"]["provenance"] == "Recorded"
    assert by_pages["judgement"]["verdict"] == "Healthy"
    level, same = by_pages["baseline"]["level"], by_prometheus["baseline"]["level"]
    assert level == pytest.approx(same, rel=0.25), "the same run, read in two ways"


def test_the_doctor_shows_what_prometheus_was_asked_and_what_it_answered(ailing: AilingJob) -> None:
    told = ailing.doctor_of_prometheus
    assert f"source    {ailing.by_prometheus.scenario.environment.prometheus.url}  profile mfu_probe" in told
    assert "ok  mfu          1 series of 1 pods, 0." in told
    assert 'mfu_probe_mfu_ratio{namespace=~"quiet-job",job_name=~"gpt-small"}' in told
    assert "not exported, so not watched: memoryAllocated" in told
    assert "BAD" not in told and "NotComparable" not in told


def test_the_doctor_reads_the_pods_pages_through_the_api_server(ailing: AilingJob) -> None:
    told = ailing.doctor_of_pages
    assert "source    the pods' own pages, through the API server  profile mfu_probe" in told
    assert "ok  page         " in told and ":9400/metrics (pod gpt-small-" in told
    assert "ok  mfu          1 samples, 0." in told
    assert "not exported, so not watched: memoryAllocated" in told
    assert "BAD" not in told and "NotComparable" not in told


def test_a_loader_that_stands_still_is_a_hang_and_no_loss_of_speed(ailing: AilingJob) -> None:
    for status in both(ailing.hung):
        [symptom] = status["symptoms"]
        assert symptom["measured"] >= 20, "detection.sustain, in seconds"
        assert "the step counter has stayed at" in symptom["message"] and "py-spy dump" in symptom["message"]
        assert condition(status, "Hung")["reason"] == "Hung"
        assert (status["judgement"]["verdict"], status["judgement"]["reason"]) == ("NoData", "Hung")
        assert status["summary"]["verdict"] == "Hung"


def test_a_loss_that_is_nan_is_told_by_its_own_condition_while_the_speed_is_well(ailing: AilingJob) -> None:
    for status in both(ailing.not_learning):
        [symptom] = status["symptoms"]
        assert symptom["measured"] >= 3 and symptom["pod"].startswith("gpt-small-")
        assert condition(status, "NotLearning")["reason"] == "LossNotFinite"
        assert "resume from a checkpoint before it" in condition(status, "NotLearning")["message"]
        assert status["judgement"]["verdict"] == "Healthy"
        assert status["summary"]["verdict"] == "LossNotFinite"


def test_after_the_hang_the_run_is_waited_for_as_after_a_restart(ailing: AilingJob) -> None:
    for status in both(ailing.moving):
        assert "Hung" not in [each["type"] for each in status["conditions"]]
        assert (status["judgement"]["gates"], status["judgement"]["evidenceSeconds"]) == (["Restarting"], 0)


def test_each_symptom_that_came_or_went_is_one_event(ailing: AilingJob) -> None:
    for seen in (ailing.by_prometheus, ailing.by_pages):
        assert len(notes(seen, "Hung")) == 1
        assert notes(seen, "SymptomGone") == ["Hung: it is not seen any more"]
        assert len(notes(seen, "LossNotFinite")) == 1


def test_each_symptom_has_a_runbook(ailing: AilingJob) -> None:
    reasons = {
        symptom["reason"] for told in (ailing.hung, ailing.not_learning) for symptom in both(told)[0]["symptoms"]
    }
    assert reasons == {"Hung", "LossNotFinite"}
    assert reasons <= table().reasons.keys()


def test_neither_opens_an_incident_or_proposes_anything(ailing: AilingJob) -> None:
    for seen in (ailing.by_prometheus, ailing.by_pages):
        assert seen.status.get("incidents", 0) == 0
    seen = ailing.by_prometheus
    assert seen.scenario.mode == "PullRequest"
    assert seen.branches == ["main"] and seen.pull_requests == []
    assert all("-healthy-" in job["metadata"]["name"] for job in seen.jobs)


def test_the_commit_that_lost_the_loss_is_nobody_s_known_good(ailing: AilingJob) -> None:
    assert ailing.by_prometheus.scenario.status()["knownGood"]["revision"] != ailing.slip
