"""What pods and Jobs say, in the shapes in which the API server has them."""

from typing import Any

import pytest

from mfu_operator.adapters.cluster.kinds import kind_of
from mfu_operator.adapters.cluster.pods import endpoint_of, micro_time, pod_of, profiling_job_of
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.profiling.plan import training_in

CREATED = "2026-11-21T07:00:00Z"
SOON_S, LATER_S = 1795244400.0 + 5, 1795244400.0 + 61
JOB_UID = "6f1d0c1e-0000-1111-2222-333344445555"
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "mfu-gpt-1-a1", "uid": JOB_UID, "controller": True}
DIGEST = "sha256:" + "a" * 64


def job(condition: str | None = None, reason: str = "", message: str = "") -> dict[str, Any]:
    conditions = [
        {"type": "SuccessCriteriaMet" if condition == "Complete" else "FailureTarget", "status": "True",
         "reason": reason, "message": message, "lastTransitionTime": "2026-11-21T07:05:00Z"},
        {"type": condition, "status": "True", "reason": reason, "message": message,
         "lastTransitionTime": "2026-11-21T07:05:00Z"},
    ]  # fmt: skip
    return {
        "metadata": {"name": "mfu-gpt-1-a1", "uid": JOB_UID, "creationTimestamp": CREATED},
        "status": {"conditions": conditions} if condition else {},
    }


def failing(reason: str, message: str) -> dict[str, Any]:
    """A Job whose controller has decided that it fails, and still ends its pods."""
    whole = job("Failed", reason, message)
    [target, _] = whole["status"]["conditions"]
    return whole | {"status": {"conditions": [target | {"reason": reason, "message": message}]}}


def pod(phase: str = "Pending", created: str = CREATED, node: str | None = "node-1", **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "mfu-gpt-1-a1-x", "creationTimestamp": created, "ownerReferences": [OWNER]},
        "spec": {"containers": [{"name": "mfu-analyze", "image": "profiler:1"}]} | ({"nodeName": node} if node else {}),
        "status": {"phase": phase, **status},
    }


def container(name: str, image: str = "gpt:1", **state: Any) -> dict[str, Any]:
    return {"name": name, "image": image, "state": state}


def terminated(name: str, code: int, message: str | None = None) -> dict[str, Any]:
    ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error"}
    return container(name, terminated=ended | ({"message": message} if message else {}))


UNSCHEDULED = {
    "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
    "message": "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.",
}  # fmt: skip
EVICTED = pod("Failed", reason="Evicted", message="The node was low on resource: memory.")
PULLING = container("train", waiting={"reason": "ImagePullBackOff", "message": 'Back-off pulling image "gpt:1"'})
NO_CONFIG = container(
    "train", waiting={"reason": "CreateContainerConfigError", "message": 'configmap "train" not found'}
)
RUNNING = {"startedAt": "2026-11-21T07:01:00Z"}
BACKOFF = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
DISRUPTED = (
    "PodFailurePolicy", "Pod ml/mfu-gpt-1-a1-x has condition DisruptionTarget matching FailJob rule at index 0"
)  # fmt: skip
DEADLINE = ("DeadlineExceeded", "Job was active longer than specified deadline")

