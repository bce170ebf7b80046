"""Incidents and Events in the order in which they happened."""

from collections.abc import Sequence
from dataclasses import dataclass

from mfu_operator.cli.timeline.events import Reported
from mfu_operator.cli.timeline.moments import Moment, moments_of
from mfu_operator.model.diagnosis import NOTHING_GREW
from mfu_operator.model.incident import Incident

SLACK_S = 120.0
"""An Event is posted in the tick that writes the fact, which may end a minute later; clocks differ by less."""


@dataclass(frozen=True, slots=True)
class Line:
    """What happened. `at_s` is None where nothing says when; it was then after `after_s`. `source` is "status", "event"
    or both."""

    what: str
    told: str
    at_s: float | None
    after_s: float
    source: str

    @property
    def order_s(self) -> float:
        """Its place among the others, in Unix seconds."""
        return self.after_s if self.at_s is None else self.at_s


@dataclass(frozen=True, slots=True)
class Chapter:
    """An incident and its lines, the oldest first."""

    incident: Incident
    lines: tuple[Line, ...]

    @property
    def end_s(self) -> float | None:
        """When it ended; None while it is open."""
        recovery = self.incident.recovery
        return recovery.recovered_at if recovery is not None else self.incident.ended_at

    @property
    def bottleneck(self) -> str:
        """What lost the time, and the cause; empty before the diagnosis."""
        found = self.incident.diagnosis
        if found is None:
            return ""
        return f"{found.bottleneck or NOTHING_GREW}" + (f" / {found.cause}" if found.cause else "")


def chapters(incidents: Sequence[Incident], events: Sequence[Reported]) -> tuple[Chapter, ...]:
    """The incidents, the oldest first, each dated by the Events that report its facts, with the Events beside them."""
    found, left = [], list(events)
    for incident in sorted(incidents, key=lambda each: each.onset_at):
        found.append(_chapter(incident, left))
    return tuple(found)


def _chapter(incident: Incident, left: list[Reported]) -> Chapter:
    """Takes what it uses of the Events out of `left`."""
    end_s = Chapter(incident, ()).end_s
    mine = [each for each in left if _is_of(each, incident.opened_at, end_s)]
    lines = []
    for moment in moments_of(incident):
        event = next((each for each in mine if _reports(each, moment)), None)
        if event is not None and moment.what not in ("HardwareRuledOut", "HardwareUnknown"):
            mine.remove(event)
            left.remove(event)
        lines.append(_line(moment, event))
    beside = [Line(each.reason, each.told, each.at_s, each.at_s, "event") for each in mine]
    for each in mine:
        left.remove(each)
    return Chapter(incident, tuple(sorted((*lines, *beside), key=lambda each: each.order_s)))


def _is_of(event: Reported, opened_s: float, end_s: float | None) -> bool:
    return opened_s - SLACK_S <= event.at_s and (end_s is None or event.at_s <= end_s + SLACK_S)


def _reports(event: Reported, moment: Moment) -> bool:
    near = moment.at_s is None or abs(event.at_s - moment.at_s) <= SLACK_S
    return event.reason == moment.dated_by and near and event.at_s >= moment.after_s - SLACK_S


def _line(moment: Moment, event: Reported | None) -> Line:
    at_s = moment.at_s if moment.at_s is not None or event is None else event.at_s
    source = "status" if event is None else "status, event"
    return Line(moment.what, moment.told, at_s, moment.after_s, source)
