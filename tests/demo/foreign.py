"""A cluster that somebody else runs, given by KUBECONFIG.

What the demo needs of it is asked for in two variables, and refused in one line where it is missing: an address of this
machine that its pods reach (`MFU_DEMO_HOST_ADDRESS`), and a command that loads an image archive into its nodes
(`MFU_DEMO_IMAGE_LOADER`, called with the archive's path and the image's name; for kind:
`kind load image-archive`).
"""

import os
import shlex
import shutil
from pathlib import Path

from tests.cluster.images import Archive, ImageRef
from tests.cluster.process import output_of, stop_recorded
from tests.cluster.state import state_dir
from tests.cluster.toolchain import go_binaries


class MissingSettingError(RuntimeError):
    """A variable that a foreign cluster needs is not set."""


class ForeignCluster:
    """The cluster behind KUBECONFIG, as far as the demo touches it."""

    def __init__(self) -> None:
        self.kubeconfig = Path(os.environ["KUBECONFIG"]).expanduser()
        self.state = state_dir().parent / "foreign"
        self.images = self

    @property
    def host_address(self) -> str:
        """Where this cluster's pods reach programs of this machine."""
        return _required("MFU_DEMO_HOST_ADDRESS", "an address of this machine that the cluster's pods can reach")

    def check(self) -> None:
        """Say what is missing before anything is built.

        Raises:
            MissingSettingError: a variable is missing.
            CommandFailed: the cluster does not answer.
        """
        _ = self.host_address
        self._loader()
        self.state.mkdir(parents=True, exist_ok=True)
        self._kubectl("get", "nodes")

    def load(self, name: str, archive: Archive) -> ImageRef:
        """Hand an image archive to the cluster's nodes."""
        output_of([*self._loader(), str(archive.path), name])
        return ImageRef(f"localhost/mfu/{name}@{archive.digest}", archive.digest)

    def clean(self) -> None:
        """Remove what the demo put into the cluster and stop what it started beside it."""
        self._kubectl("delete", "trainingbaselines.mfu-operator.io", "--all", "--all-namespaces", "--ignore-not-found")
        names = ("mfu-system", "object-store", "argocd", "training")
        self._kubectl("delete", "namespace", *names, "--ignore-not-found")
        stop_recorded(self.state)
        shutil.rmtree(self.state, ignore_errors=True)

    def _loader(self) -> list[str]:
        return shlex.split(_required("MFU_DEMO_IMAGE_LOADER", "a command that loads an image archive into the nodes"))

    def _kubectl(self, *arguments: str) -> str:
        environment = os.environ | {"KUBECONFIG": str(self.kubeconfig)}
        return output_of([str(go_binaries("kubernetes") / "kubectl"), *arguments], env=environment)


def _required(name: str, what: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise MissingSettingError(f"KUBECONFIG is set, so {name} is needed too: {what}")
    return value
