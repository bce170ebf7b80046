"""What the next incident begins with, and which loss is none because it is of one that was closed."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.api.naming import incident_id
from mfu_operator.model.incident import Incident, Recovery
from mfu_operator.reconcile.opening import CLOSED_BY_PERSON, dismissed, new_incident, onset_s
from mfu_operator.reconcile.world import World
from tests.support import worlds
from tests.support.worlds import NOW_S, ONSET_S, SETTLED, incident, pod, regressed, spec, workload, world


def since(begun_s: float | None, history: tuple[Incident, ...] = (), **changes: Any) -> float:
    here: World = world(replace(SETTLED, history=history), **changes)
    return onset_s(here, regressed(onset_s=begun_s))


def recovered(at_s: float) -> Incident:
    return incident(recovery=Recovery("mfu", 0.46, 0.38, 0.46, at_s, 0.1, None), ended_at=NOW_S)


def ended(at_s: float | None, **facts: Any) -> Incident:
    return incident(ended_at=at_s, **facts)


NEW_POD = workload(pods=(pod(), pod(NOW_S - 300)))


def test_a_loss_begins_when_the_readings_say_or_now() -> None:
    assert since(ONSET_S) == ONSET_S
    assert since(None) == NOW_S
    assert since(ONSET_S, workload=NEW_POD) == ONSET_S


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ((recovered(ONSET_S - 1),), ONSET_S),
        ((recovered(ONSET_S),), ONSET_S + 1),
        ((recovered(ONSET_S + 60),), ONSET_S + 61),
        ((ended(ONSET_S + 60),), ONSET_S + 61),
        ((ended(None),), ONSET_S),
        ((ended(ONSET_S - 900), recovered(ONSET_S + 60)), ONSET_S + 61),
        ((recovered(ONSET_S + 60), ended(ONSET_S - 900)), ONSET_S + 61),
        ((recovered(NOW_S + 600),), NOW_S),
    ],
    ids=["before", "at the same second", "after", "ended after", "when is not known", "older after", "newer after",
         "by a clock that was set back"],
)  # fmt: skip
def test_a_loss_begins_after_the_last_incident_whatever_the_readings_say(
    history: tuple[Incident, ...], expected: float
) -> None:
    assert since(ONSET_S, history) == expected


def test_a_loss_after_an_incident_begins_with_the_newest_pod_where_that_is_later() -> None:
    last = (ended(ONSET_S + 60),)
    assert since(ONSET_S, last, workload=NEW_POD) == NOW_S - 300
    for run in (None, workload(pods=()), workload(None)):
        assert since(ONSET_S, last, workload=run) == ONSET_S + 61
    assert since(ONSET_S, last, workload=workload(NOW_S + 60)) == NOW_S


CLOSED = incident(ended_at=ONSET_S + 60, closed=(CLOSED_BY_PERSON, "known"))
STOPPED = incident(ended_at=ONSET_S + 60, closed=("WorkloadEnded", ""), stopped_at=ONSET_S + 30)
OLD_POD, RESTARTED = workload(ONSET_S), workload(ONSET_S + 31)
DISMISSED: list[tuple[str, Incident, Any, bool]] = [
    ("closed by a person", CLOSED, OLD_POD, True),
    ("closed by a person, run again since", CLOSED, RESTARTED, True),
    ("closed by a person, and stopped", replace(CLOSED, stopped_at=ONSET_S + 30), RESTARTED, True),
    ("closed by a person, ended before it", replace(CLOSED, ended_at=ONSET_S - 1), OLD_POD, False),
    ("closed by a person in that second", replace(CLOSED, ended_at=ONSET_S), OLD_POD, True),
    ("when is not known", replace(CLOSED, ended_at=None), OLD_POD, False),
    ("not closed", replace(CLOSED, closed=None), OLD_POD, False),
    ("its run ended", STOPPED, OLD_POD, True),
    ("its run ended, a pod of that second", STOPPED, workload(ONSET_S + 30), True),
    ("its run ended, and another one runs", STOPPED, RESTARTED, False),
    ("its run ended, and no pod runs", STOPPED, workload(None), True),
    ("its run ended, and it is gone", STOPPED, None, True),
    ("its run ended, when is not known", replace(STOPPED, stopped_at=None), OLD_POD, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("past", "run", "is_dismissed"), [row[1:] for row in DISMISSED], ids=[row[0] for row in DISMISSED]
)
def test_a_loss_of_an_incident_that_was_closed_opens_no_other(past: Incident, run: Any, is_dismissed: bool) -> None:
    for history in ((past,), (incident(), past)):
        here = world(replace(SETTLED, history=history), workload=run)
        assert dismissed(here, regressed()) is is_dismissed


def test_a_loss_that_began_nobody_knows_when_or_after_no_incident_is_not_dismissed() -> None:
    assert not dismissed(world(), regressed())
    assert not dismissed(world(replace(SETTLED, history=(CLOSED,))), regressed(onset_s=None))


def test_an_incident_begins_with_what_was_judged_and_what_ran() -> None:
    judged = regressed(signal="throughput", baseline=100.0, value=80.0, drop=0.2)
    assert new_incident(world(workload=NEW_POD), judged, ONSET_S) == Incident(
        incident_id("gpt-small", worlds.UID, ONSET_S), NOW_S, ONSET_S, "throughput", 100.0, 80.0, 0.2, worlds.GOOD,
        template=NEW_POD.template_digest, devices=16,
    )  # fmt: skip


def test_an_incident_of_which_nothing_is_known_begins_with_nothing() -> None:
    judged = regressed(baseline=None, value=None, drop=None)
    opened = new_incident(world(replace(SETTLED, known_good=None), workload=None), judged, ONSET_S)
    assert (opened.baseline_value, opened.regressed_value, opened.drop) == (0.0, 0.0, 0.0)
    assert (opened.good_revision, opened.template, opened.devices) == (None, None, 8)
    assert spec().comparable.gpu_count == 8
