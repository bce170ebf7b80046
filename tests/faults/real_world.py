"""The world of a story on a real API server and a real Gitea: what the operator does is done there. What other machines
do (a kubelet that runs the workload, a GitOps tool, a metrics source) is played, for it takes no effect of the
operator's."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from kubernetes import client

from mfu_operator.adapters.cluster.kubernetes import MERGE_PATCH
from mfu_operator.api.bound_address import ADDRESS
from mfu_operator.api.group import CREDENTIALS_LABEL, GROUP, PLURAL, VERSION
from mfu_operator.model.condition import Event
from mfu_operator.model.proposal import PullRequest, PullRequestState
from mfu_operator.model.workload import JobPhase, ProfilingJob, Workload
from tests.cluster.gitea import OWNER, Gitea
from tests.faults.control_plane import NAMESPACE, TEAM, ControlPlane
from tests.support import worlds
from tests.support.adapters_double import APPLICATION, Stage
from tests.support.cluster_double import copied
from tests.support.delivery_double import DeliveryDouble

MODELS = "models"
OF_BASELINES = (GROUP, VERSION, TEAM, PLURAL)


class Line(NamedTuple):
    """A commit of the branch main."""

    sha: str
    subject: str


CONFIG = f"{worlds.PATH}/train.yaml"
CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata: {{name: gpt-config, namespace: team-a}}
data:
  train.yaml: |
    {}"""
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: gpt-small, namespace: team-a}
spec:
  template:
    spec:
      containers:
      - name: train
        image: registry.example/gpt:1
        command: [python, train.py, --config, /etc/train/train.yaml]
        volumeMounts: [{name: config, mountPath: /etc/train}]
      volumes: [{name: config, configMap: {name: gpt-config}}]
"""


class RealRepository:
    """A repository of Gitea's, and a person who commits to its branch main: those commits are the `line`. What a story
    calls the configuration is the content of a ConfigMap here, which a job mounts: the operator renders both."""

    def __init__(self, gitea: Gitea) -> None:
        self._gitea = gitea
        self.line: list[Line] = []
        gitea.delete_repository(MODELS)
        self.url = gitea.ensure_repository(MODELS)

    def commit(self, files: Mapping[str, str | None], subject: str) -> str:
        """A person's commit."""
        held = {path: CONFIG_MAP.format(text) if path == CONFIG else text for path, text in files.items()}
        self.line.append(Line(self._gitea.commit(MODELS, subject, held), subject))
        return self.line[-1].sha

    @property
    def branches(self) -> list[str]:
        """Those that were pushed."""
        found = self._gitea.api("GET", f"repos/{OWNER}/{MODELS}/branches")
        return [each["name"] for each in found if each["name"] != "main"]


class RealForge:
    """The pull requests of that repository, and a person who merges. `merged_at` is when, on the story's clock."""

    def __init__(self, gitea: Gitea) -> None:
        self._gitea = gitea
        self.merged_at: dict[int, float] = {}

    @property
    def pulls(self) -> list[PullRequest]:
        """All of them, in the order of their numbers."""
        found = [_pull(each) for each in self._gitea.pull_requests(MODELS)]
        return sorted(found, key=lambda pull: pull.number)

    @property
    def notes(self) -> dict[int, str]:
        """The operator's comment on each pull request that has one."""
        found = {}
        for pull in self.pulls:
            for said in self._gitea.comments(MODELS, pull.number):
                assert pull.number not in found, "there is one comment of the operator's, which is edited"
                found[pull.number] = said
        return found

    def merge(self, number: int, at_s: float) -> None:
        """A person says yes."""
        self._gitea.merge(MODELS, number)
        self.merged_at[number] = at_s


