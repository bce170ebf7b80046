"""Everything around the operator: etcd, an API server without a node, the chart's roles, Prometheus, the exporter."""

import os
import ssl
import sys
from contextlib import ExitStack
from pathlib import Path

import httpx
import yaml

from tests.bench.fleet import exporter
from tests.cluster.alone import alone
from tests.cluster.controlplane import ApiServer
from tests.cluster.etcd import Etcd
from tests.cluster.helm import Helm
from tests.cluster.kubeconfig import write_kubeconfig
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import ALONE, LOOPBACK
from tests.cluster.pki import Authority, Certificate
from tests.cluster.process import Process, write_atomically
from tests.cluster.toolchain import go_binaries

ROOT = Path(__file__).parents[3]
CHART = ROOT / "charts" / "mfu-operator"
NAMESPACE = "mfu-system"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:mfu-operator"
SCRAPE_S = 30
PROMETHEUS_PORT, EXPORTER_PORT, HEALTH_PORT, METRICS_PORT = 29090, 29100, 29080, 29091
NOT_APPLIED = ("Deployment", "NetworkPolicy", "Service")
"""Of the chart: the operator runs here as a process."""


class Stage:
    """The services, each a process of its own below one folder."""

    def __init__(self, state: Path, jobs: int, scrape_s: int = SCRAPE_S) -> None:
        self.state = state
        self._ports = ExitStack()
        self._scrape_s = scrape_s
        self._authority = Authority(state / "pki")
        binaries = go_binaries("kubernetes")
        self.administrator = self._authority.issue("bench-admin", groups=("system:masters",))
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}")
        operator = self._authority.issue(ACCOUNT, groups=groups)
        self.kubeconfig = self._kubeconfig("admin", self.administrator)
        self.operator_kubeconfig = self._kubeconfig("operator", operator)
        self._etcd = Etcd(binaries, state, self._authority, ALONE)
        self._api = ApiServer(binaries, state, self._authority, self._etcd, ALONE)
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'operator'}:{ROOT}"}
        command = [sys.executable, "-m", "tests.bench.fleet.exporter", str(EXPORTER_PORT), str(jobs)]
        self._exporter = Process("exporter", command, state=state, env=environment)
        self._prometheus = Process("prometheus", self._prometheus_command(), state=state, env={})
        program = [sys.executable, "-m", "mfu_operator", "run"]
        self.operator = Process("operator", program, state=state, env=self._settings())

    @property
    def api_url(self) -> str:
        """The API server."""
        return ALONE.api_url

    @property
    def prometheus_url(self) -> str:
        """Prometheus."""
        return f"http://{LOOPBACK}:{PROMETHEUS_PORT}"

    @property
    def exporter_url(self) -> str:
        """The exporter."""
        return f"http://{LOOPBACK}:{EXPORTER_PORT}"

    def context(self) -> ssl.SSLContext:
        """TLS as the API server's administrator."""
        context = ssl.create_default_context(cafile=str(self._authority.certificate))
        context.load_cert_chain(self.administrator.certificate, self.administrator.key)
        return context

    def start(self) -> None:
        """Start everything but the operator, and give it its rights and its kind."""
        self._ports.enter_context(alone())
        self._etcd.start()
        self._etcd.ready()
        self._api.start()
        self._exporter.start()
        self._prometheus.start()
        self._api.ready()
        kubectl = Kubectl(self.kubeconfig, self.state)
        kubectl.run("apply", "--server-side", f"--filename={CHART / 'crds'}")
        kubectl.await_established("trainingbaselines.mfu-operator.io")
        values = {"prometheus": {"address": self.prometheus_url}}
        rendered = Helm(self.state).template("mfu-operator", CHART, NAMESPACE, values)
        objects = [each for each in yaml.safe_load_all(rendered) if each and each["kind"] not in NOT_APPLIED]
        kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *objects)
        self._prometheus.await_ready("Prometheus", self._serves, timeout_s=180)

    def stop(self) -> None:
        """Stop everything."""
        for process in (self.operator, self._prometheus, self._exporter, self._api, self._etcd):
            process.stop()
        self._ports.close()

    def _kubeconfig(self, name: str, identity: Certificate) -> Path:
        return write_kubeconfig(self.state / f"{name}.kubeconfig", self._authority, identity, self.api_url)

    def _serves(self) -> bool:
        try:
            return httpx.get(f"{self.prometheus_url}/-/ready", trust_env=False, timeout=5).is_success
        except httpx.TransportError:
            return False

    def _prometheus_command(self) -> list[str]:
        folder = self.state / "prometheus"
        parts = [f"{LOOPBACK}:{EXPORTER_PORT}"]
        scrapes = [
            {
                "job_name": f"part-{part}",
                "honor_labels": True,
                "metrics_path": f"/metrics/{part}",
                "static_configs": [{"targets": parts}],
            }
            for part in range(exporter.PARTS)
        ]
        operator = {"job_name": "operator", "static_configs": [{"targets": [f"{LOOPBACK}:{METRICS_PORT}"]}]}
        settings = {
            "global": {"scrape_interval": f"{self._scrape_s}s", "scrape_timeout": f"{min(20, self._scrape_s)}s"},
            "scrape_configs": [*scrapes, operator],
        }
        write_atomically(folder / "prometheus.yml", yaml.safe_dump(settings))
        flags = {
            "config.file": folder / "prometheus.yml",
            "storage.tsdb.path": folder / "data",
            "web.listen-address": f"{LOOPBACK}:{PROMETHEUS_PORT}",
        }
        program = str(go_binaries("prometheus") / "prometheus")
        return [program, *(f"--{flag}={value}" for flag, value in flags.items())]

    def _settings(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")}
        return {
            **kept,
            "PYTHONPATH": str(ROOT / "operator"),
            "KUBECONFIG": str(self.operator_kubeconfig),
            "MFU_PROMETHEUS_ADDRESS": self.prometheus_url,
            "MFU_LABORATORY": "true",  # Prometheus is on loopback, which the operator refuses to ask elsewhere
            "MFU_SWEEP_INTERVAL": str(self._scrape_s),
            "MFU_NAMESPACE": NAMESPACE,
            "MFU_LISTEN_ADDRESS": LOOPBACK,
            "MFU_HEALTH_PORT": str(HEALTH_PORT),
            "MFU_METRICS_PORT": str(METRICS_PORT),
        }
