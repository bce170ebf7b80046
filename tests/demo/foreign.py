"""A cluster that somebody else runs, given by KUBECONFIG.

What the demo needs of it is asked for in two variables, and refused in one line where it is missing: an address of this
machine that its pods reach (`MFU_DEMO_HOST_ADDRESS`), where Gitea and Prometheus will listen, and a command that loads
an image archive into its nodes (`MFU_DEMO_IMAGE_LOADER`, called with the archive's path and the image's name; for kind:
`kind load image-archive`). What the demo makes there carries a label, and nothing without it is ever deleted.
"""

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.cluster.argocd import NAMESPACE as ARGOCD_NAMESPACE
from tests.cluster.helm import Helm
from tests.cluster.images import Archive, ImageRef
from tests.cluster.kubectl import Kubectl
from tests.cluster.process import output_of, stop_recorded
from tests.cluster.state import state_dir

OURS = {"mfu-operator.io/demo": "true"}
"""On every namespace that the demo makes."""

BASELINES = "trainingbaselines.mfu-operator.io"
APPLICATIONS = "applications.argoproj.io"
DEFINITIONS = (BASELINES, APPLICATIONS, "applicationsets.argoproj.io", "appprojects.argoproj.io")
SERVICE_NAMESPACES = (ARGOCD_NAMESPACE, "monitoring")
"""Where Argo CD and Prometheus keep their accounts."""

ACCOUNTS = ("argocd-application-controller", "prometheus")
"""Cluster roles and their bindings that the demo's own Argo CD and Prometheus get."""


class MissingSettingError(RuntimeError):
    """A variable that a foreign cluster needs is not set, or the cluster holds what the demo would make."""


class ForeignCluster:
    """The cluster behind KUBECONFIG, as far as the demo touches it."""

    def __init__(self) -> None:
        self.kubeconfig = Path(os.environ["KUBECONFIG"]).expanduser()
        self.state = state_dir().parent / "foreign"
        self.images = self
        self._owns_definitions = self.state / "owns-definitions"

    @property
    def host_address(self) -> str:
        """Where this cluster's pods reach programs of this machine."""
        return _required("MFU_DEMO_HOST_ADDRESS", "an address of this machine that the cluster's pods can reach")

    def check(self, kubectl: Path, namespaces: Sequence[str]) -> None:
        """Say what is missing or in the way before anything is built.

        Raises:
            MissingSettingError: a variable is missing, or a namespace or Argo CD is there that is not the demo's.
            CommandFailed: the cluster does not answer.
        """
        _ = self.host_address
        self._loader()
        self.state.mkdir(parents=True, exist_ok=True)
        asked = [
            str(kubectl),
            "get",
            "namespaces",
            "--output=jsonpath={range .items[*]}{.metadata.name}={.metadata.labels}",
        ]
        asked[-1] += "{'\\n'}{end}"
        there = output_of(asked, env=os.environ | {"KUBECONFIG": str(self.kubeconfig)}).splitlines()
        marked = '"mfu-operator.io/demo":"true"'
        for namespace in (*namespaces, *SERVICE_NAMESPACES):
            if any(line.startswith(f"{namespace}=") and marked not in line for line in there):
                raise MissingSettingError(
                    f"namespace {namespace} is in this cluster and not the demo's, which touches nothing that it "
                    "has not made: use another cluster"
                )
        self._own_definitions(kubectl)

    def _own_definitions(self, kubectl: Path) -> None:
        """Note that the kinds will be the demo's, which it is told by: there was none of them when it came."""
        if self._owns_definitions.exists():
            return
        asked = [str(kubectl), "get", "crd", *DEFINITIONS, "--ignore-not-found", "--output=name"]
        there = output_of(asked, env=os.environ | {"KUBECONFIG": str(self.kubeconfig)}).split()
        if there:
            raise MissingSettingError(
                f"{', '.join(there)} are in this cluster and not the demo's, which touches nothing that it has not "
                "made: use another cluster"
            )
        self._owns_definitions.touch()

    def load(self, name: str, archive: Archive) -> ImageRef:
        """Hand an image archive to the cluster's nodes."""
        output_of([*self._loader(), str(archive.path), name])
        return ImageRef(f"localhost/mfu/{name}@{archive.digest}", archive.digest)

    def mark(self, kubectl: Kubectl) -> None:
        """Label the namespaces that the services made, so that they go with the demo."""
        for namespace in SERVICE_NAMESPACES:
            kubectl.run(
                "label", "namespace", namespace, *(f"{key}={value}" for key, value in OURS.items()), "--overwrite"
            )

    def clean(self, helm: Helm, kubectl: Kubectl) -> None:
        """Remove what the demo put into the cluster and stop what it started beside it."""
        if not self._owns_definitions.exists():
            return
        if _defined(kubectl, BASELINES):
            kubectl.run("delete", BASELINES, "--all", "--namespace=training")
        helm.uninstall("mfu-operator", "mfu-system")
        stop_recorded(self.state)
        selector = ",".join(f"{key}={value}" for key, value in OURS.items())
        if _defined(kubectl, APPLICATIONS):
            patch = '{"metadata":{"finalizers":null}}'
            for name in kubectl.run("get", APPLICATIONS, f"--namespace={ARGOCD_NAMESPACE}", "--output=name").split():
                kubectl.run("patch", name, f"--namespace={ARGOCD_NAMESPACE}", "--type=merge", f"--patch={patch}")
        kubectl.run("delete", "namespace", f"--selector={selector}", "--ignore-not-found")
        kubectl.run("delete", "crd", *DEFINITIONS, "--ignore-not-found")
        for account in ACCOUNTS:
            kubectl.run("delete", "clusterrole,clusterrolebinding", account, "--ignore-not-found")
        shutil.rmtree(self.state, ignore_errors=True)

    def _loader(self) -> list[str]:
        return shlex.split(_required("MFU_DEMO_IMAGE_LOADER", "a command that loads an image archive into the nodes"))


def _defined(kubectl: Kubectl, kind: str) -> bool:
    return bool(kubectl.run("get", "crd", kind, "--ignore-not-found", "--output=name").strip())


def _required(name: str, what: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise MissingSettingError(f"KUBECONFIG is set, so {name} is needed too: {what}")
    return value
