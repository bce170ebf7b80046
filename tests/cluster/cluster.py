"""The whole cluster: brought up, found again, and taken down without a trace."""

import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

from tests.cluster.apt import apt_install
from tests.cluster.cache import exclusive
from tests.cluster.component import Component
from tests.cluster.containerd import Containerd
from tests.cluster.controlplane import ApiServer, ControllerManager, Scheduler
from tests.cluster.etcd import Etcd
from tests.cluster.images import Images, build_pause, ensure_base, release_storage
from tests.cluster.kubeconfig import PersonalKubeconfig, kubeconfig_of, write_kubeconfig
from tests.cluster.kubelet import Kubelet
from tests.cluster.layout import HOST_ADDRESS, NODE_NAME
from tests.cluster.mounts import unmount_below
from tests.cluster.network import Network
from tests.cluster.node import Node
from tests.cluster.pki import Authority, Certificate
from tests.cluster.process import CommandFailed, await_condition, output_of, stop_recorded
from tests.cluster.progress import progress
from tests.cluster.state import cache_dir, state_dir
from tests.cluster.toolchain import go_binaries, go_binaries_folder
from tests.cluster.web import unproxied

_PACKAGES = (
    "ca-certificates",
    "containerd",
    "containernetworking-plugins",
    "iproute2",
    "iptables",
    "mount",
    "openssl",
    "runc",
)


class Cluster:
    """One Kubernetes cluster of one node on this machine.

    Attributes:
        state: The folder of everything that belongs to the running cluster.
        host_address: Where pods reach programs of this machine, and those programs bind to.
        kubeconfig: The cluster administrator's kubeconfig.
    """

    def __init__(self, state: Path | None = None, personal_kubeconfig: Path | None = None) -> None:
        """Describe the cluster; nothing is started, installed or compiled yet.

        Args:
            state: Where to keep the state; None takes :func:`tests.cluster.state.state_dir`.
            personal_kubeconfig: The file that gets our context; None takes ``~/.kube/config``.
        """
        self.state = state or state_dir()
        self.host_address = HOST_ADDRESS
        self.kubeconfig = self.state / "kubeconfig"
        personal = personal_kubeconfig or Path.home() / ".kube" / "config"
        self._personal = PersonalKubeconfig(personal, self.state)
        self._lock = cache_dir() / ".cluster.lock"

    @cached_property
    def binaries(self) -> Path:
        """The folder of the control plane and kubectl; :meth:`up` compiles what it holds."""
        return go_binaries_folder("kubernetes")

    @cached_property
    def images(self) -> Images:
        """Builds images and gives them to this cluster."""
        return Images(self._containerd)

    def prepare(self) -> None:
        """Install and compile what is missing, and start nothing.

        Raises:
            CommandFailed: Something could not be installed or compiled.
        """
        with progress("prepare the toolchain"):
            _all_of([lambda: go_binaries("kubernetes"), _prepare_node])

    def up(self) -> None:
        """Bring the cluster up, installing and compiling what is missing; quick where it runs already.

        Raises:
            NotReady: A component did not come up; the message holds the end of its log.
            CommandFailed: Something could not be installed or compiled.
        """
        with exclusive(self._lock):
            self.prepare()
            with progress("start the cluster"):
                self._start()
            self._personal.add(kubeconfig_of(self._authority, self._administrator))

    def down(self) -> None:
        """Take the cluster down and remove every trace but the cache; does nothing where there is none."""
        with exclusive(self._lock):
            if not self.state.exists():
                return
            with progress("take the cluster down"):
                self._personal.remove()
                if self._containerd.answers():
                    self.images.forget_outdated()
                for component in reversed([*self._foundation, self._kubelet, *self._controllers]):
                    component.stop()
                stop_recorded(self.state)
                unmount_below(self.state.resolve())
                release_storage()
                shutil.rmtree(self.state)
                if not any(self.state.parent.iterdir()):
                    self.state.parent.rmdir()

    def running(self) -> bool:
        """Tell whether the API answers and the node is ready."""
        return self.kubeconfig.exists() and self._node_is_ready()

    def kubectl(self, *arguments: str, stdin_text: str | None = None) -> str:
        """Run kubectl as the cluster's administrator and return what it printed.

        Raises:
            CommandFailed: kubectl did not succeed; the message holds what it said.
        """
        environment = unproxied() | {
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(self.state / "kubectl-cache"),
        }
        return output_of([str(self.binaries / "kubectl"), *arguments], env=environment, stdin_text=stdin_text)

    @cached_property
    def _authority(self) -> Authority:
        return Authority(self.state / "pki")

    @property
    def _administrator(self) -> Certificate:
        return self._authority.issue("mfu-admin", groups=("system:masters",))

    @cached_property
    def _network(self) -> Network:
        return Network(self.state)

    @cached_property
    def _containerd(self) -> Containerd:
        return Containerd(self.state, self._network)

    @cached_property
    def _etcd(self) -> Etcd:
        return Etcd(self.binaries, self.state, self._authority)

    @cached_property
    def _foundation(self) -> list[Component]:
        """What needs no API, or waits for it by itself, in the order in which it starts."""
        return [
            self._network,
            Node(self.state),
            self._etcd,
            ApiServer(self.binaries, self.state, self._authority, self._etcd),
            self._containerd,
        ]

    @cached_property
    def _kubelet(self) -> Component:
        """Ends by itself where containerd's runtime service does not serve yet."""
        return Kubelet(self.binaries, self.state, self._authority, self._containerd)

    @cached_property
    def _controllers(self) -> list[Component]:
        """What ends by itself where no API answers."""
        return [
            ControllerManager(self.binaries, self.state, self._authority),
            Scheduler(self.binaries, self.state, self._authority),
        ]

    def _start(self) -> None:
        write_kubeconfig(self.kubeconfig, self._authority, self._administrator)
        for component in self._foundation:
            component.start()
        _all_of([self._start_kubelet, *(component.ready for component in self._foundation)])
        for component in self._controllers:
            component.start()
        _all_of([component.ready for component in self._controllers])
        await_condition("the node's readiness", self._node_is_ready, timeout_s=180)
        await_condition("the default service account", self._default_account_exists, timeout_s=180)

    def _start_kubelet(self) -> None:
        self._containerd.ready()
        self.images.load_pause()
        self._kubelet.start()
        self._kubelet.ready()

    def _node_is_ready(self) -> bool:
        path = '{.status.conditions[?(@.type=="Ready")].status}'
        return self._answer("get", "node", NODE_NAME, "-o", f"jsonpath={path}") == "True"

    def _default_account_exists(self) -> bool:
        return self._answer("get", "serviceaccount", "default", "-n", "default", "-o", "name") != ""

    def _answer(self, *arguments: str) -> str:
        try:
            return self.kubectl("--request-timeout=5s", *arguments)
        except CommandFailed:
            return ""


def _prepare_node() -> None:
    apt_install(*_PACKAGES)
    build_pause()
    ensure_base()


def _all_of(tasks: Iterable[Callable[[], object]]) -> None:
    """Do everything at once and wait for all of it; the first that fails is raised."""
    with ThreadPoolExecutor() as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()
