"""What the story and the end-to-end tests run on: cluster, services, images, and the operator by its chart.

Without KUBECONFIG the cluster is built and started here; with it, that cluster is used, and Gitea, Argo CD and
Prometheus run as programs of this machine beside it.
"""

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.cluster.argocd import ArgoCD
from tests.cluster.cluster import Cluster
from tests.cluster.gitea import Gitea
from tests.cluster.helm import Helm
from tests.cluster.images import Archive, ImageRef, build_archive, ensure_base
from tests.cluster.kubectl import Kubectl
from tests.cluster.process import CommandFailed
from tests.cluster.progress import progress
from tests.cluster.prometheus import Prometheus
from tests.cluster.renderers import lay_out
from tests.cluster.toolchain import go_binaries
from tests.demo.foreign import OURS, ForeignCluster

ROOT = Path(__file__).resolve().parents[2]
OPERATOR_NAMESPACE = "mfu-system"
STORE_NAMESPACE = "object-store"
STORE_PORT = 18090
SECRET = "gitea"
"""Holds the bot's token, in the namespace of each story."""
METRICS_SECRET, METRICS_TOKEN = "metrics-reader", secrets.token_urlsafe(24)
"""Sent to Prometheus, which asks nobody for it: what is held back must be seen to be held back."""
BASELINES = "trainingbaselines.mfu-operator.io"
SCRAPE_INTERVAL_S = 2

IMAGES: Mapping[str, tuple[str, str | None]] = {
    "mfu-operator": ("operator/Dockerfile", "operator"),
    "mfu-profiler": ("operator/Dockerfile", "profiler"),
    "demo-workload": ("tests/demo/workload/Dockerfile", None),
}
"""Dockerfile and target by image name."""

INTERVAL_S = 2
"""Seconds between sweeps and between ticks: a story of minutes instead of an hour, by ordinary values of the chart."""


@dataclass(frozen=True)
class Environment:
    """What runs, and how to reach it."""

    cluster: Cluster | ForeignCluster
    gitea: Gitea
    argocd: ArgoCD
    prometheus: Prometheus
    helm: Helm
    kubectl: Kubectl
    images: Mapping[str, ImageRef]

    @property
    def store_url(self) -> str:
        """Where training pods find the object store."""
        if isinstance(self.cluster, Cluster):
            return f"http://{self.cluster.host_address}:{STORE_PORT}"
        address = self.kubectl.run(
            "get", "pods", f"--namespace={STORE_NAMESPACE}", "--output=jsonpath={.items[0].status.podIP}"
        )
        return f"http://{address}:{STORE_PORT}"

    def volume(self, namespace: str) -> str:
        """The volume of a run's checkpoints, as a line of its manifest: a folder of the node that is ours, else none
        that outlives the pod."""
        if isinstance(self.cluster, Cluster):
            path = self.cluster.state / "volumes" / namespace
            return f"hostPath: {{path: {path}, type: DirectoryOrCreate}}"
        return "emptyDir: {}"


def chosen_cluster() -> Cluster | ForeignCluster:
    """The cluster behind KUBECONFIG where that is set, else one of our own."""
    return ForeignCluster() if os.environ.get("KUBECONFIG") else Cluster()


def bring_up(cluster: Cluster | ForeignCluster, namespaces: Sequence[str], **values: Any) -> Environment:
    """Start everything that is not running yet; quick where it is.

    Args:
        cluster: where.
        namespaces: where baselines will be: the operator gets to read Secrets there, and nowhere else.
        values: more values of the chart.

    Raises:
        NotReady, CommandFailed: what did not come up, and the end of its log.
        MissingSettingError: what a foreign cluster lacks.
    """
    if isinstance(cluster, ForeignCluster):
        cluster.check(go_binaries("kubernetes") / "kubectl", [*namespaces, OPERATOR_NAMESPACE, STORE_NAMESPACE])
    else:
        cluster.up()
    _compile_services()
    environment = Environment(
        cluster=cluster,
        gitea=Gitea(cluster.state, host_address=cluster.host_address),
        argocd=ArgoCD(cluster.state, cluster.kubeconfig),
        prometheus=Prometheus(
            cluster.state, cluster.kubeconfig, host_address=cluster.host_address, scrape_interval_s=SCRAPE_INTERVAL_S
        ),
        helm=Helm(cluster.state, cluster.kubeconfig),
        kubectl=Kubectl(cluster.kubeconfig, cluster.state),
        images=_images(cluster),
    )
    with progress("start Gitea, Argo CD, Prometheus and the object store"):
        _together(
            _service(environment.gitea),
            _service(environment.argocd),
            _service(environment.prometheus),
            lambda: _start_store(environment),
        )
    if isinstance(cluster, ForeignCluster):
        cluster.mark(environment.kubectl)
    leftovers = [namespace for namespace in namespaces if clear(environment, namespace)]
    if leftovers:
        values |= {"podAnnotations": {"mfu-operator.io/story": str(uuid4())}}  # a fresh operator for a fresh story
    with progress("install the operator with its chart"):
        install_operator(environment, namespaces, **values)
    return environment


