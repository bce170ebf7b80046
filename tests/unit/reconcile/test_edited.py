"""What an edit of the spec drops, what it keeps, and what it gives another try."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.model.baseline import Level, RecordPlan, RemediationMode
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import ProfileFact
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsureJob
from mfu_operator.reconcile.profile import exhausted
from mfu_operator.reconcile.refresh import edited, refresh
from tests.support import worlds
from tests.support.worlds import ailing, explained, incident, regressed, spec, world


def test_a_declared_level_gives_way_to_a_recording_that_is_asked_for() -> None:
    plan = replace(spec(), declared=None, declared_spread=None, record=RecordPlan(1800.0, 300.0))
    assert edited(worlds.SETTLED, plan, 1, worlds.NOW_S) == worlds.SETTLED
    started = edited(worlds.SETTLED, plan, 2, worlds.NOW_S)
    assert started.baseline is None
    assert [past.level for past in started.previous_baselines] == [worlds.LEVEL]


OTHER_CONFIGURATIONS = [
    {"workload": replace(worlds.REF, name="gpt-large")},
    {"comparable": replace(worlds.COMPARABLE, gpu_count=4)},
    {"declared": Level(mfu=0.4)},
]


@pytest.mark.parametrize("changes", OTHER_CONFIGURATIONS, ids=lambda changes: str(next(iter(changes))))
def test_what_was_learnt_of_another_configuration_is_dropped_and_told_once(changes: dict[str, Any]) -> None:
    settled, told_first = refresh(world())
    assert told_first == ()
    assert (settled.healthy_profile, settled.known_good) == (worlds.HEALTHY_PROFILE, worlds.KNOWN_GOOD)
    edited_spec = replace(spec(), **changes)
    dropped, events = refresh(world(settled, spec=edited_spec))
    assert events[0].reason == "ConfigurationChanged"
    assert dropped.known_good is None
    assert dropped.healthy_profile is not None
    assert (dropped.healthy_profile.account, dropped.healthy_profile.failure is None) == (None, False)
    assert [each.reason for each in refresh(world(dropped, spec=edited_spec))[1]] == []


def test_an_edit_of_anything_else_keeps_what_was_learnt() -> None:
    settled = refresh(world())[0]
    for other in (spec(RemediationMode.OBSERVE), replace(spec(), detection=replace(spec().detection, sustain_s=300.0))):
        assert refresh(world(settled, spec=other))[0].known_good == worlds.KNOWN_GOOD


THRICE_FAILED = ProfileFact("mfu-gpt-small-3f2a91c0-1-a3", 3, worlds.NOW_S, failure=("JobFailed", ""), image="old")
GIVEN_UP = Diagnosis(Bottleneck.INCONCLUSIVE, None, 0.0, ("3 profiling Jobs failed",))


@pytest.mark.parametrize(("generation", "image"), [(2, "old"), (1, "new")])
def test_three_failures_are_final_only_until_the_spec_or_the_profiler_is_another(generation: int, image: str) -> None:
    stuck = incident(profile=THRICE_FAILED, diagnosis=GIVEN_UP, blocked=("Inconclusive", "no profile"))
    status = ailing(stuck, healthy_profile=THRICE_FAILED)
    assert edited(status, spec(), 1, worlds.NOW_S, "old") == status
    again = edited(status, spec(), generation, worlds.NOW_S, image)
    assert again.incident is not None
    assert (again.incident.diagnosis, again.incident.blocked) == (None, None)
    step = decide(world(again, judgement=regressed()))
    assert isinstance(step, EnsureJob)
    assert (step.profile.attempt, step.profile.earlier_attempts) == (4, 3)
    healthy = decide(world(replace(again, incident=None)))
    assert isinstance(healthy, EnsureJob)
    assert healthy.profile.attempt == 4
    assert edited(again, spec(), generation, worlds.NOW_S, image).healthy_profile == again.healthy_profile


def test_an_attempt_under_way_at_an_edit_is_none_of_the_three_after_it() -> None:
    second = ProfileFact("mfu-gpt-small-3f2a91c0-healthy-a2", 2, worlds.NOW_S - 20.0, image="old")
    again = edited(replace(worlds.SETTLED, healthy_profile=second), spec(), 2, worlds.NOW_S, "old").healthy_profile
    assert again is not None
    assert not exhausted(replace(again, attempt=4, failure=("JobEvicted", "")))
    assert exhausted(replace(again, attempt=5, failure=("JobEvicted", "")))


def test_a_diagnosis_that_an_account_led_to_outlives_an_edit() -> None:
    found = replace(GIVEN_UP, evidence=("graphs hide the kernels",))
    status = ailing(explained(diagnosis=found))
    assert edited(status, spec(), 2, worlds.NOW_S, "new").incident == explained(diagnosis=found)
