"""Which level is in force, and what becomes of the one before: it is never overwritten, only put out of force.

A recorded level belongs to one generation of `baseline.record` and to what `comparable` said then; what that left open
is compared with what the job was then. Another generation is recorded again; one that was recorded before is in force
again, so that undoing the change in Git undoes it here. Another `comparable` under the same generation leaves the level
in place and nothing comparable with it.
"""

from dataclasses import replace

from mfu_operator.api.status import PREVIOUS
from mfu_operator.detect.comparable import changed
from mfu_operator.detect.formatting import per_cent
from mfu_operator.model.baseline import Baseline, BaselineSpec, Level, Provenance, Spread
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Status
from mfu_operator.model.verdict import Judgement, Verdict
from mfu_operator.reconcile.recovery import ended, left_open

UNMEASURED_SPREAD = Spread(within=0.01, between=None, slow=0.0, runs=1)
"""For a level declared without a spread: the detection rule's own floor of 1 %."""

FIRST = 1
"""The generation of a recording that nobody asked to repeat."""


def declared_baseline(spec: BaselineSpec) -> Baseline | None:
    """The baseline that a person wrote down; None where it is to be recorded."""
    if spec.declared is None:
        return None
    return Baseline(spec.declared, spec.declared_spread or UNMEASURED_SPREAD, Provenance.DECLARED)


def renewed(status: Status, spec: BaselineSpec, now_s: float) -> tuple[Status, tuple[Event, ...]]:
    """The record once `baseline.record` is of another generation than the level in force, or than what is recorded now,
    or another level is declared.

    The level is put out of force, and an incident against it is closed as accepted: it did not recover.
    """
    plan = spec.record
    if plan is None:
        another = status.baseline is not None and status.baseline.level != spec.declared
        return (
            _closed_as_accepted(status, "spec.baseline.values declares another level", spec, now_s)
            if another
            else (status, ())
        )
    if status.recording is not None and status.recording.generation != plan.generation:
        status = replace(status, recording=None)
    events: tuple[Event, ...] = ()
    level = status.baseline
    if level is not None and level.provenance is Provenance.RECORDED and (level.generation or FIRST) != plan.generation:
        status, events = _accepted(status, spec, now_s)
    elif level is None:
        status, events = _closed_as_accepted(status, "the level is to be recorded", spec, now_s)
    before = _recorded_before(status, spec) if status.baseline is None else None
    return (status, events) if before is None else _restored(status, before, events)


def put_out_of_force(status: Status, because: str, now_s: float) -> Status:
    """The record without a level, the one in force kept in its history."""
    if status.baseline is None:
        return status
    past = replace(status.baseline, replaced_at=now_s, replaced_because=because)
    return replace(status, baseline=None, previous_baselines=(past, *status.previous_baselines)[:PREVIOUS])


def adopt(status: Status, baseline: Baseline, now_s: float) -> tuple[Status, tuple[Event, ...]]:
    """The record with another level in force."""
    before = status.baseline or next(iter(status.previous_baselines), None)
    status = put_out_of_force(status, f"another level was {str(baseline.provenance).lower()}", now_s)
    message = f"baseline is {words(baseline.level)}{_against(baseline.level, before)}"
    return replace(status, baseline=baseline), (Event("Normal", f"Baseline{baseline.provenance}", message),)


def held_against(judgement: Judgement, level: Baseline | None, spec: BaselineSpec) -> Judgement:
    """The judgement, or that nothing is comparable with a level that was recorded under another `comparable`."""
    if level is None or level.comparable is None or level.comparable == spec.comparable:
        return judgement
    mismatches = "; ".join(changed(level.comparable, spec.comparable))
    advice = "raise spec.baseline.record.generation to record again (`kubectl mfu rerecord`), or undo the change"
    outdated = ("BaselineOutdated", f"the level was recorded under another spec.comparable: {mismatches}; {advice}")
    return replace(judgement, verdict=Verdict.NOT_COMPARABLE, reason=outdated[0], message=outdated[1])


def as_recorded(spec: BaselineSpec, level: Baseline | None) -> BaselineSpec:
    """The spec with what its `comparable` leaves open as it was while the level was recorded."""
    if level is None or level.observed is None or level.comparable != spec.comparable:
        return spec
    return replace(spec, comparable=level.observed)


def words(level: Level) -> str:
    """A level in a sentence."""
    told = [
        f"MFU {level.mfu:.4f}" if level.mfu is not None else "",
        f"step {level.step_time_s * 1000:.1f} ms" if level.step_time_s is not None else "",
        f"{level.throughput:.0f} tokens/s per GPU" if level.throughput is not None else "",
    ]
    return ", ".join(part for part in told if part)


def _because(spec: BaselineSpec) -> str:
    assert spec.record is not None
    return spec.record.reason or f"spec.baseline.record.generation is {spec.record.generation} now"


def _accepted(status: Status, spec: BaselineSpec, now_s: float) -> tuple[Status, tuple[Event, ...]]:
    assert status.baseline is not None
    because = _because(spec)
    told = f"{words(status.baseline.level)} is not held any more: {because}; the level is recorded again"
    events = (Event("Normal", "BaselineReplaced", told),)
    status, closed = _closed_as_accepted(put_out_of_force(status, because, now_s), because, spec, now_s)
    return replace(status, judgement=None), (*events, *closed)


def _closed_as_accepted(
    status: Status, because: str, spec: BaselineSpec, now_s: float
) -> tuple[Status, tuple[Event, ...]]:
    """The record without its incident, where there is one: what it was compared with is not a level any more."""
    if status.incident is None:
        return status, ()
    closed = replace(status.incident, accepted=because)
    event = Event("Normal", "LossAccepted", f"incident {closed.id} is closed: {because}{left_open(closed)}")
    return ended(status, closed, spec, now_s), (event,)


def _recorded_before(status: Status, spec: BaselineSpec) -> Baseline | None:
    """The level of the past that is of this very generation and of this `comparable`."""
    assert spec.record is not None
    for past in status.previous_baselines:
        same = (past.generation or FIRST) == spec.record.generation and past.comparable in (None, spec.comparable)
        if past.provenance is Provenance.RECORDED and same:
            return past
    return None


def _restored(status: Status, past: Baseline, events: tuple[Event, ...]) -> tuple[Status, tuple[Event, ...]]:
    others = tuple(each for each in status.previous_baselines if each is not past)
    level = replace(past, replaced_at=None, replaced_because=None)
    told = f"baseline is {words(level.level)} again, as recorded in generation {level.generation or FIRST}"
    status = replace(status, baseline=level, previous_baselines=others, recording=None)
    return status, (*events, Event("Normal", "BaselineRestored", told))


def _against(level: Level, before: Baseline | None) -> str:
    """By how much a level differs from the one before, in speed."""
    if before is None:
        return ""
    old = before.level
    if level.mfu and old.mfu:
        ratio = level.mfu / old.mfu
    elif level.throughput and old.throughput:
        ratio = level.throughput / old.throughput
    elif level.step_time_s and old.step_time_s:
        ratio = old.step_time_s / level.step_time_s
    else:
        return f" (before: {words(old)})"
    return f" (before: {words(old)}; {per_cent(abs(ratio - 1))} {'faster' if ratio >= 1 else 'slower'})"
