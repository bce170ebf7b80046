"""The first missing fact decides the next step, and the same world decides it the same way."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.api import status as codec
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.incident import Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.verdict import Gate, Verdict
from mfu_operator.model.workload import JobPhase
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsureJob, Record, Subject
from mfu_operator.reconcile.needs import needs
from mfu_operator.reconcile.world import Need
from tests.support import worlds
from tests.support.worlds import ailing, explained, incident, judgement, regressed, spec, world
from tests.unit.reconcile.stories import FINISHED, LAUNCHED, PROPOSED, name_of, story_world

FRESH = replace(worlds.SETTLED, known_good=None, healthy_profile=None)
MERGED = replace(worlds.PULL, state=PullRequestState.MERGED, merge_sha="f" * 40, merged_at=worlds.NOW_S)
STORY: list[tuple[str, Status, dict[str, Any], str | None]] = [
    ("well, revision unknown", FRESH, {}, "KnownGood"),
    ("well, never profiled", replace(FRESH, known_good=worlds.KNOWN_GOOD), {}, "EnsureJob baseline"),
    ("well, all is known", worlds.SETTLED, {}, None),
    ("a loss is sustained", worlds.SETTLED, {"judgement": regressed()}, "Regressed"),
    ("no profile", ailing(incident()), {}, "EnsureJob incident"),
    ("the Job runs", ailing(incident(profile=LAUNCHED)), {"job": replace(FINISHED, phase=JobPhase.RUNNING)}, None),
    ("the Job is done", ailing(incident(profile=LAUNCHED)), {"job": FINISHED}, "Profiled"),
    ("an account", ailing(incident(profile=worlds.PROFILED)), {}, "Diagnosed"),
    ("explained, not yet confirmed", ailing(explained(confirmed_at=None)), {}, None),
    ("confirmed", ailing(explained(confirmed_at=None)), {"judgement": regressed(True)}, "Confirmed"),
    ("who did it?", ailing(explained()), {}, "Investigate"),
    ("asked", ailing(PROPOSED), {"pull_request": worlds.PULL}, None),
    ("a person agreed", ailing(PROPOSED), {"pull_request": MERGED}, "Merged"),
    ("well again", ailing(PROPOSED), {"judgement": judgement(recovered=True)}, "Recovered"),
]


@pytest.mark.parametrize(("status", "changes", "expected"), [row[1:] for row in STORY], ids=[row[0] for row in STORY])
def test_the_first_missing_fact_is_obtained_next(status: Status, changes: dict[str, Any], expected: str | None) -> None:
    assert name_of(decide(story_world(status, changes))) == expected


@pytest.mark.parametrize(("status", "changes"), [row[1:3] for row in STORY], ids=[row[0] for row in STORY])
def test_another_replica_that_reads_the_stored_status_decides_the_same(status: Status, changes: dict[str, Any]) -> None:
    here = story_world(status, changes)
    there = replace(here, status=codec.decode(codec.encode(status)))
    assert decide(there) == decide(here)


def test_the_jobs_are_named_after_baseline_incident_and_attempt() -> None:
    healthy = decide(world(replace(FRESH, known_good=worlds.KNOWN_GOOD)))
    slow = decide(story_world(ailing(incident()), {}))
    assert isinstance(healthy, EnsureJob)
    assert isinstance(slow, EnsureJob)
    assert (healthy.subject, healthy.profile.job) == (Subject.BASELINE, "mfu-gpt-small-3f2a91c0-healthy-a1")
    assert (slow.subject, slow.profile.job) == (Subject.INCIDENT, "mfu-gpt-small-3f2a91c0-1-a1")


def test_a_baseline_of_the_same_name_made_anew_has_other_names() -> None:
    another = replace(worlds.IDENTITY, uid="99999999-0000")
    opened = decide(world(judgement=regressed(), identity=another))
    assert isinstance(opened, Record)
    assert opened.status.incident is not None
    assert opened.status.incident.id.startswith("gpt-small-99999999-")


def test_without_a_workload_or_while_suspended_nothing_is_done() -> None:
    assert decide(world(judgement=regressed(), workload=None)) is None
    assert decide(world(judgement=regressed(), spec=replace(spec(), suspend=True))) is None


@pytest.mark.parametrize("verdict", [Verdict.NO_DATA, Verdict.NOT_COMPARABLE, Verdict.HEALTHY])
def test_only_regressed_opens_an_incident(verdict: Verdict) -> None:
    assert decide(world(judgement=judgement(verdict))) is None


@pytest.mark.parametrize("verdict", [Verdict.NO_DATA, Verdict.NOT_COMPARABLE, Verdict.REGRESSED])
def test_only_healthy_closes_one(verdict: Verdict) -> None:
    assert decide(story_world(ailing(PROPOSED), {"judgement": judgement(verdict)})) is None


def test_costly_observations_are_made_only_for_the_next_decision() -> None:
    def asked(status: Status, judged: Any = None, mode: RemediationMode = RemediationMode.PULL_REQUEST) -> set[str]:
        return {str(need) for need in needs(spec(mode), status, judged or regressed())}

    assert asked(worlds.SETTLED, judgement(gates=(Gate.CHECKPOINT,))) == set()
    assert asked(worlds.SETTLED, judgement()) == {Need.SOURCE}
    assert asked(replace(worlds.SETTLED, healthy_profile=LAUNCHED), judgement(Verdict.NO_DATA)) == {Need.JOB}
    assert asked(ailing(incident(profile=LAUNCHED))) == {Need.JOB, Need.SOURCE}
    assert asked(ailing(explained()), mode=RemediationMode.OBSERVE) == set()
    assert asked(ailing(PROPOSED)) == {Need.PULL_REQUEST}
    assert asked(ailing(replace(PROPOSED, blocked=("RevertConflict", "")))) == {Need.PULL_REQUEST}
