"""What profiling may cost in a day, counted over restarts of the operator."""

from dataclasses import replace

import pytest

from mfu_operator.cycle.profiling.budgets import DAY_S, MOST_LAUNCHES, RECALL_S, Budgets
from mfu_operator.errors import Wait
from mfu_operator.model.baseline import Budget
from mfu_operator.model.incident import Launch
from mfu_operator.model.workload import JobPhase
from tests.support import worlds
from tests.support.adapters_double import Stage


def launch(job: str, at_s: float = 0.0, gpus: int = 0) -> Launch:
    return Launch(job, at_s, at_s + 600, gpus)


def charged(budgets: Budgets, job: str, owner: str = "a", at_s: float = 0.0, gpus: int = 0, **limits: int) -> None:
    budgets.charge(owner, launch(job, at_s, gpus), Budget(**limits), at_s)


def after_restart(budgets: Budgets, now_s: float, fleet: Budget | None = None, owners: str = "a") -> Budgets:
    """What a process that takes over at now_s counts, by what the statuses say then."""
    next_one = Budgets(fleet or Budget())
    next_one.begin(now_s)
    for owner in owners:
        next_one.recall(owner, budgets.launched(owner, now_s), now_s)
    return next_one


def test_captures_of_a_baseline_are_as_many_as_it_may_cost_in_a_day() -> None:
    budgets = Budgets()
    charged(budgets, "one", captures=2)
    charged(budgets, "two", at_s=3600, captures=2)
    charged(budgets, "two", at_s=3600, captures=2)
    with pytest.raises(Wait, match="this baseline is spent: 2 of 2 captures a day") as raised:
        charged(budgets, "three", at_s=7200, captures=2)
    assert (raised.value.reason, raised.value.until_s) == ("BudgetSpent", 86_400.0)
    charged(budgets, "other", "b", 7200, captures=2)
    charged(budgets, "three", at_s=86_401, captures=2)


def test_copies_cost_accelerators_times_minutes_and_captures_of_running_jobs_none() -> None:
    budgets = Budgets()
    charged(budgets, "one", gpus=8, gpu_minutes=100)
    with pytest.raises(Wait, match="80 of 100 GPU-minutes a day, and this copy may take 80"):
        charged(budgets, "two", at_s=700, gpus=8, gpu_minutes=100)
    charged(budgets, "live", at_s=700, gpu_minutes=100)
    budgets.until("a", "one", 60.0)
    charged(budgets, "two", at_s=700, gpus=8, gpu_minutes=100)


def test_the_fleet_has_a_budget_of_its_own() -> None:
    budgets = Budgets(Budget(captures=1))
    charged(budgets, "one")
    with pytest.raises(Wait, match="the fleet"):
        charged(budgets, "two", "b")


def test_a_budget_that_is_spent_stays_spent_when_the_operator_restarts(stage: Stage) -> None:
    stage.spec = replace(stage.spec, profiling=replace(stage.spec.profiling, budget=Budget(captures=2)))
    for attempt in (1, 2):
        stage.tick(600)
        assert stage.job.endswith(f"-a{attempt}")
        stage.cluster.becomes(stage.job, phase=JobPhase.FAILED, reason="JobFailed", message="", finished_at=stage.now_s)
        stage.tick()
    stage.restart()
    stage.tick(1200)
    assert stage.job.endswith("-a2")
    assert "its profile waits: BudgetSpent" in stage.holding("Ready").message
    stage.tick(DAY_S)
    assert stage.job.endswith("-a3")


def test_accelerators_that_copies_had_are_counted_after_a_restart_by_when_they_ended() -> None:
    before = Budgets()
    charged(before, "one", gpus=8)
    charged(before, "two", at_s=10, gpus=8)
    before.until("a", "two", 70.0)
    with pytest.raises(Wait, match="88 of 160 GPU-minutes a day, and this copy may take 80"):
        charged(after_restart(before, 700), "three", at_s=700, gpus=8, gpu_minutes=160)
    charged(after_restart(before, 700), "three", at_s=700, gpus=8, gpu_minutes=168)


def test_a_job_that_was_launched_before_the_restart_is_not_counted_twice() -> None:
    before = Budgets()
    charged(before, "one", captures=1)
    charged(after_restart(before, 60), "one", at_s=60, captures=1)


def test_the_fleet_counts_what_every_status_says_and_spends_nothing_before_they_are_read() -> None:
    before = Budgets()
    charged(before, "one", "a")
    charged(before, "two", "b")
    next_one = after_restart(before, 100.0, Budget(captures=2), "ab")
    with pytest.raises(Wait, match="started less than") as early:
        charged(next_one, "three", "c", 110.0)
    assert (early.value.reason, early.value.until_s) == ("ProfilingQueued", 100.0 + RECALL_S)
    with pytest.raises(Wait, match="the fleet is spent: 2 of 2"):
        charged(next_one, "three", "c", 100.0 + RECALL_S)


def test_without_a_budget_of_the_fleet_nothing_waits_for_the_statuses() -> None:
    budgets = Budgets()
    budgets.begin(100.0)
    charged(budgets, "one", at_s=100.0, captures=1)


def test_the_status_says_what_was_launched_within_the_day(stage: Stage) -> None:
    stage.tick()
    launched_s, deadline_s = stage.now_s, stage.spec.profiling.deadline_s
    assert stage.status.launches == (Launch(stage.job, launched_s, launched_s + deadline_s, 0),)
    stage.cluster.becomes(stage.job, phase=JobPhase.RUNNING, node="node-1")
    stage.tick()
    stage.finish(stage.job, worlds.FAST_STEP)
    finished_s = stage.now_s
    stage.tick()
    assert stage.status.launches == (Launch(stage.job, launched_s, finished_s, 0),)
    stage.tick(DAY_S)
    assert not stage.status.launches


def test_launches_that_no_operator_wrote_count_for_nothing() -> None:
    now_s, budgets = 10 * DAY_S, Budgets(Budget(gpu_minutes=1))
    budgets.recall(
        "a",
        (
            launch("ancient", 0.0),
            launch("tomorrow", now_s + DAY_S),
            launch("enormous", now_s - 60, 1_000_000),
            launch("negative", now_s - 60, -8),
            Launch("endless", now_s - 60, now_s + 9 * DAY_S, 8),
        ),
        now_s,
    )
    assert budgets.launched("a", now_s) == ()


def test_a_status_keeps_as_many_launches_as_fit_the_newest() -> None:
    budgets = Budgets()
    for number in range(MOST_LAUNCHES + 2):
        charged(budgets, f"job-{number:02}", at_s=float(number))
    kept = budgets.launched("a", 100.0)
    assert (len(kept), kept[0].job, kept[-1].job) == (MOST_LAUNCHES, "job-02", f"job-{MOST_LAUNCHES + 1}")


def test_what_ended_by_either_account_has_ended() -> None:
    budgets, ended = Budgets(), replace(launch("one", gpus=1), ends_at=30.0)
    budgets.recall("a", (launch("one", gpus=1),), 60.0)
    budgets.recall("a", (ended,), 60.0)
    budgets.recall("a", (launch("one", gpus=1),), 60.0)
    assert budgets.launched("a", 60.0) == (ended,)
