"""What is wrong with a run that is not slow, from the tick that sees it to the one that sees it gone."""

from dataclasses import replace

from mfu_operator.model.vitals import Ailment, Symptom
from tests.support import worlds
from tests.support.adapters_double import Stage

LEAK = Symptom(
    Ailment.MEMORY_LEAK,
    "device memory … full at 18:40",
    worlds.NOW_S,
    0.8,
    "gpt-small-x",
    full_at=worlds.NOW_S + 36_000,
)
LOST = Symptom(Ailment.LOSS_NOT_FINITE, "the loss of gpt-small-x is NaN", worlds.NOW_S, 7.0, "gpt-small-x")


def test_a_symptom_is_a_condition_an_event_and_the_verdict_and_nothing_else(stage: Stage) -> None:
    stage.settle()
    stage.sweep.ails = (LOST, LEAK)
    stage.ticks(5)
    lost, creeping = stage.condition("NotLearning"), stage.condition("MemoryCreeping")
    assert lost is not None
    assert (lost.status, lost.reason) == ("True", "LossNotFinite")
    assert lost.message.startswith(f"{LOST.message} (")
    assert creeping is not None
    assert creeping.reason == "MemoryLeak"
    assert stage.stored["summary"]["verdict"] == "LossNotFinite"
    assert stage.reasons()[-2:] == ["LossNotFinite", "MemoryLeak"]
    assert stage.status.incident is None
    assert (len(stage.cluster.jobs), stage.forge.pulls) == (1, [])
    ready = stage.condition("Ready")
    assert ready is not None
    assert ready.status == "True"


def test_a_symptom_that_goes_takes_its_condition_with_it(stage: Stage) -> None:
    stage.settle()
    stage.sweep.ails = (LOST,)
    stage.tick()
    stage.sweep.ails = ()
    stage.tick()
    assert stage.condition("NotLearning") is None
    assert stage.reasons()[-1] == "SymptomGone"
    assert stage.stored["summary"]["verdict"] == "Healthy"


def test_a_symptom_that_hardly_moves_is_not_written_again(stage: Stage) -> None:
    stage.settle()
    stage.sweep.ails = (LEAK,)
    stage.tick()
    before = stage.stored["symptoms"]
    stage.sweep.ails = (replace(LEAK, message="other words", measured=0.81, full_at=worlds.NOW_S + 34_000),)
    stage.tick()
    assert stage.stored["symptoms"] == before
    stage.sweep.ails = (replace(LEAK, message="soon", since_at=worlds.NOW_S + 9, full_at=worlds.NOW_S + 9_000),)
    stage.tick()
    assert stage.stored["symptoms"] != before
    assert stage.status.symptoms[0].since_at == LEAK.since_at


def test_after_a_restart_a_symptom_stays_until_more_is_known(stage: Stage) -> None:
    stage.settle()
    stage.sweep.ails = (LOST,)
    stage.tick()
    stage.restart()
    stage.sweep.ails = None
    stage.tick()
    assert stage.condition("NotLearning") is not None
    stage.sweep.ails = (LOST,)
    stage.tick()
    assert stage.reasons().count("LossNotFinite") == 1


def symptoms(stage: Stage) -> tuple[Symptom, ...]:
    return stage.status.symptoms


def test_a_symptom_ends_with_its_workload_and_with_suspension(stage: Stage) -> None:
    stage.settle()
    stage.sweep.ails = (LOST,)
    stage.tick()
    stage.edit(lambda spec: replace(spec, suspend=True))
    stage.tick()
    assert symptoms(stage) == ()
    stage.edit(lambda spec: replace(spec, suspend=False))
    stage.tick()
    assert symptoms(stage) == (LOST,)
    stage.cluster.workloads.clear()
    stage.tick()
    assert symptoms(stage) == ()


def test_a_regression_is_said_before_a_symptom_and_both_are_told(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.sweep.ails = (LEAK,)
    stage.explain()
    assert stage.stored["summary"]["verdict"] == "Regressed"
    assert stage.condition("MemoryCreeping") is not None
    assert stage.holding("Regressed").status == "True"
