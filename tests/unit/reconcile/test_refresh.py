"""The status is written only for what is worth telling."""

import random
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.measure.sweep import Sweep
from mfu_operator.model.baseline import BaselineSpec, Level, Provenance, RecordPlan, Signal
from mfu_operator.model.incident import Recording, Status
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate, Judgement, Verdict
from mfu_operator.reconcile.refresh import refresh
from tests.support import worlds
from tests.support.metrics_double import MetricsDouble, SourcesDouble
from tests.support.worlds import ailing, incident, judgement, regressed, spec, world


def wrote(before: Status, now: Judgement) -> bool:
    status, _ = refresh(world(before, judgement=now))
    return status != before


@pytest.mark.parametrize(
    ("changes", "worth"),
    [
        ({"value": 0.463}, False),
        ({"value": 0.45}, True),
        ({"message": "MFU 0.4601"}, False),
        ({"last_usable_s": worlds.NOW_S + 30}, False),
        ({"evidence_s": 59.0}, False),
        ({"evidence_s": 61.0}, True),
        ({"gates": (Gate.CHECKPOINT,)}, True),
        ({"verdict": Verdict.NO_DATA}, True),
        ({"recovered": True}, True),
    ],
    ids=str,
)
def test_the_judgement_is_written_when_it_tells_more(changes: dict[str, Any], worth: bool) -> None:
    assert wrote(worlds.SETTLED, judgement(**changes)) is worth


def test_a_turn_of_the_verdict_is_told_once() -> None:
    silent = judgement(Verdict.NO_DATA, reason="Stale", message="the last reading is 6 min old")
    status, events = refresh(world(judgement=silent))
    assert [(event.kind, event.reason) for event in events] == [("Warning", "NoData")]
    assert refresh(world(status, judgement=silent))[1] == ()
    assert [event.reason for event in refresh(world(status))[1]] == ["Healthy"]


def test_a_loss_that_was_not_seen_for_a_while_is_told_again_and_its_end_by_the_recovery_alone() -> None:
    silent = judgement(Verdict.NO_DATA, reason="Stale", message="the last reading is 6 min old")
    status, _ = refresh(world(ailing(incident()), judgement=silent))
    assert [event.reason for event in refresh(world(status, judgement=regressed()))[1]] == ["Regressed"]
    assert refresh(world(status))[1] == ()


def test_a_healthy_job_at_noise_level_writes_nothing_for_hours() -> None:
    """With the real sweep and detection: two hours of readings that move by half a per cent."""
    noise, now_s = random.Random(7), worlds.NOW_S
    metrics = MetricsDouble()
    sweep = Sweep(SourcesDouble(metrics), lambda: now_s, 30.0)
    sweep.register(worlds.UID, spec(), worlds.BASELINE)
    status, writes = worlds.SETTLED, 0
    for tick in range(300):
        now_s += 30.0
        metrics.add(worlds.REF, Reading(now_s, {Signal.MFU: 0.46 * (1 + noise.gauss(0, 0.005))}, incarnation="a"))
        sweep.run_once()
        after, _ = refresh(world(status, now_s=now_s, judgement=sweep.view(worlds.UID, now_s).judgement))
        writes += tick >= 60 and after != status
        status = after
    assert writes == 0


def recording(seen: Status, recorded: Any, wanted: BaselineSpec | None = None) -> Status:
    plan = replace(spec(), declared=None, declared_spread=None, record=RecordPlan(1800.0, 300.0))
    return refresh(world(seen, spec=wanted or plan, recorded=recorded))[0]


def test_progress_of_a_recording_is_written_in_tenths() -> None:
    empty = replace(worlds.SETTLED, baseline=None)
    started = recording(empty, Recording(worlds.NOW_S, 0.0, 1800.0, 1, 1))
    assert started.recording is not None
    assert recording(started, replace(started.recording, collected_s=170.0)) == started
    assert recording(started, replace(started.recording, collected_s=180.0)) != started
    assert recording(started, replace(started.recording, problem="restarted")) != started


def test_a_recorded_baseline_is_kept_until_another_level_is_declared() -> None:
    recorded = replace(worlds.BASELINE, provenance=Provenance.RECORDED, generation=1, comparable=worlds.COMPARABLE)
    status = recording(replace(worlds.SETTLED, baseline=None), recorded)
    assert (status.baseline, status.recording) == (recorded, None)
    assert recording(status, replace(recorded, level=Level(mfu=0.1))) == status
    declared = refresh(world(status))[0]
    assert declared.baseline == worlds.BASELINE
    assert [past.level for past in declared.previous_baselines] == [recorded.level]
