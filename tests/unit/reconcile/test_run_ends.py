"""When an incident's run stopped, went on, or is over for good."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import Retry
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Incident, Status
from mfu_operator.reconcile.ending import followed
from mfu_operator.reconcile.world import World
from tests.support import worlds
from tests.support.worlds import NOW_S, ONSET_S, SETTLED, ailing, explained, incident, pod, workload, world

GONE = Retry("WorkloadNotFound", "there is no Job")
IDLE = workload(pods=(pod(phase="Pending"),))
HOUR_S, DAY_S = 3600.0, 86400.0


def after(of: Incident, **changes: Any) -> Incident | None:
    """The open incident after a tick; None where it was closed."""
    return followed(slow(of, **changes))[0].incident


def slow(of: Incident, **changes: Any) -> World:
    return world(ailing(of), **({"last_reading_s": NOW_S - 60} | changes))


def test_without_an_incident_or_while_nobody_can_see_the_run_nothing_is_noted() -> None:
    assert followed(world(workload=IDLE)) == (SETTLED, ())
    for problem in (None, Retry("ClusterUnreachable", "503")):
        unseen = slow(incident(), workload=None, problem=problem)
        assert followed(unseen) == (unseen.status, ())


def test_a_run_that_runs_is_noted_as_it_is() -> None:
    for run in (workload(), workload(pods=(pod(phase="Pending"), pod()))):
        assert after(incident(), workload=run) == incident()


@pytest.mark.parametrize("changes", [{"workload": IDLE}, {"workload": None, "problem": GONE}], ids=["idle", "gone"])
def test_a_run_that_stopped_ran_until_it_was_read_last(changes: dict[str, Any]) -> None:
    ran_s = NOW_S - 60 - ONSET_S
    assert after(incident(), **changes) == incident(stopped_at=NOW_S, ran_s=ran_s)


RAN: list[tuple[str, Incident, dict[str, Any], float]] = [
    ("added to what it ran before", incident(ran_s=100.0), {}, 100.0 + NOW_S - 60 - ONSET_S),
    ("since it went on", incident(ran_s=100.0, resumed_at=NOW_S - 300), {}, 340.0),
    ("read before it went on", incident(ran_s=100.0, resumed_at=NOW_S - 30), {}, 100.0),
    ("read by a clock that was set back", incident(), {"last_reading_s": NOW_S + 600}, NOW_S - ONSET_S),
    ("read by a judgement", incident(), {"last_reading_s": None}, NOW_S - ONSET_S),
]


@pytest.mark.parametrize(("of", "changes", "ran_s"), [row[1:] for row in RAN], ids=[row[0] for row in RAN])
def test_how_long_a_run_ran_is_counted_from_its_last_start(of: Incident, changes: dict[str, Any], ran_s: float) -> None:
    found = after(of, workload=IDLE, **changes)
    assert found is not None
    assert (found.ran_s, found.stopped_at) == (ran_s, NOW_S)


def test_a_run_that_nobody_ever_read_is_not_counted() -> None:
    unread = slow(incident(), workload=IDLE, last_reading_s=None)
    unread = replace(unread, status=replace(unread.status, judgement=None))
    found = followed(unread)[0].incident
    assert found is not None and found.ran_s == 0.0
    blank = replace(worlds.regressed(), last_usable_s=None)
    found = followed(replace(unread, status=replace(unread.status, judgement=blank)))[0].incident
    assert found is not None and found.ran_s == 0.0


STOPPED = incident(stopped_at=NOW_S - 600, ran_s=500.0)


def test_a_run_that_stopped_before_stays_as_it_was_noted() -> None:
    assert after(STOPPED, workload=IDLE) == STOPPED


def test_a_run_goes_on_with_the_first_of_its_pods_and_not_before_it_counted() -> None:
    pair = workload(pods=(pod(NOW_S - 90), pod(NOW_S - 120), pod(None)))
    assert after(STOPPED, workload=pair) == replace(STOPPED, stopped_at=None, resumed_at=NOW_S - 120)
    early = workload(ONSET_S - 100)
    assert after(STOPPED, workload=early) == replace(STOPPED, stopped_at=None, resumed_at=ONSET_S)
    undated = workload(None)
    assert after(STOPPED, workload=undated) == replace(STOPPED, stopped_at=None, resumed_at=NOW_S)


FINISHED = replace(IDLE, finished=True)
AWAY: dict[str, Any] = {"workload": None, "problem": GONE}
OVER: list[tuple[str, dict[str, Any], float, tuple[str, str]]] = [
    ("gone", AWAY, HOUR_S,
     ("WorkloadGone", "Job gpt-small is gone since 2026-09-21 13:14 UTC and did not come back within 60 min")),
    ("finished", {"workload": FINISHED}, HOUR_S,
     ("WorkloadEnded", "Job gpt-small ended since 2026-09-21 13:14 UTC")),
    ("idle", {"workload": IDLE}, DAY_S,
     ("WorkloadEnded", "Job gpt-small has no running pod since 2026-09-20 14:14 UTC")),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "after_s", "told"), [row[1:] for row in OVER], ids=[row[0] for row in OVER])
def test_an_incident_is_closed_once_its_run_stayed_away(
    changes: dict[str, Any], after_s: float, told: tuple[str, str]
) -> None:
    of = explained(stopped_at=NOW_S - after_s, ran_s=500.0, proposal=worlds.PROPOSED)
    younger = replace(of, stopped_at=NOW_S - after_s + 1)
    assert after(younger, **changes) == younger
    status, events = followed(slow(of, **changes))
    closed = replace(of, closed=told, ended_at=NOW_S, gpu_hours_lost=0.172 * 8 * 500 / 3600)
    assert status == replace(ailing(of), incident=None, history=(closed,))
    left = f"; its pull request {worlds.PROPOSED.url} is left for you to close"
    assert events == (Event("Normal", told[0], f"incident {of.id} is closed: {told[1]}{left}"),)


def test_a_run_that_goes_on_after_a_day_is_not_over() -> None:
    of = incident(stopped_at=NOW_S - 2 * DAY_S, ran_s=500.0)
    assert after(of) == replace(
        of, stopped_at=None, resumed_at=worlds.STARTED_S if worlds.STARTED_S > ONSET_S else ONSET_S
    )
    status: Status = followed(slow(of))[0]
    assert status.history == ()
