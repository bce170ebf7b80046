"""Kustomize and Helm: real engines render every revision, and only what reaches the workload counts."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.built import built
from tests.support.suspect_story import Story, job

HELM, KUSTOMIZE = built("helm", "helm"), built("kustomize", "kustomize")
pytestmark = [] if HELM and KUSTOMIZE else [pytest.mark.cluster]
"""Where they are not built yet, the tests wait for the cluster's programs, which are compiled with it."""

TRAIN = "loader:\n  num_workers: 8\n  prefetch_factor: 4\nprecision: bf16\n"
GENERATOR = "configMapGenerator:\n  - name: gpt-config\n    files: [train.yaml]\n"


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folders = [str(Path(program).parent) for program in (HELM, KUSTOMIZE) if program]
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
    yield


@pytest.fixture
def overlays(tmp_path: Path) -> Story:
    """A base with a generator, an overlay for staging and one for production."""
    made = Story(tmp_path)
    patch = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: gpt}\nspec:\n  template:\n    spec:\n      containers:\n"
    workers = patch + '        - name: trainer\n          env:\n            - {name: NUM_WORKERS, value: "%d"}\n'
    overlay = "resources: [../../base]\npatches:\n  - path: workers.yaml\n"
    made.commit("Good", {
        "base/kustomization.yaml": f"resources: [job.yaml]\n{GENERATOR}",
        "base/job.yaml": job(),
        "base/train.yaml": TRAIN,
        "overlays/staging/kustomization.yaml": overlay,
        "overlays/staging/workers.yaml": workers % 4,
        "overlays/production/kustomization.yaml": overlay,
        "overlays/production/workers.yaml": workers % 8,
    })  # fmt: skip
    return made


PRODUCTION = ("--path", "overlays/production")


def test_staging_is_innocent_and_production_guilty(overlays: Story) -> None:
    overlays.replace("Staging", "overlays/staging/workers.yaml", '"4"', '"0"')
    overlays.replace("Production", "overlays/production/workers.yaml", '"8"', '"1"')
    told = overlays.ask("DataLoaderWorkers", *PRODUCTION)
    assert told.chosen == "Production"
    assert told.verdict("Staging") == "innocent"
    assert told.json["renderer"]["name"] == "kustomize"
    assert told.suspect("Production")["text"][0]["path"] == "overlays/production/workers.yaml"


def test_a_default_of_the_base_that_production_overrides_is_innocent(overlays: Story) -> None:
    text = '{name: NUM_WORKERS, value: "2"}'
    overlays.commit("Base", {"base/job.yaml": job(env=f"[{text}]")})
    told = overlays.ask("DataLoaderWorkers", *PRODUCTION)
    assert told.verdict("Base") == "innocent"
    assert told.chosen is None


def test_a_generated_configmap_is_seen_through_its_hash(overlays: Story) -> None:
    overlays.replace("Workers", "base/train.yaml", "num_workers: 8", "num_workers: 0")
    told = overlays.ask("DataLoaderWorkers", *PRODUCTION)
    assert told.chosen == "Workers"
    assert told.changed() == {'ConfigMap/gpt-config data["train.yaml"].loader.num_workers': (8, 0)}


def test_a_generator_file_of_another_configmap_is_innocent(overlays: Story) -> None:
    more = "  - name: eval-config\n    files: [eval.yaml]\n"
    overlays.commit("Eval", {
        "base/kustomization.yaml": f"resources: [job.yaml]\n{GENERATOR}{more}",
        "base/eval.yaml": "num_workers: 8\n",
    })  # fmt: skip
    overlays.replace("Eval workers", "base/eval.yaml", "8", "0")
    assert overlays.ask("DataLoaderWorkers", *PRODUCTION).verdict("Eval workers") == "innocent"


def test_formatting_inside_a_generated_file_is_innocent_although_its_hash_changes(overlays: Story) -> None:
    overlays.replace("Format", "base/train.yaml", "num_workers: 8", "num_workers:   8   # eight")
    assert overlays.ask("DataLoaderWorkers", *PRODUCTION).verdict("Format") == "innocent"


