"""What an edit of the spec or another profiler gives back, guard by guard."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.model.baseline import BaselineSpec, Level, Provenance, RecordPlan
from mfu_operator.model.condition import Event
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Incident, ProfileFact, Status
from mfu_operator.reconcile.refresh import configuration, edited, refresh
from tests.support import worlds
from tests.support.worlds import NOW_S, SETTLED, ailing, explained, incident, spec, world

FAILED = ProfileFact("job-a3", 3, NOW_S, failure=("JobFailed", ""), image="old")
ANEW = replace(FAILED, earlier_attempts=3)
UNDER_WAY = ProfileFact("job-a2", 2, NOW_S, image="old")
GIVEN_UP = Diagnosis(Bottleneck.INCONCLUSIVE, None, 0.0, ("3 profiling Jobs failed",))
BLOCKED = ("Inconclusive", "no profile")
RECORDS = replace(spec(), declared=None, declared_spread=None, record=RecordPlan(1800.0, 300.0))


def after(status: Status, image: str | None = None, generation: int = 1, of: BaselineSpec | None = None) -> Status:
    return edited(status, of or spec(), generation, NOW_S, image)


def of_incident(status: Status) -> Incident:
    assert status.incident is not None
    return status.incident


@pytest.mark.parametrize(
    ("profile", "image", "again"),
    [
        (FAILED, "new", True),
        (FAILED, "old", False),
        (FAILED, None, False),
        (replace(FAILED, image=None), "new", False),
        (ANEW, "new", False),
        (replace(FAILED, earlier_attempts=2), "new", True),
        (UNDER_WAY, "new", False),
        (worlds.HEALTHY_PROFILE, "new", False),
    ],
)
def test_another_profiler_gives_a_profile_that_failed_its_attempts_back(
    profile: ProfileFact, image: str | None, again: bool
) -> None:
    expected = replace(profile, earlier_attempts=profile.attempt) if again else profile
    assert after(replace(SETTLED, healthy_profile=profile), image).healthy_profile == expected
    assert of_incident(after(ailing(incident(profile=profile)), image)).profile == expected


def test_another_profiler_changes_nothing_where_no_profile_failed() -> None:
    for status in (SETTLED, replace(SETTLED, healthy_profile=None), ailing(incident())):
        assert after(status, "new") == status


def test_another_profiler_alone_does_not_put_a_declared_level_out_of_force() -> None:
    assert after(replace(SETTLED, healthy_profile=FAILED), "new", of=RECORDS).baseline == worlds.BASELINE


def test_a_profile_that_has_its_attempts_back_gives_none_to_another_under_way() -> None:
    for given in (ANEW, replace(ANEW, earlier_attempts=4)):
        status = ailing(incident(profile=UNDER_WAY), healthy_profile=given)
        assert after(status, "new") == status


def test_an_edit_gives_every_profile_without_an_account_its_attempts_back() -> None:
    status = after(ailing(incident(profile=UNDER_WAY), healthy_profile=FAILED), generation=2)
    assert (of_incident(status).profile, status.healthy_profile) == (replace(UNDER_WAY, earlier_attempts=2), ANEW)
    assert after(SETTLED, generation=2) == SETTLED


REHEARSED = replace(worlds.PROPOSED, dry_run=True)
UNBLOCKED: list[tuple[str, Any, bool]] = [
    ("no proposal", None, True),
    ("a rehearsal", REHEARSED, True),
    ("a request", worlds.PROPOSED, False),
]


@pytest.mark.parametrize(("proposal", "tried"), [row[1:] for row in UNBLOCKED], ids=[row[0] for row in UNBLOCKED])
def test_what_stood_in_a_proposal_s_way_is_tried_anew_unless_a_person_was_asked(proposal: Any, tried: bool) -> None:
    blocked = ("NoSuspect", "none fits")
    status = after(ailing(explained(blocked=blocked, proposal=proposal)), generation=2)
    assert of_incident(status).blocked == (None if tried else blocked)


def test_a_diagnosis_for_want_of_a_profile_is_withdrawn_with_what_it_blocked() -> None:
    for profile in (None, FAILED):
        stuck = ailing(incident(profile=profile, diagnosis=GIVEN_UP, blocked=BLOCKED, proposal=worlds.PROPOSED))
        found = of_incident(after(stuck, generation=2))
        assert (found.diagnosis, found.blocked) == (None, None)


def test_what_was_blocked_for_another_reason_stays_blocked_without_a_diagnosis() -> None:
    blocked = ("PullRequestClosed", "a no")
    stuck = ailing(incident(profile=FAILED, diagnosis=GIVEN_UP, blocked=blocked, proposal=worlds.PROPOSED))
    found = of_incident(after(stuck, generation=2))
    assert (found.diagnosis, found.blocked) == (None, blocked)
    unblocked = of_incident(after(ailing(incident(profile=FAILED, diagnosis=GIVEN_UP)), generation=2))
    assert (unblocked.diagnosis, unblocked.blocked) == (None, None)


@pytest.mark.parametrize(
    "kept",
    [
        incident(profile=worlds.PROFILED, diagnosis=GIVEN_UP, blocked=BLOCKED, proposal=worlds.PROPOSED),
        incident(profile=None, diagnosis=worlds.STARVED, blocked=BLOCKED, proposal=worlds.PROPOSED),
        incident(profile=None, diagnosis=None, blocked=BLOCKED, proposal=worlds.PROPOSED),
    ],
    ids=["inconclusive by its account", "a fault of the hardware", "not diagnosed"],
)
def test_a_diagnosis_that_something_led_to_stays_with_what_it_blocked(kept: Incident) -> None:
    assert after(ailing(kept), generation=2).incident == kept


LEVELS: list[tuple[str, BaselineSpec, Status, bool]] = [
    ("a declared level is to be recorded", RECORDS, SETTLED, True),
    ("a declared level is declared", spec(), SETTLED, False),
    ("a recorded level is recorded", RECORDS,
     replace(SETTLED, baseline=replace(worlds.BASELINE, provenance=Provenance.RECORDED)), False),
]  # fmt: skip


@pytest.mark.parametrize(("of", "status", "gone"), [row[1:] for row in LEVELS], ids=[row[0] for row in LEVELS])
def test_a_declared_level_is_put_out_of_force_where_one_is_to_be_recorded(
    of: BaselineSpec, status: Status, gone: bool
) -> None:
    found = after(status, generation=2, of=of)
    if not gone:
        assert found == status
        return
    past = replace(worlds.BASELINE, replaced_at=NOW_S, replaced_because="the level is to be recorded")
    assert (found.baseline, found.previous_baselines) == (None, (past,))


def test_a_recording_that_has_not_begun_needs_no_level_put_out_of_force() -> None:
    empty = replace(SETTLED, baseline=None)
    assert after(empty, generation=2, of=RECORDS) == empty


def selected(name: str, app: str = "gpt") -> BaselineSpec:
    return replace(spec(), workload=replace(worlds.REF, name=name, selector=(("app", app),)))


def test_a_configuration_is_of_the_workload_what_makes_it_comparable_and_its_level() -> None:
    def recorded(generation: int, duration_s: float = 1800.0) -> BaselineSpec:
        return replace(RECORDS, record=RecordPlan(duration_s, 300.0, generation=generation))

    different = [
        spec(), RECORDS, recorded(2), recorded(3), selected("a"), selected("a", "other"),
        replace(spec(), workload=replace(worlds.REF, name="other")),
        replace(spec(), comparable=replace(worlds.COMPARABLE, gpu_count=4)),
        replace(spec(), declared=Level(mfu=0.4)),
    ]  # fmt: skip
    assert len({configuration(each) for each in different}) == len(different)
    assert configuration(recorded(1, 60.0)) == configuration(RECORDS)
    assert configuration(selected("a")) == configuration(selected("b")), "runs that the same labels follow are one job"
    assert len(configuration(spec())) == 12


@pytest.mark.parametrize(
    ("of", "stored"),
    [
        (spec(), "1a65eca13f6b"),
        (RECORDS, "394ec9526347"),
        (replace(RECORDS, record=RecordPlan(1800.0, 300.0, generation=2)), "3281043f2674"),
        (selected("a"), "9e536ecc6c4b"),
    ],
    ids=["declared", "recorded", "recorded again", "followed by labels"],
)
def test_a_configuration_that_an_earlier_release_stored_is_no_other_one(of: BaselineSpec, stored: str) -> None:
    """An upgrade that digests it in another way would record every profile of the fleet again."""
    assert configuration(of) == stored


def test_a_configuration_is_noted_where_none_was_and_nothing_is_dropped_for_it() -> None:
    fresh = replace(SETTLED, configuration=None)
    assert refresh(world(fresh)) == (SETTLED, ())


CHANGED = "spec.workload, spec.comparable or the level asked for is another one"
STALE: list[tuple[str, dict[str, Any], bool]] = [
    ("both were learnt", {}, True),
    ("a profile that was taken", {"known_good": None}, True),
    ("a profile under way", {"known_good": None, "healthy_profile": UNDER_WAY}, True),
    ("a known good revision", {"healthy_profile": None}, True),
    ("a known good revision and a profile that failed", {"healthy_profile": FAILED}, True),
    ("a profile that failed", {"known_good": None, "healthy_profile": FAILED}, False),
    ("nothing", {"known_good": None, "healthy_profile": None}, False),
]


@pytest.mark.parametrize(("known", "dropped"), [row[1:] for row in STALE], ids=[row[0] for row in STALE])
def test_what_was_learnt_under_another_configuration_is_dropped_and_told(known: dict[str, Any], dropped: bool) -> None:
    before = replace(SETTLED, configuration="another", **known)
    status, events = refresh(world(before))
    assert status.configuration == configuration(spec())
    assert status.known_good is None
    assert [(each.kind, each.reason) for each in events] == [("Normal", "ConfigurationChanged")] * dropped
    assert all(each.message.startswith(CHANGED) for each in events)
    profile = before.healthy_profile
    if profile is None or profile.failure is not None:
        assert status.healthy_profile == profile
    else:
        assert status.healthy_profile is not None and status.healthy_profile.failure is not None
        assert status.healthy_profile.failure[0] == "JobOverlapsChange"


def test_a_change_of_configuration_is_told_before_the_level_that_it_brings() -> None:
    other = replace(spec(), declared=Level(mfu=0.4))
    events: tuple[Event, ...] = refresh(world(spec=other))[1]
    assert [each.reason for each in events] == ["ConfigurationChanged", "BaselineDeclared"]
