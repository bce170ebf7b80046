"""A spec as the API server stores it, with its defaults, becomes a BaselineSpec; a bad one names its field."""

from copy import deepcopy
from typing import Any

import pytest

from mfu_operator.api import decode
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import (
    ApplicationRef,
    BaselineSpec,
    Budget,
    Comparable,
    Detection,
    ForgeKind,
    Level,
    MetricsSource,
    Profiling,
    ProfilingMode,
    RecordPlan,
    Remediation,
    RemediationMode,
    SecretRef,
    Spread,
    Watch,
    WorkloadRef,
)
from mfu_operator.model.proposal import Review

MINIMAL: dict[str, Any] = {
    "metadata": {"namespace": "training", "name": "gpt-small"},
    "spec": {
        "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "gpt-small"},
        "comparable": {"model": "gpt-small"},
        "baseline": {"record": {}},
    },
}


def body(**sections: Any) -> dict[str, Any]:
    changed = deepcopy(MINIMAL)
    changed["spec"] |= sections
    return changed


def test_a_minimal_spec_takes_every_default() -> None:
    assert decode.spec(MINIMAL) == BaselineSpec(
        workload=WorkloadRef("batch/v1", "Job", "training", "gpt-small"),
        comparable=Comparable(model="gpt-small"),
        record=RecordPlan(duration_s=1800.0, warmup_s=300.0, runs=1),
    )


FULL = body(
    workload={"apiVersion": "batch/v1", "kind": "Job", "name": "gpt", "container": "trainer"},
    comparable={
        "model": "gpt",
        "gpu": "H100",
        "gpuCount": 8,
        "worldSize": 64,
        "globalBatch": 512,
        "sequenceLength": 4096,
        "precision": "bf16",
        "parallelism": {"tp": 8, "pp": 1},
    },
    baseline={
        "values": {
            "mfu": 0.46,
            "stepTimeSeconds": 1,
            "tokensPerSecondPerGpu": 12000,
            "spread": {"within": 0.01, "between": 0.004, "slow": 0, "runs": 5},
        }
    },
    metrics={
        "prometheus": {
            "address": "https://mimir.example/prometheus/",
            "tenant": "ml",
            "secretRef": {"name": "m"},
            "caSecretRef": {"name": "ca"},
            "certificateSecretRef": {"name": "pair"},
        },
        "modelFlopsPerToken": "4.2e10",
        "peakFlopsPerGpu": 989e12,
        "profile": "mfu_probe",
        "names": {"mfu": "train_mfu"},
        "labels": {"pod": "exported_pod"},
    },
    detection={"tolerance": "5%", "sustain": "2m", "confirm": "3m", "recover": "4m", "warmup": "30s"},
    profiling={
        "mode": "Never",
        "steps": 6,
        "warmupSteps": 0,
        "deadline": "5m",
        "image": "profiler@sha256:1",
        "command": ["python", "train.py"],
        "env": {"EMPTY": ""},
        "writableVolumes": ["scratch"],
        "priorityClassName": "low",
    },
    remediation={
        "mode": "PullRequest",
        "application": {"kind": "Application", "namespace": "argocd", "name": "gpt"},
        "forge": {"kind": "Gitea", "address": "http://git.example", "secretRef": {"name": "git"}},
        "repository": "http://git.example/ml/config.git",
        "branch": "main",
        "path": "apps/gpt",
        "coolDown": "1h",
    },
    watch={
        "hang": {"enabled": False, "after": "20m", "gatedAfter": "2h"},
        "memory": {"enabled": False, "horizon": "6h"},
        "loss": {"enabled": False, "nonfiniteLosses": 5, "skippedSteps": 64},
    },
    suspend=True,
)

DECODED = BaselineSpec(
    workload=WorkloadRef("batch/v1", "Job", "training", "gpt", "trainer"),
    comparable=Comparable("gpt", "H100", 8, 64, 512, 4096, "bf16", {"tp": 8, "pp": 1}),
    declared=Level(0.46, 1.0, 12000.0),
    declared_spread=Spread(0.01, 0.004, 0.0, 5),
    metrics=MetricsSource(
        address="https://mimir.example/prometheus",
        secret=SecretRef("m"),
        ca=SecretRef("ca"),
        certificate=SecretRef("pair"),
        tenant="ml",
        profile="mfu_probe",
        names={"mfu": "train_mfu"},
        labels={"pod": "exported_pod"},
        model_flops_per_token=4.2e10,
        peak_flops_per_gpu=989e12,
    ),
    detection=Detection(0.05, 120.0, 180.0, 240.0, 30.0),
    watch=Watch(False, 1200.0, 7200.0, False, 21600.0, False, 5, 64),
    profiling=Profiling(
        ProfilingMode.NEVER,
        6,
        0,
        300.0,
        "profiler@sha256:1",
        ("python", "train.py"),
        {"EMPTY": ""},
        ("scratch",),
        "low",
    ),
    remediation=Remediation(
        RemediationMode.PULL_REQUEST,
        ApplicationRef("Application", "argocd", "gpt"),
        ForgeKind.GITEA,
        "http://git.example",
        SecretRef("git"),
        "http://git.example/ml/config.git",
        "main",
        "apps/gpt",
        3600.0,
    ),
    suspend=True,
)