class RealCluster:
    """What a person and a kubelet do to an API server. `played` is what a kubelet would say of the profiling Jobs."""

    def __init__(self, plane: ControlPlane, token: str, address: str) -> None:
        self.now_s = worlds.NOW_S
        self.workloads: dict[tuple[str, str, str], Workload] = {}
        self.played: dict[str, ProfilingJob] = {}
        self._names: list[str] | None = None
        self._address = address
        api: Any = plane.administrator
        self._custom: Any = client.CustomObjectsApi(api)
        self._batch: Any = client.BatchV1Api(api)
        self._core: Any = client.CoreV1Api(api)
        self._events: Any = client.EventsV1Api(api)
        self._leases: Any = client.CoordinationV1Api(api)
        self._clear()
        self._keep_token(token)

    def _clear(self) -> None:
        """Nothing of the story before this one is left."""
        for stored in self._listed():
            self._custom.delete_namespaced_custom_object(*OF_BASELINES, stored["metadata"]["name"])
        self._batch.delete_collection_namespaced_job(TEAM, propagation_policy="Background")
        self._events.delete_collection_namespaced_event(TEAM)
        self._leases.delete_collection_namespaced_lease(NAMESPACE)
        self._core.delete_collection_namespaced_secret(TEAM)

    def _keep_token(self, token: str) -> None:
        """A person keeps the forge's token in a Secret."""
        metadata = {"name": "forge", "labels": {CREDENTIALS_LABEL: "true"}}
        body = {"metadata": metadata, "stringData": {"token": token, ADDRESS: self._address}}
        self._core.create_namespaced_secret(TEAM, body)

    @property
    def baselines(self) -> "RealCluster":
        """The stored objects, as a mapping by namespace and name."""
        return self

    def __setitem__(self, place: tuple[str, str], stored: dict[str, Any]) -> None:
        body = copied({**stored, "metadata": {"namespace": place[0], "name": place[1]}})
        body["spec"]["remediation"]["forge"]["address"] = self._address
        self._custom.create_namespaced_custom_object(*OF_BASELINES, body)

    def __getitem__(self, place: tuple[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = self._custom.get_namespaced_custom_object(*OF_BASELINES, place[1])
        return found

    def edit(self, namespace: str, name: str, *, annotations: Mapping[str, str]) -> None:
        """A person annotates."""
        body = {"metadata": {"annotations": dict(annotations)}}
        self._custom.patch_namespaced_custom_object(*OF_BASELINES, name, body, _content_type=MERGE_PATCH)

    @property
    def jobs(self) -> dict[tuple[str, str], ProfilingJob]:
        """The profiling Jobs that there are. A list of the API server waits until its cache is as new as what is
        stored, a tenth of a second: it is asked once after each effect on the cluster."""
        if self._names is None:
            self._names = [each.metadata.name for each in self._batch.list_namespaced_job(TEAM).items]
        for name in self._names:
            self.played.setdefault(name, ProfilingJob(name, JobPhase.WAITING, self.now_s))
        return {(TEAM, name): self.played[name] for name in self._names}

    def changed(self) -> None:
        """An effect on the cluster was done."""
        self._names = None

    def becomes(self, name: str, **changes: Any) -> None:
        """What a kubelet did with a profiling Job."""
        self.played[name] = replace(self.played[name], **changes)

    @property
    def events(self) -> Iterator[tuple[Mapping[str, Any], Event]]:
        """The Events that were posted."""
        for each in self._events.list_namespaced_event(TEAM).items:
            yield {}, Event(each.type, each.reason, each.note)

    def _listed(self) -> list[dict[str, Any]]:
        found: dict[str, Any] = self._custom.list_namespaced_custom_object(*OF_BASELINES)
        listed: list[dict[str, Any]] = found["items"]
        return listed


class RealStage(Stage):
    """The stage of a story, in a namespace and a repository that hold nothing else."""

    def __init__(self, plane: ControlPlane, gitea: Gitea) -> None:
        self.url = worlds.REPOSITORY
        super().__init__()
        cluster, repository = RealCluster(plane, gitea.bot_token, gitea.url), RealRepository(gitea)
        self.cluster, self.repository, self.forge = (
            cast(Any, cluster),
            cast(Any, repository),
            cast(Any, RealForge(gitea)),
        )
        self.kubeconfig, self.delivery = plane.operator_kubeconfig, DeliveryDouble()
        self.url = repository.url
        self.repository.commit({CONFIG: "num_workers: 4\n", f"{worlds.PATH}/job.yaml": JOB}, "Begin")
        self.deploy(worlds.STARTED_S)

    def deploy(self, at_s: float | None = None) -> None:
        """The GitOps tool syncs the branch's head, and the pod is replaced."""
        super().deploy(at_s)
        self.delivery.sources[APPLICATION] = replace(self.delivery.sources[APPLICATION], repository=self.url)


def _pull(found: Mapping[str, Any]) -> PullRequest:
    state = PullRequestState.OPEN if found["state"] == "open" else PullRequestState.CLOSED
    if found["merged"]:
        state = PullRequestState.MERGED
    return PullRequest(found["number"], found["html_url"], found["head"]["label"], state)
