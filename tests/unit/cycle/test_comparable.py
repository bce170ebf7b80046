"""A job that is changed under its baseline, from its pod template or labels to the verdict: real tick and sweep."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.measure.sweep import Sweep
from mfu_operator.model.baseline import BaselineSpec, Comparable, Level, RecordPlan, Signal
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Verdict
from mfu_operator.model.workload import Workload
from tests.support import worlds
from tests.support.adapters_double import Stage
from tests.support.metrics_double import MetricsDouble, SourcesDouble

MODEL_ALONE = Comparable("gpt-small")
RECORDED = replace(
    worlds.spec(), declared=None, declared_spread=None, record=RecordPlan(1200.0, 60.0), comparable=MODEL_ALONE
)
DECLARED = replace(worlds.spec(), comparable=MODEL_ALONE)
INFO = {
    "gpu": "NVIDIA H100 80GB HBM3",
    "world_size": "64",
    "sequence_length": "4096",
    "precision": "bf16",
    "parallelism": "tp8",
}


class Job(Stage):
    """A job that says of itself what `info` and its template hold."""

    def __init__(self, spec: BaselineSpec) -> None:
        super().__init__(spec)
        self.source = MetricsDouble()
        self.info: Mapping[str, str] = INFO
        self.speed = 0.46
        self.measuring = Sweep(SourcesDouble(self.source), lambda: self.now_s, 30.0)
        self.adapters = replace(self.adapters, sweep=self.measuring)
        self.runs_with(gpus="8", batch="256")

    def runs_with(self, gpus: str, batch: str) -> None:
        resources = {"limits": {"nvidia.com/gpu": gpus}}
        trainer: dict[str, Any] = {"name": "train", "resources": resources, "args": ["--global-batch-size", batch]}
        key = "Job", "team-a", "gpt-small"
        found: Workload = self.cluster.workloads[key]
        self.cluster.workloads[key] = replace(found, template={"spec": {"containers": [trainer]}})

    def pass_time(self, minutes: float) -> None:
        for _ in range(round(minutes * 2)):
            self.tick()
            self.tick()
            self.source.add(worlds.REF, Reading(self.now_s, {Signal.MFU: self.speed}, incarnation="a", info=self.info))
            self.measuring.run_once()

    def said(self) -> tuple[Verdict, str, str]:
        judgement = self.status.judgement
        assert judgement is not None
        return judgement.verdict, judgement.reason, judgement.message


def test_a_recorded_level_knows_what_ran_although_nobody_declared_it() -> None:
    job = Job(RECORDED)
    job.pass_time(40)
    assert job.status.baseline is not None
    assert job.status.baseline.comparable == MODEL_ALONE
    assert job.status.baseline.observed == Comparable(
        "gpt-small", gpu="NVIDIA H100 80GB HBM3", gpu_count=8, world_size=64, global_batch=256, sequence_length=4096,
        precision="bf16", parallelism={"tp": 8},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("gpu", "NVIDIA A100-SXM4-80GB", "GPU NVIDIA A100-SXM4-80GB instead of NVIDIA H100 80GB HBM3"),
        ("world_size", "32", "world size 32 instead of 64"),
        ("sequence_length", "8192", "sequence length 8192 instead of 4096"),
        ("precision", "fp16", "precision fp16 instead of bf16"),
        ("parallelism", "tp4", "tp parallelism 4 instead of 8"),
        ("model", "gpt-large", "model gpt-large instead of gpt-small"),
    ],
)
def test_what_the_metrics_say_differently_is_not_comparable_and_no_loss(field: str, value: str, told: str) -> None:
    job = Job(RECORDED)
    job.pass_time(40)
    job.info, job.speed = {**INFO, field: value}, 0.3
    job.pass_time(60)
    assert job.said() == (Verdict.NOT_COMPARABLE, "ConfigurationDiffers", f"not the baseline's job: {told}")
    assert job.status.incident is None
    assert job.status.baseline is not None
    assert job.status.baseline.level == Level(mfu=0.46)
    job.info, job.speed = INFO, 0.46
    job.pass_time(20)
    assert job.said()[0] is Verdict.HEALTHY


@pytest.mark.parametrize(
    ("gpus", "batch", "told"),
    [("4", "256", "GPUs per pod 4 instead of 8"), ("8", "512", "global batch 512 instead of 256")],
)
def test_what_the_object_says_differently_is_not_comparable_and_no_loss(gpus: str, batch: str, told: str) -> None:
    job = Job(RECORDED)
    job.pass_time(40)
    job.runs_with(gpus, batch)
    job.speed = 0.3
    job.pass_time(60)
    assert job.said() == (Verdict.NOT_COMPARABLE, "ConfigurationDiffers", f"not the baseline's job: {told}")
    assert job.status.incident is None


def test_the_status_names_what_differs_now_and_not_what_differed_first() -> None:
    job = Job(RECORDED)
    job.pass_time(40)
    job.info = {**INFO, "precision": "fp16"}
    job.pass_time(5)
    job.info = {**INFO, "world_size": "32"}
    job.pass_time(5)
    assert job.said()[2] == "not the baseline's job: world size 32 instead of 64"
    ready = job.condition("Ready")
    assert ready is not None
    assert ready.message.startswith(f"{job.said()[2]} (")


def test_another_generation_is_recorded_from_what_runs_then() -> None:
    job = Job(RECORDED)
    job.pass_time(40)
    job.runs_with("8", "512")
    job.speed = 0.3
    job.pass_time(5)
    again = RecordPlan(1200.0, 60.0, generation=2, reason="twice the batch, on purpose")
    job.edit(lambda spec: replace(spec, record=again))
    job.pass_time(40)
    status = job.status
    assert status.baseline is not None
    assert status.baseline.observed is not None
    assert status.baseline.observed.global_batch == 512
    assert status.previous_baselines[0].observed is not None
    assert status.previous_baselines[0].observed.global_batch == 256
    assert job.said()[0] is Verdict.HEALTHY


def test_of_a_level_that_a_person_declared_only_what_is_declared_is_compared() -> None:
    job = Job(DECLARED)
    job.pass_time(20)
    job.runs_with("4", "512")
    job.pass_time(20)
    assert job.said()[0] is Verdict.HEALTHY


def test_a_declared_level_that_a_person_lowers_is_no_recovery() -> None:
    job = Job(DECLARED)
    job.pass_time(30)
    job.speed = 0.38
    job.pass_time(25)
    assert job.incident.baseline_value == 0.46
    job.told.clear()
    job.edit(lambda spec: replace(spec, declared=Level(mfu=0.38)))
    job.pass_time(30)
    assert job.said()[0] is Verdict.HEALTHY
    assert {"BaselineDeclared", "LossAccepted"} <= set(job.reasons())
    assert "Recovered" not in job.reasons()
    (past,) = job.status.history
    assert (past.recovery, past.accepted) == (None, "spec.baseline.values declares another level")
    assert job.status.previous_baselines[0].level == Level(mfu=0.46)


def test_a_declared_level_that_a_person_raises_begins_the_loss_anew() -> None:
    job = Job(DECLARED)
    job.pass_time(30)
    job.speed = 0.38
    job.pass_time(25)
    job.edit(lambda spec: replace(spec, declared=Level(mfu=0.50)))
    job.pass_time(25)
    assert job.incident.baseline_value == 0.50
    assert len(job.status.history) == 1


def test_another_spread_of_the_same_level_leaves_the_incident_open() -> None:
    job = Job(DECLARED)
    job.pass_time(30)
    job.speed = 0.38
    job.pass_time(25)
    incident = job.incident
    job.edit(lambda spec: replace(spec, declared_spread=replace(worlds.BASELINE.spread, within=0.006)))
    job.pass_time(5)
    assert job.incident.id == incident.id


def test_a_level_that_is_to_be_recorded_in_place_of_a_declared_one_is_no_recovery() -> None:
    job = Job(DECLARED)
    job.pass_time(30)
    job.speed = 0.38
    job.pass_time(25)
    job.told.clear()
    job.edit(lambda spec: replace(spec, declared=None, declared_spread=None, record=RECORDED.record))
    job.pass_time(40)
    assert job.status.baseline is not None
    assert job.status.baseline.level.mfu == pytest.approx(0.38)
    assert "Recovered" not in job.reasons()
    assert job.status.history[0].accepted == "the level is to be recorded"
