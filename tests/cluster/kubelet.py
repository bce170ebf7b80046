"""kubelet: the one node of the cluster."""

from pathlib import Path

import yaml

from tests.cluster.containerd import Containerd
from tests.cluster.kubeconfig import write_kubeconfig
from tests.cluster.layout import CGROUP, HOST_ADDRESS, LOOPBACK, NODE_NAME
from tests.cluster.pki import Authority
from tests.cluster.process import Process, write_atomically
from tests.cluster.web import answers_ok, unproxied

_PORT = 10250
_HEALTH_PORT = 10248


class Kubelet:
    """The kubelet, with its folders below the state folder and its pods in a control group of our own."""

    name = "kubelet"

    def __init__(self, binaries: Path, state: Path, authority: Authority, containerd: Containerd) -> None:
        """Describe the kubelet, which runs its pods with ``containerd``."""
        self._folder = state / self.name
        self._authority = authority
        self._containerd = containerd
        self._identity = authority.issue(
            f"system:node:{NODE_NAME}", groups=("system:nodes",), addresses=(HOST_ADDRESS, NODE_NAME)
        )
        program = str(binaries / self.name)
        self._process = Process(self.name, [program, *self._flags()], state=state, env=unproxied())

    def start(self) -> None:
        """Start the kubelet; it waits for the API server by itself."""
        write_atomically(self._folder / "config.yaml", yaml.safe_dump(self._configuration()))
        write_atomically(self._folder / "resolv.conf", "", mode=0o644)
        write_kubeconfig(self._folder / "kubeconfig", self._authority, self._identity)
        self._process.start()

    def ready(self) -> None:
        """Wait until the kubelet serves logs and exec; whether the node is Ready is the API server's to say."""
        url = f"https://{HOST_ADDRESS}:{_PORT}/healthz"
        client = self._authority.issue("kube-apiserver-kubelet-client", groups=("system:masters",))
        self._process.await_ready("the kubelet", lambda: answers_ok(url, self._authority, client), timeout_s=180)

    def stop(self) -> None:
        """Stop the kubelet; its pods go on until containerd is stopped."""
        self._process.stop()

    def _flags(self) -> list[str]:
        flags = {
            "config": self._folder / "config.yaml",
            "kubeconfig": self._folder / "kubeconfig",
            "root-dir": self._folder / "root",
            "cert-dir": self._folder / "pki",
            "hostname-override": NODE_NAME,
            "node-ip": HOST_ADDRESS,
        }
        return [f"--{flag}={value}" for flag, value in flags.items()]

    def _configuration(self) -> dict[str, object]:
        authority = str(self._authority.certificate)
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": HOST_ADDRESS,
            "port": _PORT,
            "healthzBindAddress": LOOPBACK,
            "healthzPort": _HEALTH_PORT,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": authority},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": str(self._identity.certificate),
            "tlsPrivateKeyFile": str(self._identity.key),
            "containerRuntimeEndpoint": f"unix://{self._containerd.socket}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{CGROUP}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "oomScoreAdj": 0,
            "makeIPTablesUtilChains": False,
            "localStorageCapacityIsolation": False,
            "evictionHard": {},
            "imageGCHighThresholdPercent": 100,
            "imageMaximumGCAge": "0s",
            "podLogsDir": str(self._folder / "logs"),
            "volumePluginDir": str(self._folder / "plugins"),
            "staticPodPath": "",
            # An address where nothing answers: a name that is looked up fails at once, and no pod gets a warning.
            "clusterDNS": [HOST_ADDRESS],
            "clusterDomain": "cluster.local",
            "resolvConf": str(self._folder / "resolv.conf"),
        }
