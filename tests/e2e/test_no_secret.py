"""After the story no secret of the cluster stands in anything that people or programs read."""

import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cluster.gitea import OWNER
from tests.cluster.kubectl import Kubectl
from tests.demo.environment import METRICS_TOKEN, OPERATOR_NAMESPACE, Environment
from tests.demo.scenario import SIGNING_KEY
from tests.e2e.stories import MainJob

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]

KINDS = ("trainingbaselines", "events", "jobs", "pods", "configmaps", "leases", "deployments", "applications")
PUBLIC = ("ca.crt", "tls.crt", "username", "address", "url", "type", "name", "project")
"""Keys of Secrets that hold none."""
SHORTEST, LARGEST_FILE = 8, 4 << 20
ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount/token"


def planted(kubectl: Kubectl) -> Iterator[tuple[str, str]]:
    """Every secret in a Secret of the cluster, with its name: of what has several lines the longest that is no frame.
    What Helm keeps of a release is a manifest."""
    for secret in json.loads(kubectl.run("get", "secrets", "--all-namespaces", "--output=json"))["items"]:
        where = f"{secret['metadata']['namespace']}/{secret['metadata']['name']}"
        for key, value in (secret.get("data") or {}).items():
            lines = base64.b64decode(value).decode(errors="replace").splitlines() or [""]
            inner = [each for each in lines if not each.startswith("-----")]
            text = max(inner[1:-1] or inner or [""], key=len)
            if len(text) >= SHORTEST and key not in PUBLIC and not secret["type"].startswith("helm.sh/"):
                yield f"{where} {key}", text


def shown(kubectl: Kubectl) -> Iterator[tuple[str, str]]:
    """What people and other programs read: logs, and objects of every kind that the operator writes or is."""
    logs = kubectl.run(
        "logs", f"--namespace={OPERATOR_NAMESPACE}", "deployment/mfu-operator", "--all-pods", "--tail=-1"
    )
    yield "the operator's logs", logs
    for kind in KINDS:
        yield kind, kubectl.run("get", kind, "--all-namespaces", "--output=json", "--show-managed-fields")
    pods = json.loads(kubectl.run("get", "pods", "--all-namespaces", "--output=json"))["items"]
    for pod in pods:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        if pod["status"]["phase"] != "Pending":
            log = kubectl.run("logs", f"--namespace={namespace}", name, "--all-containers", "--tail=-1")
            yield f"the log of {namespace}/{name}", log


def processes() -> list[Path]:
    """Those that run in a container of this machine."""
    own, found = (Path("/proc/self/ns/mnt")).readlink(), []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and (process / "ns/mnt").readlink() != own:
                (process / "cmdline").read_bytes()
                found.append(process)
    return found


def in_processes() -> Iterator[tuple[str, str]]:
    """Arguments and environments of the containers' processes, and the files that they wrote."""
    seen = set[Path]()
    for process in processes():
        with suppress(OSError):
            who = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            yield f"the arguments of {who[:60]}", who
            yield f"the environment of {who[:60]}", (process / "environ").read_bytes().decode(errors="replace")
            namespace = (process / "ns/mnt").readlink()
            if namespace not in seen:
                seen.add(namespace)
                yield from _written(process / "root/tmp", who[:60])


def _written(folder: Path, who: str) -> Iterator[tuple[str, str]]:
    with suppress(OSError):
        for file in folder.rglob("*"):
            with suppress(OSError):
                if file.is_file() and not file.is_symlink() and file.stat().st_size < LARGEST_FILE:
                    yield f"{file} of {who}", file.read_bytes().decode(errors="replace")


def of_accounts() -> Iterator[tuple[str, str]]:
    """The tokens with which containers speak to the API server."""
    for process in processes():
        with suppress(OSError):
            yield "a ServiceAccount's token", (process / "root" / ACCOUNT).read_text().rpartition(".")[2]


def test_no_log_status_event_argument_environment_or_file_holds_a_secret(
    environment: Environment, main: MainJob
) -> None:
    """Searched for after the pull request was opened and its commit signed: as it is, and in base64."""
    assert main.pull_request["number"]
    path = f"repos/{OWNER}/{main.scenario.repository}/git/commits/{main.pull_request['head']['sha']}"
    commit = environment.gitea.api("GET", path)["commit"]
    assert "SSH SIGNATURE" in commit["verification"]["signature"], "the signing key was never used"
    kubectl = environment.kubectl
    secrets = {*planted(kubectl), *of_accounts()}
    assert {environment.gitea.bot_token, METRICS_TOKEN, SIGNING_KEY.splitlines()[2]} <= {text for _, text in secrets}
    texts = [*shown(kubectl), *in_processes()]
    for place in ("the operator's logs", "the arguments of", "the environment of"):
        assert any(where.startswith(place) and text for where, text in texts), place
    assert any("mfu_operator" in where for where, _ in texts), "the operator's process was not looked at"
    forms = [(name, form) for name, text in secrets for form in (text, base64.b64encode(text.encode()).decode()[:-3])]
    found = [(where, name) for where, text in texts for name, form in forms if form in text]
    assert found == []
