"""`kubectl mfu doctor` for baselines that are read from the pods' own pages."""

from collections.abc import Iterator, Sequence

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.adapters.scrape.pod_pages import Fetch
from mfu_operator.adapters.scrape.pod_targets import Target
from mfu_operator.adapters.scrape.sources import Look, PodMetrics
from mfu_operator.api.decode import MOST_MFU
from mfu_operator.cli.doctor.findings import PERCENTAGE, WITHOUT, Finding, vitals_finding
from mfu_operator.detect.samples import INFO, MFU, PHASE
from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import WorkloadRef

PAGE = "page"


def through(cluster: KubernetesCluster) -> Fetch:
    """Reads pages through the API server: pods cannot be reached from outside the cluster."""

    def fetch(target: Target) -> tuple[str, str]:
        return cluster.pod_page(target.workload.namespace, target.pod, target.port, target.path)

    return fetch


def examined_pods(metrics: PodMetrics, workload: WorkloadRef) -> list[Finding]:
    """Ask for every page of the workload's pods; then each signal with what the pages say of it."""
    try:
        looks = metrics.looks([workload])
    except MfuError as error:
        return [Finding(PAGE, "the workload's running pods", False, error.reason, error.message)]
    problem = metrics.absence(workload)
    if not looks:
        assert problem is not None
        return [Finding(PAGE, "the workload's running pods", False, problem.reason, problem.message)]
    return [*(_page(look) for look in looks), *_signals(metrics, looks)]


def _page(look: Look) -> Finding:
    query = f"GET {look.target.url} (pod {look.target.pod})"
    if look.problem is not None:
        return Finding(PAGE, query, False, look.problem.reason, look.problem.message)
    kinds = {kind for kind, _, _ in look.samples}
    told = f"{len(look.samples)} samples of {len(kinds)} kinds"
    return Finding(PAGE, query, True if kinds else None, told if kinds else "a page without any of the wanted metrics")


def _signals(metrics: PodMetrics, looks: Sequence[Look]) -> Iterator[Finding]:
    for kind, name in metrics.names.names.items():
        found = [(labels, value) for look in looks for each, labels, value in look.samples if each == kind]
        if not found:
            yield Finding(kind, name, None, "nothing", f"no page has {name}: {WITHOUT.get(kind, '')}")
        elif kind == PHASE:
            phases = sorted({labels.get("phase", "?") for labels, value in found if value == 1})
            yield Finding(kind, name, True, f"{len(found)} samples: {', '.join(phases) or 'none is 1'}")
        elif kind == INFO:
            yield Finding(kind, name, True, f"{len(found)} samples")
        else:
            yield _numbers(metrics, kind, name, [value for _, value in found])
    if vitals := metrics.names.vitals:
        present = {kind for look in looks for kind, _, _ in look.samples} & vitals.keys()
        yield vitals_finding(", ".join(sorted(vitals.values())), vitals, present)


def _numbers(metrics: PodMetrics, kind: str, name: str, values: Sequence[float]) -> Finding:
    scale = metrics.names.scales.get(kind, 1.0)
    told = f"{len(values)} samples, {min(values) * scale:.4g} … {max(values) * scale:.4g}"
    if kind in metrics.names.counters:
        return Finding(kind, name, True, f"{told}, a counter: its rate is read, from the second sweep on")
    if kind == MFU and max(values) * scale > MOST_MFU:
        return Finding(kind, name, False, told, PERCENTAGE)
    return Finding(kind, name, True, told)
