"""API server, controller manager and scheduler."""

from pathlib import Path

from tests.cluster.etcd import Etcd
from tests.cluster.kubeconfig import write_kubeconfig
from tests.cluster.layout import LOOPBACK, POD_RANGE, WITH_A_NODE, ControlPlaneLayout
from tests.cluster.pki import Authority
from tests.cluster.process import Process
from tests.cluster.web import answers_ok, unproxied

_CONTROLLER_MANAGER_PORT = 10257
_SCHEDULER_PORT = 10259
_ISSUER = "https://kubernetes.default.svc.cluster.local"


class ApiServer:
    """The Kubernetes API on the service address of the bridge, with RBAC and real service account tokens."""

    name = "kube-apiserver"

    def __init__(
        self,
        binaries: Path,
        state: Path,
        authority: Authority,
        etcd: Etcd,
        layout: ControlPlaneLayout = WITH_A_NODE,
    ) -> None:
        """Describe the API server, which keeps its objects in ``etcd``."""
        self._layout = layout
        self._authority = authority
        self._administrator = authority.issue("mfu-admin", groups=("system:masters",))
        flags = self._flags(etcd)
        self._process = Process(self.name, [str(binaries / self.name), *flags], state=state, env=unproxied())

    def start(self) -> None:
        """Start the API server."""
        self._process.start()

    def ready(self) -> None:
        """Wait until the API server and everything it sets up at its start is ready."""
        url = f"{self._layout.api_url}/readyz"
        self._process.await_ready(
            "the API server", lambda: answers_ok(url, self._authority, self._administrator), timeout_s=300
        )

    def stop(self) -> None:
        """Stop the API server, which would wait for its clients' connections: what it has to keep is in etcd."""
        self._process.stop(timeout_s=2.0)

    def _flags(self, etcd: Etcd) -> list[str]:
        layout = self._layout
        names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost")
        serving = self._authority.issue("kube-apiserver", addresses=(layout.api_address, layout.host_address, *names))
        to_kubelet = self._authority.issue("kube-apiserver-kubelet-client", groups=("system:masters",))
        token_key = self._authority.signing_key("service-accounts")
        flags = {
            "bind-address": layout.api_address,
            "secure-port": layout.api_port,
            "advertise-address": layout.api_address,
            "endpoint-reconciler-type": "none",
            "etcd-servers": etcd.url,
            "etcd-cafile": self._authority.certificate,
            "etcd-certfile": etcd.client.certificate,
            "etcd-keyfile": etcd.client.key,
            "service-cluster-ip-range": layout.service_range,
            "tls-cert-file": serving.certificate,
            "tls-private-key-file": serving.key,
            "client-ca-file": self._authority.certificate,
            "requestheader-client-ca-file": self._authority.certificate,
            "requestheader-allowed-names": "front-proxy-client",
            "requestheader-username-headers": "X-Remote-User",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
            "authorization-mode": "Node,RBAC",
            "allow-privileged": "true",  # as kubeadm sets it: what refuses privileged pods is policy
            "enable-admission-plugins": "NodeRestriction",
            "service-account-issuer": _ISSUER,
            "service-account-key-file": token_key,
            "service-account-signing-key-file": token_key,
            "kubelet-certificate-authority": self._authority.certificate,
            "kubelet-client-certificate": to_kubelet.certificate,
            "kubelet-client-key": to_kubelet.key,
            "kubelet-preferred-address-types": "InternalIP",
        }
        return [f"--{flag}={value}" for flag, value in flags.items()]


class ControllerManager:
    """The controllers: Jobs, deployments, service accounts, garbage collection and the rest."""

    name = "kube-controller-manager"

    def __init__(self, binaries: Path, state: Path, authority: Authority) -> None:
        """Describe the controller manager."""
        self._authority = authority
        self._identity = authority.issue(f"system:{self.name}", addresses=(LOOPBACK,))
        flags = self._flags(write_kubeconfig(state / self.name / "kubeconfig", authority, self._identity))
        self._process = Process(self.name, [str(binaries / self.name), *flags], state=state, env=unproxied())

    def start(self) -> None:
        """Start the controller manager; it waits for the API server by itself."""
        self._process.start()

    def ready(self) -> None:
        """Wait until the controllers run."""
        url = f"https://{LOOPBACK}:{_CONTROLLER_MANAGER_PORT}/healthz"
        self._process.await_ready(
            "the controller manager", lambda: answers_ok(url, self._authority, self._identity), timeout_s=180
        )

    def stop(self) -> None:
        """Stop the controller manager."""
        self._process.stop()

    def _flags(self, kubeconfig: Path) -> list[str]:
        flags = {
            **_common_flags(kubeconfig, _CONTROLLER_MANAGER_PORT),
            "tls-cert-file": self._identity.certificate,
            "tls-private-key-file": self._identity.key,
            "root-ca-file": self._authority.certificate,
            "service-account-private-key-file": self._authority.signing_key("service-accounts"),
            "use-service-account-credentials": "true",
            "cluster-cidr": POD_RANGE,
        }
        return [f"--{flag}={value}" for flag, value in flags.items()]


class Scheduler:
    """The scheduler."""

    name = "kube-scheduler"

    def __init__(self, binaries: Path, state: Path, authority: Authority) -> None:
        """Describe the scheduler."""
        self._authority = authority
        self._identity = authority.issue(f"system:{self.name}", addresses=(LOOPBACK,))
        flags = {
            **_common_flags(
                write_kubeconfig(state / self.name / "kubeconfig", authority, self._identity), _SCHEDULER_PORT
            ),
            "tls-cert-file": self._identity.certificate,
            "tls-private-key-file": self._identity.key,
        }
        argv = [str(binaries / self.name), *(f"--{flag}={value}" for flag, value in flags.items())]
        self._process = Process(self.name, argv, state=state, env=unproxied())

    def start(self) -> None:
        """Start the scheduler; it waits for the API server by itself."""
        self._process.start()

    def ready(self) -> None:
        """Wait until the scheduler serves."""
        url = f"https://{LOOPBACK}:{_SCHEDULER_PORT}/healthz"
        self._process.await_ready(
            "the scheduler", lambda: answers_ok(url, self._authority, self._identity), timeout_s=180
        )

    def stop(self) -> None:
        """Stop the scheduler."""
        self._process.stop()


def _common_flags(kubeconfig: Path, port: int) -> dict[str, object]:
    return {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": LOOPBACK,
        "secure-port": port,
        "leader-elect": "false",
    }
