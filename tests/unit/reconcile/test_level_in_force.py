"""Which level is in force, what is told of another one, and what the record keeps of the one before."""

from dataclasses import replace

import pytest

from mfu_operator.model.baseline import Baseline, BaselineSpec, Level, Provenance, RecordPlan, Spread
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Recording, Status
from mfu_operator.model.verdict import Verdict
from mfu_operator.reconcile.level import (
    adopt,
    as_recorded,
    declared_baseline,
    held_against,
    put_out_of_force,
    renewed,
    words,
)
from tests.support import worlds
from tests.support.worlds import NOW_S, SETTLED, ailing, explained, incident, judgement, spec

PLAN = RecordPlan(1800.0, 300.0)
AGAIN = replace(PLAN, generation=2)
RECORDS = replace(spec(), declared=None, declared_spread=None, record=PLAN)
ANEW = replace(RECORDS, record=AGAIN)
RECORDED = replace(
    worlds.BASELINE, provenance=Provenance.RECORDED, generation=1, comparable=worlds.COMPARABLE, recorded_at=NOW_S - 60
)
HELD = replace(SETTLED, baseline=RECORDED)
URL = worlds.PROPOSED.url


def test_a_level_that_is_declared_without_a_spread_moves_by_one_per_cent() -> None:
    assert declared_baseline(spec()) == worlds.BASELINE
    assert declared_baseline(replace(spec(), declared_spread=None)) == Baseline(
        worlds.LEVEL, Spread(0.01, None, 0.0, 1), Provenance.DECLARED
    )
    assert declared_baseline(RECORDS) is None


@pytest.mark.parametrize(
    ("level", "said"),
    [
        (Level(mfu=0.46), "MFU 0.4600"),
        (Level(step_time_s=0.0857), "step 85.7 ms"),
        (Level(throughput=12345.6), "12346 tokens/s per GPU"),
        (Level(0.46, 0.0857, 1000.0), "MFU 0.4600, step 85.7 ms, 1000 tokens/s per GPU"),
        (Level(mfu=0.0), "MFU 0.0000"),
        (Level(), ""),
    ],
)
def test_a_level_is_told_in_its_units(level: Level, said: str) -> None:
    assert words(level) == said


@pytest.mark.parametrize(
    ("now", "before", "told"),
    [
        (Level(mfu=0.506), Level(mfu=0.46), "10 % faster"),
        (Level(mfu=0.414), Level(mfu=0.46), "10 % slower"),
        (Level(mfu=0.46), Level(mfu=0.46), "0 % faster"),
        (Level(throughput=120.0), Level(throughput=100.0), "20 % faster"),
        (Level(step_time_s=0.1), Level(step_time_s=0.2), "100 % faster"),
        (Level(step_time_s=0.2), Level(step_time_s=0.1), "50 % slower"),
        (Level(0.46, 0.1, 50.0), Level(0.23, 0.1, 100.0), "100 % faster"),
        (Level(None, 0.2, 50.0), Level(0.46, 0.1, 100.0), "50 % slower"),
        (Level(0.46, 0.2, None), Level(None, 0.1, 100.0), "50 % slower"),
    ],
)
def test_another_level_is_told_by_how_much_faster_or_slower_it_is(now: Level, before: Level, told: str) -> None:
    status = replace(SETTLED, baseline=replace(RECORDED, level=before))
    _, (event,) = adopt(status, replace(RECORDED, level=now), NOW_S)
    assert event == Event("Normal", "BaselineRecorded", f"baseline is {words(now)} (before: {words(before)}; {told})")


def test_levels_in_different_units_are_told_side_by_side() -> None:
    for before in (Level(step_time_s=0.1), Level(throughput=100.0)):
        status = replace(SETTLED, baseline=replace(RECORDED, level=before))
        assert adopt(status, RECORDED, NOW_S)[1][0].message == f"baseline is MFU 0.4600 (before: {words(before)})"
        other = replace(RECORDED, level=before)
        assert adopt(HELD, other, NOW_S)[1][0].message == f"baseline is {words(before)} (before: MFU 0.4600)"


def test_the_first_level_has_none_before_it() -> None:
    after, events = adopt(replace(SETTLED, baseline=None), worlds.BASELINE, NOW_S)
    assert (after.baseline, after.previous_baselines) == (worlds.BASELINE, ())
    assert events == (Event("Normal", "BaselineDeclared", "baseline is MFU 0.4600"),)


