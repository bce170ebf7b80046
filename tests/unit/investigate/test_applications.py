# ruff: noqa: E501 - manifests as people write them
"""Applications of delivery tools: every source counts, each with its own history."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.built import built
from tests.support.suspect_story import Story, config_map, job

HELM, KUSTOMIZE = built("helm", "helm"), built("kustomize", "kustomize")
pytestmark = [] if HELM and KUSTOMIZE else [pytest.mark.cluster]
MODELS, CHARTS = "https://git.example/ml/models", "https://charts.example/stable"
WORKERS = '{name: NUM_WORKERS, value: "{{ .Values.workers }}"}'


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folders = [str(Path(program).parent) for program in (HELM, KUSTOMIZE) if program]
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
    yield


def argo(folder: Path, spec: dict[str, Any], status: dict[str, Any] | None = None) -> tuple[str, str]:
    """An Application's file, as the option that names it."""
    head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "gpt"}}
    (folder / "application.json").write_text(json.dumps({**head, "spec": spec, "status": status or {}}))
    return "--application", str(folder / "application.json")


def chart(folder: Path, version: str, workers: int) -> Path:
    """A chart as a chart repository would send it."""
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(f"apiVersion: v2\nname: trainer\nversion: {version}\n")
    (folder / "values.yaml").write_text(f"workers: {workers}\n")
    (folder / "templates" / "job.yaml").write_text(job("{{ .Release.Name }}", env=f"[{WORKERS}]"))
    return folder


