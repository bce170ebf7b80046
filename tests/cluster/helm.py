"""Helm: installs charts into the cluster, and checks and renders them without one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cluster.process import output_of
from tests.cluster.toolchain import go_binaries

_INSTALL_TIMEOUT_S = 600


class Helm:
    """The helm program with one kubeconfig and with folders of its own."""

    def __init__(self, state: Path, kubeconfig: Path | None = None) -> None:
        """Describe helm.

        Args:
            state: The folder below which helm keeps its cache and configuration.
            kubeconfig: The cluster to install into; None for rendering and checking only.
        """
        self._folder = state / "helm"
        self._kubeconfig = kubeconfig

    def helm(self, *arguments: str, stdin_text: str | None = None) -> str:
        """Run helm and return what it printed on standard output.

        Raises:
            CommandFailed: helm did not succeed; the message holds what it said.
        """
        return output_of(
            [str(go_binaries("helm") / "helm"), *arguments], env=self._environment(), stdin_text=stdin_text
        )

    def upgrade_install(
        self,
        release: str,
        chart: Path,
        namespace: str,
        values: Mapping[str, Any] | None = None,
        *,
        timeout_s: int = _INSTALL_TIMEOUT_S,
    ) -> str:
        """Install or upgrade a release and wait until its workloads are ready; the namespace is made where missing."""
        awaited = ["--wait", f"--timeout={timeout_s}s"]
        return self._with_values(
            values,
            "upgrade",
            "--install",
            release,
            str(chart),
            f"--namespace={namespace}",
            "--create-namespace",
            *awaited,
        )

    def uninstall(self, release: str, namespace: str, *, timeout_s: int = _INSTALL_TIMEOUT_S) -> str:
        """Uninstall a release and wait until its objects are gone; does nothing where it is not installed."""
        awaited = ["--ignore-not-found", "--wait", f"--timeout={timeout_s}s"]
        return self.helm("uninstall", release, f"--namespace={namespace}", *awaited)

    def template(
        self, release: str, chart: Path, namespace: str, values: Mapping[str, Any] | None = None, *options: str
    ) -> str:
        """Return the manifests of a chart as YAML documents; no cluster is asked."""
        return self._with_values(values, "template", release, str(chart), f"--namespace={namespace}", *options)

    def _with_values(self, values: Mapping[str, Any] | None, *arguments: str) -> str:
        """Hand the values over on standard input, where no process list shows them."""
        return self.helm(*arguments, "--values=-", stdin_text=json.dumps(values or {}))

    def _environment(self) -> dict[str, str]:
        folders = {f"HELM_{kind}_HOME": str(self._folder / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
        nowhere = str(self._folder / "no-kubeconfig")
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self._folder),
            "KUBECONFIG": str(self._kubeconfig) if self._kubeconfig else nowhere,
            **folders,
        }
