"""Argo CD: brings what the configuration repository says into the cluster."""

import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.cluster.apt import apt_install
from tests.cluster.go_modules import module_folder
from tests.cluster.kubectl import Kubectl, Manifest, service_account
from tests.cluster.layout import LOOPBACK
from tests.cluster.process import NotReady, Process, await_condition, write_atomically
from tests.cluster.toolchain import go_binaries

NAMESPACE = "argocd"

_MODULE = "github.com/argoproj/argo-cd/v3"
_CONTROLLER = "argocd-application-controller"
_REPO_SERVER = "argocd-repo-server"
_REDIS = "argocd-redis"
_APPLICATIONS = "applications.argoproj.io"
_DEFINITIONS = (_APPLICATIONS, "applicationsets.argoproj.io", "appprojects.argoproj.io")
_IN_CLUSTER = "https://kubernetes.default.svc"
_PRUNE_WITH_APPLICATION = "resources-finalizer.argocd.argoproj.io"
_PART_OF_ARGOCD = {"app.kubernetes.io/part-of": "argocd"}
_RULES = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
_REQUEST_TIMEOUT_S = 10.0
_SELF_HEAL_AFTER_S = 5  # at once, it would sync a second time before it has seen the first sync's effect
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ArgoCD:
    """Argo CD's application controller, its repo server and their Redis, as processes of this machine.

    It looks at Git every ``resync_s`` seconds. Everything listens on the loopback address only.
    """

    name = "argocd"

    def __init__(
        self,
        state: Path,
        kubeconfig: Path,
        *,
        resync_s: int = 5,
        redis_port: int = 16379,
        repo_server_port: int = 18081,
        repo_server_metrics_port: int = 18084,
        controller_metrics_port: int = 18082,
    ) -> None:
        """Describe Argo CD; its processes keep what they write below ``state``.

        Args:
            state: The folder of the running cluster.
            kubeconfig: With whose rights Argo CD's kinds and its own account are made.
            resync_s: How often an application is compared with Git, in seconds.
            redis_port: Where Redis listens.
            repo_server_port: Where the repo server listens.
            repo_server_metrics_port: Where the repo server tells its health.
            controller_metrics_port: Where the application controller tells its health.
        """
        self._state = state
        self._folder = state / self.name
        self._kubectl = Kubectl(kubeconfig, state)
        self._resync_s = resync_s
        self._redis_port = redis_port
        self._repo_server_port = repo_server_port
        self._repo_server_metrics_port = repo_server_metrics_port
        self._controller_metrics_port = controller_metrics_port

    def start(self) -> None:
        """Define Argo CD's kinds, make its account and settings, and start it; the API server must answer."""
        apt_install("redis-server", "git")
        if all(process.running() for process in self._processes()):
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        self._define_kinds()
        self._make_settings()
        self._kubectl.service_account_kubeconfig(self._folder / "kubeconfig", _CONTROLLER, NAMESPACE)
        write_atomically(self._folder / "redis.conf", self._redis_settings())
        for process in self._processes():
            process.start()

    def ready(self) -> None:
        """Wait until the repo server and the application controller are well."""
        redis, repo_server, controller = self._processes()
        redis.await_ready("Redis", lambda: "Ready to accept connections" in redis.log_tail(), timeout_s=120)
        health = f"http://{LOOPBACK}:{self._repo_server_metrics_port}/healthz?full=true"
        repo_server.await_ready("Argo CD's repo server", lambda: _answers_ok(health), timeout_s=180)
        health = f"http://{LOOPBACK}:{self._controller_metrics_port}/healthz"
        controller.await_ready("Argo CD's application controller", lambda: _answers_ok(health), timeout_s=180)

    def stop(self) -> None:
        """Stop Argo CD; what it deployed stays."""
        for name in (_CONTROLLER, _REPO_SERVER, _REDIS):
            Process(name, [], state=self._state).stop()

    def ensure_repository_credentials(self, url: str, username: str, token: str) -> None:
        """Let Argo CD read a Git repository over HTTP."""
        name = f"repository-{hashlib.sha256(url.encode()).hexdigest()[:10]}"
        labels = {"argocd.argoproj.io/secret-type": "repository"}
        credentials = {"type": "git", "url": url, "username": username, "password": token}
        self._kubectl.apply(_secret(name, labels, credentials))

    def ensure_application(
        self,
        name: str,
        repo_url: str,
        path: str,
        destination_namespace: str,
        target_revision: str = "main",
    ) -> None:
        """Have a folder of plain manifests, or a kustomization, deployed and kept as Git says, by itself.

        Args:
            name: The application's name.
            repo_url: The repository's clone URL, without credentials.
            path: The folder inside the repository.
            destination_namespace: Where the manifests go; made where it is missing.
            target_revision: The branch.
        """
        spec = {
            "project": "default",
            "source": {"repoURL": repo_url, "path": path, "targetRevision": target_revision},
            "destination": {"server": _IN_CLUSTER, "namespace": destination_namespace},
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True},
                "syncOptions": ["CreateNamespace=true"],
                "retry": {"limit": 10, "backoff": {"duration": "2s", "factor": 2, "maxDuration": "20s"}},
            },
        }
        metadata = {"name": name, "namespace": NAMESPACE, "finalizers": [_PRUNE_WITH_APPLICATION]}
        self._kubectl.apply(
            {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec}
        )

    def application(self, name: str) -> dict[str, Any] | None:
        """Return an Application object, or None where there is none."""
        return self._kubectl.get(_APPLICATIONS, name, NAMESPACE)

    def history(self, name: str) -> list[str]:
        """Return the revisions that an application deployed, oldest first."""
        found = self.application(name) or {}
        return [str(entry["revision"]) for entry in found.get("status", {}).get("history", [])]

    def await_synced(self, name: str, revision: str | None = None, timeout_s: float = 180.0) -> dict[str, Any]:
        """Wait until the cluster is as an application's revision says, and return the Application object.

        Args:
            name: The application's name.
            revision: The commit's SHA; None is content with the one that Argo CD saw last.
            timeout_s: How long to wait, in seconds.

        Raises:
            NotReady: It did not come about; the message holds what Argo CD says of the application.
        """
        seen: list[dict[str, Any]] = [{}]

        def synced() -> bool:
            seen.append(self.application(name) or {})
            return is_synced(seen[-1], revision)

        try:
            await_condition(f"the sync of application {name} to {revision or 'its branch'}", synced, timeout_s, 0.5)
        except NotReady as late:
            raise NotReady(f"{late}: {explained(seen[-1])}") from late
        return seen[-1]

    def delete_application(self, name: str, *, timeout_s: float = 300.0) -> None:
        """Delete an application and everything that it deployed, and wait until both are gone."""
        self._kubectl.delete(_APPLICATIONS, name, NAMESPACE, timeout_s=timeout_s)

    def _define_kinds(self) -> None:
        for definition in custom_resource_definitions():
            self._kubectl.run("apply", "--server-side", "--force-conflicts", f"--filename={definition}")
        self._kubectl.await_established(*_DEFINITIONS)

    def _make_settings(self) -> None:
        self._kubectl.apply(*service_account(_CONTROLLER, NAMESPACE, _RULES))
        self._kubectl.apply(_config_map("argocd-cm"), _config_map("argocd-rbac-cm"), _default_project())
        if self._kubectl.get("secret", "argocd-secret", NAMESPACE) is None:
            key = {"server.secretkey": secrets.token_urlsafe(32)}
            self._kubectl.apply(_secret("argocd-secret", _PART_OF_ARGOCD, key))

    def _processes(self) -> tuple[Process, Process, Process]:
        """Return Redis, the repo server and the application controller."""
        program = str(go_binaries("argocd") / "argocd")
        redis = ["/usr/bin/redis-server", str(self._folder / "redis.conf")]
        repo_server = [program, *self._repo_server_flags()]
        controller = [program, *self._controller_flags()]
        return (
            Process(_REDIS, redis, state=self._state, env={}),
            Process(_REPO_SERVER, repo_server, state=self._state, env=self._environment(_REPO_SERVER)),
            Process(_CONTROLLER, controller, state=self._state, env=self._environment(_CONTROLLER)),
        )

    def _repo_server_flags(self) -> Iterator[str]:
        flags = {
            "address": LOOPBACK,
            "port": self._repo_server_port,
            "metrics-address": LOOPBACK,
            "metrics-port": self._repo_server_metrics_port,
            "disable-tls": "true",
            "redis": f"{LOOPBACK}:{self._redis_port}",
            "revision-cache-expiration": f"{self._resync_s}s",
            "loglevel": "warn",
        }
        return (f"--{flag}={value}" for flag, value in flags.items())

    def _controller_flags(self) -> Iterator[str]:
        flags = {
            "namespace": NAMESPACE,
            "repo-server": f"{LOOPBACK}:{self._repo_server_port}",
            "repo-server-plaintext": "true",
            "redis": f"{LOOPBACK}:{self._redis_port}",
            "app-resync": self._resync_s,
            "app-resync-jitter": 0,
            "self-heal-backoff-timeout-seconds": 0,
            "self-heal-timeout-seconds": _SELF_HEAL_AFTER_S,
            "metrics-port": self._controller_metrics_port,
            "loglevel": "warn",
        }
        return (f"--{flag}={value}" for flag, value in flags.items())

    def _environment(self, role: str) -> dict[str, str]:
        """Return the whole environment of a process whose role Argo CD's one binary takes from it."""
        binaries = go_binaries("argocd")
        temporary = self._folder / "tmp"
        data = {kind: self._folder / kind.lower() for kind in ("SSH", "TLS", "GPG")}
        for folder in (temporary, *data.values()):
            folder.mkdir(parents=True, exist_ok=True)
        return {
            "ARGOCD_BINARY_NAME": role,
            "ARGOCD_FAKE_IN_CLUSTER": "true",
            "ARGOCD_GPG_ENABLED": "false",
            "ARGOCD_ASK_PASS_SOCK": str(temporary / "ask-pass.sock"),
            "ARGOCD_PLUGINSOCKFILEPATH": str(self._folder / "plugins"),
            **{f"ARGOCD_{kind}_DATA_PATH": str(folder) for kind, folder in data.items()},
            "HOME": str(self._folder),
            "KUBECONFIG": str(self._folder / "kubeconfig"),
            "PATH": f"{self._kustomize()}:{binaries}:{go_binaries('helm')}:{_PATH}",
            "REDIS_PASSWORD": self._redis_password(),
            "TMPDIR": str(temporary),
        }

    def _kustomize(self) -> Path:
        """Return the folder of the program that Argo CD calls to build a kustomization: the one inside kubectl."""
        program = self._folder / "bin" / "kustomize"
        program.parent.mkdir(parents=True, exist_ok=True)
        kubectl = go_binaries("kubernetes") / "kubectl"
        write_atomically(program, f'#!/bin/sh\ntest "$1" = build && shift && exec {kubectl} kustomize "$@"\n')
        program.chmod(0o755)
        return program.parent

    def _redis_settings(self) -> str:
        settings = {
            "bind": LOOPBACK,
            "port": self._redis_port,
            "requirepass": self._redis_password(),
            "dir": self._folder,
            "save": '""',
            "appendonly": "no",
        }
        return "".join(f"{name} {value}\n" for name, value in settings.items())

    def _redis_password(self) -> str:
        stored = self._folder / "redis-password"
        if not stored.exists():
            write_atomically(stored, secrets.token_urlsafe(32))
        return stored.read_text()


