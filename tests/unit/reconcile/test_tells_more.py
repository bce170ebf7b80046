"""What of a tick is worth a write, and what is told of another verdict."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.model.baseline import Baseline, BaselineSpec, Level, Provenance, RecordPlan
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Recording, Status
from mfu_operator.model.verdict import Gate, Judgement, Verdict
from mfu_operator.model.vitals import Ailment, Symptom
from mfu_operator.reconcile.refresh import refresh, tells_more
from tests.support import worlds
from tests.support.worlds import NOW_S, SETTLED, ailing, incident, judgement, regressed, spec, world

BEFORE = regressed(
    value=0.40, drop=0.10, baseline=0.46, evidence_s=150.0, confirm_evidence_s=450.0, recover_evidence_s=150.0,
)  # fmt: skip
OTHERS: list[tuple[dict[str, Any], bool]] = [
    ({}, False),
    ({"verdict": Verdict.NO_DATA}, True),
    ({"reason": "Another"}, True),
    ({"signal": "throughput"}, True),
    ({"gates": (Gate.HUNG,)}, True),
    ({"confirmed": True}, True),
    ({"recovered": True}, True),
    ({"baseline": 0.45}, True),
    ({"message": "other words"}, False),
    ({"last_usable_s": NOW_S - 900}, False),
    ({"evidence_s": 179.9}, False),
    ({"evidence_s": 181.0}, True),
    ({"evidence_s": 119.0}, True),
    ({"confirm_evidence_s": 539.9}, False),
    ({"confirm_evidence_s": 541.0}, True),
    ({"confirm_evidence_s": 359.0}, True),
    ({"recover_evidence_s": 179.9}, False),
    ({"recover_evidence_s": 181.0}, True),
    ({"recover_evidence_s": 119.0}, True),
    ({"value": 0.4045}, False),
    ({"value": 0.4047}, True),
    ({"value": 0.3955}, False),
    ({"value": 0.3953}, True),
    ({"value": None}, True),
    ({"drop": 0.1099}, False),
    ({"drop": 0.1101}, True),
    ({"drop": None}, True),
]


@pytest.mark.parametrize(("changes", "worth"), OTHERS, ids=str)
def test_a_judgement_is_worth_a_write_for_another_story_or_a_hundredth_of_the_level(
    changes: dict[str, Any], worth: bool
) -> None:
    assert tells_more(BEFORE, replace(BEFORE, **changes)) is worth


def test_the_first_judgement_is_always_worth_a_write() -> None:
    assert tells_more(None, BEFORE)


def test_what_is_not_there_before_and_after_did_not_move_and_what_came_did() -> None:
    silent = judgement(Verdict.NO_DATA, value=None, baseline=None, drop=None)
    assert not tells_more(silent, replace(silent, last_usable_s=0.0))
    assert tells_more(silent, replace(silent, value=0.4))
    assert tells_more(silent, replace(silent, drop=0.4))


def test_without_a_level_a_value_is_held_against_itself() -> None:
    alone = replace(BEFORE, value=200.0, baseline=None)
    assert not tells_more(alone, replace(alone, value=201.9))
    assert tells_more(alone, replace(alone, value=202.1))
    nothing = replace(BEFORE, value=0.0, baseline=None)
    assert not tells_more(nothing, replace(nothing, value=0.009))
    assert tells_more(nothing, replace(nothing, value=0.011))


@pytest.mark.parametrize("reason", ["ConfigurationDiffers", "BaselineOutdated"])
def test_a_reason_that_names_fields_is_told_anew_with_others(reason: str) -> None:
    named = replace(BEFORE, reason=reason, message="gpu")
    assert tells_more(named, replace(named, message="gpuCount"))
    assert not tells_more(named, replace(named, last_usable_s=0.0))


def test_evidence_of_a_rule_without_a_horizon_is_none() -> None:
    unruled = replace(BEFORE, sustain_s=0.0, confirm_s=0.0, recover_s=0.0)
    assert not tells_more(unruled, replace(unruled, evidence_s=900.0, confirm_evidence_s=900.0))
    untouched = replace(BEFORE, evidence_s=0.0)
    assert not tells_more(replace(untouched, sustain_s=0.0), untouched)
    short = replace(untouched, sustain_s=1.0)
    assert tells_more(short, replace(short, evidence_s=0.5))


H, R, N = judgement(), regressed(), judgement(Verdict.NO_DATA, reason="Stale", message="silent")
TURNS: list[tuple[str, Status, Judgement, tuple[Event, ...]]] = [
    ("still healthy", SETTLED, H, ()),
    ("healthy and faster", SETTLED, judgement(value=0.5), ()),
    ("healthy at last", replace(SETTLED, judgement=N), H, (Event("Normal", "Healthy", H.message),)),
    ("the first of all", replace(SETTLED, judgement=None), H, (Event("Normal", "Healthy", H.message),)),
    ("silent", SETTLED, N, (Event("Warning", "NoData", "silent"),)),
    ("a loss, which opens an incident", SETTLED, R, ()),
    ("a loss that was not seen for a while", replace(ailing(incident()), judgement=N), R,
     (Event("Warning", "Regressed", R.message),)),
    ("healthy, which closes the incident", ailing(incident()), H, ()),
    ("silent in an incident", ailing(incident()), N, (Event("Warning", "NoData", "silent"),)),
]  # fmt: skip


@pytest.mark.parametrize(("status", "now", "told"), [row[1:] for row in TURNS], ids=[row[0] for row in TURNS])
def test_another_verdict_is_told_unless_the_incident_tells_it(
    status: Status, now: Judgement, told: tuple[Event, ...]
) -> None:
    after, events = refresh(world(status, judgement=now))
    assert events == told
    assert after.judgement in (now, H)


def test_a_judgement_that_tells_nothing_more_leaves_what_was_written() -> None:
    later = judgement(last_usable_s=NOW_S + 30, message="MFU 0.4601")
    assert refresh(world(judgement=later)) == (replace(SETTLED, observed_generation=1), ())
    assert refresh(world(judgement=None)) == (SETTLED, ())


def test_the_generation_that_was_seen_is_noted() -> None:
    seen = world(identity=replace(worlds.IDENTITY, generation=9))
    assert refresh(seen)[0].observed_generation == 9


LEAK = Symptom(Ailment.MEMORY_LEAK, "full in 3 h", NOW_S, 0.9, "gpt-small-x", NOW_S + 10800)


def test_symptoms_are_written_while_they_are_known() -> None:
    after, events = refresh(world(symptoms=(LEAK,)))
    assert (after.symptoms, events) == ((LEAK,), (Event("Warning", "MemoryLeak", "full in 3 h"),))
    assert refresh(world(after, symptoms=None)) == (after, ())
    gone, events = refresh(world(after, symptoms=()))
    assert (gone.symptoms, [each.reason for each in events]) == ((), ["SymptomGone"])


def test_symptoms_are_told_beside_the_verdict() -> None:
    told = refresh(world(judgement=N, symptoms=(LEAK,)))[1]
    assert [each.reason for each in told] == ["NoData", "MemoryLeak"]


PLAN = RecordPlan(1800.0, 300.0, generation=2)
RECORDS = replace(spec(), declared=None, declared_spread=None, record=PLAN)
UNDER_WAY = Recording(NOW_S, 600.0, 1800.0, 1, 3, None, 2)


def progress(before: Recording | None, now: Recording, wanted: BaselineSpec = RECORDS) -> Recording | None:
    status = replace(SETTLED, baseline=None, recording=before)
    return refresh(world(status, spec=wanted, recorded=now, judgement=None))[0].recording


def test_progress_is_noted_of_the_generation_that_is_asked_for() -> None:
    assert progress(None, replace(UNDER_WAY, generation=1)) == UNDER_WAY


STEPS: list[tuple[dict[str, Any], bool]] = [
    ({"collected_s": 779.0}, False),
    ({"collected_s": 780.0}, True),
    ({"collected_s": 421.0}, False),
    ({"collected_s": 420.0}, True),
    ({"run": 2}, True),
    ({"runs": 4}, True),
    ({"problem": "restarted"}, True),
    ({"started_at": NOW_S + 5}, False),
]


@pytest.mark.parametrize(("changes", "written"), STEPS, ids=str)
def test_progress_is_written_by_tenths_or_at_another_stage(changes: dict[str, Any], written: bool) -> None:
    now = replace(UNDER_WAY, **changes)
    assert progress(UNDER_WAY, now) == (now if written else UNDER_WAY)


def test_another_generation_is_another_stage() -> None:
    assert progress(replace(UNDER_WAY, generation=1), UNDER_WAY) == UNDER_WAY


def test_what_was_recorded_counts_only_where_a_recording_is_asked_for_and_there_is_no_level() -> None:
    level = Baseline(worlds.LEVEL, worlds.BASELINE.spread, Provenance.RECORDED, NOW_S)
    empty = replace(SETTLED, baseline=None, recording=UNDER_WAY)
    after, events = refresh(world(empty, spec=RECORDS, recorded=level, judgement=None))
    assert after.baseline == replace(level, generation=2, comparable=worlds.COMPARABLE)
    assert after.recording is None
    assert [each.reason for each in events[-1:]] == ["BaselineRecorded"]
    neither = replace(RECORDS, record=None)
    for of in (level, UNDER_WAY):
        after, _ = refresh(world(empty, spec=neither, recorded=of, judgement=None))
        assert (after.baseline, after.recording) == (None, UNDER_WAY)
    known = replace(SETTLED, baseline=replace(level, level=Level(mfu=0.4)))
    assert refresh(world(known, spec=RECORDS, recorded=level, judgement=None))[0].baseline == known.baseline
    assert refresh(world(empty, spec=RECORDS, judgement=None))[0].baseline is None