def test_a_level_is_held_against_the_one_in_force_or_else_the_last_that_was() -> None:
    past, older = (replace(RECORDED, level=Level(mfu=value)) for value in (0.23, 0.92))
    status = replace(SETTLED, baseline=None, previous_baselines=(past, older))
    assert adopt(status, RECORDED, NOW_S)[1][0].message.endswith("(before: MFU 0.2300; 100 % faster)")
    in_force = replace(status, baseline=RECORDED)
    assert adopt(in_force, RECORDED, NOW_S)[1][0].message.endswith("(before: MFU 0.4600; 0 % faster)")


def test_a_level_that_gives_way_is_kept_with_when_and_why() -> None:
    older = replace(RECORDED, level=Level(mfu=0.4))
    after, _ = adopt(replace(HELD, previous_baselines=(older,)), worlds.BASELINE, NOW_S)
    past = replace(RECORDED, replaced_at=NOW_S, replaced_because="another level was declared")
    assert (after.baseline, after.previous_baselines) == (worlds.BASELINE, (past, older))


def test_the_history_of_levels_is_bounded_and_the_oldest_goes() -> None:
    status = HELD
    for number in range(20):
        level = replace(RECORDED, level=Level(mfu=0.01 * number))
        status = put_out_of_force(replace(status, baseline=level), "another", NOW_S)
    assert len(status.previous_baselines) < 20
    assert status.previous_baselines[0].level == Level(mfu=0.01 * 19)
    assert put_out_of_force(status, "another", NOW_S) == status


OTHER = replace(spec(), declared=Level(mfu=0.4))


def test_another_declared_level_closes_the_incident_against_the_one_before() -> None:
    status = ailing(explained(proposal=worlds.PROPOSED))
    assert renewed(status, spec(), NOW_S) == (status, ())
    assert renewed(replace(status, baseline=None), OTHER, NOW_S) == (replace(status, baseline=None), ())
    after, events = renewed(status, OTHER, NOW_S)
    because = "spec.baseline.values declares another level"
    assert after.incident is None
    assert (after.history[0].accepted, after.history[0].ended_at) == (because, NOW_S)
    left = f"; its pull request {URL} is left for you to close"
    told = f"incident {worlds.INCIDENT.id} is closed: {because}{left}"
    assert events == (Event("Normal", "LossAccepted", told),)
    assert (after.baseline, after.judgement) == (status.baseline, status.judgement)


def test_a_level_without_an_incident_is_declared_anew_without_a_word() -> None:
    assert renewed(SETTLED, OTHER, NOW_S) == (SETTLED, ())


def test_another_generation_says_why_the_level_is_not_held_any_more() -> None:
    _, (event,) = renewed(HELD, ANEW, NOW_S)
    because = "spec.baseline.record.generation is 2 now"
    assert event == Event(
        "Normal", "BaselineReplaced", f"MFU 0.4600 is not held any more: {because}; the level is recorded again"
    )
    reasoned = replace(ANEW, record=replace(AGAIN, reason="NCCL 2.27 stays"))
    after, (event, closed) = renewed(replace(ailing(incident()), baseline=RECORDED), reasoned, NOW_S)
    assert "is not held any more: NCCL 2.27 stays;" in event.message
    assert closed.message == f"incident {worlds.INCIDENT.id} is closed: NCCL 2.27 stays"
    assert (after.history[0].accepted, after.judgement, after.baseline) == ("NCCL 2.27 stays", None, None)


@pytest.mark.parametrize("generation", [None, 1])
def test_a_level_of_an_operator_that_knew_no_generations_is_of_the_first(generation: int | None) -> None:
    status = replace(SETTLED, baseline=replace(RECORDED, generation=generation))
    assert renewed(status, RECORDS, NOW_S) == (status, ())
    assert renewed(status, ANEW, NOW_S)[0].baseline is None
    second = replace(SETTLED, baseline=replace(RECORDED, generation=2))
    assert renewed(second, ANEW, NOW_S) == (second, ())


def test_a_declared_level_is_not_replaced_by_a_generation() -> None:
    for declared in (worlds.BASELINE, replace(worlds.BASELINE, generation=1)):
        status = replace(SETTLED, baseline=declared)
        assert renewed(status, ANEW, NOW_S) == (status, ())


