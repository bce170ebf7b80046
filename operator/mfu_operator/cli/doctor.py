"""`kubectl mfu doctor`: for each signal of a baseline, which query is sent, what comes back, and what to change."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import yaml

from mfu_operator.adapters.cluster import KubernetesCluster, connect
from mfu_operator.adapters.metric_names import MetricNames
from mfu_operator.adapters.prometheus import PrometheusMetrics, PrometheusSources
from mfu_operator.api import decode
from mfu_operator.cli import baselines
from mfu_operator.detect.comparable import differences
from mfu_operator.detect.samples import INFO, MFU, PHASE, RUNNING_RATIO, SCRAPED_AT, STEP_TIME, STEPS, THROUGHPUT
from mfu_operator.detect.words import duration
from mfu_operator.errors import MfuError, Unreadable
from mfu_operator.model.baseline import BaselineSpec, MetricsSource
from mfu_operator.ports import Credentials
from mfu_operator.runtime.perform import credentials_of

_TOKEN_VARIABLE = "MFU_PROMETHEUS_TOKEN"
_OLD_S = 120.0
_MOST_EXAMPLES = 3
VITALS_LINE = "vitals"
_WITHOUT = {
    MFU: "MFU is not judged; throughput or step time can be",
    STEP_TIME: "step time is not judged, and a slow rank cannot be told",
    THROUGHPUT: "throughput is not judged, and a changed MFU formula cannot be told from a loss",
    STEPS: "a hang looks like missing data",
    PHASE: "checkpoints and evaluations are not gated, and a loss needs 10 minutes of evidence and not 7",
    INFO: "a changed batch, sequence length or world size is not noticed",
    RUNNING_RATIO: "readings just after a checkpoint still hold a part of it",
    SCRAPED_AT: "readings carry the time of the query",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One query's outcome. ok None: absent, and training can be judged without it."""

    kind: str
    query: str
    ok: bool | None
    told: str
    advice: str = ""


@click.command("doctor")
@click.argument("name", required=False)
@click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")
@click.option("--baseline", "manifest", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="A manifest instead of NAME.")  # fmt: skip
@click.option("--prometheus", metavar="URL",
              help=f"Ask there, as seen from here (port-forward); bearer token: {_TOKEN_VARIABLE}.")  # fmt: skip
def doctor_command(name: str | None, namespace: str | None, manifest: Path | None, prometheus: str | None) -> None:
    """Ask for every signal of a baseline as the operator does, and say what to change."""
    if (name is None) == (manifest is None):
        raise click.UsageError("give either NAME or --baseline FILE")
    body = baselines.one(namespace, name) if name else _manifest(manifest)
    spec = decode.spec(body)
    source = replace(spec.metrics, address=prometheus or spec.metrics.address)
    metrics = PrometheusSources(MetricsSource(address=os.environ.get("MFU_PROMETHEUS_ADDRESS"))).open(
        source, _credentials(spec)
    )
    assert isinstance(metrics, PrometheusMetrics)
    print(f"source    {metrics.address}  profile {source.profile}")
    print(f"workload  {spec.workload.kind} {spec.workload.namespace}/{spec.workload.name}")
    found = examined(metrics, spec, time.time())
    for finding in found:
        print(_line(finding))
    for advice in _overall(metrics, spec, found):
        print(f"→ {advice}")


def examined(metrics: PrometheusMetrics, spec: BaselineSpec, now_s: float) -> list[Finding]:
    """Send every query of the baseline's sweep; a source that cannot be asked is the one finding."""
    findings = []
    for kind, promql in metrics.queries([spec.workload]):
        try:
            rows = metrics.query(promql, now_s)
        except MfuError as error:
            findings.append(Finding(kind, promql, False, error.reason, error.message))
            if error.reason.startswith("Prometheus"):
                break
            continue
        findings.append(_finding(metrics, kind, promql, rows, now_s))
    if metrics.names.vitals and not any(finding.told.startswith("Prometheus") for finding in findings):
        findings.append(_vitals(metrics, spec, now_s))
    return findings