SEEN: list[tuple[str, dict[str, Any], list[dict[str, Any]], JobPhase, str | None]] = [
    ("no pod yet", job(), [], JobPhase.WAITING, None),
    ("not scheduled", job(), [pod(node=None, conditions=[UNSCHEDULED])], JobPhase.WAITING, "JobUnschedulable"),
    ("scheduled, nothing begun", job(), [pod()], JobPhase.WAITING, None),
    ("pulling", job(), [pod(initContainerStatuses=[PULLING])], JobPhase.WAITING, "ImagePullFailed"),
    ("a ConfigMap is missing", job(), [pod(initContainerStatuses=[NO_CONFIG])], JobPhase.WAITING, "JobFailed"),
    ("records", job(), [pod(initContainerStatuses=[container("train", running=RUNNING)])], JobPhase.RUNNING, None),
    ("has recorded", job(), [pod(initContainerStatuses=[terminated("train", 0)])], JobPhase.RUNNING, None),
    ("analyzes", job(), [pod("Running", containerStatuses=[container("a", running=RUNNING)])], JobPhase.RUNNING, None),
    ("done", job("Complete"), [pod("Succeeded", containerStatuses=[terminated("mfu-analyze", 0, "{}")])],
     JobPhase.SUCCEEDED, None),
    ("evicted", job("Failed", *BACKOFF), [EVICTED], JobPhase.FAILED, "JobEvicted"),
    ("evicted, pod deleted", job("Failed", *DISRUPTED), [], JobPhase.FAILED, "JobEvicted"),
    ("deadline", job("Failed", *DEADLINE), [pod("Failed")], JobPhase.FAILED, "DeadlineExceeded"),
    ("deadline, pod deleted", job("Failed", *DEADLINE), [], JobPhase.FAILED, "DeadlineExceeded"),
    ("deadline, never scheduled", job("Failed", *DEADLINE), [pod(node=None, conditions=[UNSCHEDULED])],
     JobPhase.FAILED, "JobUnschedulable"),
    ("deadline, its pod not yet deleted", failing(*DEADLINE), [pod(node=None, conditions=[UNSCHEDULED])],
     JobPhase.FAILED, "JobUnschedulable"),
    ("the copy failed", job("Failed", *BACKOFF), [pod("Failed", initContainerStatuses=[terminated("train", 137)])],
     JobPhase.FAILED, "JobFailed"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("manifest", "pods", "phase", "reason"), [row[1:] for row in SEEN], ids=[row[0] for row in SEEN]
)
def test_a_profiling_job_is_where_its_pod_says(
    manifest: dict[str, Any], pods: list[dict[str, Any]], phase: JobPhase, reason: str | None
) -> None:
    found = profiling_job_of(manifest, pods, SOON_S)
    assert (found.phase, found.reason) == (phase, reason)


def message_of(manifest: dict[str, Any], *pods: dict[str, Any]) -> str:
    return profiling_job_of(manifest, pods, SOON_S).message or ""


def test_a_failure_carries_the_clusters_own_words() -> None:
    assert "Insufficient nvidia.com/gpu" in message_of(job(), pod(node=None, conditions=[UNSCHEDULED]))
    evicted = message_of(job("Failed", *BACKOFF), EVICTED)
    assert "low on resource: memory" in evicted
    assert "again" not in evicted, "the third attempt is the last one"
    assert "image gpt:1: Back-off pulling" in message_of(job(), pod(initContainerStatuses=[PULLING]))
    assert 'configmap "train" not found' in message_of(job(), pod(initContainerStatuses=[NO_CONFIG]))
    assert "spec.profiling.deadline" in message_of(job("Failed", *DEADLINE))
    assert "exit code 137" in message_of(
        job("Failed", *BACKOFF), pod("Failed", initContainerStatuses=[terminated("train", 137)])
    )


REMEDIES = [
    ("not scheduled", [pod(node=None, conditions=[UNSCHEDULED])], "raise spec.profiling.deadline"),
    ("pulling", [pod(initContainerStatuses=[PULLING])], "spec.profiling.image"),
    ("a ConfigMap is missing", [pod(initContainerStatuses=[NO_CONFIG])], "must be there"),
]


@pytest.mark.parametrize(("pods", "remedy"), [row[1:] for row in REMEDIES], ids=[row[0] for row in REMEDIES])
def test_a_job_that_does_not_start_says_what_to_do(pods: list[dict[str, Any]], remedy: str) -> None:
    assert remedy in message_of(job(), *pods)


def test_a_job_that_failed_says_what_to_do() -> None:
    assert "spec.profiling.priorityClassName" in message_of(job("Failed", *BACKOFF), EVICTED)
    copy = pod("Failed", initContainerStatuses=[terminated("train", 137)])
    assert "kubectl logs -n default job/mfu-gpt-1-a1 --all-containers" in message_of(job("Failed", *BACKOFF), copy)


def test_a_job_that_gets_no_pod_says_after_a_while_where_the_reason_stands() -> None:
    found = profiling_job_of(job(), [], LATER_S)
    assert (found.phase, found.reason) == (JobPhase.WAITING, "JobHasNoPod")
    assert "kubectl describe job -n default mfu-gpt-1-a1" in (found.message or "")


def test_a_suspended_job_says_so() -> None:
    found = profiling_job_of(job() | {"spec": {"suspend": True}}, [], LATER_S)
    assert found.reason == "JobHasNoPod"
    assert "suspended" in (found.message or "")


def test_a_job_that_failed_without_a_pod_says_what_the_job_says() -> None:
    assert message_of(job("Failed", *BACKOFF)).startswith(f"{BACKOFF[1]}; ")


def test_a_finished_job_brings_its_termination_message_node_and_times() -> None:
    done = pod("Succeeded", containerStatuses=[terminated("mfu-analyze", 0, '{"v":1}')])
    assert profiling_job_of(job("Complete"), [done], SOON_S) == ProfilingJob(
        "mfu-gpt-1-a1", JobPhase.SUCCEEDED, 1795244400.0, 1795244700.0, "node-1", '{"v":1}'
    )


def test_a_failed_analysis_brings_its_words_too() -> None:
    bad = pod("Failed", containerStatuses=[terminated("mfu-analyze", 1, '{"error":{}}')])
    assert profiling_job_of(job("Failed", *BACKOFF), [bad], SOON_S).result == '{"error":{}}'


def test_of_several_pods_the_newest_speaks() -> None:
    newer = pod(created="2026-11-21T07:02:00Z", initContainerStatuses=[container("train", running=RUNNING)])
    assert profiling_job_of(job(), [newer, EVICTED], LATER_S).phase is JobPhase.RUNNING


OWNERS = [
    ("nobody", []),
    ("a Job of the same name that is gone", [OWNER | {"uid": "another"}]),
    ("an owner that does not control it", [OWNER | {"controller": False}]),
    ("an owner that does not say whether it does", [{key: OWNER[key] for key in ("kind", "name", "uid")}]),
    ("another kind", [OWNER | {"kind": "ReplicaSet"}]),
]


@pytest.mark.parametrize("owners", [row[1] for row in OWNERS], ids=[row[0] for row in OWNERS])
def test_a_pod_that_is_not_the_jobs_says_nothing_though_it_has_its_label_and_is_newer(owners: list[Any]) -> None:
    real = pod("Succeeded", containerStatuses=[terminated("mfu-analyze", 0, '{"v":1}')])
    forged = pod(
        "Succeeded", created="2026-11-21T07:30:00Z", containerStatuses=[terminated("mfu-analyze", 0, '{"v":666}')]
    )
    forged["metadata"] |= {"name": "forged", "ownerReferences": owners}
    assert profiling_job_of(job("Complete"), [real, forged], SOON_S).result == '{"v":1}'
    assert profiling_job_of(job("Complete"), [forged], SOON_S).result is None
    assert profiling_job_of(job(), [forged], SOON_S).node is None


def test_of_two_accounts_that_both_claim_the_job_none_is_believed() -> None:
    pods = [
        pod("Succeeded", created=at, containerStatuses=[terminated("mfu-analyze", 0, said)])
        for at, said in ((CREATED, '{"v":1}'), ("2026-11-21T07:30:00Z", '{"v":666}'))
    ]
    assert profiling_job_of(job("Complete"), pods, SOON_S).result is None


def test_another_container_than_the_analysis_brings_no_account() -> None:
    statuses = [terminated("injected", 0, '{"v":666}'), terminated("mfu-analyze", 0, '{"v":1}')]
    assert profiling_job_of(job("Complete"), [pod("Succeeded", containerStatuses=statuses)], SOON_S).result == '{"v":1}'
    alone = pod("Succeeded", containerStatuses=[terminated("injected", 0, '{"v":666}')])
    assert profiling_job_of(job("Complete"), [alone], SOON_S).result is None


def run_pod(image: str, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "gpt-x"},
        "spec": {"nodeName": "node-1", "containers": [{"name": "train", "image": image}]},
        "status": {"phase": "Running", **status},
    }


