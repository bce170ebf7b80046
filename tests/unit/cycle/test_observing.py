"""What one look at the world sees, and what stands for what it could not see."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from mfu_operator.cycle.observe import observe
from mfu_operator.cycle.request_pacing import RequestPacing
from mfu_operator.detect.hardware import Ruling
from mfu_operator.errors import Retry, Stall, Wait
from mfu_operator.measure.view import SweepView
from mfu_operator.model.baseline import (
    ApplicationRef,
    Baseline,
    Comparable,
    MetricsSource,
    Provenance,
    RecordPlan,
    Remediation,
    SecretRef,
    Signal,
)
from mfu_operator.model.incident import Recording, Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Gate
from mfu_operator.model.vitals import Ailment, Symptom
from mfu_operator.reconcile.world import UNSEEN, Need, World
from tests.support import worlds
from tests.support.adapters_double import APPLICATION, Stage, SweepDouble, ViewDouble
from tests.support.delivery_double import DeliveryDouble
from tests.support.worlds import NOW_S, SETTLED, UID, spec

DOWN = Retry("ClusterUnreachable", "503")


def unseen(status: Status = SETTLED, **changes: Any) -> World:
    """A tick's world before anybody looked."""
    return replace(World(NOW_S, worlds.IDENTITY, spec(), status, worlds.DEFAULTS), **changes)


def seen(stage: Stage, status: Status = SETTLED, **changes: Any) -> World:
    return observe(stage.adapters, unseen(status, **changes), RequestPacing(15.0))[0]


def test_of_a_suspended_baseline_nothing_is_read_and_the_sweep_forgets_it() -> None:
    stage = Stage()
    seen(stage)
    assert list(stage.sweep.registered) == [UID]
    stage.cluster.fails = DOWN
    before = unseen(spec=replace(spec(), suspend=True))
    world, view = observe(stage.adapters, before, RequestPacing(15.0))
    assert (world, view) == (replace(before, symptoms=()), SweepView())
    assert stage.sweep.registered == {}


def test_a_workload_that_is_not_there_has_no_symptoms_and_nothing_else_is_looked_at() -> None:
    stage = Stage()
    stage.cluster.workloads.clear()
    stage.sweep.ails = None
    world = seen(stage)
    assert world.problem is not None
    assert (type(world.problem), world.problem.reason) == (Retry, "WorkloadNotFound")
    assert world.problem.message == (
        "there is no Job 'gpt-small' (batch/v1) in namespace 'team-a'; create it or correct spec.workload"
    )
    assert (world.symptoms, world.workload, world.source) == ((), None, UNSEEN)
    assert stage.sweep.registered == {}


def test_while_the_cluster_does_not_answer_the_symptoms_are_not_known_and_the_last_reading_is() -> None:
    stage = Stage()
    seen(stage)
    stage.sweep.held = (Reading(NOW_S - 20, {}), Reading(NOW_S - 5, {}))
    stage.cluster.fails = DOWN
    world, view = observe(stage.adapters, unseen(), RequestPacing(15.0))
    assert (world.problem, world.symptoms, world.judgement) == (DOWN, None, None)
    assert (world.last_reading_s, view.filled) == (NOW_S - 5, True)
    assert world.source is UNSEEN


def test_a_workload_whose_metrics_cannot_be_asked_for_is_followed_nevertheless() -> None:
    stage = Stage()
    asks = replace(spec(), metrics=MetricsSource(secret=SecretRef("prometheus")))
    stage.cluster.ensure_job({"metadata": {"namespace": "team-a", "name": "mfu-a2"}})
    awaited = replace(SETTLED, healthy_profile=replace(worlds.HEALTHY_PROFILE, job="mfu-a2", account=None))
    world = seen(stage, awaited, spec=asks)
    assert world.problem is not None
    assert world.problem.reason == "CredentialsMissing"
    assert (world.symptoms, world.judgement) == (None, None)
    assert world.workload is not None
    assert world.job == stage.cluster.jobs["team-a", "mfu-a2"]