def test_a_component_is_read(overlays: Story) -> None:
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n  - path: patch.yaml\n"
    patch = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: gpt}\nspec: {template: {spec: {containers: "
        '[{name: trainer, env: [{name: NCCL_IB_DISABLE, value: "0"}]}]}}}\n'
    )
    overlay = "resources: [../../base]\ncomponents: [../../components/fabric]\n"
    overlays.commit("Component", {
        "components/fabric/kustomization.yaml": component, "components/fabric/patch.yaml": patch,
        "overlays/production/kustomization.yaml": overlay, "overlays/production/workers.yaml": None,
    })  # fmt: skip
    overlays.replace("Fabric off", "components/fabric/patch.yaml", '"0"', '"1"')
    assert overlays.ask("SlowLink", *PRODUCTION, good="Component").chosen == "Fabric off"


def test_a_remote_base_is_said_and_nothing_blamed(overlays: Story) -> None:
    remote = "resources: [../../base, https://git.example/team/base?ref=v1]\n"
    overlays.commit("Remote", {"overlays/production/kustomization.yaml": remote})
    told = overlays.ask("DataLoaderWorkers", *PRODUCTION)
    assert told.chosen is None
    assert "remote" in told.because
    assert told.json["renderer"]["name"] is None


def test_a_link_that_leads_out_is_refused(overlays: Story) -> None:
    (overlays.repo / "base" / "train.yaml").unlink()
    (overlays.repo / "base" / "train.yaml").symlink_to("/etc/passwd")
    overlays.commit("Link", {})
    told = overlays.ask("DataLoaderWorkers", *PRODUCTION)
    assert told.chosen is None
    assert "absolute path" in told.because
    assert "root:" not in str(told.json)


def test_a_plugin_is_not_run(overlays: Story) -> None:
    generator = (
        "apiVersion: v1\nkind: Gen\nmetadata:\n  name: gen\n  annotations:\n    config.kubernetes.io/function: |\n"
        "      exec: {path: ./run.sh}\n"
    )
    overlays.commit("Exec", {
        "overlays/production/kustomization.yaml": "resources: [../../base]\ngenerators: [gen.yaml]\n",
        "overlays/production/gen.yaml": generator,
        "overlays/production/run.sh": "#!/bin/sh\ntouch /tmp/mfu-was-run\n",
    })  # fmt: skip
    assert overlays.ask("DataLoaderWorkers", *PRODUCTION).chosen is None
    assert not Path("/tmp/mfu-was-run").exists()


WORKERS = '{name: NUM_WORKERS, value: "{{ .Values.workers }}"}'
IMAGE = "registry.example/gpt:{{ .Values.image.tag }}"
CHART_JOB = job("{{ .Release.Name }}-trainer", env=f"[{WORKERS}]", config="{{ .Release.Name }}", image=IMAGE)
CHART = {
    "charts/gpt/Chart.yaml": "apiVersion: v2\nname: gpt\nversion: 0.1.0\n",
    "charts/gpt/values.yaml": "workers: 4\nprecision: bf16\nimage: {tag: v1}\n",
    "charts/gpt/templates/job.yaml": CHART_JOB,
    "charts/gpt/templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\n"
    "data:\n  train.yaml: |\n    precision: {{ .Values.precision }}\n",
    "values/production.yaml": "workers: 8\n",
    "values/staging.yaml": "workers: 2\n",
}
MODELS = "https://git.example/ml/models"


def application(**source: object) -> str:
    spec = {"destination": {"namespace": "training"}, "source": {"repoURL": MODELS, **source}}
    head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "gpt"}}
    return json.dumps({**head, "spec": spec})


@pytest.fixture
def chart(tmp_path: Path) -> Story:
    made = Story(tmp_path)
    made.commit("Good", CHART)
    text = application(path="charts/gpt", targetRevision="main", helm={"valueFiles": ["../../values/production.yaml"]})
    (tmp_path / "application.json").write_text(text)
    return made


