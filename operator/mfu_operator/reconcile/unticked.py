"""What a baseline's status says where no tick could be made of it, or where a part of it could not be read. All that
was gathered before stays as it is."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mfu_operator.api.salvage import Salvaged
from mfu_operator.errors import Stall
from mfu_operator.model.condition import Condition, Event
from mfu_operator.model.incident import Status
from mfu_operator.reconcile.linking import linked
from mfu_operator.reconcile.world import Identity

SET_ASIDE = "StatusUnreadable"
"""The condition that says what of the stored status could not be read."""

SET_ASIDE_KEPT_S = 24 * 3600.0
"""What was set aside is told by then to whoever looks at the baseline once a day."""


@dataclass(frozen=True, slots=True)
class Unticked:
    """The status to write and what to tell; both as before where it is said already."""

    status: Status
    events: tuple[Event, ...] = ()


def salvaged(identity: Identity, found: Salvaged, now_s: float, runbooks: str | None = None) -> Unticked:
    """A stored status, with a condition that says what of it could not be read, for as long as SET_ASIDE_KEPT_S."""
    if not found.set_aside:
        return Unticked(found.status)
    message = f"set aside, to be obtained again: {'; '.join(found.set_aside)}"
    now = linked(Condition(SET_ASIDE, "True", "StatusUnreadable", message, identity.generation, now_s), runbooks)
    others = tuple(each for each in found.status.conditions if each.type != SET_ASIDE)
    return Unticked(replace(found.status, conditions=(*others, now)), (Event("Warning", "StatusUnreadable", message),))


def still_set_aside(status: Status, now_s: float) -> Condition | None:
    """The condition that something was set aside, for as long as a person is to see it."""
    found = next((each for each in status.conditions if each.type == SET_ASIDE), None)
    return found if found is not None and 0 <= now_s - found.last_transition_time < SET_ASIDE_KEPT_S else None


def hopeless(identity: Identity, before: Status, error: Stall, now_s: float, runbooks: str | None = None) -> Unticked:
    """A spec that cannot be decoded: said once, and left until its next generation."""
    told = any(each.type == "Stalled" for each in before.conditions)
    if told and before.observed_generation == identity.generation:
        return Unticked(before)
    conditions = (
        linked(Condition("Ready", "False", error.reason, error.message, identity.generation, now_s), runbooks),
        linked(Condition("Stalled", "True", error.reason, error.message, identity.generation, now_s), runbooks),
    )
    incident_open = tuple(each for each in before.conditions if each.type == "Regressed")
    status = replace(before, observed_generation=identity.generation, conditions=(*conditions, *incident_open))
    return Unticked(status, (Event("Warning", error.reason, error.message),))


def broken(identity: Identity, before: Status, error: Exception, now_s: float, runbooks: str | None = None) -> Unticked:
    """A tick that ended in an error that nobody foresaw. The message has the error's type alone: its text may hold what
    is nobody's business, and is in the log."""
    message = (
        f"a fault of the operator ({type(error).__name__}) ended the tick; it is tried again with a growing pause; its "
        "log has the traceback, please report it"
    )
    known: Mapping[str, Condition] = {each.type: each for each in before.conditions}
    ready = known.get("Ready")
    same = ready is not None and ready.status == "False"
    since_s = ready.last_transition_time if ready is not None and same else now_s
    now = linked(Condition("Ready", "False", "TickFailed", message, identity.generation, since_s), runbooks)
    status = replace(before, conditions=(now, *(each for each in before.conditions if each.type != "Ready")))
    told = ready is not None and ready.reason == "TickFailed"
    return Unticked(status, () if told else (Event("Warning", "TickFailed", message),))