def test_the_sweep_is_told_of_the_workload_its_secret_the_incident_and_the_profiles() -> None:
    stage = Stage()
    stage.cluster.secrets["team-a", "prometheus"] = {"token": "r3ad"}
    asks = replace(spec(), metrics=MetricsSource(secret=SecretRef("prometheus")))
    ended = replace(worlds.HEALTHY_PROFILE, node="node-1", finished_at=NOW_S - 3500)
    seen(stage, worlds.ailing(worlds.incident(), healthy_profile=ended), spec=asks)
    told = stage.sweep.registered[UID]
    assert told["credentials"] is not None
    assert told["credentials"].password == "r3ad"
    assert told["incident_since_s"] == worlds.ONSET_S
    assert told["gated"] == {Gate.PROFILING: ((NOW_S - 3600, NOW_S - 3500),)}
    assert (told["facts"] or {}).get("precision") is None
    assert told["facts"] is not None
    assert (told["baseline"], told["recording_since_s"]) == (worlds.BASELINE, None)


def test_where_labels_follow_runs_the_world_is_that_of_the_one_that_is_judged() -> None:
    stage = Stage()
    labels = (("app", "gpt"),)
    run = worlds.workload(name="gpt-2", earlier_runs=("gpt-1",))
    stage.cluster.followed[labels] = [run]
    world = seen(stage, spec=replace(spec(), workload=replace(worlds.REF, name="", selector=labels)))
    assert world.workload == replace(run, active_runs=("gpt-2",))
    assert (world.spec.workload.name, world.spec.workload.earlier) == ("gpt-2", ("gpt-1",))
    assert stage.sweep.registered[UID]["spec"].workload.name == "gpt-2"


@dataclass(frozen=True, slots=True)
class Asked(ViewDouble):
    """Says what it was asked to rule."""

    def ruling(self, node_of: Mapping[str, str] | None = None, usual_nodes: Collection[str] = ()) -> Ruling:
        return Ruling((), ("temperature",), (f"{node_of} {usual_nodes}",))


class Sweep(SweepDouble):
    """Shows one view whatever is registered."""

    shown: SweepView = SweepView()

    def view(self, key: str, now_s: float) -> SweepView:
        return self.shown


def showing(view: SweepView) -> Stage:
    stage = Stage()
    stage.sweep = sweep = Sweep()
    sweep.shown = view
    stage.adapters = replace(stage.adapters, sweep=sweep)
    return stage


NO_SERIES = Wait("NoSeries", "nothing yet")
AILS = (Symptom(Ailment.HUNG, "3 in an hour", NOW_S, 3.0),)
FULL = Asked(
    filled=True, judgement=worlds.regressed(), mismatches=("gpuCount 8, was 4",), symptoms=AILS, problem=NO_SERIES
)


def test_what_the_sweep_knows_is_in_the_world() -> None:
    world = seen(showing(FULL))
    assert (world.mismatches, world.symptoms, world.problem) == (FULL.mismatches, AILS, NO_SERIES)
    assert world.judgement == FULL.judgement
    assert (world.findings, world.unmeasured, world.supporting) == ((), (), ()), "nothing is to be explained"


@pytest.mark.parametrize(
    ("good", "usual"), [(worlds.KNOWN_GOOD, "('node-1',)"), (None, "()")], ids=["known nodes", "unknown nodes"]
)
def test_hardware_is_ruled_by_the_nodes_of_the_pods_and_those_of_the_good_run(good: Any, usual: str) -> None:
    stage = showing(FULL)
    pods = (worlds.pod(), worlds.pod(name="gpt-small-y", node=None))
    stage.cluster.workloads["Job", "team-a", "gpt-small"] = worlds.workload(pods=pods)
    world = seen(stage, worlds.ailing(worlds.incident(), known_good=good))
    assert world.supporting == (f"{{'gpt-small-x': 'node-1'}} {usual}",)
    assert world.unmeasured == ("temperature",)


def test_of_a_history_that_is_not_read_yet_only_the_problem_is_known() -> None:
    world = seen(showing(replace(FULL, filled=False)), worlds.ailing(worlds.incident()))
    assert (world.problem, world.judgement, world.symptoms, world.mismatches) == (NO_SERIES, None, None, ())
    assert world.supporting == ()
    assert world.workload is not None


