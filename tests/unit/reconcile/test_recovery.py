"""What a recovery tells: before, regressed and after, what it cost, and the one variable that changed."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.model.commit import Deployed
from mfu_operator.reconcile.recovery import cost_of, recovered, single_variable
from tests.support import worlds
from tests.support.worlds import ailing, explained, incident, judgement, spec, world


def test_the_recovery_holds_before_regressed_after_and_what_it_cost() -> None:
    of = explained(suspect=worlds.SUSPECT, proposal=worlds.MERGED)
    closed = recovered(world(ailing(of)), of, judgement(value=0.458))
    assert closed.recovery is not None
    assert (closed.recovery.before, closed.recovery.regressed, closed.recovery.after) == (0.46, 0.381, 0.458)
    assert closed.recovery.gpu_hours_lost == pytest.approx(0.172 * 8 * 1200 / 3600)


def test_lost_hours_count_gpus_or_else_processes_and_are_never_negative() -> None:
    def lost(drop: float, **comparable: Any) -> float:
        seen = world(spec=replace(spec(), comparable=replace(worlds.COMPARABLE, **comparable)))
        return cost_of(seen, incident(drop=drop)).so_far

    assert lost(0.3) == pytest.approx(0.3 * 8 / 3)
    assert lost(0.3, world_size=2) == pytest.approx(0.3 * 2 / 3)
    pair = worlds.workload(pods=(worlds.pod(), worlds.pod(name="gpt-small-y")))
    for gpu_count, devices in ((8, 16), (None, 2)):
        declared = replace(spec(), comparable=replace(worlds.COMPARABLE, gpu_count=gpu_count))
        assert cost_of(world(spec=declared, workload=pair), incident(drop=0.3)).so_far == pytest.approx(
            0.3 * devices / 3
        )
    assert lost(0.3, gpu_count=None) == pytest.approx(0.3 / 3)
    assert lost(-0.1) == 0.0


UNDONE = "commit 222222222222 undone by ffffffffffff (num_workers: 4 → 0)"
BAD, MERGE, OTHER = (
    Deployed(sha * 40, worlds.NOW_S - before_s) for sha, before_s in (("3", 900), ("f", 300), ("9", 600))
)
AFTER_MERGE = [
    ("the merge alone", (BAD, MERGE), ""),
    ("one more revision in between", (BAD, OTHER, MERGE), " and other changes between 333333333333 and ffffffffffff"),
    ("another revision than the merge", (BAD, OTHER), " and other changes between 333333333333 and 999999999999"),
    ("a history that begins later", (MERGE,), " and other changes between 333333333333 and ffffffffffff"),
]


@pytest.mark.parametrize(("deployed", "beside"), [row[1:] for row in AFTER_MERGE], ids=[row[0] for row in AFTER_MERGE])
def test_the_merge_is_the_one_variable_only_where_nothing_else_was_deployed(
    deployed: tuple[Deployed, ...], beside: str
) -> None:
    of = explained(suspect=worlds.SUSPECT, proposal=worlds.MERGED, bad_revision=worlds.QUIET)
    seen = world(ailing(of), source=worlds.source(deployed=deployed), workload=worlds.workload(worlds.NOW_S - 60))
    assert single_variable(seen, of) == UNDONE + beside


def test_without_a_source_the_merge_is_not_called_the_one_variable() -> None:
    of = explained(suspect=worlds.SUSPECT, proposal=worlds.MERGED, bad_revision=worlds.QUIET)
    assert single_variable(world(ailing(of), source=None), of) == (
        UNDONE + ", and perhaps more: which revision the pods read is not known"
    )


def test_a_person_who_deploys_another_revision_is_told_as_the_one_variable() -> None:
    of = explained(bad_revision=worlds.QUIET)
    assert single_variable(world(ailing(of)), of) == "revision 333333333333 → 111111111111"


def test_a_recovery_without_any_change_names_no_variable() -> None:
    of = explained(bad_revision=worlds.GOOD)
    assert single_variable(world(ailing(of)), of) is None
    assert single_variable(world(ailing(of), source=None), of) is None
