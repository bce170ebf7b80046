"""What Prometheus is told to scrape."""

from pathlib import Path
from typing import Any

from tests.cluster.prometheus import scrape_settings


def _pods(settings: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = settings["scrape_configs"][0]
    return found


def test_a_scrape_never_outlasts_its_interval() -> None:
    times = scrape_settings(Path("kubeconfig"), 2, ())["global"]
    assert times == {"scrape_interval": "2s", "scrape_timeout": "2s"}


def test_only_pods_that_ask_for_it_are_scraped() -> None:
    rules = _pods(scrape_settings(Path("kubeconfig"), 2, ()))["relabel_configs"]
    asked = {"action": "keep", "source_labels": ["__meta_kubernetes_pod_annotation_prometheus_io_scrape"]}
    assert any(asked.items() <= rule.items() and rule["regex"] == "true" for rule in rules)


def test_series_say_where_they_come_from() -> None:
    rules = _pods(scrape_settings(Path("kubeconfig"), 2, ()))["relabel_configs"]
    given = {rule.get("target_label") for rule in rules}
    assert {"namespace", "pod", "container", "node", "job_name"} <= given


def test_extra_targets_get_a_job_of_their_own() -> None:
    assert len(scrape_settings(Path("kubeconfig"), 2, ())["scrape_configs"]) == 1
    static = scrape_settings(Path("kubeconfig"), 2, ["127.0.0.1:1"])["scrape_configs"][1]
    assert static["static_configs"] == [{"targets": ["127.0.0.1:1"]}]