def test_a_running_pod_tells_its_start_its_restarts_and_its_images() -> None:
    status = container("train", running=RUNNING) | {"ready": True, "restartCount": 2, "imageID": f"reg/gpt@{DIGEST}"}
    found = pod_of(run_pod("gpt:1", containerStatuses=[status]))
    assert (found.node, found.phase, found.ready, found.restarts) == ("node-1", "Running", True, 2)
    assert found.started_at == unix_time("2026-11-21T07:01:00Z")
    assert found.images == (f"reg/gpt@{DIGEST}",)


def test_a_digest_in_the_spec_is_believed_before_the_runtimes_id() -> None:
    status = container("train", running=RUNNING) | {"imageID": "reg/gpt@sha256:" + "b" * 64}
    assert pod_of(run_pod(f"reg/gpt@{DIGEST}", containerStatuses=[status])).images == (f"reg/gpt@{DIGEST}",)


def test_a_pod_of_which_nothing_is_known_yet_is_not_ready() -> None:
    found = pod_of(run_pod("gpt:1"))
    assert (found.ready, found.started_at, found.images) == (False, None, ("gpt:1",))


@pytest.mark.parametrize("time_s", [1000.0, 1000.25, 1795244400.123456])
def test_a_micro_time_shows_its_microseconds_even_where_there_are_none(time_s: float) -> None:
    text = micro_time(time_s)
    assert text.endswith("Z")
    assert len(text.partition(".")[2]) == 7
    assert unix_time(text) == pytest.approx(time_s, abs=2e-6)


