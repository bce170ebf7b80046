"""Thirty layouts of repositories that people have, each with its truth: the commit that did it, or none."""

# ruff: noqa: E501 - manifests as people write them
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.built import built
from tests.support.suspect_story import Story, config_map, job

HELM, KUSTOMIZE = built("helm", "helm"), built("kustomize", "kustomize")
pytestmark = [] if HELM and KUSTOMIZE else [pytest.mark.cluster]
URL = "https://git.example/ml/models"
TRAIN = "loader:\n  num_workers: 8\n  prefetch_factor: 4\nprecision: bf16\nseed: 1\n"
SLOW = TRAIN.replace("num_workers: 8", "num_workers: 0")
GENERATED = "configMapGenerator:\n  - name: gpt-config\n    files: [train.yaml]\n"
BASE = {
    "base/kustomization.yaml": f"resources: [job.yaml]\n{GENERATED}",
    "base/job.yaml": job(),
    "base/train.yaml": TRAIN,
}
CHART = {
    "charts/gpt/Chart.yaml": "apiVersion: v2\nname: gpt\nversion: 1.0.0\n",
    "charts/gpt/values.yaml": "workers: 4\nseed: 1\n",
    "charts/gpt/templates/job.yaml": job(
        "{{ .Release.Name }}",
        env='[{name: NUM_WORKERS, value: "{{ .Values.workers }}"}, {name: SEED, value: "{{ .Values.seed }}"}]',
    ),
}
PLAIN = {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN)}
Truth = tuple[tuple[str, ...], str | None]
"""The command's options, and the subject of the commit that did it."""


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folders = [str(Path(program).parent) for program in (HELM, KUSTOMIZE) if program]
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
    yield


def argo(story: Story, status: dict[str, Any] | None = None, **source: Any) -> tuple[str, ...]:
    head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "gpt"}}
    spec = source.get("spec", {"source": {"repoURL": URL, "targetRevision": "main", **source}})
    (story.folder / "application.json").write_text(json.dumps({**head, "spec": spec, "status": status or {}}))
    return ("--application", str(story.folder / "application.json"))


