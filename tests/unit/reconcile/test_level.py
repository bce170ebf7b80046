"""A recorded level is replaced on purpose or not at all, and what it was stays in the history."""

from dataclasses import replace

import pytest

from mfu_operator.model.baseline import Baseline, BaselineSpec, Comparable, Level, Provenance, RecordPlan, Spread
from mfu_operator.model.incident import Recording, Status
from mfu_operator.model.verdict import Verdict
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import Record
from mfu_operator.reconcile.level import as_recorded, held_against, renewed
from mfu_operator.reconcile.refresh import configuration, refresh
from tests.support import worlds
from tests.support.worlds import ailing, explained, spec, world

PLAN = RecordPlan(1800.0, 300.0)
AGAIN = replace(PLAN, generation=2, reason="NCCL 2.27 costs 3 % and stays")
RECORDED = Baseline(
    Level(mfu=0.46), Spread(0.005, 0.002, 0.001, 3), Provenance.RECORDED, worlds.NOW_S - 86400, worlds.GOOD,
    (worlds.IMAGE,), 1, worlds.COMPARABLE,
)  # fmt: skip
SETTLED = replace(worlds.SETTLED, baseline=RECORDED)
LATER = replace(RECORDED, level=Level(mfu=0.446), recorded_at=worlds.NOW_S, revision=None, images=(), generation=None)


def recording(plan: RecordPlan = PLAN, comparable: Comparable = worlds.COMPARABLE) -> BaselineSpec:
    return replace(spec(), declared=None, declared_spread=None, record=plan, comparable=comparable)


def asked(status: Status, plan: RecordPlan) -> tuple[Status, list[str]]:
    after, events = renewed(status, recording(plan), worlds.NOW_S)
    return after, [event.reason for event in events]


def test_a_level_is_kept_while_nobody_asks_for_another() -> None:
    assert asked(SETTLED, PLAN) == (SETTLED, [])
    assert asked(replace(SETTLED, baseline=replace(RECORDED, generation=None)), PLAN)[1] == []


def test_another_generation_puts_the_level_into_the_history_with_the_reason() -> None:
    after, told = asked(SETTLED, AGAIN)
    assert told == ["BaselineReplaced"]
    assert (after.baseline, after.judgement) == (None, None)
    assert after.previous_baselines == (
        replace(RECORDED, replaced_at=worlds.NOW_S, replaced_because="NCCL 2.27 costs 3 % and stays"),
    )


def test_asking_twice_is_asking_once() -> None:
    after, _ = asked(SETTLED, AGAIN)
    assert asked(after, AGAIN) == (after, [])


def test_the_new_level_says_what_it_is_true_for_and_how_far_it_is_from_the_old_one() -> None:
    after, _ = asked(SETTLED, AGAIN)
    adopted, events = refresh(world(after, spec=recording(AGAIN), recorded=LATER))
    assert adopted.baseline == replace(LATER, generation=2, comparable=worlds.COMPARABLE)
    assert [past.level.mfu for past in adopted.previous_baselines] == [0.46]
    assert "baseline is MFU 0.4460 (before: MFU 0.4600; 3 % slower)" in [each.message for each in events]


def test_an_incident_against_the_old_level_is_closed_as_accepted() -> None:
    ill = replace(ailing(explained(proposal=worlds.PROPOSED)), baseline=RECORDED)
    after, told = asked(ill, AGAIN)
    assert told == ["BaselineReplaced", "LossAccepted"]
    assert after.incident is None
    assert (after.history[0].id, after.history[0].accepted) == (worlds.INCIDENT.id, AGAIN.reason)
    assert after.history[0].recovery is None


def test_the_number_of_an_earlier_recording_brings_its_level_back() -> None:
    replaced, _ = asked(SETTLED, AGAIN)
    after, told = asked(replaced, PLAN)
    assert told == ["BaselineRestored"]
    assert (after.baseline, after.previous_baselines) == (RECORDED, ())


def test_a_level_of_another_configuration_is_not_brought_back() -> None:
    replaced, _ = asked(SETTLED, AGAIN)
    other = recording(PLAN, replace(worlds.COMPARABLE, global_batch=1024))
    assert renewed(replaced, other, worlds.NOW_S)[0].baseline is None


def test_a_recording_in_progress_for_another_generation_begins_again() -> None:
    under_way = Recording(worlds.NOW_S - 600, 500.0, 1800.0, 1, 1, generation=1)
    after, _ = asked(replace(SETTLED, baseline=None, recording=under_way), AGAIN)
    assert after.recording is None


def test_progress_is_noted_with_the_generation_that_it_is_of() -> None:
    progress = Recording(worlds.NOW_S, 0.0, 1800.0, 1, 1)
    status, _ = refresh(world(replace(SETTLED, baseline=None), spec=recording(AGAIN), recorded=progress))
    assert status.recording is not None
    assert status.recording.generation == 2


def test_what_was_learnt_under_the_old_level_is_obtained_anew() -> None:
    assert configuration(recording()) != configuration(recording(AGAIN))


def test_a_recorded_level_does_not_outlive_another_comparable() -> None:
    other = recording(PLAN, replace(worlds.COMPARABLE, global_batch=1024, gpu=None))
    judged = held_against(worlds.regressed(), RECORDED, other)
    assert (judged.verdict, judged.reason) == (Verdict.NOT_COMPARABLE, "BaselineOutdated")
    assert "gpu not declared, was H100; globalBatch 1024, was not declared" in judged.message
    assert "spec.baseline.record.generation" in judged.message


@pytest.mark.parametrize("level", [RECORDED, replace(RECORDED, comparable=None), worlds.BASELINE, None])
def test_a_level_of_the_same_comparable_or_of_an_older_operator_is_held(level: Baseline | None) -> None:
    assert held_against(worlds.judgement(), level, recording()) == worlds.judgement()


def test_the_revision_that_ran_while_it_was_recorded_is_noted_once_it_is_known() -> None:
    fresh = replace(SETTLED, baseline=replace(RECORDED, revision=None, images=(), recorded_at=worlds.NOW_S - 60))
    step = decide(world(replace(fresh, known_good=None), spec=recording()))
    assert isinstance(step, Record)
    assert step.status.baseline is not None
    assert (step.status.baseline.revision, step.status.baseline.images) == (worlds.GOOD, (worlds.IMAGE,))


def test_a_pod_that_came_after_the_recording_says_nothing_of_it() -> None:
    fresh = replace(SETTLED, baseline=replace(RECORDED, revision=None, recorded_at=worlds.STARTED_S - 60))
    step = decide(world(replace(fresh, known_good=None), spec=recording()))
    assert isinstance(step, Record)
    assert step.status.baseline is not None
    assert step.status.baseline.revision is None


SEEN = replace(worlds.COMPARABLE, global_batch=256)


def test_what_was_left_open_is_what_it_was_while_the_level_was_recorded() -> None:
    assert as_recorded(recording(), replace(RECORDED, observed=SEEN)).comparable == SEEN


def test_what_was_seen_under_another_declaration_or_by_nobody_says_nothing() -> None:
    other = recording(comparable=replace(worlds.COMPARABLE, gpu_count=4))
    assert as_recorded(other, replace(RECORDED, observed=SEEN)) == other
    assert as_recorded(recording(), RECORDED) == recording()
    assert as_recorded(recording(), None) == recording()
