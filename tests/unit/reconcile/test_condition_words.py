"""Each condition's status, reason and words, as a person reads them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import Retry, Stall
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.commit import Deployed
from mfu_operator.model.condition import Condition
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Exoneration, Incident, ProfileFact, Recording, Status
from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.reconcile.conclude import Failure
from mfu_operator.reconcile.conditions import awaits_person, conditions
from mfu_operator.reconcile.world import World
from tests.support import worlds
from tests.support.worlds import (
    NOW_S,
    SETTLED,
    ailing,
    explained,
    incident,
    judgement,
    regressed,
    spec,
    workload,
    world,
)

OFF, DRY_RUN, ASKED = RemediationMode.OBSERVE, RemediationMode.DRY_RUN, RemediationMode.PULL_REQUEST


def told(seen: World, *failures: Failure) -> dict[str, tuple[str, str, str]]:
    """Status, reason and words of each condition, without where it is explained."""
    found = conditions(seen, seen.status, failures)
    return {each.type: (each.status, each.reason, each.message.partition(" (https://")[0]) for each in found}


def words(kind: str, seen: World, *failures: Failure) -> str:
    return told(seen, *failures)[kind][2]


def submitted(*active: str, **changes: Any) -> World:
    """Runs that labels follow, of which gpt-small is judged."""
    followed = replace(spec(), workload=replace(worlds.REF, selector=(("app", "gpt"),)))
    return replace(world(spec=followed, workload=workload(active_runs=active)), **changes)


MEASURED = "the job is measured and judged against its baseline"


def test_ready_names_the_run_that_is_judged_where_labels_follow_runs() -> None:
    assert told(world())["Ready"] == ("True", "Measuring", MEASURED)
    assert told(world(workload=workload(active_runs=("a", "b"))))["Ready"] == ("True", "Measuring", MEASURED)
    assert told(submitted("gpt-small"))["Ready"] == ("True", "Measuring", f"{MEASURED}; it is run gpt-small")
    assert told(submitted(workload=None))["Ready"] == ("True", "Measuring", f"{MEASURED}; it is run gpt-small")


def test_ready_says_that_there_is_another_run() -> None:
    two = f"{MEASURED}; it is run gpt-small, the newest of 2: gpt-old is active as well"
    assert told(submitted("gpt-small", "gpt-old"))["Ready"] == ("True", "SeveralRuns", two)
    three = f"{MEASURED}; it is run gpt-small, the newest of 3: gpt-old, gpt-older are active as well"
    assert told(submitted("gpt-small", "gpt-old", "gpt-older"))["Ready"] == ("True", "SeveralRuns", three)


def test_ready_tells_how_far_the_recording_is() -> None:
    empty = replace(SETTLED, baseline=None)
    under_way = Recording(NOW_S, 600.4, 1800.0, 1, 3)
    progress = "recording the baseline: 600 of 1800 s of run 1 of 3"
    for recording, expected in [
        (None, "waiting for the job's first readings to record the baseline from"),
        (under_way, progress),
        (replace(under_way, problem="a restart"), f"{progress}; a restart"),
    ]:
        seen = world(replace(empty, recording=recording))
        assert told(seen)["Ready"] == ("False", "BaselineRecording", expected)
        assert told(seen)["Reconciling"] == ("True", "BaselineRecording", expected)


def test_nothing_is_recorded_while_nothing_can_be_measured() -> None:
    empty = world(replace(SETTLED, baseline=None), problem=Retry("PrometheusUnreachable", "no answer"))
    assert set(told(empty)) == {"Ready", "Regressed", "MeasurementFailed"}
    assert told(empty)["MeasurementFailed"] == ("True", "PrometheusUnreachable", "no answer")


def test_a_suspended_baseline_reconciles_nothing() -> None:
    for status in (ailing(incident()), replace(SETTLED, baseline=None)):
        assert "Reconciling" not in told(world(status, spec=replace(spec(), suspend=True)))


def test_reconciling_names_the_incident() -> None:
    doing = f"incident {worlds.INCIDENT.id}: recording a profile of the slow job"
    assert told(world(ailing(incident())))["Reconciling"] == ("True", "IncidentOpen", doing)


def test_without_a_judgement_nothing_of_the_confirmation_is_collected() -> None:
    seen = world(ailing(explained(confirmed_at=None)), judgement=None)
    assert words("Reconciling", seen).endswith(": confirming that the loss lasts (0.0 of 0.0 min)")


AWAITED: list[tuple[str, Incident, RemediationMode, bool]] = [
    ("no diagnosis yet", incident(), ASKED, False),
    ("no diagnosis yet, and no proposal is wanted", incident(), OFF, False),
    ("blocked before it was explained", incident(blocked=("JobsFailed", "")), ASKED, True),
    ("blocked, though the proposal was merged", explained(proposal=worlds.MERGED, blocked=("A", "")), ASKED, True),
    ("explained, and no proposal is wanted", explained(), OFF, True),
    ("explained, and a proposal is missing", explained(), ASKED, False),
    ("asked", explained(proposal=worlds.PROPOSED), ASKED, True),
    ("merged", explained(proposal=worlds.MERGED), ASKED, False),
    ("rehearsed", explained(proposal=replace(worlds.PROPOSED, dry_run=True, state=None)), DRY_RUN, True),
]  # fmt: skip


@pytest.mark.parametrize(("of", "mode", "waits"), [row[1:] for row in AWAITED], ids=[row[0] for row in AWAITED])
def test_a_person_is_waited_for_where_all_is_done(of: Incident, mode: RemediationMode, waits: bool) -> None:
    assert awaits_person(world(ailing(of), spec=spec(mode)), of) is waits


def test_what_stalls_is_the_spec_s_problem_or_the_first_failure_that_is_hopeless() -> None:
    passing, hopeless = Failure("ProfilingFailed", "A", "a"), Failure("ProposalFailed", "B", "b", stalled=True)
    later = replace(hopeless, reason="C")
    assert told(world(), passing, hopeless, later)["Stalled"] == ("True", "B", "b")
    assert told(world(problem=Stall("UnknownKind", "no such kind")), hopeless)["Stalled"] == (
        "True", "UnknownKind", "no such kind",
    )  # fmt: skip
    assert "Stalled" not in told(world(problem=Retry("Unreachable", "")), passing)


LOST = "mfu 0.381 against the baseline's 0.46 (17.2% slower)"
DIAGNOSED: list[tuple[Diagnosis | None, str, str]] = [
    (None, "LossSustained", LOST),
    (Diagnosis(None, None, 1.0, ("a", "b")), "LossSustained", f"{LOST}; cause unknown: a; b"),
    (Diagnosis(Bottleneck.HOST_BOUND, None, 0.5, ("a",)), "HostBound", f"{LOST}; cause unknown: a"),
    (worlds.STARVED, "InputStarved", f"{LOST}; DataLoaderWorkers: input wait 64 of 85 ms per step"),
]


@pytest.mark.parametrize(("diagnosis", "reason", "message"), DIAGNOSED)
def test_a_loss_is_told_with_what_is_known_of_it(diagnosis: Diagnosis | None, reason: str, message: str) -> None:
    assert told(world(ailing(incident(diagnosis=diagnosis))))["Regressed"] == ("True", reason, message)


BROKEN = ProfileFact("job", 2, 0.0, failure=("JobEvicted", "gone"))
WAITING = ProfilingJob("mfu-a1", JobPhase.WAITING, 0.0, reason="JobUnschedulable", message="no node")


def test_the_profile_that_failed_is_the_incident_s_where_there_is_one() -> None:
    healthy = replace(SETTLED, healthy_profile=BROKEN)
    assert told(world(healthy))["ProfilingFailed"] == ("True", "JobEvicted", "attempt 2: gone")
    for profile in (None, worlds.PROFILED):
        assert "ProfilingFailed" not in told(world(ailing(incident(profile=profile), healthy_profile=BROKEN)))


def test_a_profile_fails_by_what_was_tried_last_then_by_its_job_then_by_its_record() -> None:
    seen = world(replace(SETTLED, healthy_profile=BROKEN), job=WAITING)
    assert told(seen)["ProfilingFailed"] == ("True", "JobUnschedulable", "Job mfu-a1: no node")
    failure = Failure("ProfilingFailed", "JobRefused", "quota")
    assert told(seen, Failure("ProposalFailed", "B", "b"), failure)["ProfilingFailed"] == (
        "True",
        "JobRefused",
        "quota",
    )
    running = replace(WAITING, phase=JobPhase.RUNNING)
    assert told(replace(seen, job=running))["ProfilingFailed"][1] == "JobEvicted"
    assert "ProfilingFailed" not in told(world(job=running))


def test_a_proposal_fails_by_what_was_tried_last_then_by_what_blocks_it() -> None:
    seen = world(ailing(explained(blocked=("NoSuspect", "none fits"))))
    failures = (Failure("ProfilingFailed", "A", "a"), Failure("ProposalFailed", "ForgeUnreachable", "503"))
    assert told(seen)["ProposalFailed"] == ("True", "NoSuspect", "none fits")
    assert told(seen, *failures)["ProposalFailed"] == ("True", "ForgeUnreachable", "503")
    assert "ProposalFailed" not in told(world(ailing(explained())))
    assert "ProposalFailed" not in told(world())


def late(after_s: float = 3000.0, source: Any = None, **facts: Any) -> World:
    """A loss that remains so long after its proposal was merged."""
    status = ailing(explained(**({"proposal": worlds.MERGED} | facts)))
    run = worlds.workload(NOW_S + 30)
    return world(status, now_s=NOW_S + after_s, judgement=regressed(True), source=source, workload=run)


ROLLED_OUT = worlds.source(deployed=(*worlds.source().deployed, Deployed("f" * 40, NOW_S + 10)))
URL = worlds.MERGED.url


def test_a_loss_that_remains_after_the_merge_says_what_follows() -> None:
    exonerates = "222222222222 is exonerated once the pods that run the merge have been slow for 3 times spec.detection"
    rolls_out = (
        "50 min after the merge no pod runs it, or not all of them: sync the application, and see that it replaces "
        "the job"
    )
    found = told(late(source=ROLLED_OUT, suspect=worlds.SUSPECT))["RecoveryFailed"]
    assert found == ("True", "NotRecovered", f"50 min after the merge the loss remains; {exonerates}.recover")
    pinned = exonerates.replace("222222222222", f"what {URL} pins")
    found = told(late(source=ROLLED_OUT))["RecoveryFailed"]
    assert found == ("True", "NotRecovered", f"50 min after the merge the loss remains; {pinned}.recover")
    assert told(late(source=worlds.source()))["RecoveryFailed"] == ("True", "NotRolledOut", rolls_out)


def test_where_nobody_can_see_what_runs_nothing_is_said_of_the_roll_out() -> None:
    nameless = replace(worlds.MERGED, url=None)
    found = told(late(proposal=nameless))["RecoveryFailed"]
    assert found[2].startswith("50 min after the merge the loss remains; what it pins is exonerated once the pods")


def exonerated(*shas: str, **proposal: Any) -> tuple[Exoneration, ...]:
    merged = replace(worlds.MERGED, **proposal)
    return tuple(Exoneration(replace(worlds.SUSPECT, sha=sha * 40), merged, NOW_S) for sha in shas)


def test_those_that_did_not_do_it_are_named_until_the_next_merge_should_have_helped() -> None:
    merged_s = NOW_S - 86400
    of = explained(exonerated=exonerated("4", "5", merged_at=merged_s))
    expected = (
        f"{URL} was merged at 2026-09-20 14:14 UTC and rolled out, and the loss remains: 444444444444, 555555555555 "
        "did not do it; take the revert back if you want the change"
    )
    assert told(world(ailing(of)))["RecoveryFailed"] == ("True", "NotRecovered", expected)
    asked = replace(of, proposal=worlds.PROPOSED)
    assert words("RecoveryFailed", world(ailing(asked))) == expected
    just_merged = replace(of, proposal=worlds.MERGED)
    assert words("RecoveryFailed", world(ailing(just_merged))) == expected
    pinned = replace(of, exonerated=(replace(of.exonerated[0], suspect=None),))
    assert words("RecoveryFailed", world(ailing(pinned))).endswith(
        "pins did not do it; take it back if you want the newer one"
    )
    of = replace(of, exonerated=exonerated("4", merged_at=None))
    assert "was merged at 2026-09-21 14:14 UTC" in words("RecoveryFailed", world(ailing(of)))


def test_nothing_failed_to_recover_without_an_incident_or_a_merge() -> None:
    for status in (SETTLED, ailing(explained()), ailing(explained(proposal=worlds.PROPOSED))):
        assert "RecoveryFailed" not in told(world(status))


def test_installations_that_share_a_baseline_are_named() -> None:
    found = told(world(neighbours=("a/one", "b/two")))["ServedTwice"]
    assert found[:2] == ("True", "NeighbourFound")
    assert found[2].startswith("the installations a/one and b/two (namespace/Lease) serve this baseline: ")
    assert "ServedTwice" not in told(world())


def dated(before: Sequence[Condition], **changes: Any) -> dict[str, float]:
    status: Status = replace(SETTLED, conditions=tuple(before))
    seen = world(status, **changes)
    return {each.type: each.last_transition_time for each in conditions(seen, status, ())}


def test_a_condition_is_as_old_as_its_status() -> None:
    ready, other = Condition("Ready", "True", "A", "a", 1, 10.0), Condition("Stalled", "True", "B", "b", 1, 20.0)
    quick = Condition("Regressed", "False", "C", "c", 1, 30.0)
    assert dated([other, ready, quick]) == {"Ready": 10.0, "Regressed": 30.0}
    assert dated([other]) == {"Ready": NOW_S, "Regressed": NOW_S}
    assert dated([ready, quick], judgement=judgement(), problem=Retry("A", "")) == {
        "Ready": NOW_S, "Regressed": 30.0, "MeasurementFailed": NOW_S,
    }  # fmt: skip


def test_what_was_set_aside_is_told_for_a_day_as_it_was() -> None:
    aside = Condition("StatusUnreadable", "True", "StatusUnreadable", "set aside", 1, NOW_S - 86399)
    found = conditions(world(), replace(SETTLED, conditions=(aside,)), ())
    assert [each.type for each in found] == ["Ready", "Regressed", "StatusUnreadable"]
    assert found[2] == aside
    old = replace(aside, last_transition_time=NOW_S - 86400)
    assert [each.type for each in conditions(world(), replace(SETTLED, conditions=(old,)), ())] == [
        "Ready",
        "Regressed",
    ]
