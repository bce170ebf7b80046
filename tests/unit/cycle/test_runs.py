"""Runs that are submitted again under another name: the newest is judged, and the baseline goes on."""

from dataclasses import replace

import pytest

from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.workload import Workload
from tests.support import worlds
from tests.support.adapters_double import Stage

APP = (("app", "gpt"),)


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.spec = replace(made.spec, workload=replace(worlds.REF, name="", selector=APP))
    made.cluster.followed[APP] = [run("gpt-1")]
    return made


def run(name: str) -> Workload:
    return replace(worlds.workload(), name=name)


def judged(stage: Stage) -> WorkloadRef:
    return stage.adapters.sweep.registered[stage.identity.uid]["spec"].workload  # type: ignore[attr-defined, no-any-return]


def test_the_run_that_is_judged_is_named(stage: Stage) -> None:
    stage.tick()
    ready = stage.holding("Ready")
    assert (ready.status, ready.reason) == ("True", "Measuring")
    assert "run gpt-1" in ready.message
    assert judged(stage).name == "gpt-1"


def test_a_new_run_is_followed_and_the_configuration_is_the_same(stage: Stage) -> None:
    stage.settle()
    before = stage.status
    stage.cluster.followed[APP] = [replace(run("gpt-2"), earlier_runs=("gpt-1",))]
    stage.tick()
    assert (judged(stage).name, judged(stage).earlier) == ("gpt-2", ("gpt-1",))
    assert stage.status.configuration == before.configuration
    assert stage.status.healthy_profile == before.healthy_profile
    assert "ConfigurationChanged" not in stage.reasons()


def test_several_active_runs_are_told(stage: Stage) -> None:
    stage.cluster.followed[APP] = [run("gpt-2"), run("gpt-1")]
    stage.tick()
    ready = stage.holding("Ready")
    assert (ready.status, ready.reason) == ("True", "SeveralRuns")
    assert "gpt-2, the newest of 2: gpt-1 is active as well" in ready.message


def test_before_the_first_run_the_labels_are_named(stage: Stage) -> None:
    stage.cluster.followed.clear()
    stage.tick()
    found = stage.holding("MeasurementFailed")
    assert found.reason == "WorkloadNotFound"
    assert "Job of pods with app=gpt" in found.message
