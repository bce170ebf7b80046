"""Objects of a cluster, for the services that keep theirs in it."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.process import await_condition, output_of, write_atomically
from tests.cluster.toolchain import go_binaries

_TOKEN_LIFETIME = "720h"

Manifest = Mapping[str, Any]


class Kubectl:
    """kubectl with the rights of one kubeconfig and a cache of its own."""

    def __init__(self, kubeconfig: Path, state: Path) -> None:
        """Use the current context of the kubeconfig, and keep kubectl's cache below ``state``."""
        self._kubeconfig = kubeconfig
        self._folder = state / "kubectl"

    def run(self, *arguments: str, stdin_text: str | None = None) -> str:
        """Run kubectl and return what it printed.

        Raises:
            CommandFailed: kubectl did not succeed; the message holds what it said.
        """
        program = [str(go_binaries("kubernetes") / "kubectl"), f"--cache-dir={self._folder / 'cache'}"]
        environment = {"KUBECONFIG": str(self._kubeconfig), "HOME": str(self._folder)}
        return output_of([*program, *arguments], env=environment, stdin_text=stdin_text)

    def apply(self, *manifests: Manifest) -> None:
        """Make the objects what the manifests say, in this order (server-side apply)."""
        wanted = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self.run("apply", "--server-side", "--force-conflicts", "--filename=-", stdin_text=json.dumps(wanted))

    def get(self, kind: str, name: str, namespace: str = "default") -> dict[str, Any] | None:
        """Return one object, or None where there is none; the kind may carry its group (``jobs.batch``)."""
        found = self.run("get", kind, name, f"--namespace={namespace}", "--ignore-not-found", "--output=json")
        decoded: dict[str, Any] | None = json.loads(found) if found.strip() else None
        return decoded

    def delete(self, kind: str, name: str, namespace: str = "default", *, timeout_s: float = 300.0) -> None:
        """Delete one object and wait until it is gone; does nothing where there is none."""
        patience = [f"--timeout={timeout_s:.0f}s", "--ignore-not-found", "--wait"]
        self.run("delete", kind, name, f"--namespace={namespace}", *patience)

    def await_established(self, *definitions: str) -> None:
        """Wait until the API server serves the kinds of these custom resource definitions."""
        for name in definitions:
            await_condition(f"the definition of {name}", partial(self._established, name), timeout_s=180)

    def service_account_kubeconfig(self, path: Path, name: str, namespace: str) -> Path:
        """Write a kubeconfig that holds a fresh token of a service account, and return its path."""
        token = self.run("create", "token", name, f"--namespace={namespace}", f"--duration={_TOKEN_LIFETIME}")
        ours = yaml.safe_load(self.run("config", "view", "--raw", "--minify", "--flatten"))
        theirs = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": ours["clusters"][0]["cluster"]}],
            "users": [{"name": name, "user": {"token": token.strip()}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
        write_atomically(path, yaml.safe_dump(theirs))
        return path

    def _established(self, definition: str) -> bool:
        """Tell whether a kind is served; ``kubectl wait`` gives up where the conditions are still null."""
        found = self.get("customresourcedefinitions", definition) or {}
        conditions = found.get("status", {}).get("conditions") or []
        return any(said["type"] == "Established" and said["status"] == "True" for said in conditions)


def service_account(name: str, namespace: str, rules: list[dict[str, Any]]) -> list[Manifest]:
    """Return the manifests of a service account with cluster-wide rules, its namespace included."""
    rbac = "rbac.authorization.k8s.io"
    role = {"apiGroup": rbac, "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": role,
            "subjects": [subject],
        },
    ]
