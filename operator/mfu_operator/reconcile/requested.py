"""What a person asked for by command, taken note of."""

from dataclasses import replace

from mfu_operator.api.group import CLOSE_ANNOTATION, RESET_ANNOTATION
from mfu_operator.api.requests import Annotations, close_of, digest
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Status
from mfu_operator.reconcile.opening import CLOSED_BY_PERSON
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
    return replace(status, noted=tuple(sorted(digest(name, value) for name, value in asked))), events


def _closed(status: Status, value: str, spec: BaselineSpec, now_s: float) -> tuple[Status, tuple[Event, ...]]:
    close, incident = close_of(value), status.incident
    if incident is None or close.incident not in (None, incident.id):
        return status, ()
    message = f"incident {incident.id} is closed by a person: {close.reason}{left_open(incident)}"
    closed = replace(incident, closed=(CLOSED_BY_PERSON, close.reason))
    return ended(status, closed, spec, now_s), (Event("Normal", "ClosedByPerson", message),)


def _reset(status: Status, spec: BaselineSpec, now_s: float) -> tuple[Status, tuple[Event, ...]]:
    """Nothing stays but what happened: the incidents of the past, and their number."""
    if status.incident is not None:
        told = f"the baseline was reset{left_open(status.incident)}"
        status = ended(status, replace(status.incident, closed=("BaselineReset", told)), spec, now_s)
    event = Event(
        "Normal", "BaselineReset", "a person reset the baseline: level, profile and known good are obtained anew"
    )
    return Status(incidents=status.incidents, history=status.history), (event,)
