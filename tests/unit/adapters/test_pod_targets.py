"""Where a pod shows its metrics: by number, name, annotation or convention."""

import pytest

from mfu_operator.adapters.metric_names import names_of
from mfu_operator.adapters.scrape.pod_targets import targets_of
from mfu_operator.adapters.scrape.sources import PodMetrics
from mfu_operator.model.baseline import MetricsSource, PodScrape
from mfu_operator.model.workload import PodEndpoint
from tests.support.metrics_page import TEXT
from tests.support.pods_double import JOB, OTHER, PROBE


def endpoint(**more: object) -> PodEndpoint:
    return PodEndpoint("gpt-0", "10.0.0.1", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pod", "wanted", "urls"),
    [
        (endpoint(), PodScrape((9400, 9401)), ["http://10.0.0.1:9400/metrics", "http://10.0.0.1:9401/metrics"]),
        (endpoint(ports={"prom": 8000}), PodScrape(("prom",), "/m"), ["http://10.0.0.1:8000/m"]),
        (endpoint(ports={"prom": 8000}), PodScrape(("other",)), []),
        (endpoint(annotations={"prometheus.io/port": "8001"}), PodScrape(), ["http://10.0.0.1:8001/metrics"]),
        (
            endpoint(annotations={"prometheus.io/port": "8001", "prometheus.io/path": "stats"}),
            PodScrape(),
            ["http://10.0.0.1:8001/stats"],
        ),
        (endpoint(annotations={"prometheus.io/scrape": "false", "prometheus.io/port": "1"}), PodScrape(), []),
        (
            endpoint(ports={"metrics-1": 9401, "metrics": 9400, "http": 80}),
            PodScrape(),
            ["http://10.0.0.1:9400/metrics", "http://10.0.0.1:9401/metrics"],
        ),
        (endpoint(ports={"http": 80}), PodScrape(), []),
        (PodEndpoint("gpt-0", "fd00::1"), PodScrape((9400,)), ["http://[fd00::1]:9400/metrics"]),
        (
            endpoint(ports={"metrics": 1}, annotations={"prometheus.io/port": "²"}),
            PodScrape(),
            ["http://10.0.0.1:1/metrics"],
        ),
        (endpoint(annotations={"prometheus.io/port": "65536"}), PodScrape(), []),
        (endpoint(annotations={"prometheus.io/port": "0"}), PodScrape(), []),
        (endpoint(annotations={"prometheus.io/path": "/metrics\n"}), PodScrape((9400,)), []),
        (endpoint(annotations={"prometheus.io/path": "/metrics x"}), PodScrape((9400,)), []),
        (endpoint(annotations={"prometheus.io/path": "/métrics"}), PodScrape((9400,)), []),
        (endpoint(annotations={"prometheus.io/path": "/" * 1025}), PodScrape((9400,)), []),
    ],
)
def test_a_port_is_found_by_number_name_annotation_or_convention(
    pod: PodEndpoint, wanted: PodScrape, urls: list[str]
) -> None:
    assert [target.url for target in targets_of(JOB, pod, wanted)] == urls


@pytest.mark.parametrize("path", ["/metrics\n", "/" * 70_000])
def test_a_path_that_is_none_is_its_own_jobs_problem(path: str) -> None:
    odd = endpoint(annotations={"prometheus.io/path": path})
    running = {JOB: (odd,), OTHER: (PodEndpoint("llama-0", "10.0.0.2"),)}
    names = names_of(MetricsSource())
    metrics = PodMetrics(PodScrape((9400,)), names, lambda refs: running, fetch=lambda target: (TEXT, PROBE))
    assert set(metrics.latest([JOB, OTHER], 1000.0)) == {OTHER}
    problem = metrics.absence(JOB)
    assert problem is not None
    assert (problem.reason, "prometheus.io/path" in problem.message) == ("NoMetricsPort", True)
    assert len(problem.message) < 300


def test_pods_that_do_not_say_where_their_metrics_are_are_told_how() -> None:
    metrics = PodMetrics(PodScrape(), names_of(MetricsSource()), lambda refs: {JOB: (endpoint(),)})
    assert metrics.latest([JOB], 0.0) == {}
    problem = metrics.absence(JOB)
    assert problem is not None
    assert problem.reason == "NoMetricsPort"
    assert "prometheus.io/port" in problem.message
