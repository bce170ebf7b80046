"""What is learnt while nothing is wrong: the revision that holds the baseline, and how a healthy step is made up."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import Retry
from mfu_operator.model.baseline import Profiling, ProfilingMode, Provenance
from mfu_operator.model.commit import Deployed
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Incident, KnownGood, ProfileFact, Status
from mfu_operator.model.verdict import Gate, Judgement, Verdict
from mfu_operator.reconcile.effects import EnsureJob, Record, Step, Subject
from mfu_operator.reconcile.healthy import open_incident, profile_once, remember_known_good
from mfu_operator.reconcile.known_good import known_good, quiet, revision_read, with_revision
from mfu_operator.reconcile.opening import CLOSED_BY_PERSON
from mfu_operator.reconcile.world import UNSEEN
from mfu_operator.trace import termination_message as compact
from tests.support import worlds
from tests.support.worlds import (
    KNOWN_GOOD,
    NOW_S,
    ONSET_S,
    SETTLED,
    STARTED_S,
    incident,
    judgement,
    pod,
    regressed,
    source,
    spec,
    workload,
    world,
)
from tests.unit.reconcile.stories import FINISHED

UNKNOWN = replace(SETTLED, known_good=None)
RECORDED = replace(worlds.BASELINE, provenance=Provenance.RECORDED, recorded_at=NOW_S - 60)
SPEAKS_S = STARTED_S + 120 + 300
"""When a reading speaks for what the pod read: half a horizon after its warm-up."""

LOST = Retry("ClusterUnreachable", "503")
TRACE = judgement(evidence_s=1.0)


def record(step: Step | None) -> Record:
    assert isinstance(step, Record)
    return step


@pytest.mark.parametrize("judged", [None, judgement(), judgement(Verdict.NO_DATA), judgement(Verdict.NOT_COMPARABLE)])
def test_nothing_but_a_sustained_loss_opens_an_incident(judged: Judgement | None) -> None:
    assert open_incident(world(judgement=judged)) is None


def test_a_sustained_loss_opens_the_next_incident() -> None:
    step = record(open_incident(world(replace(SETTLED, incidents=4), judgement=regressed())))
    opened = step.status.incident
    assert opened is not None
    assert (opened.onset_at, opened.opened_at, step.status.incidents) == (ONSET_S, NOW_S, 5)
    assert step.status.healthy_profile == worlds.HEALTHY_PROFILE
    assert step.events == (Event("Warning", "Regressed", f"incident {opened.id}: {regressed().message}"),)


def test_a_loss_that_a_person_closed_opens_none_again() -> None:
    closed: Incident = incident(closed=(CLOSED_BY_PERSON, "known"), ended_at=NOW_S)
    assert open_incident(world(replace(SETTLED, history=(closed,)), judgement=regressed())) is None


@pytest.mark.parametrize("profile", [None, replace(worlds.HEALTHY_PROFILE, account=None, failure=("A", "a"))])
def test_a_profile_that_is_not_under_way_stays_as_it_is(profile: ProfileFact | None) -> None:
    step = record(open_incident(world(replace(SETTLED, healthy_profile=profile), judgement=regressed())))
    assert step.status.healthy_profile == profile


def test_a_profile_under_way_is_void_once_a_loss_set_in() -> None:
    launched = replace(worlds.HEALTHY_PROFILE, account=None)
    step = record(open_incident(world(replace(SETTLED, healthy_profile=launched), judgement=regressed())))
    assert step.status.healthy_profile is not None and step.status.healthy_profile.failure is not None
    assert "a loss set in while it ran" in step.status.healthy_profile.failure[1]


QUIET: list[tuple[Judgement | None, bool]] = [
    (judgement(), True),
    (None, False),
    (TRACE, False),
    (judgement(gates=(Gate.CHECKPOINT,)), False),
    (judgement(Verdict.NO_DATA), False),
    (regressed(evidence_s=0.0), False),
]


@pytest.mark.parametrize(("judged", "is_quiet"), QUIET)
def test_a_job_is_quiet_without_a_gate_or_a_second_of_evidence(judged: Judgement | None, is_quiet: bool) -> None:
    assert quiet(judged) is is_quiet
    assert (known_good(world(UNKNOWN, judgement=judged)) is not None) is is_quiet


def test_a_reading_speaks_for_a_revision_half_a_horizon_after_its_pod_counts() -> None:
    for last_s, speaks in ((SPEAKS_S, True), (SPEAKS_S - 1, False), (None, False)):
        here = world(UNKNOWN, judgement=judgement(last_usable_s=last_s))
        assert (known_good(here) is not None) is speaks


def nodes_of(*pods: Any) -> KnownGood:
    found = known_good(world(UNKNOWN, workload=workload(pods=pods)))
    assert found is not None
    return found


def test_images_and_nodes_are_those_of_every_pod_once() -> None:
    found = nodes_of(pod(node="b", images=("z", "a")), pod(node="a", images=("a",)), pod(node=None))
    assert (found.images, found.nodes) == (("a", worlds.IMAGE, "z"), ("a", "b"))


def test_the_nodes_of_a_run_of_very_many_are_not_kept() -> None:
    many = [pod(node=f"node-{number}") for number in range(513)]
    assert len(nodes_of(*many[:512]).nodes) == 512
    assert nodes_of(*many).nodes == ()


NOT_MANAGED = KnownGood(None, (worlds.IMAGE,), NOW_S, ("node-1",))
SEEN_LATER = replace(NOT_MANAGED, time_s=STARTED_S)
SOURCES: list[tuple[str, dict[str, Any], KnownGood | None]] = [
    ("seen", {}, KnownGood(worlds.GOOD, (worlds.IMAGE,), NOW_S, ("node-1",))),
    ("not deployed from Git", {"source": None}, NOT_MANAGED),
    ("nobody looked", {"source": UNSEEN}, None),
    ("cannot be seen", {"source": UNSEEN, "source_problem": LOST}, SEEN_LATER),
    ("cannot be seen any more", {"source": None, "source_problem": LOST}, SEEN_LATER),
    ("a history that does not reach back", {"source": source(deployed=source().deployed[1:])}, None),
]


@pytest.mark.parametrize(("changes", "found"), [row[1:] for row in SOURCES], ids=[row[0] for row in SOURCES])
def test_a_revision_is_known_where_its_source_was_seen(changes: dict[str, Any], found: KnownGood | None) -> None:
    assert known_good(world(UNKNOWN, **changes)) == found


def test_what_is_known_is_kept_while_the_source_cannot_be_seen() -> None:
    assert known_good(world(source=None, source_problem=LOST)) is None


def test_a_pod_read_the_revision_whose_deployment_had_begun() -> None:
    first, second = Deployed("1" * 40, 100.0), Deployed("2" * 40, 200.0, 150.0)
    deployments = source(deployed=(second, first))
    for started_s, revision in (
        (97.9, None),
        (98.0, "1" * 40),
        (147.9, "1" * 40),
        (148.0, "2" * 40),
        (999.0, "2" * 40),
    ):
        assert revision_read(deployments, started_s) == revision


def test_a_recorded_level_is_of_what_ran_while_it_was_recorded() -> None:
    named = replace(RECORDED, revision=worlds.GOOD, images=(worlds.IMAGE,))
    assert with_revision(RECORDED, KNOWN_GOOD, NOW_S - 60) == named
    assert with_revision(RECORDED, KNOWN_GOOD, NOW_S - 59) == RECORDED
    assert with_revision(worlds.BASELINE, KNOWN_GOOD, STARTED_S) == worlds.BASELINE
    other = replace(RECORDED, revision=worlds.SLOW)
    assert with_revision(other, KNOWN_GOOD, STARTED_S) == other


def remembered(status: Status, **changes: Any) -> Step | None:
    return remember_known_good(world(status, **changes))


def test_a_revision_is_remembered_and_told_once() -> None:
    step = record(remembered(replace(UNKNOWN, baseline=RECORDED)))
    found = replace(KNOWN_GOOD, time_s=NOW_S)
    assert step.status.known_good == found
    assert step.status.baseline == replace(RECORDED, revision=worlds.GOOD, images=(worlds.IMAGE,))
    assert step.events == (Event("Normal", "KnownGood", "revision 111111111111 holds the baseline"),)
    assert remembered(step.status, now_s=NOW_S + 600) is None
    unmanaged = record(remembered(UNKNOWN, source=None))
    assert unmanaged.events[0].message == "revision unknown holds the baseline"


def test_no_revision_holds_a_level_that_there_is_not() -> None:
    assert remembered(replace(UNKNOWN, baseline=None)) is None


def test_a_run_that_moved_changes_its_nodes_and_nothing_is_told() -> None:
    moved = workload(pods=(pod(node="node-2"),))
    step = record(remembered(SETTLED, workload=moved))
    assert step.status == replace(SETTLED, known_good=replace(KNOWN_GOOD, nodes=("node-2",)))
    assert step.events == ()


@pytest.mark.parametrize("before", [replace(KNOWN_GOOD, revision=worlds.SLOW), replace(KNOWN_GOOD, images=("other",))])
def test_another_revision_or_image_is_another_known_good(before: KnownGood) -> None:
    step = record(remembered(replace(SETTLED, known_good=before)))
    assert step.status.known_good == replace(KNOWN_GOOD, time_s=NOW_S)
    assert [each.reason for each in step.events] == ["KnownGood"]


UNPROFILED = replace(SETTLED, healthy_profile=None)
PAIR = workload(pods=(pod(), pod(name="gpt-small-y")))
FAILED = replace(worlds.HEALTHY_PROFILE, account=None, failure=("JobFailed", ""), created_at=NOW_S - 7200)
EARLIER = replace(worlds.HEALTHY_PROFILE, account=worlds.account(analysis=1.0), image="old", attempt=2)
OFF = replace(spec(), profiling=Profiling(ProfilingMode.NEVER))


@pytest.mark.parametrize(
    ("profile", "attempt", "earlier"),
    [(None, 1, 0), (FAILED, 2, 0), (EARLIER, 3, 2)],
    ids=["never", "failed", "of an earlier analysis"],
)
def test_the_healthy_job_is_profiled_while_it_is_quiet(profile: Any, attempt: int, earlier: int) -> None:
    status = replace(SETTLED, healthy_profile=profile)
    step = profile_once(world(status))
    assert isinstance(step, EnsureJob)
    assert step.subject is Subject.BASELINE
    assert step.profile.job == f"mfu-gpt-small-3f2a91c0-healthy-a{attempt}"
    assert (step.profile.attempt, step.profile.earlier_attempts) == (attempt, earlier)
    for changes in ({"judgement": TRACE}, {"judgement": None}, {"spec": OFF}):
        assert profile_once(world(status, **changes)) is None
    assert profile_once(world(replace(status, baseline=None))) is None


def test_a_profile_that_is_there_or_failed_a_moment_ago_is_not_taken_again() -> None:
    assert profile_once(world()) is None
    assert profile_once(world(replace(SETTLED, healthy_profile=replace(FAILED, created_at=NOW_S)))) is None


@pytest.mark.parametrize("profile", [None, FAILED])
def test_that_nothing_can_be_recorded_is_said_once_the_run_has_settled(profile: Any) -> None:
    status = replace(SETTLED, healthy_profile=profile)
    for changes in ({}, {"judgement": TRACE}):
        with pytest.raises(Retry) as caught:
            profile_once(world(status, **({"workload": PAIR} | changes)))
        assert caught.value.reason == "NotInstrumented"
    young = workload(pods=(pod(), pod(NOW_S - 5)))
    assert profile_once(world(status, workload=young, judgement=TRACE)) is None


def test_a_run_that_cannot_be_recorded_any_more_keeps_its_profile() -> None:
    assert profile_once(world(workload=PAIR)) is None
    launched = replace(SETTLED, healthy_profile=replace(worlds.HEALTHY_PROFILE, account=None, created_at=NOW_S - 30))
    assert profile_once(world(launched, workload=PAIR)) is None


ID = "gpt-small-3f2a91c0-healthy"
LAUNCHED = ProfileFact(f"mfu-{ID}-a1", 1, NOW_S - 120)
UNDER_WAY = replace(SETTLED, healthy_profile=LAUNCHED)
BROUGHT = replace(FINISHED, name=LAUNCHED.job, result=compact.encode(worlds.FAST_STEP), subject=ID)


def took(**changes: Any) -> Step | None:
    return profile_once(world(UNDER_WAY, **({"job": BROUGHT} | changes)))


def failure(step: Step | None) -> tuple[str, str] | None:
    found = record(step).status.healthy_profile
    assert found is not None
    return found.failure


def test_the_account_of_a_job_that_is_well_is_taken_and_told() -> None:
    step = record(took())
    assert failure(step) is None
    said = f"Job {LAUNCHED.job} brought the healthy step's account"
    assert step.events == (Event("Normal", "BaselineProfiled", said),)


def test_a_job_under_way_is_waited_for_and_one_that_failed_is_told_whatever_is_judged() -> None:
    assert took(job=UNSEEN) is None
    gone = record(took(job=None, judgement=None))
    assert gone.events == (Event("Warning", "JobGone", "the profiling Job was deleted before it finished"),)
    assert failure(gone) == ("JobGone", "the profiling Job was deleted before it finished")


VOID: list[tuple[dict[str, Any], str]] = [
    ({"judgement": regressed()}, "the verdict is Regressed now (MFU 0.381 for 12 min, limit 0.451)"),
    ({"judgement": judgement(evidence_s=0.4)}, "0 s of evidence for a loss came up meanwhile"),
    ({"workload": workload(NOW_S - 119)}, "a pod of the run started 1 s after it was launched"),
]


@pytest.mark.parametrize(("changes", "because"), VOID)
def test_an_account_is_void_where_something_changed_since(changes: dict[str, Any], because: str) -> None:
    step = record(took(**changes))
    found = failure(step)
    assert found is not None and because in found[1]
    assert step.events == (Event("Warning", *found),)


def test_a_pod_of_the_second_of_the_launch_is_the_one_that_was_recorded() -> None:
    assert failure(took(workload=workload(NOW_S - 120))) is None


@pytest.mark.parametrize(
    "changes",
    [{"judgement": None}, {"judgement": judgement(Verdict.NO_DATA)}, {"workload": workload(None)}],
)
def test_an_account_waits_until_the_job_can_be_judged(changes: dict[str, Any]) -> None:
    assert took(**changes) is None