def test_a_chart_s_default_that_production_overrides_is_innocent(chart: Story) -> None:
    chart.replace("Default", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    chart.replace("Staging", "values/staging.yaml", "2", "0")
    chart.replace("Production", "values/production.yaml", "8", "1")
    told = chart.ask("DataLoaderWorkers", "--application", str(chart.folder / "application.json"),
                     workload="Job/gpt-trainer")  # fmt: skip
    assert told.chosen == "Production"
    assert told.verdict("Default") == told.verdict("Staging") == "innocent"
    assert told.json["renderer"]["name"] == "helm"
    assert "Job/gpt-trainer spec.template.spec.containers[trainer].env[NUM_WORKERS].value" in told.changed()


def test_a_parameter_of_the_application_wins_over_values(chart: Story) -> None:
    text = application(path="charts/gpt", helm={
        "valueFiles": ["../../values/production.yaml"], "parameters": [{"name": "workers", "value": "6"}],
        "valuesObject": {"precision": "fp16"}})  # fmt: skip
    (chart.folder / "application.json").write_text(text)
    chart.replace("Production", "values/production.yaml", "8", "1")
    chart.replace("Precision", "charts/gpt/values.yaml", "bf16", "fp32")
    told = chart.ask("DataLoaderWorkers", "--application", str(chart.folder / "application.json"),
                     workload="Job/gpt-trainer")  # fmt: skip
    assert told.verdict("Production") == told.verdict("Precision") == "innocent"


def test_the_release_of_a_chart_that_nothing_names_comes_from_the_workload(chart: Story) -> None:
    chart.replace("Default", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    told = chart.ask("DataLoaderWorkers", "--path", "charts/gpt", workload="Job/prod-trainer")
    assert told.chosen == "Default"


def test_random_values_are_left_out_and_named(chart: Story) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {token: '{{ randAlphaNum 16 }}'}\n"
    env = f"[{{name: T, valueFrom: {{secretKeyRef: {{name: token, key: token}}}}}}, {WORKERS}]"
    chart.commit("Token", {"charts/gpt/templates/secret.yaml": secret,
                           "charts/gpt/templates/job.yaml": job("{{ .Release.Name }}-trainer", env=env)})  # fmt: skip
    chart.replace("Docs", "charts/gpt/Chart.yaml", "0.1.0", "0.1.1")
    chart.replace("Workers", "values/production.yaml", "8", "1")
    told = chart.ask("DataLoaderWorkers", "--application", str(chart.folder / "application.json"),
                     good="Token", workload="Job/gpt-trainer")  # fmt: skip
    assert told.chosen == "Workers"
    assert told.verdict("Docs") == "innocent"
    assert "Secret/token: data.token" in told.because


def test_a_chart_repository_s_values_come_from_another_source(chart: Story, tmp_path: Path) -> None:
    values = Story(tmp_path / "values-repo")
    values.commit("Good", {"gpt/production.yaml": "workers: 8\n", "bert/production.yaml": "workers: 8\n"})
    values.replace("Bert", "bert/production.yaml", "8", "0")
    values.replace("Gpt", "gpt/production.yaml", "8", "0")
    charts = "https://git.example/ml/charts"
    sources = [
        {"repoURL": "https://git.example/ml/values", "targetRevision": "main", "ref": "values"},
        {"repoURL": charts, "targetRevision": "main", "path": "charts/gpt",
         "helm": {"valueFiles": ["$values/gpt/production.yaml"]}},
    ]  # fmt: skip
    app = {**json.loads(application()), "spec": {"sources": sources}}
    (tmp_path / "two.json").write_text(json.dumps(app))
    options = ("--application", str(tmp_path / "two.json"), "--values", f"{charts}={chart.repo}")
    told = values.ask("DataLoaderWorkers", *options, workload="Job/gpt-trainer")
    assert told.chosen == "Gpt"
    assert told.verdict("Bert") == "innocent"
    assert len(told.json["window"]["sources"]) == 2


def test_a_monorepo_s_other_applications_are_innocent(tmp_path: Path) -> None:
    made = Story(tmp_path)
    files: dict[str, str | None] = {}
    for name in ("gpt", "bert", "t5"):
        files |= {f"apps/{name}/kustomization.yaml": f"resources: [job.yaml]\n{GENERATOR}",
                  f"apps/{name}/job.yaml": job(name), f"apps/{name}/train.yaml": TRAIN}  # fmt: skip
    made.commit("Good", files)
    for name in ("bert", "gpt", "t5"):
        made.replace(name, f"apps/{name}/train.yaml", "num_workers: 8", "num_workers: 1")
    told = made.ask("DataLoaderWorkers", "--path", "apps/gpt")
    assert told.chosen == "gpt"
    assert told.verdict("bert") == told.verdict("t5") == "innocent"


def test_flux_substitutes_variables(tmp_path: Path) -> None:
    made = Story(tmp_path)
    variables = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cluster}\ndata: {workers: '8'}\n"
    env = '[{name: NUM_WORKERS, value: "${workers:=2}"}, {name: ZONE, value: "${zone}"}]'
    made.commit("Good", {"apps/gpt/job.yaml": job(env=env), "clusters/prod/vars.yaml": variables})
    made.replace("Default", "apps/gpt/job.yaml", ":=2", ":=1")
    made.replace("Variable", "clusters/prod/vars.yaml", "'8'", "'0'")
    flux = (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: gpt, namespace: flux}\n"
        "spec:\n  path: ./apps/gpt\n  sourceRef: {kind: GitRepository, name: models}\n"
        "  postBuild:\n    substitute: {zone: a}\n    substituteFrom: [{kind: ConfigMap, name: cluster}]\n"
    )
    (tmp_path / "flux.yaml").write_text(flux)
    told = made.ask("DataLoaderWorkers", "--application", str(tmp_path / "flux.yaml"))
    assert told.chosen == "Variable"
    assert told.verdict("Default") == "innocent"


def test_the_application_s_own_kustomize_images_win(overlays: Story) -> None:
    text = application(
        path="overlays/production", kustomize={"images": ["registry.example/gpt:v7"], "namePrefix": "prod-"}
    )
    (overlays.folder / "application.json").write_text(text)
    overlays.commit("New image", {"base/job.yaml": job(image="registry.example/gpt:v2")})
    told = overlays.ask("PrecisionLost", "--application", str(overlays.folder / "application.json"),
                        workload="Job/prod-gpt")  # fmt: skip
    assert told.verdict("New image") == "innocent"
