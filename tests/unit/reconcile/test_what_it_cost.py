"""What an incident cost, what is left of it for a person, and the one variable that changed."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.model.commit import Deployed
from mfu_operator.model.incident import Incident
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.reconcile.recovery import (
    cost_of,
    devices_of,
    ended,
    hours_lost,
    left_open,
    ran_s,
    recovered,
    single_variable,
)
from tests.support import worlds
from tests.support.worlds import NOW_S, ONSET_S, ailing, explained, incident, judgement, pod, spec, workload, world

PAIR = workload(pods=(pod(), pod(name="gpt-small-y")))


@pytest.mark.parametrize(
    ("of", "seconds"),
    [
        (incident(), 1200.0),
        (incident(ran_s=100.0), 1300.0),
        (incident(ran_s=100.0, resumed_at=NOW_S - 50), 150.0),
        (incident(ran_s=100.0, stopped_at=NOW_S - 50), 100.0),
        (incident(ran_s=100.0, resumed_at=NOW_S + 50), 100.0),
        (incident(ran_s=100.0, resumed_at=NOW_S - 90, stopped_at=NOW_S - 50), 100.0),
    ],
    ids=["since the onset", "and before", "since it went on", "stopped", "a clock that was set back", "stopped again"],
)
def test_a_run_ran_while_its_pods_did(of: Incident, seconds: float) -> None:
    assert ran_s(of, NOW_S) == seconds
    assert hours_lost(of, 8, NOW_S) == pytest.approx(0.172 * 8 * seconds / 3600)


@pytest.mark.parametrize(
    ("comparable", "pods", "devices"),
    [
        ({}, 1, 8), ({}, 3, 24), ({}, 0, 8), ({"gpu_count": None}, 3, 3), ({"gpu_count": None}, 0, 1),
        ({"world_size": 16}, 3, 16),
    ],
)  # fmt: skip
def test_the_devices_of_a_run_are_declared_or_counted(comparable: dict[str, Any], pods: int, devices: int) -> None:
    declared = replace(spec(), comparable=replace(worlds.COMPARABLE, **comparable))
    assert devices_of(declared, pods) == devices


@pytest.mark.parametrize(
    ("of", "run", "devices"),
    [
        (incident(devices=3), PAIR, 3),
        (incident(), PAIR, 16),
        (incident(), workload(), 8),
        (incident(), None, 8),
    ],
    ids=["noted when it was opened", "two pods", "one pod", "gone"],
)
def test_a_loss_costs_its_share_of_the_devices_that_the_run_had(of: Incident, run: Any, devices: int) -> None:
    here = world(workload=run)
    lost = pytest.approx(0.172 * devices / 3)
    assert cost_of(here, of).so_far == lost
    cost = cost_of(here, of)
    assert (cost.devices, cost.at_s) == (devices, NOW_S)
    assert cost.per_hour == pytest.approx(0.172 * devices)
    assert cost.so_far == lost


def test_a_loss_that_is_a_gain_costs_nothing() -> None:
    of = incident(drop=-0.1)
    assert (cost_of(world(), of).per_hour, cost_of(world(), of).so_far) == (0.0, 0.0)


def test_an_incident_that_ends_is_kept_with_when_and_what_it_cost() -> None:
    past = incident(id="past")
    status = ailing(incident(), history=(past,))
    after = ended(status, incident(closed=("WorkloadGone", "")), spec(), NOW_S)
    cost = 0.172 * 8 * 1200 / 3600
    closed = incident(closed=("WorkloadGone", ""), ended_at=NOW_S, gpu_hours_lost=pytest.approx(cost))
    assert after == replace(status, incident=None, history=(closed, past))
    three = ended(status, incident(devices=3), spec(), NOW_S).history[0]
    assert three.gpu_hours_lost == pytest.approx(0.172 * 3 / 3)
    many = ailing(incident(), history=tuple(incident(id=str(number)) for number in range(50)))
    kept = ended(many, incident(), spec(), NOW_S).history
    assert [each.id for each in kept[:2]] == [worlds.INCIDENT.id, "0"]
    assert len(kept) < 50


@pytest.mark.parametrize("state", [None, *PullRequestState])
def test_a_pull_request_that_is_open_is_left_for_a_person(state: PullRequestState | None) -> None:
    proposal = replace(worlds.PROPOSED, state=state)
    told = f"; its pull request {proposal.url} is left for you to close" if state is PullRequestState.OPEN else ""
    assert left_open(explained(proposal=proposal)) == told
    assert left_open(explained()) == ""


def test_a_recovery_that_has_no_value_is_at_the_baseline() -> None:
    for value, after in ((0.44, 0.44), (0.0, 0.0), (None, 0.46)):
        recovery = recovered(world(), incident(), judgement(value=value)).recovery
        assert recovery is not None
        assert (recovery.signal, recovery.after, recovery.recovered_at) == ("mfu", after, NOW_S)


BAD, MERGE, NEXT = (Deployed(sha * 40, NOW_S - before_s) for sha, before_s in (("3", 900), ("f", 300), ("9", 120)))
MERGED = explained(suspect=worlds.SUSPECT, proposal=worlds.MERGED, bad_revision=worlds.QUIET)
PINNED = replace(worlds.MERGED, title="Pin the last good image: mfu of gpt fell")


def changed(of: Incident, *deployed: Deployed, run: Any = "since") -> str | None:
    run = workload(NOW_S - 60) if run == "since" else run
    return single_variable(world(ailing(of), source=worlds.source(deployed=deployed), workload=run), of)


UNKNOWN = ", and perhaps more: which revision the pods read is not known"
UNDONE = "commit 222222222222 undone by ffffffffffff"


def test_a_merge_that_undid_a_commit_is_named_with_what_the_commit_changed() -> None:
    assert changed(MERGED, BAD, MERGE) == f"{UNDONE} (num_workers: 4 → 0)"
    bare = replace(MERGED, suspect=replace(worlds.SUSPECT, changed=("a", "b")))
    assert changed(bare, BAD, MERGE) == f"{UNDONE} (a; b)"
    assert changed(replace(bare, suspect=replace(worlds.SUSPECT, changed=())), BAD, MERGE) == UNDONE
    nameless = replace(MERGED, proposal=replace(worlds.MERGED, merge_sha=None))
    assert (changed(nameless, BAD, MERGE) or "").startswith("commit 222222222222 undone by mfu-operator")


def test_what_was_pinned_with_no_commit_is_named_by_its_title() -> None:
    of = replace(MERGED, suspect=None, proposal=PINNED)
    assert changed(of, BAD, MERGE) == "Pin the last good image, merged as ffffffffffff"
    assert changed(of, BAD, NEXT, MERGE) == (
        "Pin the last good image, merged as ffffffffffff and other changes between 333333333333 and 999999999999"
    )
    nameless = replace(of, proposal=replace(PINNED, merge_sha=None))
    assert (changed(nameless, BAD, MERGE) or "").startswith("Pin the last good image, merged as mfu-operator")


def test_without_the_merge_what_was_deployed_since_is_named() -> None:
    for of in (replace(MERGED, proposal=None), replace(MERGED, proposal=worlds.PROPOSED),
               replace(MERGED, suspect=None, proposal=worlds.PROPOSED)):  # fmt: skip
        assert changed(of, BAD, MERGE) == "revision 333333333333 → ffffffffffff"
        assert changed(of, BAD) is None
        assert changed(of, BAD, MERGE, run=workload(None)) is None
        assert changed(replace(of, bad_revision=None), BAD, MERGE) is None


@pytest.mark.parametrize(
    ("of", "run"),
    [(MERGED, None), (MERGED, workload(pods=())), (MERGED, workload(ONSET_S - 1e6)),
     (replace(MERGED, bad_revision=None), "since")],
    ids=["no workload", "no pod", "a pod older than the history", "no bad revision"],
)  # fmt: skip
def test_where_nobody_knows_what_the_pods_read_more_may_have_changed(of: Incident, run: Any) -> None:
    assert changed(of, BAD, MERGE, run=run) == f"{UNDONE} (num_workers: 4 → 0){UNKNOWN}"


def test_the_merge_is_the_one_variable_only_next_after_the_bad_revision() -> None:
    later = Deployed("f" * 40, NOW_S - 100)
    other = " and other changes between 333333333333 and ffffffffffff"
    assert changed(MERGED, BAD, MERGE, NEXT, run=workload(NOW_S - 200)) == f"{UNDONE} (num_workers: 4 → 0)"
    assert changed(MERGED, BAD, NEXT, later) == f"{UNDONE} (num_workers: 4 → 0){other}"
