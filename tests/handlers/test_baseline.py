"""The timer of a TrainingBaseline: what it writes, what it tells, and when it keeps still."""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, cast

import kopf
import pytest

from mfu_operator.api.group import GROUP_VERSION, KIND
from mfu_operator.errors import Retry
from mfu_operator.handlers.baseline import heard
from mfu_operator.handlers.probes import STUCK_S, LoopStoppedError, SweepStoppedError, sweep_is_alive
from mfu_operator.handlers.shell import Shell
from mfu_operator.model.condition import Event
from mfu_operator.model.vitals import Ailment, Symptom
from mfu_operator.process import telemetry
from mfu_operator.process.leader import Leader
from mfu_operator.process.reconciler import Reconciler
from mfu_operator.settings import Settings
from tests.support import worlds
from tests.support.adapters_double import Stage
from tests.support.stored_object import stored_object

watched = cast(Callable[..., Coroutine[Any, Any, None]], heard)
probed = cast(Callable[..., str], sweep_is_alive)
"""The handlers with the arguments that they use: kopf declares that it gives them some twenty."""


class LeaseDouble:
    """Held or not, as it was told."""

    def __init__(self, held: bool = True) -> None:
        self.held = held

    def hold(self, now_s: float) -> bool:
        return self.held

    def release(self) -> None:
        self.held = False