def test_a_new_version_of_a_chart_is_no_commit_and_is_said(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    story.commit("Good", {"gpt/values.yaml": "seed: 1\n"})
    story.commit("Seed", {"gpt/values.yaml": "seed: 2\n"})
    old, new = chart(tmp_path / "old", "1.2.0", 8), chart(tmp_path / "new", "1.3.0", 0)
    sources = [{"repoURL": MODELS, "targetRevision": "main", "ref": "values"},
               {"repoURL": CHARTS, "chart": "trainer", "targetRevision": "1.*",
                "helm": {"valueFiles": ["$values/gpt/values.yaml"]}}]  # fmt: skip
    history = [{"revisions": [story.shas["Good"], "1.2.0"], "deployedAt": "2026-01-01T00:00:00Z"},
               {"revisions": [story.shas["Seed"], "1.3.0"], "deployedAt": "2026-01-02T00:00:00Z"}]  # fmt: skip
    told = story.ask("DataLoaderWorkers", *argo(tmp_path, {"sources": sources}, {"history": history}),
                     "--chart", f"{CHARTS}/trainer@1.2.0={old}", "--chart", f"{CHARTS}/trainer@1.3.0={new}")  # fmt: skip
    assert told.chosen is None
    assert "comes from outside these commits" in told.because
    assert "1.2.0" in told.because and "1.3.0" in told.because
    assert told.json["window"]["sources"][1]["chart"] == "trainer"


def test_a_chart_that_was_not_given_is_asked_for(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    story.commit("Good", {"gpt/values.yaml": "workers: 8\n"})
    story.commit("Workers", {"gpt/values.yaml": "workers: 0\n"})
    sources = [{"repoURL": MODELS, "targetRevision": "main", "ref": "values"},
               {"repoURL": CHARTS, "chart": "trainer", "targetRevision": "1.2.0",
                "helm": {"valueFiles": ["$values/gpt/values.yaml"]}}]  # fmt: skip
    told = story.ask("DataLoaderWorkers", *argo(tmp_path, {"sources": sources}))
    assert told.chosen is None
    assert f"--chart {CHARTS}/trainer@1.2.0=PATH" in told.because


def test_values_beside_a_chart_from_a_repository_are_blamed(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    story.commit("Good", {"gpt/values.yaml": "workers: 8\n"})
    story.commit("Workers", {"gpt/values.yaml": "workers: 0\n"})
    sources = [{"repoURL": MODELS, "targetRevision": "main", "ref": "values"},
               {"repoURL": CHARTS, "chart": "trainer", "targetRevision": "1.2.0",
                "helm": {"valueFiles": ["$values/gpt/values.yaml"]}}]  # fmt: skip
    given = ("--chart", f"{CHARTS}/trainer@1.2.0={chart(tmp_path / 'chart', '1.2.0', 4)}")
    told = story.ask("DataLoaderWorkers", *argo(tmp_path, {"sources": sources}), *given)
    assert told.chosen == "Workers"
    assert told.json["proposal"]["kind"] == "Revert"


def test_what_argocd_source_files_say_holds(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    kustomization = "resources: [job.yaml]\n"
    over = "kustomize:\n  images: [registry.example/gpt:%s]\n"
    story.commit("Good", {"gpt/kustomization.yaml": kustomization, "gpt/job.yaml": job(),
                          "gpt/.argocd-source-gpt.yaml": over % "v5"})  # fmt: skip
    story.replace("Job's image", "gpt/job.yaml", "gpt:v1", "gpt:v2")
    story.commit("Updater", {"gpt/.argocd-source-gpt.yaml": over % "v6"})
    told = story.ask("PrecisionLost", *argo(tmp_path, {"source": {"repoURL": MODELS, "path": "gpt"}}))
    assert told.chosen == "Updater"
    assert told.verdict("Job's image") == "innocent"


@pytest.mark.parametrize("recurse", [True, False])
def test_folders_below_count_where_the_application_reads_them(tmp_path: Path, recurse: bool) -> None:
    story = Story(tmp_path / "repo")
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config/train.yaml": config_map("num_workers: 8\n")})
    story.replace("Workers", "gpt/config/train.yaml", "8", "0")
    source = {"repoURL": MODELS, "path": "gpt", "directory": {"recurse": recurse}}
    told = story.ask("DataLoaderWorkers", *argo(tmp_path, {"source": source}))
    assert told.chosen == ("Workers" if recurse else None)


def test_the_commits_of_two_repositories_are_compared_each_with_its_own_history(tmp_path: Path) -> None:
    charts, values = Story(tmp_path / "charts"), Story(tmp_path / "values")
    charts.commit("Good", {"trainer/Chart.yaml": "apiVersion: v2\nname: trainer\nversion: 1.0.0\n",
                           "trainer/values.yaml": "workers: 8\nprecision: bf16\n",
                           "trainer/templates/job.yaml": job("gpt", args=["--dtype={{ .Values.precision }}"],
                                                             env=f"[{WORKERS}]")})  # fmt: skip
    charts.replace("Precision", "trainer/values.yaml", "bf16", "fp32")
    values.commit("Good", {"gpt.yaml": "workers: 8\n"})
    values.replace("Workers", "gpt.yaml", "8", "0")
    sources = [{"repoURL": MODELS, "targetRevision": "main", "ref": "values"},
               {"repoURL": CHARTS, "targetRevision": "main", "path": "trainer",
                "helm": {"valueFiles": ["$values/gpt.yaml"]}}]  # fmt: skip
    app = argo(tmp_path, {"sources": sources})
    options = (*app, "--values", f"{CHARTS}={charts.repo}", "--good", f"{CHARTS}={charts.shas['Good']}")
    workers, precision = (values.ask(cause, *options) for cause in ("DataLoaderWorkers", "PrecisionLost"))
    assert workers.json["window"]["commits"] == 2
    assert workers.chosen == "Workers"
    assert precision.json["chosen"] == charts.shas["Precision"]
    assert precision.json["proposal"]["base"]["repository"] == CHARTS


@pytest.mark.parametrize("behind_s", [0, 3600])
def test_a_committer_s_clock_that_is_behind_changes_no_order_within_a_repository(tmp_path: Path, behind_s: int) -> None:
    models, jobs = Story(tmp_path / "models"), Story(tmp_path / "jobs")
    models.commit("Good", {"gpt/train.yaml": config_map("num_workers: 8\n")})
    models.replace("Fewer", "gpt/train.yaml", "8", "2")
    models.replace("Back", "gpt/train.yaml", "2", "8")
    models.upstream.set_clock_back(behind_s)
    models.replace("Workers", "gpt/train.yaml", "8", "0")
    jobs.commit("Good", {"gpt/job.yaml": job()})
    jobs.replace("Image", "gpt/job.yaml", "gpt:v1", "gpt:v2")
    sources = [{"repoURL": MODELS, "targetRevision": "main", "path": "gpt"},
               {"repoURL": CHARTS, "targetRevision": "main", "path": "gpt"}]  # fmt: skip
    app = argo(tmp_path, {"sources": sources})
    told = models.ask("DataLoaderWorkers", *app, "--values", f"{CHARTS}={jobs.repo}",
                      "--good", f"{CHARTS}={jobs.shas['Good']}")  # fmt: skip
    assert told.chosen == "Workers"
    ours = [told.subjects[each["sha"]] for each in told.json["suspects"] if each["sha"] in told.subjects]
    assert ours == ["Workers", "Back", "Fewer"]


def test_a_version_range_follows_the_highest_tag(tmp_path: Path) -> None:
    charts, values = Story(tmp_path / "charts"), Story(tmp_path / "values")
    charts.commit("Good", {"trainer/Chart.yaml": "apiVersion: v2\nname: trainer\nversion: 1.0.0\n",
                           "trainer/values.yaml": "workers: 8\n",
                           "trainer/templates/job.yaml": job("gpt", env=f"[{WORKERS}]")})  # fmt: skip
    charts.upstream.git("tag", "v1.2.0")
    charts.replace("Next", "trainer/values.yaml", "8", "4")
    charts.upstream.git("tag", "v2.0.0")
    values.commit("Good", {"gpt.yaml": "seed: 1\n"})
    values.commit("Workers", {"gpt.yaml": "workers: 0\n"})
    sources = [{"repoURL": MODELS, "ref": "values"}, {"repoURL": CHARTS, "targetRevision": "1.*", "path": "trainer",
                "helm": {"valueFiles": ["$values/gpt.yaml"]}}]  # fmt: skip
    told = values.ask("DataLoaderWorkers", *argo(tmp_path, {"sources": sources}), "--values", f"{CHARTS}={charts.repo}")
    assert told.chosen == "Workers"
    assert list(told.changed().values()) == [("8", "0")]


def test_a_helm_release_of_flux_is_rendered_with_its_values(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    story.commit("Good", {"charts/trainer/Chart.yaml": "apiVersion: v2\nname: trainer\nversion: 1.0.0\n",
                          "charts/trainer/values.yaml": "workers: 8\n",
                          "charts/trainer/templates/job.yaml": job("{{ .Release.Name }}", env=f"[{WORKERS}]")})  # fmt: skip
    story.replace("Default", "charts/trainer/values.yaml", "8", "0")
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: gpt, namespace: ml}\nspec:\n"
        "  chart: {spec: {chart: ./charts/trainer, sourceRef: {kind: GitRepository, name: models}}}\n"
    )
    (tmp_path / "release.yaml").write_text(release)
    (tmp_path / "valued.yaml").write_text(release + "  values: {workers: 6}\n")
    assert story.ask("DataLoaderWorkers", "--application", str(tmp_path / "release.yaml")).chosen == "Default"
    valued = story.ask("DataLoaderWorkers", "--application", str(tmp_path / "valued.yaml"))
    assert valued.verdict("Default") == "innocent"


def test_charts_of_a_kustomization_are_expanded(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    kustomization = (
        "helmCharts:\n  - {name: trainer, releaseName: gpt, valuesFile: values.yaml}\n"
        'patches:\n  - target: {kind: Job}\n    patch: \'[{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]\'\n'
    )
    story.commit("Good", {"gpt/kustomization.yaml": kustomization, "gpt/values.yaml": "workers: 8\n",
                          "gpt/charts/trainer/Chart.yaml": "apiVersion: v2\nname: trainer\nversion: 1.0.0\n",
                          "gpt/charts/trainer/values.yaml": "workers: 2\n",
                          "gpt/charts/trainer/templates/job.yaml": job("{{ .Release.Name }}", env=f"[{WORKERS}]")})  # fmt: skip
    story.replace("Default", "gpt/charts/trainer/values.yaml", "2", "1")
    story.replace("Workers", "gpt/values.yaml", "8", "0")
    told = story.ask("DataLoaderWorkers", "--path", "gpt")
    assert told.chosen == "Workers"
    assert told.verdict("Default") == "innocent"


def test_a_plugin_of_the_delivery_tool_is_not_run(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    story.commit("Good", {"gpt/job.yaml": job()})
    story.replace("Image", "gpt/job.yaml", "gpt:v1", "gpt:v2")
    told = story.ask("PrecisionLost", *argo(tmp_path, {"source": {"repoURL": MODELS, "path": "gpt", "plugin": {}}}))
    assert told.chosen is None
    assert "plugin" in told.because
    assert told.verdict("Image") == "unknown"


def test_what_a_hydrator_rendered_is_followed_to_the_dry_commits(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    story.commit("Dry good", {"gpt/job.yaml": job(), "gpt/train.yaml": config_map("num_workers: 8\n")})
    story.replace("Workers", "gpt/train.yaml", "8", "0")
    git = story.upstream.git
    git("checkout", "-q", "--orphan", "environments/prod")
    git("rm", "-rfq", ".")
    for subject, dry in (("Good", "Dry good"), ("Bad", "Workers")):
        story.commit(subject, {"gpt/hydrator.metadata": json.dumps({"drySha": story.shas[dry]})})
    spec = {"sourceHydrator": {
        "drySource": {"repoURL": MODELS, "targetRevision": "main", "path": "gpt"},
        "syncSource": {"targetBranch": "environments/prod", "path": "gpt"},
    }}  # fmt: skip
    told = story.ask("DataLoaderWorkers", *argo(tmp_path, spec))
    assert told.chosen == "Workers"
    assert told.json["proposal"]["base"]["branch"] == "main"


def test_a_parameter_that_was_changed_in_the_application_itself_is_no_commit_and_is_said(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    files = chart(tmp_path / "chart", "1.0.0", 8)
    story.commit("Good", {f"gpt/{path.relative_to(files)}": path.read_text() for path in files.rglob("*.yaml")})
    story.commit("Fewer", {"gpt/values.yaml": "workers: 4\n"})

    def source(workers: str) -> dict[str, Any]:
        helm = {"parameters": [{"name": "workers", "value": workers}]}
        return {"repoURL": MODELS, "targetRevision": "main", "path": "gpt", "helm": helm}

    history = [{"revision": story.shas["Good"], "deployedAt": "2026-01-01T00:00:00Z", "source": source("8")},
               {"revision": story.shas["Fewer"], "deployedAt": "2026-01-02T00:00:00Z", "source": source("0")}]  # fmt: skip
    told = story.ask("DataLoaderWorkers", *argo(tmp_path, {"source": source("0")}, {"history": history}))
    assert told.chosen is None
    assert "the application's parameter workers: 8 → 0" in told.because
    assert told.verdict("Fewer") == "innocent"
    assert list(told.changed().values()) == [("8", "0")]


def test_a_guilty_commit_beside_a_parameter_that_may_have_done_it_too_is_not_blamed(tmp_path: Path) -> None:
    story = Story(tmp_path / "repo")
    files = chart(tmp_path / "chart", "1.0.0", 8)
    more = '{name: PREFETCH_FACTOR, value: "{{ .Values.prefetch }}"}'
    text = (files / "templates" / "job.yaml").read_text().replace(WORKERS, f"{WORKERS}, {more}")
    (files / "templates" / "job.yaml").write_text(text)
    (files / "values.yaml").write_text("workers: 8\nprefetch: 4\n")
    story.commit("Good", {f"gpt/{path.relative_to(files)}": path.read_text() for path in files.rglob("*.yaml")})
    story.replace("Prefetch", "gpt/values.yaml", "prefetch: 4", "prefetch: 1")

    def source(workers: str) -> dict[str, Any]:
        helm = {"parameters": [{"name": "workers", "value": workers}]}
        return {"repoURL": MODELS, "targetRevision": "main", "path": "gpt", "helm": helm}

    history = [{"revision": story.shas["Good"], "deployedAt": "2026-01-01T00:00:00Z", "source": source("8")},
               {"revision": story.shas["Prefetch"], "deployedAt": "2026-01-02T00:00:00Z", "source": source("0")}]  # fmt: skip
    told = story.ask("DataLoaderWorkers", *argo(tmp_path, {"source": source("0")}, {"history": history}))
    assert told.chosen is None
    assert "no commit of the window changed it" in told.because
