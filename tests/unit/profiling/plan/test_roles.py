"""Which pods train, of every kind of workload: by what asks for accelerators or says so, never by position."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.profiling.plan import encode, plan_of
from tests.unit.profiling.plan.manifests import (
    IDLE,
    INITIALIZER,
    LAUNCHER,
    RAY_WORKER,
    ROLES,
    RUNTIME,
    SSHD,
    TRAIN_JOB,
    container,
    job,
    made,
    replicated,
    template,
)


def training(*documents: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = encode(plan_of(documents))["training"]
    return found


@pytest.mark.parametrize(
    ("manifest", "role", "name", "pods", "processes"), [row[1:] for row in ROLES], ids=[row[0] for row in ROLES]
)
def test_the_role_that_trains_is_known_of_every_kind(
    manifest: dict[str, Any], role: str, name: str, pods: int, processes: int | None
) -> None:
    found = training(manifest)
    assert (found["role"], found["container"], found["pods"], found["processesPerPod"]) == (role, name, pods, processes)
    assert found["gpusPerPod"] == 8


def test_a_train_job_is_read_with_its_runtime() -> None:
    found = training(TRAIN_JOB, RUNTIME)
    assert (found["role"], found["container"], found["pods"]) == ("node", "node", 4)
    assert (found["processesPerPod"], found["gpusPerPod"]) == (8, 8)


def test_a_train_job_without_its_runtime_says_what_is_missing() -> None:
    found = encode(plan_of([TRAIN_JOB]))
    assert found["training"] is None
    assert {each["reason"] for each in found["refused"]} == {"RuntimeMissing"}
    assert "torch-distributed" in found["because"]


@pytest.mark.parametrize("first", [True, False])
def test_an_initializer_that_stands_first_is_not_taken_for_the_trainer(first: bool) -> None:
    jobs = [replicated("initializer", template(INITIALIZER)), replicated("node", template(container()))]
    found = training(made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs if first else jobs[::-1]}))
    assert found["role"] == "node"


def test_on_cpus_the_launchers_command_says_what_trains() -> None:
    pod = template(IDLE, container("app", resources=None))
    found = training(job(pod))
    assert (found["container"], found["gpusPerPod"]) == ("app", 0)
    assert "torchrun" in found["because"]


def test_on_cpus_an_mpi_jobs_workers_train_though_they_only_wait() -> None:
    replicas = {
        "Launcher": {"template": template(LAUNCHER)},
        "Worker": {"replicas": 2, "template": template({**SSHD, "resources": {}})},
    }
    found = training(made("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": replicas, "slotsPerWorker": 4}))
    assert (found["role"], found["pods"], found["processesPerPod"]) == ("Worker", 2, 4)


def test_roles_that_run_different_programs_on_gpus_are_not_guessed_between() -> None:
    jobs = [
        replicated("alpha", template(container(image="a", command=["python", "a.py"]))),
        replicated("beta", template(container(image="b", command=["python", "b.py"]))),
    ]
    found = encode(plan_of([made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})]))
    assert found["training"] is None
    assert found["refused"][0]["reason"] == "AmbiguousRole"


def test_a_rollout_beside_a_trainer_is_not_the_trainer() -> None:
    jobs = [
        replicated("rollout", template(container(image="vllm", command=["python", "serve.py"])), 4),
        replicated("trainer", template(container(image="rl", command=["python", "grpo.py"]))),
    ]
    assert training(made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs}))["role"] == "trainer"


@pytest.mark.parametrize(
    ("command", "environment", "processes"),
    [
        (["torchrun", "--nproc-per-node=4", "train.py"], {}, 4),
        (["torchrun", "--nproc_per_node", "gpu", "train.py"], {}, 8),
        (["bash", "-c", "torchrun --nproc_per_node=$NPROC train.py"], {"NPROC": "2"}, 2),
        (["bash", "-c", "cd /app && torchrun --nproc_per_node ${NPROC:-6} train.py"], {}, 6),
        (["python", "-m", "torch.distributed.run", "train.py"], {"PET_NPROC_PER_NODE": "3"}, 3),
        (["python", "train.py"], {}, 1),
        (["bash", "/scripts/run.sh"], {}, None),
        (["accelerate", "launch", "train.py"], {}, None),
        (["deepspeed", "--num_gpus", "5", "train.py"], {}, 5),
    ],
)
def test_processes_are_what_the_launcher_starts(
    command: list[str], environment: dict[str, str], processes: int | None
) -> None:
    env = [{"name": name, "value": value} for name, value in environment.items()]
    assert training(job(template(container(command=command, env=env))))["processesPerPod"] == processes


def test_an_unknown_kind_is_found_by_selector_or_owner() -> None:
    found = encode(plan_of([made("workload.codeflare.dev/v1", "AppWrapper", {"components": [{"template": job()}]})]))
    assert found["workload"]["known"] is False
    assert "selector" in found["workload"]["how"]
    assert found["training"]["container"] == "train"


def test_of_several_workloads_one_must_be_named() -> None:
    other = job() | {"metadata": {"name": "eval"}}
    with pytest.raises(Unreadable, match="--workload"):
        plan_of([job(), other])
    assert plan_of([job(), other], named=("job", "eval")).workload["metadata"]["name"] == "eval"
    with pytest.raises(Unreadable, match="no Job/none"):
        plan_of([job()], named=("Job", "none"))


def test_a_number_that_a_template_still_has_to_fill_in_is_not_the_least_one() -> None:
    group = {"groupName": "gpu", "minReplicas": 1, "maxReplicas": 10, "template": template(RAY_WORKER)}
    head = {"template": template(container("ray-head", command=None, resources=None))}
    for said, pods in ((None, 1), (4, 4), ("PLACEHOLDER_NUM_NODES", None)):
        workers = group if said is None else {**group, "replicas": said}
        found = plan_of([made("ray.io/v1", "RayCluster", {"headGroupSpec": head, "workerGroupSpecs": [workers]})])
        assert found.training is not None
        assert found.training.pods == pods


def test_what_trains_and_then_sleeps_is_taken_for_what_trains() -> None:
    trains = ["bash", "-c", "download_data; train_esm2 --num-gpus 1; sleep infinity"]
    commands = {"idle": ["sleep", "infinity"], "esm": trains}
    jobs = [
        {"name": name, "template": {"spec": {"template": template(container("main", command=each, resources=None))}}}
        for name, each in commands.items()
    ]
    found = plan_of([made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})])
    assert found.training is not None
    assert found.training.role.name == "esm"


def test_hyperpods_own_launcher_is_one() -> None:
    pod = template(container("ptjob", command=["hyperpodrun", "--nproc_per_node=4", "run.py"], resources=None))
    found = plan_of([job(pod)])
    assert found.training is not None
    assert (found.training.processes_per_pod, found.training.because) == (
        4, "no container asks for an accelerator; its command calls hyperpodrun"
    )  # fmt: skip