TEMPLATE = {"spec": {"containers": [{"name": "train"}]}}
MANIFESTS: list[tuple[str, str, dict[str, Any], str]] = [
    ("batch/v1", "Job", {"spec": {"template": TEMPLATE}}, "batch.kubernetes.io/job-name=gpt"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet",
     {"spec": {"replicatedJobs": [{"template": {"spec": {"template": TEMPLATE}}}]}},
     "jobset.sigs.k8s.io/jobset-name=gpt"),
    ("kubeflow.org/v1", "PyTorchJob",
     {"spec": {"pytorchReplicaSpecs": {"Master": {"template": {}}, "Worker": {"template": TEMPLATE}}}},
     "training.kubeflow.org/job-name=gpt"),
    ("kubeflow.org/v2beta1", "MPIJob",
     {"spec": {"mpiReplicaSpecs": {"Launcher": {"template": {}}, "Worker": {"template": TEMPLATE}}}},
     "training.kubeflow.org/job-name=gpt"),
    ("ray.io/v1", "RayJob",
     {"spec": {"rayClusterSpec": {"workerGroupSpecs": [{"template": TEMPLATE}]}},
      "status": {"rayClusterName": "gpt-raycluster-x"}},
     "ray.io/cluster=gpt-raycluster-x"),
    ("batch.volcano.sh/v1alpha1", "Job", {"spec": {"tasks": [{"template": {}}, {"template": TEMPLATE}]}},
     "volcano.sh/job-name=gpt"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("api_version", "kind", "manifest", "selector"), MANIFESTS, ids=[f"{row[0]} {row[1]}" for row in MANIFESTS]
)
def test_every_kind_tells_its_template_and_how_its_pods_are_found(
    api_version: str, kind: str, manifest: dict[str, Any], selector: str
) -> None:
    found = kind_of(api_version, kind)
    assert found is not None
    whole = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "gpt"}} | manifest
    training = training_in((whole,), None)
    assert training is not None
    assert training.role.template == TEMPLATE
    assert f"{found.pod_label}={found.label_value(whole)}" == selector