def flux(story: Story, *objects: dict[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for number, each in enumerate(objects):
        (story.folder / f"flux-{number}.json").write_text(json.dumps(each))
        found += ["--application", str(story.folder / f"flux-{number}.json")]
    return tuple(found)


def values_per_environment(story: Story) -> Truth:
    story.commit(
        "Good",
        {**CHART, "charts/gpt/values-prod.yaml": "workers: 8\n", "charts/gpt/values-staging.yaml": "workers: 8\n"},
    )
    story.replace("Staging", "charts/gpt/values-staging.yaml", "8", "0")
    story.replace("Production", "charts/gpt/values-prod.yaml", "8", "1")
    return argo(story, path="charts/gpt", helm={"valueFiles": ["values-prod.yaml"]}), "Production"


def default_that_production_overrides(story: Story) -> Truth:
    story.commit("Good", {**CHART, "charts/gpt/values-prod.yaml": "workers: 8\n"})
    story.replace("Default", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    return argo(story, path="charts/gpt", helm={"valueFiles": ["values-prod.yaml"]}), None


def pure_rename(story: Story) -> Truth:
    story.commit("Good", PLAIN)
    story.move("Rename", "gpt/config.yaml", "gpt/configuration.yaml")
    return ("--path", "gpt"), None


def folder_renamed_with_a_change(story: Story) -> Truth:
    story.commit("Good", BASE | {"prod/kustomization.yaml": "resources: [../base]\n"})
    story.commit(
        "Move",
        {
            "base/train.yaml": None,
            "base/conf/train.yaml": SLOW,
            "base/kustomization.yaml": BASE["base/kustomization.yaml"].replace("[train.yaml]", "[conf/train.yaml]"),
        },
    )
    return ("--path", "prod"), "Move"


def job_whose_name_contains_ours(story: Story) -> Truth:
    story.commit("Good", {**PLAIN, "gpt/eval.yaml": job("gpt-eval", args=["--num-workers=8"])})
    story.replace("Evaluate", "gpt/eval.yaml", "num-workers=8", "num-workers=0")
    return ("--path", "gpt"), None


def generator_of_another_configmap(story: Story) -> Truth:
    two = GENERATED + "  - name: eval-config\n    files: [eval.yaml]\n"
    story.commit("Good", {**BASE, "base/kustomization.yaml": f"resources: [job.yaml]\n{two}", "base/eval.yaml": TRAIN})
    story.commit("Evaluate", {"base/eval.yaml": SLOW})
    return ("--path", "base"), None


def merge_of_what_was_there(story: Story) -> Truth:
    story.commit("Start", PLAIN)
    story.upstream.git("checkout", "--quiet", "-b", "side")
    story.commit("Side", {"gpt/config.yaml": config_map(SLOW)})
    story.upstream.git("checkout", "--quiet", "main")
    story.commit("Good", {"gpt/config.yaml": config_map(SLOW)})
    story.upstream.git("merge", "--quiet", "--no-ff", "-m", "Merge side", "side")
    story.upstream.push()
    return ("--path", "gpt"), None


def merge_that_did_it(story: Story) -> Truth:
    story.commit("Good", PLAIN)
    story.upstream.git("checkout", "--quiet", "-b", "side")
    story.commit("One", {"gpt/config.yaml": config_map(TRAIN.replace("num_workers: 8", "num_workers: 4"))})
    story.commit("Two", {"gpt/config.yaml": config_map(SLOW)})
    story.upstream.git("checkout", "--quiet", "main")
    story.commit("Docs", {"README.md": "x\n"})
    story.upstream.git("merge", "--quiet", "--no-ff", "-m", "Merge side", "side")
    story.shas["Merge side"] = story.upstream.push()
    return ("--path", "gpt"), "Merge side"


def component(story: Story) -> Truth:
    patch = 'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n  - target: {kind: Job}\n    patch: |\n      - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: NCCL_P2P_DISABLE, value: "%d"}}\n'
    files = {
        **BASE,
        "base/job.yaml": job(env='[{name: A, value: "1"}]'),
        "components/nccl/kustomization.yaml": patch % 0,
    }
    story.commit(
        "Good", {**files, "prod/kustomization.yaml": "resources: [../base]\ncomponents: [../components/nccl]\n"}
    )
    story.replace("Seed", "base/train.yaml", "seed: 1", "seed: 2")
    story.commit("No P2P", {"components/nccl/kustomization.yaml": patch % 1})
    return ("--path", "prod"), "No P2P"


def component_of_staging(story: Story) -> Truth:
    story.commit(
        "Good",
        {
            **BASE,
            "components/x/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: a-\n",
            "prod/kustomization.yaml": "resources: [../base]\n",
            "staging/kustomization.yaml": "resources: [../base]\ncomponents: [../components/x]\n",
        },
    )
    story.replace("Component", "components/x/kustomization.yaml", "a-", "b-")
    return ("--path", "prod"), None


def three_layers(story: Story) -> Truth:
    story.commit(
        "Good",
        {
            **BASE,
            "region/kustomization.yaml": "resources: [../base]\n",
            "prod/kustomization.yaml": "resources: [../region]\n",
        },
    )
    story.commit("Docs", {"region/README.md": "x\n"})
    story.replace("Workers", "base/train.yaml", "num_workers: 8", "num_workers: 0")
    return ("--path", "prod"), "Workers"


def configuration_merged_by_the_overlay(story: Story) -> Truth:
    overlay = "resources: [../base]\nconfigMapGenerator:\n  - name: gpt-config\n    behavior: replace\n    files: [train.yaml]\n"
    story.commit("Good", {**BASE, "prod/kustomization.yaml": overlay, "prod/train.yaml": TRAIN})
    story.replace("Base", "base/train.yaml", "num_workers: 8", "num_workers: 0")
    story.replace("Ours", "prod/train.yaml", "precision: bf16", "precision: fp32")
    return ("--path", "prod"), None


def subchart(story: Story) -> Truth:
    umbrella = {
        "app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n  - {name: gpt, version: 1.0.0, repository: file://../charts/gpt}\n",
        "app/values.yaml": "gpt:\n  workers: 8\nworkers: 8\n",
    }
    story.commit("Good", {**CHART, **umbrella})
    story.commit("Not ours", {"app/values.yaml": "gpt:\n  workers: 8\nworkers: 0\n"})
    story.commit("Ours", {"app/values.yaml": "gpt:\n  workers: 0\nworkers: 0\n"})
    return argo(story, path="app"), "Ours"


def parameters_of_the_application(story: Story) -> Truth:
    story.commit("Good", CHART)
    story.replace("Default", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    return argo(story, path="charts/gpt", helm={"parameters": [{"name": "workers", "value": "8"}]}), None


def inline_values_of_the_application(story: Story) -> Truth:
    story.commit("Good", CHART)
    story.replace("Default", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    return argo(story, path="charts/gpt", helm={"valuesObject": {"workers": 8}}), None


def images_of_the_application(story: Story) -> Truth:
    story.commit("Good", BASE)
    story.replace("Image", "base/job.yaml", "gpt:v1", "gpt:v2")
    return argo(story, path="base", kustomize={"images": ["registry.example/gpt:pinned"]}), None


def argocd_source_file(story: Story) -> Truth:
    story.commit(
        "Good", {**CHART, "charts/gpt/.argocd-source-gpt.yaml": "helm:\n  parameters: [{name: workers, value: '8'}]\n"}
    )
    story.replace("Default", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    story.replace("Override", "charts/gpt/.argocd-source-gpt.yaml", "'8'", "'1'")
    return argo(story, path="charts/gpt"), "Override"


def values_of_another_source(story: Story) -> Truth:
    story.commit("Good", {**CHART, "envs/prod.yaml": "workers: 8\n", "envs/staging.yaml": "workers: 8\n"})
    story.replace("Staging", "envs/staging.yaml", "8", "0")
    story.replace("Production", "envs/prod.yaml", "8", "0")
    sources = [
        {
            "repoURL": URL,
            "path": "charts/gpt",
            "targetRevision": "main",
            "helm": {"valueFiles": ["$values/envs/prod.yaml"]},
        },
        {"repoURL": URL, "targetRevision": "main", "ref": "values"},
    ]
    return argo(story, spec={"sources": sources}), "Production"


def recursive_folder(story: Story) -> Truth:
    story.commit("Good", {"apps/gpt/job.yaml": job(), "apps/gpt/conf/config.yaml": config_map(TRAIN)})
    story.replace("Workers", "apps/gpt/conf/config.yaml", "num_workers: 8", "num_workers: 0")
    return argo(story, path="apps", directory={"recurse": True}), "Workers"


def folder_below_that_is_not_deployed(story: Story) -> Truth:
    story.commit("Good", {**PLAIN, "gpt/old/config.yaml": config_map(TRAIN, "old-config")})
    story.replace("Old", "gpt/old/config.yaml", "num_workers: 8", "num_workers: 0")
    return argo(story, path="gpt", directory={"recurse": False}), None


def flux_substitution(story: Story) -> Truth:
    story.commit(
        "Good",
        {
            "apps/job.yaml": job(env='[{name: NUM_WORKERS, value: "${workers}"}]'),
            "cluster/vars.yaml": 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars}\ndata: {workers: "8", region: eu}\n',
        },
    )
    story.replace("Region", "cluster/vars.yaml", "eu", "us")
    story.replace("Workers", "cluster/vars.yaml", '"8"', '"0"')
    kustomization = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "apps"},
        "spec": {
            "path": "./apps",
            "sourceRef": {"kind": "GitRepository", "name": "models"},
            "postBuild": {"substituteFrom": [{"kind": "ConfigMap", "name": "vars"}]},
        },
    }
    repository = {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "models"},
        "spec": {"url": URL, "ref": {"branch": "main"}},
    }
    return flux(story, kustomization, repository), "Workers"


def flux_patches(story: Story) -> Truth:
    story.commit("Good", {"apps/job.yaml": job(env='[{name: NUM_WORKERS, value: "2"}]')})
    story.replace("Default", "apps/job.yaml", 'value: "2"', 'value: "0"')
    patch = "- {op: replace, path: /spec/template/spec/containers/0/env/0/value, value: '8'}"
    kustomization = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "apps"},
        "spec": {
            "path": "./apps",
            "sourceRef": {"kind": "GitRepository", "name": "models"},
            "patches": [{"patch": patch, "target": {"kind": "Job"}}],
        },
    }
    repository = {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "models"},
        "spec": {"url": URL},
    }
    return flux(story, kustomization, repository), None