def test_an_incident_without_a_level_is_closed_where_one_is_to_be_recorded() -> None:
    after, (event,) = renewed(replace(ailing(incident()), baseline=None), RECORDS, NOW_S)
    assert after.incident is None
    assert event.message == f"incident {worlds.INCIDENT.id} is closed: the level is to be recorded"
    kept = replace(ailing(incident()), baseline=RECORDED)
    assert renewed(kept, RECORDS, NOW_S) == (kept, ())


def test_a_recording_under_way_is_kept_while_its_generation_is_asked_for() -> None:
    under_way = Recording(NOW_S, 500.0, 1800.0, 1, 1)
    status = replace(SETTLED, baseline=None, recording=under_way)
    assert renewed(status, RECORDS, NOW_S)[0].recording == under_way
    assert renewed(status, ANEW, NOW_S)[0].recording is None


PAST = replace(RECORDED, replaced_at=NOW_S - 30, replaced_because="another")
RESTORED: list[tuple[str, Baseline, bool]] = [
    ("of this generation", PAST, True),
    ("of an operator that knew no generations", replace(PAST, generation=None), True),
    ("of an operator that noted no comparable", replace(PAST, comparable=None), True),
    ("of another generation", replace(PAST, generation=2), False),
    ("of another comparable", replace(PAST, comparable=replace(worlds.COMPARABLE, gpu_count=4)), False),
    ("declared", replace(PAST, provenance=Provenance.DECLARED), False),
]


@pytest.mark.parametrize(("past", "again"), [row[1:] for row in RESTORED], ids=[row[0] for row in RESTORED])
def test_a_level_of_the_past_is_in_force_again_where_it_is_of_what_is_asked_for(past: Baseline, again: bool) -> None:
    other = replace(PAST, generation=7)
    status = replace(SETTLED, baseline=None, previous_baselines=(other, past))
    after, events = renewed(status, RECORDS, NOW_S)
    if not again:
        assert (after, events) == (status, ())
        return
    assert after.baseline == replace(past, replaced_at=None, replaced_because=None)
    assert after.previous_baselines == (other,)
    said = "baseline is MFU 0.4600 again, as recorded in generation 1"
    assert events == (Event("Normal", "BaselineRestored", said),)


def test_a_level_that_is_restored_ends_a_recording_and_says_its_generation() -> None:
    past = replace(PAST, generation=2)
    under_way = Recording(NOW_S, 500.0, 1800.0, 1, 1, generation=2)
    status = replace(SETTLED, baseline=None, previous_baselines=(past,), recording=under_way)
    after, (event,) = renewed(status, ANEW, NOW_S)
    assert after.recording is None
    assert event.message.endswith("as recorded in generation 2")


def test_a_level_in_force_is_not_replaced_by_one_of_the_past() -> None:
    status = replace(HELD, previous_baselines=(replace(PAST, level=Level(mfu=0.4)),))
    assert renewed(status, RECORDS, NOW_S) == (status, ())


def test_a_level_of_the_past_is_told_after_what_it_replaces() -> None:
    status: Status = replace(HELD, previous_baselines=(replace(PAST, generation=2),))
    after, events = renewed(status, ANEW, NOW_S)
    assert [each.reason for each in events] == ["BaselineReplaced", "BaselineRestored"]
    assert after.baseline is not None and after.baseline.generation == 2


LARGER = replace(worlds.COMPARABLE, gpu_count=16)


def of(comparable: object) -> BaselineSpec:
    return replace(RECORDS, comparable=comparable)  # type: ignore[arg-type]


def test_a_level_of_another_comparable_is_compared_with_nothing() -> None:
    assert held_against(judgement(), RECORDED, RECORDS) == judgement()
    judged = held_against(judgement(), RECORDED, of(LARGER))
    assert judged == replace(
        judgement(),
        verdict=Verdict.NOT_COMPARABLE,
        reason="BaselineOutdated",
        message="the level was recorded under another spec.comparable: gpuCount 16, was 8; raise "
        "spec.baseline.record.generation to record again (`kubectl mfu rerecord`), or undo the change",
    )


def test_what_was_left_open_is_as_it_was_seen_under_the_same_declaration_alone() -> None:
    seen = replace(worlds.COMPARABLE, global_batch=256)
    level = replace(RECORDED, observed=seen)
    assert as_recorded(RECORDS, level) == of(seen)
    assert as_recorded(of(LARGER), level) == of(LARGER)
    assert as_recorded(RECORDS, RECORDED) == RECORDS
    assert as_recorded(RECORDS, None) == RECORDS