@pytest.mark.parametrize("row", MANIFESTS, ids=[f"{row[0]} {row[1]}" for row in MANIFESTS])
def test_of_an_empty_object_of_any_kind_nothing_trains(row: tuple[str, str, dict[str, Any], str]) -> None:
    assert training_in(({"apiVersion": row[0], "kind": row[1], "metadata": {"name": "gpt"}, "spec": {}},), None) is None


GPUS = {"spec": {"containers": [{"name": "train", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "count"),
    [
        ("batch/v1", "Job", {"parallelism": 4, "completions": 8, "template": GPUS}, 4),
        ("batch/v1", "Job", {"parallelism": 8, "completions": 8, "completionMode": "Indexed", "template": GPUS}, 8),
        ("jobset.x-k8s.io/v1alpha2", "JobSet",
         {"replicatedJobs": [{"replicas": 2, "template": {"spec": {"parallelism": 4, "template": GPUS}}}]}, 8),
        ("kubeflow.org/v1", "PyTorchJob",
         {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": GPUS},
                                  "Worker": {"replicas": 7, "template": GPUS}}}, 8),
        ("kubeflow.org/v2beta1", "MPIJob",
         {"mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": TEMPLATE},
                              "Worker": {"replicas": 8, "template": GPUS}}}, 8),
        ("ray.io/v1", "RayJob", {"rayClusterSpec": {"workerGroupSpecs": [{"replicas": 3, "template": GPUS}]}}, 3),
        ("batch.volcano.sh/v1alpha1", "Job",
         {"tasks": [{"replicas": 1, "template": TEMPLATE}, {"replicas": 6, "template": GPUS}]}, 6),
    ],
)  # fmt: skip
def test_every_kind_tells_how_many_pods_that_train_it_asks_for(
    api_version: str, kind: str, spec: dict[str, Any], count: int
) -> None:
    whole = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "gpt"}, "spec": spec}
    training = training_in((whole,), None)
    assert training is not None
    assert training.pods == count


def test_a_pods_endpoint_has_the_named_ports_of_all_its_containers() -> None:
    containers = [{"ports": [{"name": "metrics", "containerPort": 9400}, {"containerPort": 80}]}, {}]
    sidecars = [{"ports": [{"name": "metrics-nccl", "containerPort": 9500}]}]
    manifest = {
        "metadata": {"name": "gpt-0", "annotations": {"prometheus.io/port": "9400"}},
        "spec": {"containers": containers, "initContainers": sidecars},
        "status": {"podIP": "10.0.0.1"},
    }
    found = endpoint_of(manifest)
    assert found is not None
    assert (found.name, found.ip, found.ports) == ("gpt-0", "10.0.0.1", {"metrics": 9400, "metrics-nccl": 9500})
    assert found.annotations == {"prometheus.io/port": "9400"}
    assert endpoint_of(manifest | {"status": {}}) is None


def test_a_job_tells_whose_it_is_and_what_it_was_launched_for() -> None:
    marked = job()
    marked["metadata"] |= {
        "labels": {"mfu-operator.io/incident": "gpt-3f2a91c0-tlpwu8"},
        "ownerReferences": [{"kind": "Queue", "uid": "q"}, {"kind": "TrainingBaseline", "uid": "b"}],
    }
    found = profiling_job_of(marked, [], SOON_S)
    assert (found.owner, found.subject) == ("b", "gpt-3f2a91c0-tlpwu8")
    bare = profiling_job_of(job(), [], SOON_S)
    assert (bare.owner, bare.subject) == (None, None)
