"""Who is ticked when: at once where something is new, seldom where nothing is."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.api import status as codec
from mfu_operator.cycle.profiling.slots import ProfilingSlot
from mfu_operator.errors import Retry
from mfu_operator.model.baseline import Comparable, Provenance, WorkloadRef
from mfu_operator.model.verdict import Gate, Verdict
from mfu_operator.model.vitals import Ailment, Symptom
from mfu_operator.model.workload import Workload
from mfu_operator.process import telemetry
from mfu_operator.process.fleet import CONFIRM_S, REST_S, Member
from mfu_operator.process.membership import HISTORIES_S
from mfu_operator.process.reconciler import Reconciler
from mfu_operator.process.ticking import LONGEST_WAIT_S
from tests.support import worlds
from tests.support.adapters_double import INTERVAL_S, Stage
from tests.support.stored_object import stored_object


class Operator:
    """The loop on a stage, with clocks that are moved by hand, the wall clock being off by `set_by_s`; `looks` counts
    how often the workload was read."""

    def __init__(self, profiling: str = "Never") -> None:
        self.stage = Stage()
        self.now_s, self.set_by_s = worlds.NOW_S, 0.0
        self.held = True
        self.looks = 0
        self._counted = self.stage.cluster.workload
        self.stage.cluster.workload = self._workload  # type: ignore[method-assign]
        self.object = stored_object(profiling={"mode": profiling})
        self.stage.cluster.baselines["team-a", "gpt-small"] = self.object
        self.loop = self.another()

    def another(self) -> Reconciler:
        """The operator's process after a restart."""
        telemetry.forget_all()
        return Reconciler(
            self.stage.adapters,
            worlds.DEFAULTS,
            lambda: self.held,
            INTERVAL_S,
            clock=lambda: self.now_s + self.set_by_s,
            steady=lambda: self.now_s,
        )

    def _workload(self, ref: WorkloadRef) -> Workload | None:
        self.looks += 1
        return self._counted(ref)

    def told(self) -> None:
        """The watch tells of the object as it is stored."""
        self.loop.saw(json.loads(json.dumps(self.object)))

    def touch(self, **spec: Any) -> None:
        """A person changes the spec, or (without one) something that is no part of it."""
        metadata = self.object["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)
        metadata["generation"] += bool(spec)
        self.object["spec"].update(spec)
        self.told()

    def beat(self, after_s: float = 0.0, swept: bool = False) -> int:
        """A moment later; how many ticks it brought."""
        self.now_s += after_s
        if swept:
            self.stage.sweep.finished_s = self.now_s
            self.loop.listen()
        if not self.loop.takes_part():
            return 0
        due = self.loop.fleet.begin(self.now_s, 16, 16)
        for member in due:
            self.loop.ticked(member)
            if self.stage.cluster.baselines:
                self.told()
        return len(due)

    def rest(self) -> None:
        """Until nothing is left to be found out."""
        self.told()
        self.beat()
        for _ in range(6):
            self.beat(INTERVAL_S)
        self.looks = 0

    @property
    def member(self) -> Member:
        (member,) = self.loop.fleet.members()
        return member


@pytest.fixture
def operator() -> Operator:
    return Operator()


def test_a_baseline_at_rest_is_looked_at_every_ten_minutes(operator: Operator) -> None:
    operator.rest()
    ticks = sum(operator.beat(INTERVAL_S, swept=True) for _ in range(int(3600 / INTERVAL_S)))
    assert 6 <= ticks <= 7
    assert operator.looks == ticks


def test_what_the_readings_newly_say_brings_a_tick_at_once(operator: Operator) -> None:
    operator.rest()
    assert operator.stage.sweep.says is not None
    operator.stage.sweep.says = replace(operator.stage.sweep.says, evidence_s=61.0)
    assert operator.beat(1.0, swept=True) == 1
    assert operator.object["status"]["judgement"]["evidenceSeconds"] == 61.0
    assert operator.beat(1.0, swept=True) == 0


@pytest.mark.parametrize("news", ["run", "problem", "symptom", "job on the node"])
def test_so_does_what_is_not_in_the_judgement(operator: Operator, news: str) -> None:
    operator.rest()
    if news == "run":
        operator.stage.sweep.runs = "b"
    elif news == "problem":
        operator.stage.sweep.problem = Retry("PrometheusUnreachable", "is the address right?")
    elif news == "symptom":
        operator.stage.sweep.ails = (Symptom(Ailment.HUNG, "still", 1.0, 700.0),)
    else:
        stay = ProfilingSlot("another", "node-1", operator.now_s, operator.now_s + 60)
        operator.stage.adapters.slots.note("ns/job", stay, operator.now_s)
    assert operator.beat(1.0, swept=True) == 1
    assert operator.beat(1.0, swept=True) == 0


def test_a_changed_spec_is_looked_at_at_once(operator: Operator) -> None:
    operator.rest()
    operator.touch(suspend=True)
    assert operator.beat() == 1
    assert operator.object["status"]["observedGeneration"] == 2


def test_our_own_write_calls_for_nothing(operator: Operator) -> None:
    operator.rest()
    operator.told()
    assert operator.beat() == 0


def test_what_the_watch_tells_late_is_not_taken_for_new(operator: Operator) -> None:
    operator.told()
    early = json.loads(json.dumps(operator.object))
    operator.rest()
    before = operator.member.seen.stored
    operator.loop.saw(early)
    assert operator.member.seen.stored == before


def test_a_status_that_somebody_else_wrote_is_looked_at(operator: Operator) -> None:
    operator.rest()
    operator.object["status"] = {}
    operator.touch()
    assert operator.beat() == 1
    assert operator.object["status"]["judgement"]["verdict"] == "Healthy"


def test_after_a_restart_everything_is_measured_before_anything_is_looked_at(operator: Operator) -> None:
    operator.rest()
    operator.loop = operator.another()
    operator.stage.sweep.registered.clear()
    operator.told()
    assert operator.beat() == 0
    level = operator.stage.sweep.registered[worlds.UID]["baseline"]
    assert level is not None
    assert level.level.mfu == 0.46
    assert operator.beat(1.0, swept=True) == 0
    assert sum(operator.beat(INTERVAL_S, swept=True) for _ in range(int(REST_S / INTERVAL_S))) == 1


@pytest.fixture
def restarted(operator: Operator) -> Operator:
    """With an incident open, and its history not read yet."""
    operator.rest()
    operator.stage.sweep.says = worlds.regressed()
    operator.beat(1.0, swept=True)
    operator.loop = operator.another()
    operator.stage.sweep.fills = False
    operator.told()
    assert operator.beat() == 0
    return operator


def test_what_was_in_progress_at_a_restart_is_looked_at_once_its_history_is_read(restarted: Operator) -> None:
    assert restarted.beat(1.0, swept=True) == 0
    restarted.stage.sweep.fills = True
    assert restarted.beat(1.0, swept=True) == 1


def test_a_job_under_way_at_a_restart_is_looked_at_within_a_minute() -> None:
    operator = Operator(profiling="Auto")
    operator.told()
    operator.beat()
    assert operator.stage.cluster.jobs
    operator.loop = operator.another()
    operator.told()
    operator.beat()
    assert operator.beat(HISTORIES_S) == 1


def test_a_source_that_has_a_problem_holds_up_no_look_after_a_restart(restarted: Operator) -> None:
    restarted.stage.sweep.problem = Retry("PrometheusUnreachable", "is the address right?")
    assert restarted.beat(1.0, swept=True) == 1


def test_a_sweep_that_does_not_end_holds_up_no_look_for_longer_than_a_minute(restarted: Operator) -> None:
    assert restarted.beat(HISTORIES_S - 1) == 0
    assert restarted.beat(1.0) == 1


def test_a_spec_that_was_changed_while_nobody_ran_is_looked_at_at_once(restarted: Operator) -> None:
    restarted.loop = restarted.another()
    restarted.touch(suspend=True)
    assert restarted.beat() == 1


def test_what_changed_while_nobody_ran_is_found_with_the_first_sweep(operator: Operator) -> None:
    operator.rest()
    operator.loop = operator.another()
    operator.told()
    operator.beat()
    operator.stage.sweep.says = worlds.judgement(Verdict.HEALTHY, gates=(Gate.CHECKPOINT,))
    assert operator.beat(1.0, swept=True) == 1


@pytest.mark.parametrize("baseline", [{"values": {"mfu": 0.46}}, {"record": {}}], ids=["declared", "recording"])
def test_what_stands_in_the_way_is_looked_for_ever_more_seldom(operator: Operator, baseline: dict[str, Any]) -> None:
    operator.object["spec"]["baseline"] = baseline
    operator.told()
    operator.beat()
    operator.stage.cluster.workloads.clear()
    operator.beat(INTERVAL_S)
    ticks = [operator.beat(INTERVAL_S, swept=True) for _ in range(int(3600 / INTERVAL_S))]
    assert ticks[:2] == [1, 1]
    assert 3600 / LONGEST_WAIT_S <= sum(ticks) <= 3600 / LONGEST_WAIT_S + 6


def test_a_baseline_that_was_deleted_unseen_is_let_go(operator: Operator) -> None:
    operator.rest()
    operator.stage.cluster.baselines.clear()
    operator.beat(CONFIRM_S + 1)
    assert len(operator.loop.fleet) == 0
    assert operator.stage.sweep.registered == {}


def test_so_is_one_that_is_gone_when_its_status_is_written(operator: Operator) -> None:
    operator.rest()
    operator.stage.cluster.baselines.clear()
    operator.stage.sweep.says = worlds.regressed()
    operator.beat(1.0, swept=True)
    assert len(operator.loop.fleet) == 0


def test_a_replica_that_takes_over_measures_what_it_has_heard_of(operator: Operator) -> None:
    operator.held = False
    operator.told()
    assert operator.beat() == 0
    assert operator.stage.sweep.registered == {}
    operator.held = True
    assert operator.beat() == 1
    assert operator.stage.sweep.registered != {}


def test_after_a_restart_histories_too_are_held_against_what_the_job_was_while_its_level_was_recorded(
    operator: Operator,
) -> None:
    observed = Comparable("gpt-small", global_batch=256)
    level = replace(
        worlds.BASELINE, provenance=Provenance.RECORDED, comparable=Comparable("gpt-small"), observed=observed
    )
    operator.object["spec"]["baseline"] = {"record": {}}
    operator.object["status"] = codec.encode(replace(worlds.SETTLED, baseline=level))
    operator.told()
    operator.loop.takes_part()
    assert operator.stage.sweep.registered[worlds.UID]["spec"].comparable == observed


def test_a_tick_that_cannot_write_is_tried_again(operator: Operator) -> None:
    operator.rest()
    operator.stage.sweep.says = worlds.regressed()
    operator.loop.listen()
    (member,) = operator.loop.fleet.begin(operator.now_s, 16, 16)
    operator.stage.cluster.fails = Retry("ClusterUnreachable", "503")
    operator.loop.ticked(member)
    operator.stage.cluster.fails = None
    assert operator.beat(INTERVAL_S) == 1
    assert operator.object["status"]["incident"]["signal"] == "mfu"


def test_a_job_of_another_baseline_on_the_same_node_is_seen_while_at_rest(operator: Operator) -> None:
    operator.rest()
    assert operator.member.nodes == {"node-1"}


def test_a_baseline_with_a_pod_without_a_node_is_not_disturbed_by_a_job_without_one(operator: Operator) -> None:
    stay = ProfilingSlot("another", None, operator.now_s - 600.0, operator.now_s + 600.0)
    operator.stage.adapters.slots.note("ns/job", stay, operator.now_s)
    found = worlds.workload(pods=(worlds.pod(), worlds.pod(None, name="gpt-small-y", node=None, phase="Pending")))
    operator.stage.cluster.workloads["Job", "team-a", "gpt-small"] = found
    operator.told()
    operator.beat()
    assert operator.stage.sweep.registered[worlds.UID]["gated"] == {Gate.PROFILING: ()}


@pytest.mark.parametrize("set_by_s", [-3600.0, 3600.0])
def test_a_clock_that_is_set_changes_nothing_of_who_is_due(operator: Operator, set_by_s: float) -> None:
    operator.rest()
    operator.set_by_s = set_by_s
    ticks = sum(operator.beat(INTERVAL_S) for _ in range(int(3600 / INTERVAL_S)))
    assert 6 <= ticks <= 7
    operator.touch(suspend=True)
    assert operator.beat() == 1


def test_what_the_sweep_finds_while_a_tick_runs_brings_another() -> None:
    """The loop compares with what the tick went by, and not with what was known when it ended."""
    operator = Operator(profiling="Auto")
    launch = operator.stage.cluster.ensure_job

    def restarts_meanwhile(manifest: Mapping[str, Any]) -> None:
        operator.stage.sweep.runs = "b"
        launch(manifest)

    operator.stage.cluster.ensure_job = restarts_meanwhile  # type: ignore[method-assign]
    operator.told()
    operator.beat()
    while operator.stage.sweep.runs == "a":
        operator.beat(INTERVAL_S)
    assert operator.beat(1.0, swept=True) == 1
