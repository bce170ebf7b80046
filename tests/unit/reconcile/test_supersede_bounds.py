"""Where exactly one loss ends and another one begins."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.model.baseline import Detection
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.incident import Incident
from mfu_operator.model.verdict import Verdict
from mfu_operator.reconcile.effects import Record
from mfu_operator.reconcile.supersede import supersede
from mfu_operator.reconcile.world import World
from tests.support import worlds
from tests.support.worlds import (
    NOW_S,
    ONSET_S,
    ailing,
    explained,
    incident,
    judgement,
    regressed,
    spec,
    workload,
    world,
)

PASSING = incident(diagnosis=replace(worlds.STARVED, bottleneck=None, cause=None), template="another")
RULE = Detection(sustain_s=60.0, confirm_s=600.0, warmup_s=30.0)
STARTED_S = ONSET_S + 200
JUDGED_S = STARTED_S + 90


def replaced(of: Incident = PASSING, started_s: float = STARTED_S, **judged: Any) -> World:
    """A passing loss, and the run that took its place and is slow as well."""
    seen = replace(regressed(last_usable_s=JUDGED_S, change=-0.03, tolerance=0.02), **judged)
    run, rule = workload(started_s), replace(spec(), detection=RULE)
    return world(ailing(of), judgement=seen, workload=run, spec=rule)


def opened(here: World) -> float | None:
    """The onset of the incident that takes the open one's place; None where it stays."""
    step = supersede(here)
    if step is None:
        return None
    assert isinstance(step, Record) and step.status.incident is not None
    assert [(each.kind, each.reason) for each in step.events] == [("Normal", "Superseded"), ("Warning", "Regressed")]
    assert step.status.history[0].ended_at == NOW_S
    assert step.status.history[0].superseded is not None
    assert step.events[0].message.endswith(f" is closed: {step.status.history[0].superseded}")
    assert step.events[1].message.startswith(f"incident {step.status.incident.id}: ")
    return step.status.incident.onset_at


def test_another_run_that_is_slow_for_a_whole_horizon_has_an_incident_of_its_own() -> None:
    assert opened(replaced()) == STARTED_S
    assert opened(replaced(last_usable_s=JUDGED_S - 1)) is None


@pytest.mark.parametrize(
    "judged",
    [
        {"last_usable_s": None},
        {"change": None},
        {"tolerance": None},
        {"verdict": Verdict.NO_DATA},
        {"verdict": Verdict.HEALTHY},
        {"change": -0.02},
        {"change": 0.03},
        {"recover_evidence_s": 1.0},
    ],
    ids=str,
)
def test_another_run_that_is_not_surely_slow_changes_nothing(judged: dict[str, Any]) -> None:
    assert opened(replaced(**judged)) is None


def test_only_a_loss_that_could_not_have_been_confirmed_is_superseded_by_another_run() -> None:
    latest_s = ONSET_S + RULE.sustain_s + RULE.confirm_s
    for started_s, superseded in ((latest_s - 1, True), (latest_s, False)):
        seen = replaced(started_s=started_s, last_usable_s=started_s + 90)
        assert (opened(seen) is not None) is superseded
    assert opened(replaced(replace(PASSING, confirmed_at=NOW_S))) is None


@pytest.mark.parametrize(
    ("bottleneck", "superseded"), [(None, True), (Bottleneck.INCONCLUSIVE, True), (Bottleneck.HOST_BOUND, False)]
)
def test_only_a_loss_that_nothing_explains_is_superseded_by_another_run(bottleneck: Any, superseded: bool) -> None:
    of = replace(PASSING, diagnosis=replace(worlds.STARVED, bottleneck=bottleneck))
    assert (opened(replaced(of)) is not None) is superseded


GREW_S = ONSET_S + 601
SMALL = explained(confirmed_at=None, drop=0.125)


def grown(of: Incident = SMALL, **judged: Any) -> World:
    """A loss of a quarter is confirmed where the open incident is of an eighth."""
    seen = replace(regressed(True, onset_s=GREW_S, drop=0.25, tolerance=0.0625), **judged)
    return world(ailing(of), judgement=seen)


def test_a_loss_that_grew_by_more_than_the_tolerance_a_horizon_later_is_another_one() -> None:
    assert opened(grown()) == GREW_S
    assert opened(grown(onset_s=ONSET_S + 600)) is None
    assert opened(grown(drop=0.1875)) is None
    assert opened(grown(drop=0.1876)) == GREW_S


@pytest.mark.parametrize("judged", [{"onset_s": None}, {"drop": None}, {"confirmed": False}], ids=str)
def test_a_loss_of_which_too_little_is_known_is_no_other_one(judged: dict[str, Any]) -> None:
    assert opened(grown(**judged)) is None


def test_without_a_tolerance_any_growth_counts() -> None:
    assert opened(grown(tolerance=None, drop=0.126)) == GREW_S
    assert opened(grown(tolerance=None, drop=0.125)) is None


def test_what_is_judged_of_nothing_supersedes_nothing() -> None:
    assert supersede(world(ailing(PASSING), judgement=None)) is None
    assert supersede(world(ailing(PASSING), judgement=judgement())) is None
