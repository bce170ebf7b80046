"""`kubectl mfu doctor`: for each signal of a baseline, which query is sent, what comes back, and what to change."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.adapters.metric_names import MetricNames, of_fleet, profiles
from mfu_operator.adapters.prometheus import PrometheusMetrics, dcgm
from mfu_operator.adapters.prometheus.dcgm import FIELD_NAMES
from mfu_operator.adapters.scrape.sources import PodMetrics, PodSources
from mfu_operator.api import status as codec
from mfu_operator.api.decode import MOST_MFU
from mfu_operator.cli import baselines
from mfu_operator.cli.connection import baseline_names, connected, connection_options
from mfu_operator.cli.doctor.findings import PERCENTAGE, VITALS_LINE, WITHOUT, Finding, vitals_finding
from mfu_operator.cli.doctor.pods import examined_pods, through
from mfu_operator.cli.doctor.told import Examination, as_markdown, as_object, as_text
from mfu_operator.cli.manifest import MANIFEST, read_manifest, spec_of
from mfu_operator.cli.printing.objects import as_json, as_yaml
from mfu_operator.cli.printing.options import output_option, show, watch_option
from mfu_operator.cli.printing.page import as_page
from mfu_operator.cli.source import Asked, opened, prometheus_options
from mfu_operator.detect.comparable import differences
from mfu_operator.detect.formatting import duration, quantity
from mfu_operator.detect.samples import INFO, MFU, PHASE, SCRAPED_AT, STEP_TIME, THROUGHPUT
from mfu_operator.detect.utilisation import mfu_problem, peak_flops, with_mfu
from mfu_operator.detect.workload_facts import facts_of
from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import BaselineSpec, MetricsSource, Signal
from mfu_operator.model.series import Reading
from mfu_operator.process.wiring import fleet_of
from mfu_operator.reconcile.level import as_recorded
from mfu_operator.settings import from_environment

_OLD_S = 120.0
"""Two scrapes of the slowest common interval, 60 s."""

_MOST_EXAMPLES = 3
_FIELDS = {Signal.THROUGHPUT: "tokensPerSecondPerGpu", Signal.STEP_TIME: "stepTimeSeconds"}
"""What tells a changed formula of MFU from a loss, the better one first."""

HARDWARE_LINE = "hardware"
NO_DCGM = (
    "no series of dcgm-exporter for these pods: links, throttling, XID and ECC errors are not ruled out; run it with "
    "DCGM_EXPORTER_KUBERNETES=true, so that pod and namespace (or exported_pod and exported_namespace) are the job's"
)


@click.command("doctor")
@click.argument("name", required=False, shell_complete=baseline_names)
@click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")
@connection_options
@click.option("--baseline", "manifest", type=MANIFEST, help="A manifest instead of NAME (-: the standard input).")
@output_option("text", "json", "yaml", "markdown", "html")
@watch_option
@prometheus_options("Ask there, as seen from here (port-forward).")
def doctor_command(
    name: str | None,
    namespace: str | None,
    manifest: Path | None,
    output: str,
    look_every_s: float | None,
    asked: Asked,
) -> None:
    """Ask for every signal of a baseline as the operator does, and say what to change."""
    if (name is None) == (manifest is None):
        raise click.UsageError("give either NAME or --baseline FILE")
    show(lambda: _printed(name, namespace, manifest, output, asked), look_every_s)


def _printed(name: str | None, namespace: str | None, manifest: Path | None, output: str, asked: Asked) -> str:
    body = read_manifest(manifest) if manifest is not None else baselines.one(namespace, name or "")
    spec = as_recorded(spec_of(body), codec.decode(body.get("status")).baseline)
    fleet = fleet_of(from_environment())
    spec = _of_its_run(spec)
    if spec.metrics.pods is not None and asked.address is None:
        heard = _ask_pods(spec, fleet)
    else:
        heard = _ask_prometheus(spec, fleet, asked)
    facts = _facts(spec) if name else {}
    advice = [*heard.notes, *overall(spec, heard.found, heard.readings, facts, fleet)]
    profile = of_fleet(spec.metrics, fleet).profile
    workload = f"{spec.workload.kind} {spec.workload.namespace}/{spec.workload.name}"
    asked_for = Examination(heard.source, str(profile), workload, tuple(heard.found), tuple(advice))
    match output:
        case "json":
            return as_json(as_object(asked_for))
        case "yaml":
            return as_yaml(as_object(asked_for))
        case "markdown":
            return as_markdown(asked_for)
        case "html":
            return as_page(f"Metrics of {workload}", as_markdown(asked_for))
        case _:
            return as_text(asked_for)


@dataclass(frozen=True, slots=True)
class _Metrics:
    """What came back from a source, and what was noticed of the source itself."""

    source: str
    found: list[Finding]
    readings: Sequence[Reading]
    notes: tuple[str, ...] = ()


def _ask_pods(spec: BaselineSpec, fleet: MetricsSource) -> _Metrics:
    cluster = KubernetesCluster(connected())
    metrics = PodSources(fleet, cluster.endpoints, through(cluster)).open(spec.metrics, None)
    assert isinstance(metrics, PodMetrics)
    found = examined_pods(metrics, spec.workload)
    readings = metrics.latest([spec.workload], time.time()).get(spec.workload, ())
    return _Metrics("the pods' own pages, through the API server", found, readings)


def _ask_prometheus(spec: BaselineSpec, fleet: MetricsSource, asked: Asked) -> _Metrics:
    metrics = opened(spec, fleet, asked)
    now_s = time.time()
    found = examined(metrics, spec, now_s)
    notes = tuple(of_the_server(metrics))
    asks = any(finding.ok for finding in found)
    readings = metrics.latest([spec.workload], now_s).get(spec.workload, ()) if asks else ()
    return _Metrics(metrics.address, found, readings, notes)


def of_the_server(metrics: PrometheusMetrics) -> Iterator[str]:
    """What its answers told about the server itself."""
    if metrics.ahead_s:
        yield f"the server's clock is {duration(abs(metrics.ahead_s))} {_ahead(metrics.ahead_s)}: that is allowed for"
    if metrics.lacking is not None:
        yield f"the server answers without a part of its data, which may be this job's: {metrics.lacking}"


def _ahead(seconds: float) -> str:
    return "ahead of this one" if seconds > 0 else "behind this one"


def _of_its_run(spec: BaselineSpec) -> BaselineSpec:
    """By the name of the run that is judged, where labels follow them."""
    found = KubernetesCluster(connected()).workload(spec.workload) if spec.workload.selector else None
    return spec if found is None else spec.of_run(found.name, found.earlier_runs)


def _facts(spec: BaselineSpec) -> Mapping[str, str]:
    workload = KubernetesCluster(connected()).workload(spec.workload)
    return {} if workload is None else facts_of(workload, spec.workload.container)


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
    if any(finding.told.startswith("Prometheus") for finding in findings):
        return findings
    vitals = [_vitals(metrics, spec, now_s)] if metrics.names.vitals else []
    return [*findings, *vitals, _hardware(metrics, spec, now_s)]


def _hardware(metrics: PrometheusMetrics, spec: BaselineSpec, now_s: float) -> Finding:
    """Links, throttling, errors and activity come in one query, from dcgm-exporter."""
    promql = metrics.hardware_query([spec.workload])
    try:
        gpus = metrics.hardware([spec.workload], now_s).get(spec.workload, ())
    except MfuError as error:
        return Finding(HARDWARE_LINE, promql, False, error.reason, error.message)
    if not gpus:
        return Finding(HARDWARE_LINE, promql, None, "nothing", NO_DCGM)
    present = [field for field in FIELD_NAMES if any(getattr(gpu, field) is not None for gpu in gpus)]
    missing = [field for field in FIELD_NAMES if field not in present]
    told = f"{len(gpus)} GPU{'s' if len(gpus) > 1 else ''}: {', '.join(FIELD_NAMES[field] for field in present)}"
    advice = (
        f"not ruled out: {', '.join(FIELD_NAMES[field] for field in missing)}; add to dcgm-exporter's list of metrics "
        f"{', '.join(dcgm.name_of(field) for field in missing)}"
    )
    return Finding(HARDWARE_LINE, promql, True, told, advice if missing else "")


def _vitals(metrics: PrometheusMetrics, spec: BaselineSpec, now_s: float) -> Finding:
    """Memory, losses and skipped steps come in one query."""
    promql = metrics.vitals_query([spec.workload])
    kinds = {name: kind for kind, name in metrics.names.vitals.items()}
    try:
        present = {kinds.get(labels.get("__name__", ""), "") for labels, _ in metrics.query(promql, now_s)}
    except MfuError as error:
        return Finding(VITALS_LINE, promql, False, error.reason, error.message)
    return vitals_finding(promql, metrics.names.vitals, present)


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
    if kind == MFU and max(values) * scale > MOST_MFU:
        return Finding(kind, promql, False, told, PERCENTAGE)
    return Finding(kind, promql, True, told)


def _why_nothing(metrics: PrometheusMetrics, kind: str, name: str, now_s: float) -> str:
    """Look whether the metric exists under other labels."""
    if not name:
        return WITHOUT.get(kind, "")
    elsewhere = metrics.query(f"count by ({_labels(metrics.names)}) ({name})", now_s)
    if not elsewhere:
        return f"no series is called {name}: {WITHOUT.get(kind, '')}"
    seen = [
        "/".join(labels.get(label, "–") for label in (metrics.names.namespace, metrics.names.workload) if label)
        for labels, _ in elsewhere[:_MOST_EXAMPLES]
    ]
    return f"{name} exists for {', '.join(seen)}: do metrics.labels and the scrape's relabelling fit this workload?"


def _labels(names: MetricNames) -> str:
    return ",".join(label for label in (names.namespace, names.workload) if label)


def overall(
    spec: BaselineSpec,
    found: Sequence[Finding],
    readings: Sequence[Reading],
    facts: Mapping[str, str],
    fleet: MetricsSource,
) -> list[str]:
    """What all findings together mean for the verdict.

    Args:
        spec: what the baseline declares.
        found: what was found, signal by signal.
        readings: what the operator would make of it.
        facts: what the workload's object says about the run.
        fleet: the operator's choice for baselines that declare nothing.
    """
    if not any(finding.ok for finding in found if finding.kind in (MFU, STEP_TIME, THROUGHPUT)):
        profile = profiles().get(of_fleet(spec.metrics, fleet).profile or "")
        nothing = "no signal can be read: the verdict is NoData until one of mfu, stepTime, throughput comes back"
        return (
            [nothing] if profile is None else [nothing, f"profile {profile.name}: {profile.about}; {profile.install}"]
        )
    reading = readings[-1] if readings else None
    told = [_computed(spec, reading), _alone(spec, reading)] if reading is not None else []
    unlike = differences(spec.comparable, reading.info if reading else {}, facts)
    return [each for each in (*told, *(f"NotComparable: {text}" for text in unlike)) if each]


def _computed(spec: BaselineSpec, reading: Reading) -> str:
    """MFU as the operator computes it, where it does."""
    problem = mfu_problem(spec, reading)
    if problem is not None:
        return f"{problem.reason}: {problem.message}"
    mfu = with_mfu(reading, spec).values.get(Signal.MFU)
    if mfu is None or Signal.MFU in reading.values:
        return ""
    return f"MFU computed from throughput: {mfu:.4g}, at a peak of {peak_flops(spec, reading.info) / 1e12:.5g} TFLOP/s"


def _alone(spec: BaselineSpec, reading: Reading) -> str:
    """That a level of MFU stands alone where the job says more."""
    level = spec.declared
    second = next((signal for signal in _FIELDS if signal in reading.values), None)
    if level is None or level.mfu is None or level.throughput or level.step_time_s:
        return ""
    if second is None or Signal.MFU not in reading.values:
        return ""
    return (
        "the level is one of MFU alone, so that a changed formula of MFU would be taken for a loss: declare "
        f"baseline.values.{_FIELDS[second]} (it reads {quantity(second, reading.values[second])}) too, or record it"
    )