def several_documents(story: Story) -> Truth:
    story.commit("Good", {"gpt/all.yaml": f"{job()}---\n{config_map(TRAIN)}"})
    story.commit("Order", {"gpt/all.yaml": f"{config_map(TRAIN)}---\n{job()}"})
    story.replace("Workers", "gpt/all.yaml", "num_workers: 8", "num_workers: 0")
    return ("--path", "gpt"), "Workers"


def environment_from_a_configmap(story: Story) -> Truth:
    env = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: env}\ndata: {OMP_NUM_THREADS: "8", LOG: a}\n'
    text = job().replace("          env: []\n", "          envFrom: [{configMapRef: {name: env}}]\n")
    story.commit("Good", {"gpt/job.yaml": text, "gpt/config.yaml": config_map(TRAIN), "gpt/env.yaml": env})
    story.replace("Log", "gpt/env.yaml", "LOG: a", "LOG: b")
    story.commit("None", {"gpt/env.yaml": env.replace("LOG: a", "LOG: b").replace('"8"', '"8", NUM_WORKERS: "0"')})
    return ("--path", "gpt"), "None"


def run_with_a_new_name(story: Story) -> Truth:
    story.commit("Good", {"gpt/job.yaml": job("gpt-run-1"), "gpt/config.yaml": config_map(TRAIN)})
    story.commit("Run 2", {"gpt/job.yaml": job("gpt-run-2")})
    story.replace("Workers", "gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    return ("--path", "gpt"), "Workers"


def undone_within_the_window(story: Story) -> Truth:
    story.commit("Good", PLAIN)
    story.commit("Slow", {"gpt/config.yaml": config_map(SLOW)})
    story.commit("Fast", {"gpt/config.yaml": config_map(TRAIN)})
    story.replace("Prefetch", "gpt/config.yaml", "seed: 1", "seed: 2")
    return ("--path", "gpt"), None


def two_that_may_have_done_it(story: Story) -> Truth:
    story.commit("Good", PLAIN)
    story.replace("Half", "gpt/config.yaml", "num_workers: 8", "num_workers: 4")
    story.replace("None", "gpt/config.yaml", "num_workers: 4", "num_workers: 0")
    return ("--path", "gpt"), None


def comments_and_quotes(story: Story) -> Truth:
    story.commit("Good", PLAIN)
    story.replace("Comment", "gpt/config.yaml", "num_workers: 8", "num_workers: 8  # enough")
    story.replace("Quotes", "gpt/config.yaml", "precision: bf16", 'precision: "bf16"')
    return ("--path", "gpt"), None


def limit_range_of_the_namespace(story: Story) -> Truth:
    limits = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: limits}\nspec:\n  limits: [{type: Container, default: {cpu: %s}}]\n"
    story.commit("Good", {**PLAIN, "gpt/limits.yaml": limits % "32"})
    story.commit("Quota", {"gpt/limits.yaml": limits % "1"})
    return ("--path", "gpt"), "Quota"


