"""etcd: where the API server keeps its objects."""

from pathlib import Path

from tests.cluster.layout import LOOPBACK, WITH_A_NODE, ControlPlaneLayout
from tests.cluster.pki import Authority
from tests.cluster.process import Process
from tests.cluster.web import answers_ok


class Etcd:
    """One etcd on the loopback address, open to holders of the cluster's certificates only."""

    name = "etcd"

    def __init__(
        self, binaries: Path, state: Path, authority: Authority, layout: ControlPlaneLayout = WITH_A_NODE
    ) -> None:
        """Describe etcd; data and log stand below ``state``."""
        self.authority = authority
        self.url = f"https://{LOOPBACK}:{layout.etcd_port}"
        self._peer_url = f"https://{LOOPBACK}:{layout.etcd_port + 1}"
        self.client = authority.issue("etcd", addresses=(LOOPBACK, "localhost"))
        self._process = Process(self.name, [str(binaries / "etcd"), *self._flags(state)], state=state)

    def start(self) -> None:
        """Start etcd."""
        self._process.start()

    def ready(self) -> None:
        """Wait until etcd has elected itself and serves."""
        health = f"{self.url}/health"
        self._process.await_ready("etcd", lambda: answers_ok(health, self.authority, self.client), timeout_s=180)

    def stop(self) -> None:
        """Stop etcd."""
        self._process.stop()

    def _flags(self, state: Path) -> list[str]:
        peers = self._peer_url
        flags = {
            "name": "mfu",
            "data-dir": state / self.name / "data",
            "listen-client-urls": self.url,
            "advertise-client-urls": self.url,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"mfu={peers}",
            "cert-file": self.client.certificate,
            "key-file": self.client.key,
            "client-cert-auth": "true",
            "trusted-ca-file": self.authority.certificate,
            "peer-cert-file": self.client.certificate,
            "peer-key-file": self.client.key,
            "peer-client-cert-auth": "true",
            "peer-trusted-ca-file": self.authority.certificate,
            "unsafe-no-fsync": "true",
            "log-level": "warn",
        }
        return [f"--{flag}={value}" for flag, value in flags.items()]
