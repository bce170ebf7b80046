"""What a person asked for by command, taken note of."""

from dataclasses import replace

from mfu_operator.api.group import (
    APPROVE_ANNOTATION,
    CLOSE_ANNOTATION,
    REJECT_ANNOTATION,
    RESET_ANNOTATION,
    SNOOZE_ANNOTATION,
)
from mfu_operator.api.requests import Annotations, asked_of, digest, snooze_of
from mfu_operator.detect.formatting import clock
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Approval, Snooze, Status
from mfu_operator.reconcile.opening import CLOSED_BY_PERSON
from mfu_operator.reconcile.proposed.hold import blamed_of, refused, undoing
from mfu_operator.reconcile.recovery import ended, left_open


def obeyed(status: Status, asked: Annotations, spec: BaselineSpec, now_s: float) -> tuple[Status, tuple[Event, ...]]:
    """The record after what is asked for and was not noted yet. A request that stays there is fulfilled once."""
    events: tuple[Event, ...] = ()
    for name, value in asked:
        if digest(name, value) in status.noted:
            continue
        if name == CLOSE_ANNOTATION:
            status, told = _closed(status, value, spec, now_s)
            events += told
        elif name == RESET_ANNOTATION:
            status, told = _reset(status, spec, now_s)
            events += told
        elif name == APPROVE_ANNOTATION:
            status, told = _approved(status, value, now_s)
            events += told
        elif name == REJECT_ANNOTATION:
            status, told = _rejected(status, value, now_s)
            events += told
        elif name == SNOOZE_ANNOTATION:
            status, told = _snoozed(status, value, now_s)
            events += told
    return replace(status, noted=tuple(sorted(digest(name, value) for name, value in asked))), events


def _closed(status: Status, value: str, spec: BaselineSpec, now_s: float) -> tuple[Status, tuple[Event, ...]]:
    close, incident = asked_of(value), status.incident
    if incident is None or close.incident not in (None, incident.id):
        return status, ()
    message = f"incident {incident.id} is closed by a person: {close.reason}{left_open(incident)}"
    closed = replace(incident, closed=(CLOSED_BY_PERSON, close.reason))
    return ended(status, closed, spec, now_s), (Event("Normal", "ClosedByPerson", message),)


def _approved(status: Status, value: str, now_s: float) -> tuple[Status, tuple[Event, ...]]:
    """What the pull request of the incident waits for is waited for no longer."""
    asked, incident = asked_of(value), status.incident
    if incident is None or asked.incident not in (None, incident.id):
        return status, ()
    event = Event("Normal", "Approved", f"a person approved the pull request of incident {incident.id}: {asked.reason}")
    return replace(status, incident=replace(incident, approved=Approval(now_s, asked.reason))), (event,)


def _rejected(status: Status, value: str, now_s: float) -> tuple[Status, tuple[Event, ...]]:
    """The suspect is not undone, nor pinned what came with no commit, in this incident and any other of the
    baseline."""
    asked, incident = asked_of(value), status.incident
    blamed = blamed_of(incident) if incident is not None else None
    if incident is None or blamed is None or asked.incident not in (None, incident.id):
        return status, ()
    blocked = ("Rejected", f"a person rejected {undoing(*blamed)}: {asked.reason}")
    status = refused(status, incident, asked.reason, now_s)
    return replace(status, incident=replace(incident, blocked=blocked)), (Event("Normal", *blocked),)


def _snoozed(status: Status, value: str, now_s: float) -> tuple[Status, tuple[Event, ...]]:
    asked = snooze_of(value, now_s)
    if asked is None:
        told = "the annotation is not a time: write a duration like 8h, or use kubectl mfu snooze"
        return status, (Event("Warning", "SnoozeUnreadable", told),)
    if asked.until_s <= now_s:
        return replace(status, snooze=None), (Event("Normal", "SnoozeEnded", asked.reason),)
    told = f"no pull request is opened before {clock(asked.until_s)}: {asked.reason}"
    return replace(status, snooze=Snooze(asked.until_s, asked.reason)), (Event("Normal", "Snoozed", told),)


def _reset(status: Status, spec: BaselineSpec, now_s: float) -> tuple[Status, tuple[Event, ...]]:
    """Nothing stays but what happened: the incidents of the past, and their number."""
    if status.incident is not None:
        told = f"the baseline was reset{left_open(status.incident)}"
        status = ended(status, replace(status.incident, closed=("BaselineReset", told)), spec, now_s)
    event = Event(
        "Normal", "BaselineReset", "a person reset the baseline: level, profile and known good are obtained again"
    )
    return Status(incidents=status.incidents, history=status.history), (event,)
