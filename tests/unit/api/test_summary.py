"""What `kubectl get tb` shows, word for word."""

from dataclasses import replace

import pytest

from mfu_operator.api.summary import per_cent, quantity, summary
from mfu_operator.model.incident import ProposalFact, Recording, Status
from mfu_operator.model.proposal import ProposalKind, PullRequestState
from mfu_operator.model.verdict import Gate, Judgement, Verdict
from tests.unit.api.test_status import story

HEALTHY = Judgement(
    Verdict.HEALTHY,
    "WithinTolerance",
    "",
    "mfu",
    value=0.4591,
    baseline=0.46,
    change=-0.002,
    evidence_s=384,
    sustain_s=600,
)


def test_a_healthy_job() -> None:
    assert summary(Status(judgement=HEALTHY)) == {
        "verdict": "Healthy",
        "reading": "0.459",
        "baseline": "0.460",
        "change": "−0.2%",
        "evidence": "6.4 of 10 min",
        "progress": "watching",
    }


def test_a_gated_job_says_what_gates_it() -> None:
    gated = replace(HEALTHY, gates=(Gate.CHECKPOINT, Gate.PROFILING))
    assert summary(Status(judgement=gated))["progress"] == "gated: Checkpoint, Profiling"


def test_a_baseline_that_is_being_recorded() -> None:
    texts = summary(Status(recording=Recording(0.0, 60.0, 1800.0, 2, 3)))
    assert texts == {"verdict": "Recording", "progress": "recording run 2 of 3"}


def test_an_incident_tells_its_story() -> None:
    incident = story().incident
    assert incident is not None
    open_request = replace(incident, recovery=None, blocked=None)
    texts = summary(Status(judgement=HEALTHY, incident=open_request))
    assert texts["bottleneck"] == "InputStarved"
    assert texts["pullRequest"] == "https://git/pulls/7 (Open)"
    assert texts["suspect"].startswith("1a2b3c4d word")
    assert texts["progress"] == "awaiting review"


def test_progress_is_the_first_missing_fact() -> None:
    incident = replace(story().incident or pytest.fail(), recovery=None, blocked=None)
    request = ProposalFact(ProposalKind.REVERT, "b", "t", False, None, "u", 1, PullRequestState.MERGED, 1.0)
    told = {
        "watching recovery": replace(incident, proposal=request),
        "proposing": replace(incident, proposal=None),
        "seeking the commit": replace(incident, proposal=None, suspect=None),
        "profiling": replace(incident, proposal=None, suspect=None, diagnosis=None),
        "needs a person": replace(incident, blocked=("NoSingleSuspect", "")),
    }
    for text, each in told.items():
        assert summary(Status(incident=each))["progress"] == text


def test_what_is_not_proposed_says_why() -> None:
    incident = replace(story().incident or pytest.fail(), recovery=None, proposal=None)
    assert summary(Status(incident=incident))["pullRequest"] == "none: NoSingleSuspect"
    dry = ProposalFact(ProposalKind.REVERT, "b", "t", True)
    assert summary(Status(incident=replace(incident, proposal=dry)))["pullRequest"] == "dry run"


def test_short_horizons_are_in_seconds() -> None:
    quick = replace(HEALTHY, evidence_s=31.4, sustain_s=60)
    assert summary(Status(judgement=quick))["evidence"] == "31 of 60 s"


@pytest.mark.parametrize(
    ("signal", "value", "text"),
    [
        ("mfu", 0.0381, "0.038"),
        ("stepTime", 0.08571, "85.7 ms"),
        ("stepTime", 12.31, "12.3 s"),
        ("throughput", 12.34, "12.3 tok/s"),
        ("throughput", 12345.6, "12346 tok/s"),
    ],
)
def test_units(signal: str, value: float, text: str) -> None:
    assert quantity(signal, value) == text


@pytest.mark.parametrize(("ratio", "text"), [(-0.1721, "−17.2%"), (0.004, "+0.4%"), (-0.0001, "0.0%"), (0.0, "0.0%")])
def test_changes(ratio: float, text: str) -> None:
    assert per_cent(ratio) == text
