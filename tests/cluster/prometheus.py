"""Prometheus: scrapes the annotated pods of the cluster and answers the operator's queries."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.cluster.kubectl import Kubectl, service_account
from tests.cluster.layout import HOST_ADDRESS
from tests.cluster.process import Process, write_atomically
from tests.cluster.toolchain import go_binaries

_PORT = 19090
_RETENTION = "6h"
_REQUEST_TIMEOUT_S = 30.0
_ACCOUNT = "prometheus"
_NAMESPACE = "monitoring"
_RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
_POD = "__meta_kubernetes_pod"


class QueryFailedError(RuntimeError):
    """Prometheus refused a query; the message holds the query and what it said."""


class Prometheus:
    """One Prometheus on one address.

    It scrapes every running pod annotated ``prometheus.io/scrape: "true"`` at its annotated ``prometheus.io/port``,
    which one of its containers must declare as a ``containerPort`` (and at ``prometheus.io/path``, by default
    ``/metrics``). The series carry the labels ``namespace``, ``pod``, ``container`` (the one that declares the port),
    ``node`` and, for pods of a Job, ``job_name``.

    Attributes:
        url: Where it serves its pages and its API; the same address for host and pods.
    """

    name = "prometheus"

    def __init__(
        self,
        state: Path,
        kubeconfig: Path,
        *,
        host_address: str = HOST_ADDRESS,
        port: int = _PORT,
        scrape_interval_s: int = 2,
        extra_targets: Sequence[str] = (),
    ) -> None:
        """Describe Prometheus; data, settings and log stand below ``state``.

        Args:
            state: The folder of the running cluster.
            kubeconfig: With whose rights Prometheus's own account, which may only read pods, is made.
            host_address: Where it listens.
            port: Where it listens.
            scrape_interval_s: How often every target is scraped, in seconds.
            extra_targets: More targets, each ``host:port``.
        """
        self.url = f"http://{host_address}:{port}"
        self._folder = state / self.name
        self._kubectl = Kubectl(kubeconfig, state)
        self._scrape_interval_s = scrape_interval_s
        self._extra_targets = tuple(extra_targets)
        self._state = state
        self._listen = f"{host_address}:{port}"

    def start(self) -> None:
        """Make Prometheus's account, write its settings and start it; the API server must answer."""
        process = self._process()
        if process.running():
            return
        self._kubectl.apply(*service_account(_ACCOUNT, _NAMESPACE, _RULES))
        account = self._kubectl.service_account_kubeconfig(self._folder / "kubeconfig", _ACCOUNT, _NAMESPACE)
        settings = scrape_settings(account, self._scrape_interval_s, self._extra_targets)
        write_atomically(self._folder / "prometheus.yml", yaml.safe_dump(settings, sort_keys=False))
        process.start()

    def ready(self) -> None:
        """Wait until Prometheus serves."""
        self._process().await_ready("Prometheus", self._serves, timeout_s=180)

    def stop(self) -> None:
        """Stop Prometheus."""
        Process(self.name, [], state=self._state).stop()

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the result of an instant query: each with ``metric`` (its labels) and ``value`` (time, text).

        Raises:
            QueryFailedError: Prometheus refused the query.
        """
        answer = self._get("query", {"query": expression})
        if answer.is_error:
            raise QueryFailedError(f"{expression}: {answer.json()['error']}")
        found: list[dict[str, Any]] = answer.json()["data"]["result"]
        return found

    def targets(self) -> list[dict[str, Any]]:
        """Return the active targets: each with ``labels``, ``health``, ``scrapeUrl`` and ``lastError``."""
        found: list[dict[str, Any]] = self._get("targets", {"state": "active"}).json()["data"]["activeTargets"]
        return found

    def _process(self) -> Process:
        program = str(go_binaries("prometheus") / "prometheus")
        return Process(self.name, [program, *self._flags()], state=self._state, env={})

    def _flags(self) -> list[str]:
        flags = {
            "config.file": self._folder / "prometheus.yml",
            "storage.tsdb.path": self._folder / "data",
            "storage.tsdb.retention.time": _RETENTION,
            "web.listen-address": self._listen,
        }
        return [f"--{flag}={value}" for flag, value in flags.items()]

    def _serves(self) -> bool:
        try:
            return httpx.get(f"{self.url}/-/ready", trust_env=False, timeout=_REQUEST_TIMEOUT_S).is_success
        except httpx.TransportError:
            return False

    def _get(self, path: str, parameters: dict[str, str]) -> httpx.Response:
        return httpx.get(f"{self.url}/api/v1/{path}", params=parameters, trust_env=False, timeout=_REQUEST_TIMEOUT_S)


def scrape_settings(kubeconfig: Path, interval_s: int, extra_targets: Sequence[str]) -> dict[str, Any]:
    """Return Prometheus's settings.

    Args:
        kubeconfig: How Prometheus finds the pods.
        interval_s: How often every target is scraped, in seconds.
        extra_targets: Targets that are not pods, each ``host:port``.
    """
    pods = {
        "job_name": "pods",
        "kubernetes_sd_configs": [{"role": "pod", "kubeconfig_file": str(kubeconfig)}],
        "relabel_configs": _pod_relabelling(),
    }
    static = {"job_name": "static", "static_configs": [{"targets": list(extra_targets)}]}
    return {
        "global": {"scrape_interval": f"{interval_s}s", "scrape_timeout": f"{interval_s}s"},
        "scrape_configs": [pods, static] if extra_targets else [pods],
    }


def _pod_relabelling() -> list[dict[str, Any]]:
    """Keep of each running pod the container that declares the annotated port; any other would be scraped as well."""
    declared, annotated = f"{_POD}_container_port_number", f"{_POD}_annotation_prometheus_io_port"
    return [
        {"action": "keep", "source_labels": [f"{_POD}_annotation_prometheus_io_scrape"], "regex": "true"},
        {"action": "keep", "source_labels": [f"{_POD}_phase"], "regex": "Running"},
        {"action": "drop", "source_labels": [f"{_POD}_container_init"], "regex": "true"},
        {"action": "keepequal", "source_labels": [annotated], "target_label": declared},
        {"source_labels": [f"{_POD}_ip", annotated], "separator": ":", "target_label": "__address__"},
        {
            "source_labels": [f"{_POD}_annotation_prometheus_io_path"],
            "regex": "(.+)",
            "target_label": "__metrics_path__",
        },
        {"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"},
        {"source_labels": [f"{_POD}_name"], "target_label": "pod"},
        {"source_labels": [f"{_POD}_container_name"], "target_label": "container"},
        {"source_labels": [f"{_POD}_node_name"], "target_label": "node"},
        {"source_labels": [f"{_POD}_label_batch_kubernetes_io_job_name"], "target_label": "job_name"},
    ]