def three_applications_in_one_repository(story: Story) -> Truth:
    story.commit(
        "Good",
        {
            **PLAIN,
            "bert/job.yaml": job("bert", config="bert-config"),
            "bert/config.yaml": config_map(TRAIN, "bert-config"),
            "llama/job.yaml": job("llama"),
        },
    )
    story.commit("Bert", {"bert/config.yaml": config_map(SLOW, "bert-config")})
    story.commit("Llama", {"llama/job.yaml": job("llama", args=["--num-workers=0"])})
    return ("--path", "gpt"), None


def remote_base(story: Story) -> Truth:
    story.commit("Good", {**BASE, "prod/kustomization.yaml": "resources: [../base, github.com/org/repo//x?ref=v1]\n"})
    story.replace("Workers", "base/train.yaml", "num_workers: 8", "num_workers: 0")
    return ("--path", "prod"), None


def plugin(story: Story) -> Truth:
    story.commit("Good", PLAIN)
    story.commit("Slow", {"gpt/config.yaml": config_map(SLOW)})
    return argo(story, path="gpt", plugin={"name": "sops"}), None


LAYOUTS: list[Callable[[Story], Truth]] = [
    values_per_environment, default_that_production_overrides, pure_rename, folder_renamed_with_a_change,
    job_whose_name_contains_ours, generator_of_another_configmap, merge_of_what_was_there, merge_that_did_it, component,
    component_of_staging, three_layers, configuration_merged_by_the_overlay, subchart, parameters_of_the_application,
    inline_values_of_the_application, images_of_the_application, argocd_source_file, values_of_another_source,
    recursive_folder, folder_below_that_is_not_deployed, flux_substitution, flux_patches, several_documents,
    environment_from_a_configmap, run_with_a_new_name, undone_within_the_window, two_that_may_have_done_it,
    comments_and_quotes, limit_range_of_the_namespace, three_applications_in_one_repository, remote_base, plugin,
]  # fmt: skip
Layout = Callable[[Story], Truth]
NAMES: dict[Layout, str] = {subchart: "Job/gpt", run_with_a_new_name: "Job/gpt-run-2"}
CAUSES: dict[Layout, str] = {
    component: "SlowLink",
    images_of_the_application: "PrecisionLost",
    configuration_merged_by_the_overlay: "DataLoaderWorkers",
}
CANNOT = (remote_base, plugin)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_a_layout_gets_its_truth_and_a_true_reason(layout: Callable[[Story], Truth], tmp_path: Path) -> None:
    story = Story(tmp_path / "models")
    options, truth = layout(story)
    told = story.ask(CAUSES.get(layout, "DataLoaderWorkers"), *options, workload=NAMES.get(layout, "Job/gpt"))
    assert told.chosen == truth, told.because
    could = told.json["renderer"]["name"] is not None
    assert could is (layout not in CANNOT), told.because
    if truth is None and could:
        assert "Nothing is blamed, because nothing was compared" not in told.because
    if truth is not None:
        assert told.json["proposal"] is not None, told.because