def _vitals(metrics: PrometheusMetrics, spec: BaselineSpec, now_s: float) -> Finding:
    """Memory, losses and skipped steps come in one query."""
    promql = metrics.vitals_query([spec.workload])
    kinds = {name: kind for kind, name in metrics.names.vitals.items()}
    try:
        present = {kinds.get(labels.get("__name__", ""), "") for labels, _ in metrics.query(promql, now_s)}
    except MfuError as error:
        return Finding(VITALS_LINE, promql, False, error.reason, error.message)
    missing = ", ".join(kind for kind in metrics.names.vitals if kind not in present)
    told = ", ".join(kind for kind in metrics.names.vitals if kind in present) or "nothing"
    advice = f"not exported, so not watched: {missing}" if missing else ""
    return Finding(VITALS_LINE, promql, True if present else None, told, advice)


def _finding(
    metrics: PrometheusMetrics, kind: str, promql: str, rows: Sequence[tuple[Mapping[str, str], float]], now_s: float
) -> Finding:
    if not rows:
        name = metrics.names.names.get(kind, "")
        return Finding(kind, promql, None, "nothing", _why_nothing(metrics, kind, name, now_s))
    pods = {labels.get(metrics.names.pod, "") for labels, _ in rows}
    values = [value for _, value in rows]
    told = f"{len(rows)} series of {len(pods)} pods"
    if kind == SCRAPED_AT:
        age_s = now_s - max(values)
        late = age_s > _OLD_S
        advice = "is the job still running, and does its PodMonitor still match?" if late else ""
        return Finding(kind, promql, not late, f"{told}, the last scrape {duration(age_s)} ago", advice)
    if kind == PHASE:
        phases = sorted({labels.get("phase", "?") for labels, _ in rows})
        return Finding(kind, promql, True, f"{told}: {', '.join(phases)}")
    if kind == INFO:
        return Finding(kind, promql, True, told)
    scale = metrics.names.scales.get(kind, 1.0)
    told = f"{told}, {min(values) * scale:.4g} … {max(values) * scale:.4g}"
    if kind == MFU and max(values) * scale > 1.5:
        return Finding(kind, promql, False, told, "that is a percentage, and a ratio is wanted: name a metric in 0…1")
    return Finding(kind, promql, True, told)


def _why_nothing(metrics: PrometheusMetrics, kind: str, name: str, now_s: float) -> str:
    """Look whether the metric exists under other labels."""
    if not name:
        return _WITHOUT.get(kind, "")
    elsewhere = metrics.query(f"count by ({_labels(metrics.names)}) ({name})", now_s)
    if not elsewhere:
        return f"no series is called {name}: {_WITHOUT.get(kind, '')}"
    seen = [
        "/".join(labels.get(label, "–") for label in (metrics.names.namespace, metrics.names.workload) if label)
        for labels, _ in elsewhere[:_MOST_EXAMPLES]
    ]
    return f"{name} exists for {', '.join(seen)}: do metrics.labels and the scrape's relabelling fit this workload?"


def _labels(names: MetricNames) -> str:
    return ",".join(label for label in (names.namespace, names.workload) if label)


def _overall(metrics: PrometheusMetrics, spec: BaselineSpec, found: Sequence[Finding]) -> list[str]:
    signals = [finding for finding in found if finding.kind in (MFU, STEP_TIME, THROUGHPUT)]
    if not any(finding.ok for finding in signals):
        return ["no signal can be read: the verdict is NoData until one of mfu, stepTime, throughput comes back"]
    readings = metrics.latest([spec.workload], time.time()).get(spec.workload, ())
    info = readings[-1].info if readings else {}
    return [f"NotComparable: {text}" for text in differences(spec.comparable, info, {})]


def _line(finding: Finding) -> str:
    mark = {True: "ok", False: "BAD", None: "–"}[finding.ok]
    advice = f"\n{'':14}{finding.advice}" if finding.advice else ""
    return f"{mark:<4}{finding.kind:<10}{finding.told}\n{'':14}{finding.query}{advice}"


def _manifest(path: Path | None) -> Mapping[str, Any]:
    assert path is not None
    try:
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Unreadable("UnreadableBaseline", f"{path}: {error}") from None
    if not isinstance(body, Mapping):
        raise Unreadable("UnreadableBaseline", f"{path}: not a TrainingBaseline manifest")
    return {**body, "metadata": {"namespace": "default", **(body.get("metadata") or {})}}


def _credentials(spec: BaselineSpec) -> Credentials | None:
    token = os.environ.get(_TOKEN_VARIABLE)
    if token:
        return Credentials(password=token)
    if spec.metrics.secret is None:
        return None
    return credentials_of(KubernetesCluster(connect()), spec.workload.namespace, spec.metrics.secret)
