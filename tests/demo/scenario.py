"""One training run under watch: its repository, its application, its baseline, and what people do to it."""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from string import Template
from typing import Any

import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mfu_operator.api.group import CREDENTIALS_LABEL
from tests.cluster.gitea import BOT, OWNER
from tests.cluster.process import await_condition
from tests.demo.environment import BASELINES, SECRET, Environment

HERE = Path(__file__).parent
JOB = "gpt-small"
BASELINE = "gpt-small"
CONFIG = "gpt-small/config.yaml"
MANIFEST = "gpt-small/job.yaml"

SYNC_PATIENCE_S = 300.0
"""Argo CD takes seconds, on a machine that has time for it."""

SIGNING_KEY = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
"""What the operator signs its commits with."""


@dataclass(frozen=True)
class Commits:
    """The three commits of a regression: the one that did it, and two that did not."""

    guilty: str
    same_path: str
    elsewhere: str


class Scenario:
    """A run in a namespace of its own, deployed by Argo CD from a repository of its own."""

    def __init__(
        self,
        environment: Environment,
        namespace: str,
        mode: str = "PullRequest",
        devices: Mapping[str, str] | None = None,
        baseline: str = BASELINE,
    ) -> None:
        """`devices`: what the training container asks for beside processors and memory (amount by resource name).

        `baseline`: the name of the TrainingBaseline; one of another name can watch the same run in another way.
        """
        self.environment = environment
        self.namespace = namespace
        self.repository = f"{namespace}-config"
        self.mode = mode
        self.baseline = baseline
        self._files = _repository_files(environment, namespace)
        if devices is not None:
            self._files[MANIFEST] = _asking_for(devices, self._files[MANIFEST])

    def deploy(self) -> str:
        """Commit the configuration and let Argo CD deploy it; the revision that runs."""
        here = self.environment
        url = here.gitea.ensure_repository(self.repository)
        here.argocd.ensure_repository_credentials(url, OWNER, here.gitea.owner_token)
        revision = here.gitea.commit(self.repository, "Train gpt-small", self._files)
        here.argocd.ensure_application(self.namespace, url, "gpt-small", self.namespace)
        here.argocd.await_synced(self.namespace, revision, timeout_s=SYNC_PATIENCE_S)
        await_condition(f"the training pod of {self.namespace}", self._trains, timeout_s=SYNC_PATIENCE_S)
        return revision

    def watch(self, token: str | None = None, **changes: Any) -> None:
        """Apply the baseline and the bot's credentials (or `token`). `changes` go into sections of its spec, where
        None takes a field out."""
        here = self.environment
        text = (HERE / "baseline" / "trainingbaseline.yaml").read_text()
        filled = Template(text).substitute(mode=self.mode, application=self.namespace, forge=here.gitea.url)
        manifest = yaml.safe_load(filled)
        manifest["metadata"] |= {"name": self.baseline, "namespace": self.namespace}
        for section, values in changes.items():
            changed = manifest["spec"].get(section, {}) | values
            manifest["spec"][section] = {name: value for name, value in changed.items() if value is not None}
        here.kubectl.apply(self._secret(token or here.gitea.bot_token), manifest)

    def commit(self, message: str, edit: Callable[[str], str], path: str = CONFIG) -> str:
        """Commit an edit of one file; its sha."""
        return self.environment.gitea.commit(self.repository, message, self._edited(edit, path))

    def regress(self) -> Commits:
        """Turn the loader's workers off as a person could by accident, bury it under two harmless commits, and push."""
        workers_off = self._edited(lambda text: text.replace("num_workers: 4", "num_workers: 0"))
        less_logging = self._edited(_replace_last("every_steps: 200", "every_steps: 400"))
        owner_named = self._edited(lambda text: text + "\nOwner: platform\n", "README.md")
        commits = [
            ("Debug the loader in one process", workers_off),
            ("Log less often", less_logging),
            ("Say who owns this", owner_named),
        ]
        return Commits(*self.environment.gitea.push(self.repository, commits))

    def synced(self, revision: str) -> None:
        """Wait until Argo CD has deployed a revision."""
        self.environment.argocd.await_synced(self.namespace, revision, timeout_s=SYNC_PATIENCE_S)

    def pull_requests(self) -> list[dict[str, Any]]:
        """All pull requests of the repository, newest first."""
        return self.environment.gitea.pull_requests(self.repository)

    def pull_request(self, number: int) -> dict[str, Any]:
        """One pull request with the size of its change."""
        found: dict[str, Any] = self.environment.gitea.api("GET", f"repos/{OWNER}/{self.repository}/pulls/{number}")
        return found

    def merge(self, number: int) -> str:
        """The human's part."""
        return self.environment.gitea.merge(self.repository, number)

    def branches(self) -> list[str]:
        """The repository's branches."""
        found = self.environment.gitea.api("GET", f"repos/{OWNER}/{self.repository}/branches")
        return sorted(branch["name"] for branch in found)

    def config_at(self, branch: str = "main") -> str:
        """The configuration file on a branch, as Git has it."""
        path = f"repos/{OWNER}/{self.repository}/contents/{CONFIG}"
        found = self.environment.gitea.api("GET", path, parameters={"ref": branch})
        return base64.b64decode(found["content"]).decode()

    def status(self) -> Mapping[str, Any]:
        """The baseline's status."""
        found = self.environment.kubectl.get(BASELINES, self.baseline, self.namespace) or {}
        status: Mapping[str, Any] = found.get("status", {})
        return status

    def condition(self, kind: str) -> Mapping[str, Any] | None:
        """A condition of the baseline, None where it is not there."""
        return next((each for each in self.status().get("conditions", []) if each["type"] == kind), None)

    def await_status(
        self, what: str, check: Callable[[Mapping[str, Any]], bool], timeout_s: float
    ) -> Mapping[str, Any]:
        """Wait until the status is so; the status.

        Raises:
            NotReady: with the conditions as they were last.
        """
        seen: list[Mapping[str, Any]] = [{}]

        def holds() -> bool:
            seen.append(self.status())
            return check(seen[-1])

        try:
            await_condition(what, holds, timeout_s, 0.5)
        except Exception as late:
            late.add_note(self.story(seen[-1]))
            raise
        return seen[-1]

    def await_event(self, reason: str, timeout_s: float) -> None:
        """Wait until an Event is there: it follows the status that it tells of, and dies with an operator that is
        killed between the two."""
        await_condition(
            f"the Event {reason} of {self.namespace}",
            lambda: reason in [event["reason"] for event in self.events()],
            timeout_s,
        )

    def story(self, status: Mapping[str, Any]) -> str:
        """What a person needs to see why it is not as awaited."""
        operator = self.environment.kubectl.run(
            "logs", "deployment/mfu-operator", "--namespace=mfu-system", "--tail=40", "--all-pods=true"
        )
        return f"status: {json.dumps(status, indent=1)[:6000]}\noperator:\n{operator[-4000:]}"

    def jobs(self) -> list[dict[str, Any]]:
        """The profiling Jobs of the namespace."""
        found = self.environment.kubectl.run(
            "get", "jobs", f"--namespace={self.namespace}", "--selector=mfu-operator.io/baseline", "--output=json"
        )
        items: list[dict[str, Any]] = json.loads(found)["items"]
        return items

    def profiling_pods(self) -> list[dict[str, Any]]:
        """The pods of the profiling Jobs."""
        found = self.environment.kubectl.run(
            "get", "pods", f"--namespace={self.namespace}", "--selector=mfu-operator.io/baseline", "--output=json"
        )
        items: list[dict[str, Any]] = json.loads(found)["items"]
        return items

    def messages(self) -> list[str]:
        """The termination messages of the profiling Jobs' pods."""
        ended = [
            status.get("state", {}).get("terminated", {})
            for pod in self.profiling_pods()
            for status in pod["status"].get("containerStatuses", [])
        ]
        return [str(each["message"]) for each in ended if each.get("message")]

    def events(self) -> list[dict[str, Any]]:
        """The baseline's Events, oldest first."""
        found = self.environment.kubectl.run(
            "get", "events.events.k8s.io", f"--namespace={self.namespace}", "--output=json"
        )
        items = [each for each in json.loads(found)["items"] if self._is_regarded(each.get("regarding", {}))]
        return sorted(items, key=lambda each: str(each["eventTime"]))

    def pods(self) -> list[dict[str, Any]]:
        """The run's own pods."""
        found = self.environment.kubectl.run(
            "get",
            "pods",
            f"--namespace={self.namespace}",
            f"--selector=batch.kubernetes.io/job-name={JOB}",
            "--output=json",
        )
        items: list[dict[str, Any]] = json.loads(found)["items"]
        return items

    def _is_regarded(self, regarding: Mapping[str, Any]) -> bool:
        return (regarding.get("kind"), regarding.get("name")) == ("TrainingBaseline", self.baseline)

    def _edited(self, edit: Callable[[str], str], path: str = CONFIG) -> dict[str, str]:
        """The file as it is after an edit, by its path."""
        edited = edit(self._files[path])
        assert edited != self._files[path], f"the edit of {path} changes nothing"
        self._files[path] = edited
        return {path: edited}

    def _trains(self) -> bool:
        return any(
            status.get("ready") for pod in self.pods() for status in pod.get("status", {}).get("containerStatuses", [])
        )

    def _secret(self, token: str) -> Mapping[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET, "namespace": self.namespace, "labels": {CREDENTIALS_LABEL: "true"}},
            "stringData": {
                "username": BOT,
                "token": token,
                "address": self.environment.gitea.url,
                "sshSigningKey": SIGNING_KEY,
            },
        }


def seconds_between(earlier: str, later: str) -> float:
    """Seconds between two RFC 3339 times."""
    first, second = (datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (earlier, later))
    return (second - first).total_seconds()


def _replace_last(old: str, new: str) -> Callable[[str], str]:
    return lambda text: new.join(text.rsplit(old, 1))


def _asking_for(devices: Mapping[str, str], manifest: str) -> str:
    job = yaml.safe_load(manifest)
    resources = job["spec"]["template"]["spec"]["containers"][0]["resources"]
    for section in ("requests", "limits"):
        resources[section] |= devices
    return str(yaml.safe_dump(job))


def _repository_files(environment: Environment, namespace: str) -> dict[str, str]:
    folder = HERE / "repository"
    values = {
        "image": environment.images["demo-workload"].reference,
        "checkpoints": environment.volume(namespace),
    }
    files = {
        str(path.relative_to(folder)): Template(path.read_text()).substitute(values)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    config = (HERE / "workload" / "config.yaml").read_text()
    files[CONFIG] = config.replace("http://object-store:8080", environment.store_url)
    return files
