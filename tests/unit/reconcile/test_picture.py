"""The picture in the record of an incident that recovered."""

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from mfu_operator.api.status import PICTURE_CHARACTERS
from mfu_operator.model.baseline import Signal
from mfu_operator.model.incident import Incident, Status
from mfu_operator.model.series import Phase, Reading
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import Record
from mfu_operator.reconcile.picture import PATIENCE_S, awaited, span_of
from tests.support import worlds
from tests.support.worlds import explained, spec, world

CLOSED = explained(recovery=worlds.RECOVERY, confirmed_at=worlds.NOW_S - 400)
RECOVERED = replace(worlds.SETTLED, history=(CLOSED,))


def readings(count: int = 160, *, gated: bool = False) -> tuple[Reading, ...]:
    start_s, end_s = span_of(CLOSED, spec())
    apart_s = (end_s - start_s) / count
    return tuple(
        Reading(
            start_s + place * apart_s,
            {Signal.MFU: 0.46 - 0.0123456 * (place % 7)},
            Phase.EVALUATION if gated and place % 2 else Phase.RUNNING,
            incarnation="a",
        )
        for place in range(count)
    )


def drawn(status: Status = RECOVERED, **changes: Any) -> Incident:
    step = decide(world(status, **changes))
    assert isinstance(step, Record)
    return step.status.history[0]


def test_it_shows_the_readings_the_baseline_and_what_was_said() -> None:
    picture = drawn(past=readings()).picture
    assert picture is not None
    ElementTree.fromstring(picture)
    for told in ("gpt-small: MFU", "baseline 0.460", "Regressed", "Confirmed", "Recovered", "a loss, from its onset"):
        assert told in picture


def test_it_shows_what_was_gated_and_fits_into_a_status() -> None:
    picture = drawn(past=readings(gated=True)).picture
    assert picture is not None
    assert "Evaluation" in picture
    assert len(picture) <= PICTURE_CHARACTERS


def test_it_shows_when_our_own_job_recorded_it() -> None:
    profiled = replace(worlds.PROFILED, finished_at=worlds.NOW_S - 450)
    of = replace(CLOSED, profile=profiled)
    picture = drawn(replace(worlds.SETTLED, history=(of,)), past=readings()).picture
    assert picture is not None
    assert "<title>Profiling</title>" in picture
    assert "Profiling" not in (drawn(past=readings()).picture or "")


def test_it_begins_as_long_before_the_loss_as_the_loss_lasted_and_at_most_three_hours() -> None:
    onset_s, ended_s = CLOSED.onset_at, worlds.RECOVERY.recovered_at
    assert span_of(CLOSED, spec()) == (onset_s - 1200, ended_s)
    month = replace(CLOSED, onset_at=onset_s - 30 * 86400)
    assert span_of(month, spec())[0] == month.onset_at - 3 * 3600


@pytest.mark.parametrize("past", [(), (Reading(worlds.NOW_S, {Signal.STEP_TIME: 1.0}),)])
def test_a_source_that_kept_nothing_of_it_leaves_it_empty(past: tuple[Reading, ...]) -> None:
    assert drawn(past=past).picture == ""


def test_nothing_waits_for_readings_that_do_not_come() -> None:
    assert decide(world(RECOVERED, past=None)) == decide(world(replace(RECOVERED, history=())))
    assert awaited(RECOVERED, worlds.RECOVERY.recovered_at + PATIENCE_S) is None


def test_it_is_drawn_once() -> None:
    assert awaited(replace(RECOVERED, history=(drawn(past=readings()),)), worlds.NOW_S) is None
