"""Where the stories of the matrix take place: one cluster, one operator, and every baseline's status in one request."""

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import httpx

from mfu_operator.api.group import CREDENTIALS_LABEL
from tests.cluster.cluster import Cluster
from tests.cluster.gitea import BOT, OWNER
from tests.cluster.images import build_archive
from tests.cluster.process import await_condition
from tests.demo.environment import BASELINES, ROOT, SECRET, Environment
from tests.matrix.layouts import JOB

TRAINER = "localhost/mfu/trainer"
READ_EVERY_S = 1.0
PATIENCE_S = 600.0

Status = Mapping[str, Any]
Check = Callable[[Status], bool]


@dataclass
class Place:
    """What the stories share. `workers` and `inline` are the images of the trainer, by digest."""

    environment: Environment
    workers: str
    inline: str
    _statuses: Mapping[str, Status] = field(default_factory=dict)
    _read_s: float = 0.0
    _tags: dict[str, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def status(self, namespace: str) -> Status:
        """The status of a namespace's baseline, of this second."""
        with self._lock:
            if time.monotonic() - self._read_s > READ_EVERY_S:
                listed = json.loads(self.environment.kubectl.run("get", BASELINES, "-A", "--output=json"))["items"]
                self._statuses = {each["metadata"]["namespace"]: each.get("status", {}) for each in listed}
                self._read_s = time.monotonic()
            return self._statuses.get(namespace, {})

    def tag(self, name: str, image: str) -> str:
        """Let a tag of the trainer's image mean this one on the node; the image by its tag."""
        cluster = self.environment.cluster
        assert isinstance(cluster, Cluster)
        with self._lock:
            if self._tags.get(name) != image:
                cluster.images.tag(image, f"{TRAINER}:{name}")
                self._tags[name] = image
        return f"{TRAINER}:{name}"

    def publish(self, files: Mapping[str, str]) -> str:
        """Publish a version of a chart; the address of the chart repository."""
        address = f"{self.environment.gitea.url}/api/packages/{OWNER}/helm"
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                (Path(folder) / "gpt" / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / "gpt" / path).write_text(text)
            self.environment.helm.helm("package", f"{folder}/gpt", f"--destination={folder}")
            [archive] = Path(folder).glob("*.tgz")
            head = {"Authorization": f"token {self.environment.gitea.owner_token}"}
            sent = httpx.post(f"{address}/api/charts", content=archive.read_bytes(), headers=head, trust_env=False)
            assert sent.status_code in (httpx.codes.CREATED, httpx.codes.CONFLICT), sent.text
        return address

    def repository(self, name: str, files: Mapping[str, str]) -> str:
        """A repository with a first commit of files, which Argo CD may read; its address."""
        gitea = self.environment.gitea
        url = gitea.ensure_repository(name)
        self.environment.argocd.ensure_repository_credentials(url, OWNER, gitea.owner_token)
        gitea.commit(name, "Train gpt", files)
        return url


def place(environment: Environment) -> Place:
    """The place, with both images of the trainer on the node."""
    cluster = environment.cluster
    assert isinstance(cluster, Cluster)
    dockerfile = ROOT / "tests/matrix/trainer/Dockerfile"
    workers, inline = (build_archive(f"trainer-{stage}", dockerfile, ROOT, stage) for stage in ("workers", "inline"))
    return Place(
        environment,
        cluster.images.load("trainer", workers).reference,
        cluster.images.load("trainer", inline).reference,
    )


@dataclass
class Run:
    """One training job under watch: its namespace, the application of the same name, the repository behind it."""

    place: Place
    namespace: str
    repository: str
    answered: list[Status] = field(default_factory=list)

    def deploy(self, *manifests: Mapping[str, Any], **remediation: Any) -> None:
        """Apply the application, or whatever brings it, and the baseline."""
        here = self.place.environment
        here.kubectl.apply(*manifests, self._secret(), self._baseline(remediation))

    def until(self, what: str, check: Check) -> Status:
        """Wait until the baseline's status is so; the status."""
        seen: list[Status] = [{}]

        def holds() -> bool:
            seen.append(self.place.status(self.namespace))
            return check(seen[-1])

        try:
            await_condition(f"{what} of {self.namespace}", holds, PATIENCE_S, READ_EVERY_S)
        except Exception as late:
            late.add_note(json.dumps(seen[-1], indent=1)[:6000])
            raise
        return seen[-1]

    def commit(self, message: str, files: Mapping[str, str], author: str = OWNER) -> str:
        """Commit files to main; its sha."""
        return self.place.environment.gitea.commit(self.repository, message, dict(files), author=author)

    def push(self, *commits: tuple[str, Mapping[str, str]]) -> list[str]:
        """Put commits on main by one push; their shas."""
        return self.place.environment.gitea.push(self.repository, list(commits))

    def forge(self, method: str, path: str, body: object = None) -> Any:
        """Ask Gitea about the repository, as its owner."""
        return self.place.environment.gitea.api(method, f"repos/{OWNER}/{self.repository}/{path}", body)

    def merge(self) -> str:
        """Merge the one pull request as a person would; the merge commit."""
        [request] = self.requests()
        return self.place.environment.gitea.merge(self.repository, int(request["number"]))

    def requests(self) -> list[dict[str, Any]]:
        """The pull requests of the repository, newest first."""
        return self.place.environment.gitea.pull_requests(self.repository)

    def comments(self) -> list[str]:
        """The comments on the one pull request."""
        [request] = self.requests()
        return self.place.environment.gitea.comments(self.repository, int(request["number"]))

    def branches(self) -> list[str]:
        """The branches beside main."""
        return [each["name"] for each in self.forge("GET", "branches") if each["name"] != "main"]

    def file(self, path: str) -> str:
        """A file of main."""
        gitea = self.place.environment.gitea
        answer = httpx.get(
            f"{gitea.url}/api/v1/repos/{OWNER}/{self.repository}/raw/{path}",
            params={"ref": "main"},
            headers={"Authorization": f"token {gitea.owner_token}"},
            trust_env=False,
        )
        return answer.raise_for_status().text

    def restart(self) -> None:
        """Delete the run's pod, as draining its node would; its controller makes another one."""
        selector = f"--selector=batch.kubernetes.io/job-name={JOB}"
        self.place.environment.kubectl.run("delete", "pod", f"--namespace={self.namespace}", selector, "--wait=false")

    def reasons(self) -> list[str]:
        """Why the baseline's Events were sent, oldest first."""
        listed = self.place.environment.kubectl.run(
            "get", "events.events.k8s.io", f"--namespace={self.namespace}", "--output=json"
        )
        events = [each for each in json.loads(listed)["items"] if each["regarding"].get("kind") == "TrainingBaseline"]
        return [str(each["reason"]) for each in sorted(events, key=lambda each: str(each["eventTime"]))]

    def _secret(self) -> Mapping[str, Any]:
        gitea = self.place.environment.gitea
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET, "namespace": self.namespace, "labels": {CREDENTIALS_LABEL: "true"}},
            "stringData": {"username": BOT, "token": gitea.bot_token, "address": gitea.url},
        }

    def _baseline(self, remediation: Mapping[str, Any]) -> Mapping[str, Any]:
        forge = {"kind": "Gitea", "address": self.place.environment.gitea.url, "secretRef": {"name": SECRET}}
        application = {"kind": "Application", "namespace": "argocd", "name": self.namespace}
        short = {"sustain": "10s", "confirm": "10s", "recover": "10s", "warmup": "5s"}
        return {
            "apiVersion": "mfu-operator.io/v1alpha1",
            "kind": "TrainingBaseline",
            "metadata": {"name": JOB, "namespace": self.namespace},
            "spec": {
                "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": JOB, "container": "trainer"},
                "comparable": {"model": "slow-motion"},
                "baseline": {"values": {"mfu": 0.4}},
                "detection": {"tolerance": "25%", **short},
                "profiling": {"steps": 6, "warmupSteps": 4, "deadline": "5m"},
                "remediation": {
                    "mode": "PullRequest",
                    "application": application,
                    "forge": forge,
                    "coolDown": "1s",
                    **remediation,
                },
            },
        }


def settled(status: Status) -> bool:
    """Everything is known of the healthy job, and nothing is gated."""
    judgement = status.get("judgement", {})
    return (
        "account" in status.get("healthyProfile", {})
        and "revision" in status.get("knownGood", {})
        and judgement.get("verdict") == "Healthy"
        and not judgement.get("gates")
    )


def proposed(status: Status) -> bool:
    """The open incident has a pull request."""
    return "url" in status.get("incident", {}).get("proposal", {})


def recovered(status: Status) -> bool:
    """The incident is closed, with a recovery."""
    return "incident" not in status and any("recovery" in each for each in status.get("history", ()))


def together(runs: Sequence[Run], what: str, check: Check) -> list[Status]:
    """Wait until the statuses of several runs are so."""
    return [run.until(what, check) for run in runs]