def test_a_full_spec() -> None:
    assert decode.spec(FULL) == DECODED


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        ({"workload": {"apiVersion": "batch/v1", "kind": "Job"}}, "spec.workload.name is missing"),
        ({"workload": "gpt"}, "spec.workload is 'gpt'; write a mapping"),
        ({"comparable": {}}, "spec.comparable.model is missing"),
        ({"metrics": {"pods": {"ports": ["8080"]}}}, "spec.metrics.pods.ports holds '8080'; write numbers"),
        ({"metrics": {"pods": {"ports": ["80-80"]}}}, "spec.metrics.pods.ports holds '80-80'; write numbers"),
        ({"comparable": {"model": "g", "gpuCount": 1.5}}, "spec.comparable.gpuCount is 1.5"),
        ({"comparable": {"model": "g", "parallelism": {"tp": 0}}}, "spec.comparable.parallelism.tp is 0"),
        ({"baseline": {}}, "spec.baseline must have exactly one"),
        ({"baseline": {"record": {}, "values": {"mfu": 0.4}}}, "spec.baseline must have exactly one"),
        ({"baseline": {"values": {}}}, "spec.baseline.values.mfu is missing"),
        ({"baseline": {"values": {"mfu": 46}}}, "write the ratio (0.46)"),
        ({"baseline": {"values": {"mfu": float("nan")}}}, "spec.baseline.values.mfu cannot be read"),
        (
            {"baseline": {"values": {"mfu": 0.4, "spread": {"slow": 0}}}},
            "spec.baseline.values.spread.within is missing",
        ),
        ({"baseline": {"record": {"duration": "0s"}}}, "spec.baseline.record.duration is zero"),
        ({"detection": {"tolerance": "0.05"}}, "spec.detection.tolerance cannot be read"),
        ({"detection": {"tolerance": "60%"}}, "spec.detection.tolerance is 60.000%"),
        ({"detection": {"sustain": "ten"}}, "spec.detection.sustain cannot be read"),
        ({"detection": {"sustain": 600}}, "spec.detection.sustain cannot be read: 600 is not text"),
        ({"profiling": {"steps": 3}}, "spec.profiling.steps is 3; write at least 5"),
        ({"profiling": {"mode": "Sometimes"}}, "write one of Never, Auto"),
        ({"profiling": {"command": "python train.py"}}, "spec.profiling.command cannot be read"),
        ({"profiling": {"env": {"N": 4}}}, "spec.profiling.env.N is 4; write a text"),
        ({"remediation": {"mode": "PullRequest"}}, "spec.remediation.forge.secretRef is missing"),
        ({"remediation": {"credentials": ["charts"]}}, "spec.remediation.credentials has 'charts'; write secretRef"),
        ({"remediation": {"credentials": [{}]}}, "spec.remediation.credentials[0].secretRef is missing"),
        ({"remediation": {"credentials": [{}] * 11}}, "spec.remediation.credentials has more than 10 items"),
        (
            {"remediation": {"repository": "https://me:pw@git.example/a.git"}},
            "spec.remediation.repository holds credent",
        ),
        ({"remediation": {"forge": {"address": "git.example"}}}, "spec.remediation.forge.address is not a web address"),
        (
            {"remediation": {"pullRequest": {"reviewers": ["a"] * 16}}},
            "spec.remediation.pullRequest.reviewers has more than 15 items",
        ),
        ({"remediation": {"path": "../other"}}, "spec.remediation.path is '../other'"),
        ({"remediation": {"branch": "--upload-pack=touch"}}, "which Git does not take for a branch"),
        ({"remediation": {"repository": "https://git.example/a/b?q="}}, "spec.remediation.repository holds a query"),
        ({"remediation": {"repository": "git@git.example:a/../b"}}, "spec.remediation.repository holds a path with"),
        ({"metrics": {"prometheus": {"address": "https://prom/?q="}}}, "prometheus.address holds a query"),
        ({"profiling": {"deadline": "9000h"}}, "spec.profiling.deadline is"),
        (
            {"remediation": {"application": {"kind": "HelmRelease", "namespace": "a", "name": "b"}}},
            "write Application (Argo CD) or Kustomization (Flux)",
        ),
        ({"metrics": {"names": {"mfus": "x"}}}, "spec.metrics.names.mfus is unknown; the keys are mfu,"),
        ({"metrics": {"prometheus": {"address": "http://u:secret@prom"}}}, "spec.metrics.prometheus.address holds"),
        ({"watch": {"hang": {"after": "soon"}}}, "spec.watch.hang.after cannot be read"),
        ({"watch": {"memory": {"enabled": "off"}}}, "spec.watch.memory.enabled is 'off'; write true or false"),
        ({"watch": {"loss": {"nonfiniteLosses": 0}}}, "spec.watch.loss.nonfiniteLosses is 0"),
        ({"suspend": "yes"}, "spec.suspend is 'yes'; write true or false"),
    ],
)
def test_a_bad_field_is_named_with_what_to_write(sections: dict[str, Any], named: str) -> None:
    with pytest.raises(Stall) as caught:
        decode.spec(body(**sections))
    assert caught.value.reason == "InvalidSpec"
    assert named in caught.value.message
    assert "secret@" not in caught.value.message and "me:pw" not in caught.value.message