PLAN = RecordPlan(duration_s=1200.0, warmup_s=60.0, runs=1)
RECORDS = replace(spec(), declared=None, declared_spread=None, record=PLAN, comparable=Comparable("gpt-small"))
SINCE_S = NOW_S - 2400
READINGS = tuple(
    Reading(SINCE_S + 15 * k, {Signal.MFU: 0.46 + 0.001 * (k % 3)}, Phase.RUNNING, float(k), "a", {"gpu_count": "8"})
    for k in range(160)
)
RECORDING = Status(1, recording=Recording(SINCE_S, 0.0, 1200.0, 1, 1))


def test_a_baseline_is_recorded_from_the_readings_and_says_of_what_job_it_is() -> None:
    made = seen(showing(SweepView(filled=True, readings=READINGS, latest=READINGS[-1])), RECORDING, spec=RECORDS)
    assert isinstance(made.recorded, Baseline)
    assert made.recorded.provenance is Provenance.RECORDED
    assert made.recorded.level.mfu == pytest.approx(0.461, abs=0.001)
    assert made.recorded.observed is not None
    assert (made.recorded.observed.model, made.recorded.observed.gpu_count) == ("gpt-small", 8)
    unknown = seen(showing(SweepView(filled=True, readings=READINGS)), RECORDING, spec=RECORDS)
    assert isinstance(unknown.recorded, Baseline)
    assert unknown.recorded.observed is not None


def test_readings_before_the_recording_began_are_none_of_it() -> None:
    view = SweepView(filled=True, readings=READINGS)
    late = Status(1, recording=Recording(NOW_S - 600, 0.0, 1200.0, 1, 1))
    world = seen(showing(view), late, spec=RECORDS)
    assert isinstance(world.recorded, Recording)
    assert 0 < world.recorded.collected_s < 600
    assert seen(showing(view), Status(1), spec=RECORDS).recorded == Recording(NOW_S, 0.0, 1200.0, 1, 1)


def test_the_recording_says_that_the_job_is_another_one() -> None:
    view = SweepView(filled=True, mismatches=("gpu A100", "gpuCount 4"))
    world = seen(showing(view), RECORDING, spec=RECORDS)
    assert isinstance(world.recorded, Recording)
    assert world.recorded.problem == "not the baseline's job: gpu A100; gpuCount 4"


def test_nothing_is_recorded_where_a_baseline_is_declared_or_recorded_already() -> None:
    view = SweepView(filled=True, readings=READINGS)
    assert seen(showing(view)).recorded is None
    assert seen(showing(view), SETTLED, spec=RECORDS).recorded is None


SOURCE = worlds.source(objects=({"kind": "Application"},))
HERE = ApplicationRef("Kustomization", "flux", "gpt")


def delivered(**changes: Any) -> Any:
    """The source that is seen where the team declares the remediation so."""
    stage = Stage()
    stage.delivery.sources[APPLICATION] = SOURCE
    return seen(stage, spec=replace(spec(), remediation=Remediation(**changes))).source


def test_the_source_is_the_application_s_but_for_what_the_team_declares() -> None:
    assert delivered() == SOURCE
    assert delivered(repository="https://git.example/x.git") == replace(SOURCE, repository="https://git.example/x.git")
    assert delivered(branch="release") == replace(SOURCE, branch="release")
    assert delivered(path="plain") == replace(SOURCE, path="plain", objects=())
    assert delivered(path="") == replace(SOURCE, path="", objects=())


def test_the_application_is_the_named_one_or_the_first_that_any_tool_knows() -> None:
    stage, flux = Stage(), DeliveryDouble({HERE: SOURCE})
    argo = stage.delivery
    stage.adapters = replace(stage.adapters, deliveries={"Kustomization": flux, "Application": argo})
    named = replace(spec(), remediation=Remediation(application=HERE))
    assert seen(stage, spec=named).source == SOURCE
    place = ("Job", "team-a", "gpt-small")
    stage.cluster.workloads[place] = replace(stage.cluster.workloads[place], annotations={})
    assert seen(stage).source is None, "nobody deploys it"
    assert seen(stage, spec=named).source == SOURCE


