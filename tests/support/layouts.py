"""What the repositories of the tests of `kubectl mfu suspects` are made of."""

# ruff: noqa: E501 - manifests as people write them
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.suspect_story import Story, config_map, job

URL = "https://git.example/ml/models"
CHARTS = "https://charts.example/ml"
TRAIN = "loader:\n  num_workers: 8\n  prefetch_factor: 4\nprecision: bf16\nseed: 1\n"
SLOW = TRAIN.replace("num_workers: 8", "num_workers: 0")
BASE = {
    "base/kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator:\n  - name: gpt-config\n    files: [train.yaml]\n",
    "base/job.yaml": job(),
    "base/train.yaml": TRAIN,
}
PLAIN = {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN)}


def chart(folder: str = "charts/gpt/", version: str = "1.0.0", workers: int = 4) -> dict[str, str]:
    """A chart whose values say how many workers the job has."""
    env = '[{name: NUM_WORKERS, value: "{{ .Values.workers }}"}, {name: SEED, value: "{{ .Values.seed }}"}]'
    return {
        f"{folder}Chart.yaml": f"apiVersion: v2\nname: gpt\nversion: {version}\n",
        f"{folder}values.yaml": f"workers: {workers}\nseed: 1\n",
        f"{folder}templates/job.yaml": job("{{ .Release.Name }}", env=env),
    }


def sent_chart(story: Story, version: str = "1.0.0", workers: int = 4) -> tuple[str, ...]:
    """The options that lend a version of the chart, as its repository would send it."""
    folder = story.folder / f"gpt-{version}"
    for path, text in chart("", version, workers).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return "--chart", f"{CHARTS}/gpt@{version}={folder}"


def given(story: Story, *objects: Mapping[str, Any]) -> tuple[str, ...]:
    """The options that give manifests of the delivery tool."""
    found: list[str] = []
    for number, each in enumerate(objects):
        file: Path = story.folder / f"given-{number}.json"
        file.write_text(json.dumps(each))
        found += ["--application", str(file)]
    return tuple(found)


def application(name: str = "gpt", *, status: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """An Argo CD Application; without sources, of one that follows main with what is given."""
    if "sources" not in spec and "source" not in spec:
        spec = {"source": {"repoURL": URL, "targetRevision": "main", **spec}}
    head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": name}}
    return {**head, "spec": {"project": "default", **spec}, **({"status": status} if status else {})}


def flux(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    """An object of Flux."""
    group = "kustomize" if kind == "Kustomization" else "source"
    metadata = {"name": name, "namespace": "flux-system"}
    return {"apiVersion": f"{group}.toolkit.fluxcd.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def kustomization(path: str = "./prod", name: str = "gpt", **spec: Any) -> dict[str, Any]:
    """A Kustomization of the repository."""
    return flux("Kustomization", name, path=path, sourceRef={"kind": "GitRepository", "name": "models"}, **spec)


REPOSITORY = flux("GitRepository", "models", url=URL, ref={"branch": "main"})
HELM_REPOSITORY = flux("HelmRepository", "charts", url=CHARTS)


def release(values: str, *, version: str = "1.0.0", values_from: str = "", chart_of: str = "") -> str:
    """The manifest of a HelmRelease; `chart_of` is the chart's folder where it lies in the repository."""
    source = "GitRepository, name: models" if chart_of else "HelmRepository, name: charts"
    more = f"  valuesFrom: [{{kind: ConfigMap, name: {values_from}}}]\n" if values_from else ""
    asked = "" if chart_of else f'version: "{version}", '
    return f"""apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: gpt, namespace: flux-system}}
spec:
  interval: 5m
  chart:
    spec: {{chart: {chart_of or "gpt"}, {asked}sourceRef: {{kind: {source}}}}}
{more}  values: {{{values}}}
"""