def test_a_number_beyond_all_numbers_is_refused() -> None:
    with pytest.raises(Stall, match="cannot be read"):
        decode.spec(body(baseline={"values": {"mfu": 10**400}}))


def test_a_deadline_is_at_most_four_hours() -> None:
    assert decode.spec(body(profiling={"deadline": "4h"})).profiling.deadline_s == 4 * 3600
    with pytest.raises(Stall, match="at most 4h"):
        decode.spec(body(profiling={"deadline": "4h1s"}))


@pytest.mark.parametrize("name", ["x in (a,b)", "x,app", 'x"} or up', "-x", "X"])
def test_a_workload_has_a_name_that_an_object_can_have(name: str) -> None:
    whole = body()
    whole["spec"] = whole["spec"] | {"workload": {**whole["spec"]["workload"], "name": name}}
    with pytest.raises(Stall, match=r"spec\.workload\.name"):
        decode.spec(whole)


def test_a_body_without_a_namespace_is_refused() -> None:
    with pytest.raises(Stall, match=r"metadata\.namespace"):
        decode.spec({"spec": MINIMAL["spec"]})


def test_runs_that_labels_follow_have_no_name_of_their_own() -> None:
    found = decode.spec(body(workload={"apiVersion": "v1", "kind": "Pod", "selector": {"matchLabels": {"app": "gpt"}}}))
    assert (found.workload.name, found.workload.selector) == ("", (("app", "gpt"),))
    assert found.workload.title == "Pod of pods with app=gpt"


@pytest.mark.parametrize(
    "workload",
    [
        {"name": "gpt", "selector": {"matchLabels": {"app": "gpt"}}},
        {},
        {"selector": {}},
        {"selector": {"matchLabels": {"app": "in (gpt)"}}},
        {"selector": {"matchLabels": {"app,team": "gpt"}}},
    ],
)
def test_a_workload_is_named_or_selected_by_labels_that_a_pod_can_have(workload: dict[str, Any]) -> None:
    with pytest.raises(Stall, match=r"spec\.workload"):
        decode.spec(body(workload={"apiVersion": "batch/v1", "kind": "Job", **workload}))


def test_a_budget_is_of_captures_and_of_gpu_minutes() -> None:
    found = decode.spec(body(profiling={"budget": {"capturesPerDay": 4, "copyGpuMinutesPerDay": 0}}))
    assert found.profiling.budget == Budget(4, 0)
    assert decode.spec(body()).profiling.budget == Budget()


def test_what_stands_on_the_pull_request_is_read_and_owners_are_asked_by_default() -> None:
    asked = {"reviewers": ["@ann", "org/ml"], "assignees": ["pat"], "labels": ["slow"], "draft": True}
    assert decode.spec(body(remediation={"pullRequest": asked})).remediation.review == Review(
        ("ann", "org/ml"), ("pat",), ("slow",), draft=True, code_owners=True
    )
    assert decode.spec(body(remediation={})).remediation.review == Review()