class Bench:
    """The loop with everything behind it in memory, and the object as the API server stores it."""

    def __init__(self, held: bool = True) -> None:
        self.stage = Stage()
        self.leader = Leader(LeaseDouble(held), time.time, lost=lambda: None)
        self.leader.renew()
        self.reconciler = Reconciler(self.stage.adapters, worlds.DEFAULTS, lambda: self.leader.acting, 15.0)
        self.shell = Shell(Settings(), self.stage.adapters, self.leader, self.reconciler)
        self.memo = kopf.Memo(shell=self.shell)
        self.object = stored_object()
        self.stage.cluster.baselines["team-a", "gpt-small"] = self.object

    def happens(self, kind: str | None = None) -> None:
        """The watch tells of the object as it is stored."""
        event = {"type": kind, "object": json.loads(json.dumps(self.object))}
        asyncio.run(watched(event=event, memo=self.memo))

    def edit(self, spec: dict[str, Any]) -> None:
        """A person changes the spec."""
        metadata = self.object["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)
        if spec != self.object["spec"]["baseline"]:
            metadata["generation"] += 1
            self.object["spec"]["baseline"] = spec

    def tick(self) -> dict[str, Any]:
        """A tick of the object as it is stored; what was written."""
        self.happens()
        self.stage.cluster.written.clear()
        if self.reconciler.takes_part():
            for member in self.reconciler.fleet.members():
                self.reconciler.reconcile(member)
        written = self.stage.cluster.written
        return {"status": written[-1]} if written else {}

    def conditions(self) -> dict[str, dict[str, Any]]:
        return {each["type"]: each for each in self.object["status"]["conditions"]}


def exported(family: str = "mfu_operator_verdict") -> set[str]:
    families = {each.name: each for each in telemetry.BASELINES.collect()}
    return {sample.labels["name"] for sample in families[family].samples}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_the_status_is_written_and_nothing_else_of_the_object(bench: Bench) -> None:
    assert list(bench.tick()) == ["status"]
    assert bench.conditions()["Ready"]["status"] == "True"
    assert bench.object["status"]["observedGeneration"] == 1


def test_a_tick_that_changes_nothing_patches_nothing(bench: Bench) -> None:
    bench.tick()
    bench.tick()
    assert bench.tick() == {}


def test_only_what_changed_is_patched(bench: Bench) -> None:
    bench.tick()
    bench.tick()
    assert bench.stage.sweep.says is not None
    bench.stage.sweep.says = replace(bench.stage.sweep.says, value=0.44, change=-0.043)
    assert bench.tick() == {
        "status": {
            "judgement": {"value": 0.44, "change": -0.043},
            "summary": {"reading": "0.440", "change": "−4.3%"},
        }
    }


def test_what_happened_is_told_as_events_on_the_object(bench: Bench) -> None:
    bench.tick()
    regarding, event = bench.stage.cluster.events[0]
    assert regarding == {
        "apiVersion": GROUP_VERSION,
        "kind": KIND,
        "namespace": "team-a",
        "name": "gpt-small",
        "uid": worlds.UID,
    }
    assert event.reason == "BaselineDeclared"


def test_an_event_that_cannot_be_posted_costs_nothing_but_itself(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(regarding: Mapping[str, Any], event: Event, name: str) -> None:
        raise Retry("ClusterUnreachable", "posting Event: 503")

    bench.stage.cluster.post = refuse  # type: ignore[method-assign]
    bench.tick()
    assert bench.conditions()["Ready"]["status"] == "True"
    assert "ClusterUnreachable" in caplog.text


def test_a_replica_that_does_not_lead_does_nothing() -> None:
    bench = Bench(held=False)
    assert bench.tick() == {}
    assert bench.stage.sweep.registered == {}
    assert bench.stage.cluster.events == []


def test_a_spec_that_cannot_be_read_is_stalled_once_and_left_alone(bench: Bench) -> None:
    bench.edit({"values": {"mfu": 46}})
    bench.tick()
    found = bench.conditions()
    assert set(found) == {"Ready", "Stalled"}
    assert (found["Stalled"]["status"], found["Stalled"]["reason"]) == ("True", "InvalidSpec")
    assert "write the ratio (0.46)" in found["Stalled"]["message"]
    assert found["Stalled"]["observedGeneration"] == bench.object["status"]["observedGeneration"] == 2
    assert bench.tick() == {}
    assert [event.reason for _, event in bench.stage.cluster.events] == ["InvalidSpec"]


def test_the_next_generation_is_read_again(bench: Bench) -> None:
    good = bench.object["spec"]["baseline"]
    bench.edit({"values": {"mfu": 46}})
    bench.tick()
    bench.edit(good)
    bench.tick()
    assert "Stalled" not in bench.conditions()
    assert bench.conditions()["Ready"]["observedGeneration"] == 3


def test_an_open_incident_outlives_a_spec_that_cannot_be_read(bench: Bench) -> None:
    bench.tick()
    bench.stage.sweep.says = worlds.regressed()
    bench.tick()
    opened = bench.object["status"]["incident"]["id"]
    bench.edit({"values": {"mfu": 46}})
    bench.tick()
    assert bench.object["status"]["incident"]["id"] == opened


def test_what_cannot_be_read_of_a_status_is_set_aside_told_and_obtained_anew(bench: Bench) -> None:
    bench.tick()
    bench.object["status"]["judgement"]["verdict"] = "Splendid"
    bench.edit(bench.object["spec"]["baseline"])
    bench.tick()
    bench.tick()
    assert bench.object["status"]["judgement"]["verdict"] == "Healthy"
    assert "Splendid" in bench.conditions()["StatusUnreadable"]["message"]
    assert bench.conditions()["Ready"]["reason"] == "Measuring"
    assert [event.reason for _, event in bench.stage.cluster.events].count("StatusUnreadable") == 1


def test_a_deleted_baseline_is_measured_no_longer_and_exports_nothing(bench: Bench) -> None:
    bench.tick()
    bench.happens("DELETED")
    assert bench.stage.sweep.registered == {}
    assert len(bench.reconciler.fleet) == 0
    assert "gpt-small" not in exported()


def test_symptoms_are_exported_while_they_are_there() -> None:
    def exported() -> set[tuple[str, str]]:
        samples = (sample for each in telemetry.BASELINES.collect() for sample in each.samples)
        return {(sample.name, sample.labels["reason"]) for sample in samples if "reason" in sample.labels}

    leak = Symptom(Ailment.HOST_MEMORY_LEAK, "full", 1.0, 0.9, "gpt-0", full_at=2.0)
    telemetry.show(worlds.IDENTITY, worlds.judgement())
    telemetry.ails(worlds.IDENTITY, (leak, Symptom(Ailment.HUNG, "still", 1.0, 700.0)))
    assert exported() == {
        ("mfu_operator_symptom", "HostMemoryLeak"),
        ("mfu_operator_symptom", "Hung"),
        ("mfu_operator_memory_full_timestamp_seconds", "HostMemoryLeak"),
    }
    telemetry.ails(worlds.IDENTITY, (leak,))
    assert ("mfu_operator_symptom", "Hung") not in exported()
    telemetry.forget(worlds.UID)
    assert exported() == set()


def test_a_replica_that_lost_the_lease_exports_no_baseline_any_more(bench: Bench) -> None:
    bench.tick()
    bench.leader.stop()
    assert bench.tick() == {}
    assert "gpt-small" not in exported()


def counted(reason: str) -> float:
    samples = [sample for metric in telemetry.FAILURES.collect() for sample in metric.samples]
    named = [each.value for each in samples if each.labels.get("reason") == reason and each.name.endswith("_total")]
    return sum(named)


def test_a_standing_failure_is_counted_when_it_is_noted_and_not_at_every_tick(bench: Bench) -> None:
    before = counted("PrometheusUnreachable")
    bench.stage.sweep.problem = Retry("PrometheusUnreachable", "is the address right?")
    for _ in range(3):
        bench.tick()
    assert counted("PrometheusUnreachable") == before + 1
    bench.stage.sweep.problem = None
    bench.tick()
    bench.stage.sweep.problem = Retry("PrometheusUnreachable", "is the address right?")
    bench.tick()
    assert counted("PrometheusUnreachable") == before + 2


def test_a_failed_step_is_counted_once_per_attempt(bench: Bench) -> None:
    before = counted("ClusterRefused")

    def refuse(manifest: object) -> None:
        raise Retry("ClusterRefused", "no")

    bench.stage.cluster.ensure_job = refuse  # type: ignore[method-assign]
    for _ in range(3):
        bench.tick()
    assert counted("ClusterRefused") == before + 1


def test_a_baseline_that_was_deleted_before_it_was_judged_is_let_go(bench: Bench) -> None:
    bench.stage.sweep.says = None
    bench.tick()
    bench.happens("DELETED")


@pytest.mark.parametrize(("age_s", "alive"), [(None, True), (10.0, True), (299.0, True), (301.0, False)])
def test_a_process_whose_sweep_has_stopped_is_not_alive(bench: Bench, age_s: float | None, alive: bool) -> None:
    bench.stage.sweep.finished_s = None if age_s is None else time.monotonic() - age_s
    if alive:
        assert probed(memo=bench.memo)
    else:
        with pytest.raises(SweepStoppedError):
            probed(memo=bench.memo)


@pytest.mark.parametrize(("age_s", "alive"), [(10.0, True), (301.0, False)])
def test_a_first_sweep_that_never_ends_is_not_starting_for_ever(bench: Bench, age_s: float, alive: bool) -> None:
    bench.stage.sweep.started_s = time.monotonic() - age_s
    if alive:
        assert "first sweep" in probed(memo=bench.memo)
    else:
        with pytest.raises(SweepStoppedError, match="first sweep has not ended"):
            probed(memo=bench.memo)


def test_a_sweep_whose_thread_has_ended_is_not_alive_whatever_it_did_before(bench: Bench) -> None:
    bench.stage.sweep.finished_s, bench.stage.sweep.alive = time.monotonic(), False
    with pytest.raises(SweepStoppedError, match="thread has ended"):
        probed(memo=bench.memo)


def test_a_process_in_which_no_tick_ends_is_not_alive(bench: Bench) -> None:
    bench.tick()
    later_s = time.monotonic() + 100.0
    bench.reconciler.steady = lambda: later_s
    bench.reconciler.fleet.begin(later_s, 1, 1)
    bench.reconciler._moved_s = later_s
    assert probed(memo=bench.memo)
    bench.reconciler.steady = lambda: later_s + STUCK_S + 1.0
    with pytest.raises(LoopStoppedError, match="no tick has ended"):
        probed(memo=bench.memo)