class Elsewhere(DeliveryDouble):
    """A tool that knows of no workload."""

    def application_of(self, workload: Any) -> None:
        return None


def test_a_tool_that_does_not_know_the_workload_is_passed_over() -> None:
    stage = Stage()
    stage.adapters = replace(stage.adapters, deliveries={"Kustomization": Elsewhere(), "Application": stage.delivery})
    assert seen(stage).source == stage.delivery.sources[APPLICATION]


def test_a_pull_request_is_asked_for_by_its_number_where_the_source_lies() -> None:
    stage = Stage()
    stage.repository.branches[worlds.PULL.branch] = "e" * 40
    stage.forge.pulls = [replace(worlds.PULL, number=7), worlds.PULL]
    status = worlds.ailing(worlds.explained(proposal=replace(worlds.PROPOSED, number=7)))
    world = seen(stage, status)
    assert world.pull_request == stage.forge.pulls[0]
    assert world.source == stage.delivery.sources[APPLICATION]
    stage.delivery.fails = DOWN
    failed = seen(stage, status)
    assert (failed.pull_request, failed.answer_problem) == (UNSEEN, DOWN)


def test_no_pull_request_is_asked_for_that_has_no_number_or_whose_source_nobody_knows() -> None:
    stage = Stage()
    stage.forge.fails = Stall("ForgeAccessDenied", "")
    numberless = worlds.ailing(worlds.explained(proposal=replace(worlds.PROPOSED, number=None)))
    assert (seen(stage, numberless).pull_request, seen(stage, numberless).answer_problem) == (UNSEEN, None)
    asked = worlds.ailing(worlds.explained(proposal=worlds.PROPOSED))
    assert seen(stage, asked).answer_problem is stage.forge.fails
    place = ("Job", "team-a", "gpt-small")
    stage.cluster.workloads[place] = replace(stage.cluster.workloads[place], annotations={})
    assert (seen(stage, asked).pull_request, seen(stage, asked).answer_problem) == (UNSEEN, None)


AWAITED = replace(worlds.PROFILED, account=None)
LOOKS = [
    (Need.JOB, "job_problem", replace(SETTLED, healthy_profile=AWAITED)),
    (Need.SOURCE, "source_problem", SETTLED),
    (Need.PULL_REQUEST, "answer_problem", worlds.ailing(worlds.explained(proposal=worlds.PROPOSED))),
]


def failing(need: Need) -> Stage:
    """A stage on which what the need asks fails."""
    stage = Stage()
    if need is Need.SOURCE:
        stage.delivery.fails = DOWN
    if need is Need.PULL_REQUEST:
        stage.forge.fails = DOWN

    def profiling_job(namespace: str, name: str) -> Any:
        raise DOWN

    stage.cluster.profiling_job = profiling_job  # type: ignore[method-assign]
    return stage


@pytest.mark.parametrize(("need", "where", "status"), LOOKS)
def test_a_look_that_fails_is_told_as_what_it_is_and_repeated_once_it_is_due(
    need: Need, where: str, status: Status
) -> None:
    stage, pacing = failing(need), RequestPacing(15.0)
    problems = {"job_problem": None, "source_problem": None, "answer_problem": None}
    for steady_s in (100.0, 114.0):
        world, _ = observe(stage.adapters, unseen(status, steady_s=steady_s), pacing)
        assert {each: getattr(world, each) for each in problems} == problems | {where: DOWN}
        assert not pacing.due(need, 114.9)
    whole = Stage()
    whole.forge.pulls = [worlds.PULL]
    world, _ = observe(whole.adapters, unseen(status, steady_s=114.9), pacing)
    assert getattr(world, where) is DOWN, "the last failure stands"
    world, _ = observe(whole.adapters, unseen(status, steady_s=115.0), pacing)
    assert getattr(world, where) is None
    assert world.pull_request == (worlds.PULL if need is Need.PULL_REQUEST else UNSEEN)
    assert worlds.PULL.state is PullRequestState.OPEN
