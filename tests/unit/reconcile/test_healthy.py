"""The account of the healthy job is taken only while the job is well, and tried again where it was not."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.model.incident import ProfileFact, Status
from mfu_operator.model.verdict import Gate, Verdict
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsureJob, Record, Step, Subject
from mfu_operator.trace import termination_message as compact
from tests.support import worlds
from tests.support.worlds import judgement, regressed, spec, workload, world
from tests.unit.reconcile.stories import FINISHED, LAUNCHED

RUNNING = replace(worlds.SETTLED, healthy_profile=LAUNCHED)
BROUGHT = replace(FINISHED, result=compact.encode(worlds.FAST_STEP), subject="gpt-small-3f2a91c0-healthy")
AFTER_LAUNCH_S = LAUNCHED.created_at + 30
CHANGED = [
    ("a trace of a loss", {"judgement": judgement(evidence_s=1.0)}, "evidence for a loss"),
    ("another configuration", {"judgement": judgement(Verdict.NOT_COMPARABLE)}, "NotComparable"),
    ("a pod that started since", {"workload": workload(AFTER_LAUNCH_S)}, "started 30 s after"),
    (
        "one new pod among old ones",
        {"workload": workload(pods=(worlds.pod(), worlds.pod(AFTER_LAUNCH_S)))},
        "started 30 s after",
    ),
]


def brought(status: Status = RUNNING, **changes: Any) -> Step | None:
    return decide(world(status, job=BROUGHT, **changes))


def healthy_profile(step: Step | None) -> ProfileFact:
    assert isinstance(step, Record)
    assert step.status.healthy_profile is not None
    return step.status.healthy_profile


@pytest.mark.parametrize("gates", [(), (Gate.PROFILING,), (Gate.CHECKPOINT,)])
def test_the_healthy_account_is_taken_while_nothing_speaks_against_it(gates: tuple[Gate, ...]) -> None:
    assert healthy_profile(brought(judgement=judgement(gates=gates))).account is not None


@pytest.mark.parametrize(("changes", "told"), [row[1:] for row in CHANGED], ids=[row[0] for row in CHANGED])
def test_an_account_that_may_be_of_the_slow_job_is_not_taken_for_healthy(changes: dict[str, Any], told: str) -> None:
    step = brought(**changes)
    found = healthy_profile(step)
    assert (found.account, found.hardware) == (None, ())
    assert found.failure is not None
    assert found.failure[0] == "JobOverlapsChange"
    assert told in found.failure[1]
    assert isinstance(step, Record)
    assert step.events[-1].reason == "JobOverlapsChange"


UNJUDGED = [
    ("no reading", {"judgement": judgement(Verdict.NO_DATA)}),
    ("no judgement", {"judgement": None}),
    ("a pod that does not run yet", {"workload": workload(None)}),
]


@pytest.mark.parametrize("changes", [row[1] for row in UNJUDGED], ids=[row[0] for row in UNJUDGED])
def test_a_healthy_account_waits_until_it_can_be_judged(changes: dict[str, Any]) -> None:
    assert brought(**changes) is None


OF_AN_EARLIER_ANALYSIS = replace(
    worlds.HEALTHY_PROFILE, account=worlds.account(analysis=1.0), image="registry.example/profiler@sha256:0"
)


def test_an_account_of_an_earlier_analysis_is_made_anew_once_the_profiler_is_another_one() -> None:
    again = decide(world(replace(worlds.SETTLED, healthy_profile=OF_AN_EARLIER_ANALYSIS)))
    assert isinstance(again, EnsureJob)
    assert (again.subject, again.profile.attempt, again.profile.earlier_attempts) == (Subject.BASELINE, 2, 1)
    opened = decide(world(replace(worlds.SETTLED, healthy_profile=OF_AN_EARLIER_ANALYSIS), judgement=regressed()))
    assert healthy_profile(opened) == OF_AN_EARLIER_ANALYSIS, "the incident is opened with what there is"


def test_the_same_profiler_is_not_asked_for_the_same_account_again() -> None:
    same = replace(OF_AN_EARLIER_ANALYSIS, image=worlds.DEFAULTS.profiler_image)
    assert decide(world(replace(worlds.SETTLED, healthy_profile=same))) is None


def test_a_loss_that_sets_in_while_the_healthy_job_is_profiled_makes_its_account_void() -> None:
    opened = brought(judgement=regressed())
    assert healthy_profile(opened).failure is not None
    assert isinstance(opened, Record)
    assert opened.status.incident is not None
    assert healthy_profile(decide(world(judgement=regressed()))) == worlds.HEALTHY_PROFILE


def test_what_came_at_a_bad_time_is_tried_again_however_often() -> None:
    untimely = healthy_profile(brought(judgement=judgement(evidence_s=1.0)))
    late = replace(untimely, attempt=7, created_at=worlds.NOW_S - 7 * spec().detection.sustain_s)
    again = decide(world(replace(worlds.SETTLED, healthy_profile=late)))
    assert isinstance(again, EnsureJob)
    assert again.profile.attempt == 8
    assert decide(world(replace(worlds.SETTLED, healthy_profile=replace(late, failure=("JobFailed", ""))))) is None