def prepare() -> None:
    """Install, compile and build what our own cluster and everything on it are made of, and start nothing.

    Raises:
        CommandFailed: What could not be installed, compiled or built.
    """
    Cluster().prepare()
    _compile_services()
    _archives()


def _compile_services() -> None:
    with progress("compile Gitea, Argo CD, Prometheus, Helm and Kustomize"):
        for module in ("gitea", "argocd", "prometheus", "helm", "kustomize"):
            go_binaries(module)


def clear(environment: Environment, namespace: str) -> bool:
    """Remove what an earlier story left in a namespace, so that a story can begin again after an interruption; whether
    there was something."""
    if environment.kubectl.get("namespace", namespace) is None:
        return False
    with progress(f"remove what an earlier run left in {namespace}"):
        _let_go(environment, namespace)
        if environment.argocd.application(namespace) is not None:
            environment.argocd.delete_application(namespace)
        environment.kubectl.delete("namespace", namespace)
        environment.gitea.delete_repository(f"{namespace}-config")
    return True


def _let_go(environment: Environment, namespace: str) -> None:
    """Delete the baselines, without waiting for an operator that may not run."""
    kubectl = environment.kubectl
    if not kubectl.run("get", "crd", BASELINES, "--ignore-not-found", "--output=name").strip():
        return
    kubectl.run("delete", BASELINES, "--all", f"--namespace={namespace}", "--wait=false")
    for name in kubectl.run("get", BASELINES, f"--namespace={namespace}", "--output=name").split():
        patch = '{"metadata":{"finalizers":null}}'
        try:
            kubectl.run("patch", name, f"--namespace={namespace}", "--type=merge", f"--patch={patch}")
        except CommandFailed:
            if kubectl.get(BASELINES, name.rpartition("/")[2], namespace) is not None:
                raise


def install_operator(environment: Environment, namespaces: Sequence[str], **values: Any) -> None:
    """Install or upgrade the operator by its own chart, with the chart's own least-privilege roles."""
    environment.kubectl.apply(
        *(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": OURS}}
            for name in (*namespaces, OPERATOR_NAMESPACE)
        ),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": METRICS_SECRET, "namespace": OPERATOR_NAMESPACE},
            "stringData": {"token": METRICS_TOKEN},
        },
    )
    operator, profiler = environment.images["mfu-operator"], environment.images["mfu-profiler"]
    environment.helm.upgrade_install(
        "mfu-operator",
        ROOT / "charts" / "mfu-operator",
        OPERATOR_NAMESPACE,
        {
            "image": _image_values(operator),
            "profilerImage": _image_values(profiler),
            "prometheus": {"address": environment.prometheus.url, "secretName": METRICS_SECRET},
            "interval": {"sweep": INTERVAL_S, "reconcile": INTERVAL_S},
            "secrets": {name: [SECRET] for name in namespaces},
            "egress": {"laboratory": True},
            "profiling": {"permit": {name: ["hostPath"] for name in namespaces}},
        }
        | values,
    )


def take_down(cluster: Cluster | ForeignCluster) -> None:
    """Take away every trace: the operator, the services, the cluster where it is ours; caches stay."""
    if isinstance(cluster, Cluster):
        cluster.down()
        return
    cluster.clean(Helm(cluster.state, cluster.kubeconfig), Kubectl(cluster.kubeconfig, cluster.state))


def _image_values(image: ImageRef) -> dict[str, str]:
    repository, _, digest = image.reference.partition("@")
    return {"repository": repository, "digest": digest, "pullPolicy": "IfNotPresent"}


def _archives() -> dict[str, Archive]:
    lay_out()
    with progress("build the images"):
        ensure_base()
        return {
            name: build_archive(name, ROOT / dockerfile, ROOT, target) for name, (dockerfile, target) in IMAGES.items()
        }


def _images(cluster: Cluster | ForeignCluster) -> dict[str, ImageRef]:
    return {name: cluster.images.load(name, archive) for name, archive in _archives().items()}


def _service(component: Any) -> Callable[[], None]:
    def run() -> None:
        component.start()
        component.ready()

    return run


def _together(*actions: Callable[[], None]) -> None:
    with ThreadPoolExecutor(len(actions)) as pool:
        for done in [pool.submit(action) for action in actions]:
            done.result()


def _start_store(environment: Environment) -> None:
    """The object store is a pod; on our own cluster, which has no service proxy, on the node's own address."""
    ours = isinstance(environment.cluster, Cluster)
    address = environment.cluster.host_address if ours else "0.0.0.0"
    probe = {"port": STORE_PORT, "path": "/healthz"} | ({"host": address} if ours else {})
    container = {
        "name": "store",
        "image": environment.images["demo-workload"].reference,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-m", "workload.store", "--address", address, "--port", str(STORE_PORT)],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
        "readinessProbe": {"httpGet": probe, "periodSeconds": 1},
    }
    labels = {"app": "object-store"}
    pod = {
        "hostNetwork": ours,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    environment.kubectl.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": STORE_NAMESPACE, "labels": OURS}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "object-store", "namespace": STORE_NAMESPACE, "labels": labels},
            "spec": {
                "replicas": 1,
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    )
    environment.kubectl.run(
        "rollout", "status", "deployment/object-store", f"--namespace={STORE_NAMESPACE}", "--timeout=300s"
    )
