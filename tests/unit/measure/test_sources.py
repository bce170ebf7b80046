"""From what a baseline declares to a verdict, through each kind of source as the operator wires it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mfu_operator.adapters.egress import ANYWHERE
from mfu_operator.adapters.prometheus import PrometheusMetrics, PrometheusSources
from mfu_operator.adapters.scrape.pod_targets import Target
from mfu_operator.adapters.scrape.sources import PodMetrics, PodSources
from mfu_operator.errors import Retry
from mfu_operator.measure.sources import SourcesByKind
from mfu_operator.measure.sweep import Sweep
from mfu_operator.model.baseline import (
    Baseline,
    BaselineSpec,
    Comparable,
    Level,
    MetricsSource,
    PodScrape,
    Provenance,
    Spread,
    WorkloadRef,
)
from mfu_operator.model.verdict import Judgement, Verdict
from mfu_operator.model.workload import PodEndpoint
from mfu_operator.ports import Credentials
from mfu_operator.process.wiring import fleet_of, sources_of
from mfu_operator.settings import Settings
from tests.support.cluster_double import ClusterDouble
from tests.support.metrics_page import TEXT

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
SPEC = BaselineSpec(
    JOB,
    Comparable("gpt", gpu="NVIDIA H100 80GB HBM3", precision="bf16"),
    metrics=MetricsSource(
        pods=PodScrape(), names={"throughput": "tokens_total", "mfu": "", "steps": ""}, model_flops_per_token=4.2e10
    ),
)
MFU = 10_000 * 4.2e10 / 989.4e12
LEVEL = Baseline(Level(mfu=MFU), Spread(0.005, 0.001, 0.001, 5), Provenance.DECLARED)


class Training:
    """A pod that counts its tokens, and an operator that reads its page twice a minute."""

    def __init__(self) -> None:
        self.now_s, self.tokens = 10_000.0, 0.0
        self.endpoint = PodEndpoint("gpt-0", "10.0.0.1", annotations={"prometheus.io/port": "9400"})
        fleet = MetricsSource()
        pods = PodSources(fleet, self._running, self._page, lambda: self.now_s)
        self.sources = SourcesByKind(PrometheusSources(fleet), pods)
        self.sweep = self.restarted()

    def restarted(self) -> Sweep:
        sweep = Sweep(self.sources, lambda: self.now_s, 30.0)
        sweep.register("uid", SPEC, LEVEL)
        return sweep

    def run(self, minutes: float, tokens_per_s: float = 10_000.0) -> None:
        for _ in range(round(minutes * 2)):
            self.now_s += 30
            self.tokens += 30 * tokens_per_s
            self.sweep.run_once()

    def judgement(self) -> Judgement:
        found = self.sweep.view("uid", self.now_s).judgement
        assert found is not None
        return found

    def _running(self, refs: Sequence[WorkloadRef]) -> Mapping[WorkloadRef, Sequence[PodEndpoint]]:
        return {JOB: (self.endpoint,)}

    def _page(self, target: Target) -> tuple[str, str]:
        return TEXT, f"tokens_total {self.tokens}\n"


def test_a_job_that_counts_tokens_is_judged_by_its_mfu_without_any_prometheus() -> None:
    training = Training()
    training.run(30)
    assert training.judgement().verdict is Verdict.HEALTHY
    assert training.judgement().value == pytest.approx(MFU)
    training.run(15, tokens_per_s=9_000)
    assert (training.judgement().verdict, training.judgement().signal) == (Verdict.REGRESSED, "mfu")


def test_a_restarted_operator_reads_pods_from_now_on() -> None:
    training = Training()
    training.run(30)
    training.sweep = training.restarted()
    training.run(1)
    assert training.judgement().last_usable_s is not None
    training.run(30, tokens_per_s=9_000)
    assert training.judgement().verdict is Verdict.REGRESSED


def test_a_restarted_training_process_begins_its_counter_anew_and_alarms_nobody() -> None:
    training = Training()
    training.run(30)
    training.tokens = 0.0
    training.run(30)
    assert (training.judgement().verdict, training.judgement().evidence_s) == (Verdict.HEALTHY, 0.0)


def test_pods_that_cannot_be_reached_are_the_baselines_problem_and_nobody_elses() -> None:
    training = Training()
    training.endpoint = replace(training.endpoint, annotations={})
    training.run(1)
    problem = training.sweep.view("uid", training.now_s).problem
    assert problem is not None
    assert problem.reason == "NoMetricsPort"
    assert not isinstance(problem, Retry)


def test_the_operators_own_source_is_made_of_its_settings(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("fleet")
    settings = Settings(
        prometheus_address="http://own:9090",
        prometheus_tenant="ml",
        prometheus_credentials=str(tmp_path),
        metrics_profile="torchtitan",
        metric_names={"phase": "p"},
        metric_labels={"pod": "host"},
    )
    assert fleet_of(settings) == MetricsSource(
        address="http://own:9090", tenant="ml", profile="torchtitan", names={"phase": "p"}, labels={"pod": "host"}
    )
    sources = sources_of(settings, ClusterDouble(), ANYWHERE)
    prometheus = sources.open(MetricsSource(), None)
    assert isinstance(prometheus, PrometheusMetrics)
    assert (prometheus.names.names["phase"], prometheus.names.pod) == ("p", "host")
    assert isinstance(sources.open(MetricsSource(pods=PodScrape()), Credentials(password="t")), PodMetrics)