def custom_resource_definitions() -> list[Path]:
    """Return the files of Argo CD's custom resource definitions, as its Go module has them."""
    return sorted((module_folder("argocd", _MODULE) / "manifests" / "crds").glob("*-crd.yaml"))


def is_synced(application: dict[str, Any], revision: str | None) -> bool:
    """Tell whether Argo CD found the cluster to be as the revision says, and has nothing more under way.

    A revision that changes nothing in the application's folder is synced without having been deployed.
    """
    status = application.get("status", {})
    sync = status.get("sync", {})
    operation = status.get("operationState", {}).get("phase")
    return (
        sync.get("status") == "Synced"
        and revision in (None, sync.get("revision"))
        and operation == "Succeeded"
        and "operation" not in application
    )


def explained(application: dict[str, Any]) -> str:
    """Return what Argo CD says of an application: its sync, its health, its last operation and its complaints."""
    status = application.get("status", {})
    said = {
        "sync": {key: status.get("sync", {}).get(key) for key in ("status", "revision")},
        "health": status.get("health", {}).get("status"),
        "operation": {key: status.get("operationState", {}).get(key) for key in ("phase", "message")},
        "conditions": [condition.get("message") for condition in status.get("conditions", [])],
    }
    return yaml.safe_dump(said, default_flow_style=True, width=1000).strip()


def _answers_ok(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False, timeout=_REQUEST_TIMEOUT_S).is_success
    except httpx.TransportError:
        return False


def _config_map(name: str) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": _PART_OF_ARGOCD}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def _secret(name: str, labels: dict[str, str], values: dict[str, str]) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values}


def _default_project() -> Manifest:
    anything = [{"group": "*", "kind": "*"}]
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": NAMESPACE},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"server": "*", "namespace": "*"}],
            "clusterResourceWhitelist": anything,
        },
    }
