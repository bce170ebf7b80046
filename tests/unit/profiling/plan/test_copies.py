"""What a copy changes, and what keeps a pod from being copied: what it writes and where."""

from typing import Any

import pytest

from tests.unit.profiling.plan.manifests import container, job, template
from tests.unit.profiling.plan.test_ways import plan, reason

UPLOADING = ["bash", "-c", "torchrun train.py && aws s3 cp /out s3://bucket/run7 --recursive"]
FETCHING = ["bash", "-c", "aws s3 cp s3://bucket/data /data --recursive && torchrun train.py"]


@pytest.mark.parametrize(
    ("expected", "fields"),
    [
        ("UploadsResults", {"command": UPLOADING}),
        ("UploadsResults", {"command": ["bash", "-c", "torchrun train.py; huggingface-cli upload me/model /out"]}),
        ("RemoteAddress", {"command": ["torchrun", "train.py", "--workdir", "gs://bucket/run7"]}),
        ("RemoteAddress", {"env": [{"name": "RUN_URI", "value": "s3://bucket/run7"}]}),
        ("StorageCredentials", {"env": [{"name": "AWS_SECRET_ACCESS_KEY", "valueFrom": {"secretKeyRef": {}}}]}),
        ("CommandWaits", {"command": ["sleep", "infinity"]}),
        ("CommandWaits", {"command": ["bash", "-c", "mkdir -p /train && sleep infinity"]}),
        ("UploadsResults", {"command": ["bash", "-c", "torchrun train.py; az storage blob upload -f /out/model.pt"]}),
        ("UploadsResults", {"command": ["bash", "-c", "torchrun train.py; wget --post-data=done http://hook.example"]}),
        ("UploadsResults", {"command": ["bash", "-c", "torchrun train.py && curl -XPOST -dok http://hook.example"]}),
        ("UploadsResults", {"command": ["wandb", "agent", "team/gpt/3f2a91c0"]}),
        ("UploadsResults", {"command": ["ray", "job", "submit", "--", "python", "train.py"]}),
        ("RemoteAddress", {"command": ["python", "train.py", "--storage", "postgresql+psycopg2://db/optuna"]}),
        ("RemoteAddress", {"env": [{"name": "QUEUE_URL", "value": "redis://queue:6379/0"}]}),
        ("TrackerAddress", {"env": [{"name": "MLFLOW_URI", "value": "http://mlflow-tracking:80"}]}),
        ("TrackerAddress", {"env": [{"name": "SLACK_WEBHOOK_URL", "value": "https://hooks.example/T0"}]}),
        ("TrackerAddress", {"command": ["torchrun", "train.py", "--tracking-uri", "http://mlflow:5000"]}),
        ("RendezvousEndpoint", {"command": ["python", "train.py", "--dist-url=tcp://gpt-0.gpt:23456"]}),
        ("RendezvousEndpoint", {"command": ["accelerate", "launch", "--main_process_ip", "gpt-0", "train.py"]}),
        ("RendezvousEndpoint", {"command": ["bash", "-c", "ray start --address=head:6379 && python train.py"]}),
    ],
)
def test_a_copy_that_could_write_where_the_run_does_is_refused(expected: str, fields: dict[str, Any]) -> None:
    found = plan(job(template(container("train", **fields))))
    assert found["way"] is None
    assert reason(found, "nsys") == expected


def test_a_sidecar_that_uploads_keeps_the_pod_from_being_copied() -> None:
    beside = container(
        "sync", command=["bash", "-c", "while true; do gsutil rsync /ckpt gs://b/c; done"], resources=None
    )
    assert reason(plan(job(template(container("train"), beside))), "nsys") == "UploadsResults"


@pytest.mark.parametrize(
    "fields",
    [
        {"command": FETCHING},
        {"command": ["torchrun", "train.py", "--train-data=s3://bucket/tokens"]},
        {"env": [{"name": "DATASET", "value": "gs://bucket/c4"}]},
        {"env": [{"name": "HF_ENDPOINT", "value": "https://hub.example"}]},
        {"env": [{"name": "WANDB_BASE_URL", "value": "https://wandb.example"}]},
        {"env": [{"name": "MLFLOW_TRACKING_URI", "value": "http://mlflow:5000"}]},
        {"command": ["python", "train.py", "--dist-url", "tcp://127.0.0.1:23456"]},
        {"command": ["python", "train.py", "--init-method=env://"]},
        {"command": ["accelerate", "launch", "--main_process_ip", "$MASTER_ADDR", "train.py"]},
        {"command": ["bash", "-c", "ray start --head && python train.py"]},
        {"command": ["bash", "-c", "wget -q http://data.example/c4.zip && torchrun train.py"]},
        {"command": ["bash", "-c", "train_esm2 --num-gpus 1; tensorboard --logdir /results & sleep infinity"]},
    ],
)
def test_what_is_only_read_or_stays_in_the_pod_is_no_hindrance(fields: dict[str, Any]) -> None:
    assert plan(job(template(container("train", **fields))))["way"] == "Copy"


def copied(*command: str, **fields: Any) -> tuple[str, dict[str, str]]:
    """The recorded command of a copy, and its variables."""
    found = plan(job(template(container("train", command=list(command), **fields))))
    assert found["way"] == "Copy", found["because"]
    spec = found["copy"]["manifest"]["spec"]["template"]["spec"]
    recorded = next(each for each in spec["initContainers"] if each["name"] == "train")
    return recorded["command"][-1], {each["name"]: each.get("value") for each in recorded["env"]}


@pytest.mark.parametrize(
    ("written", "gone"),
    [
        ("--checkpoint.folder=/mnt/run7 --job.dump-folder /mnt/run7", "/mnt/run7"),
        ("base_output_directory=gs://bucket/run7", "run7"),
        ("trainer.default_root_dir=/mnt/run7 ++exp_manager.exp_dir=/mnt/run7", "run7"),
        ("--push_to_hub --hub_model_id me/run7", "run7"),
    ],
)
def test_where_a_run_writes_is_changed_in_words_and_in_scripts(written: str, gone: str) -> None:
    assert gone not in copied("torchrun", "train.py", *written.split())[0]
    if "hub" not in written:
        assert gone not in copied("bash", "-c", f"set -e; torchrun train.py {written} --lr 1")[0]
    assert "push" not in copied("bash", "-c", "torchrun train.py --push_to_hub true --lr 1")[0]


def test_what_looks_like_a_checkpoint_and_is_read_stays() -> None:
    assert "/models/llama" in copied("tune", "run", "full_finetune", "checkpointer.checkpoint_dir=/models/llama")[0]


def test_variables_that_are_not_shown_cannot_lead_a_copy_to_the_live_ranks() -> None:
    _, variables = copied("torchrun", "train.py", envFrom=[{"configMapRef": {"name": "settings"}}])
    assert variables["MASTER_ADDR"] == "127.0.0.1"


def test_a_volume_that_is_made_for_the_pod_is_not_made_again() -> None:
    """A bucket that a driver mounts: a copy has neither account nor sidecar, and would hold its GPU for nothing."""
    bucket = {"name": "data", "csi": {"driver": "gcsfuse.csi.storage.gke.io", "volumeAttributes": {"bucketName": "b"}}}
    found = plan(job(template(container("train"), volumes=[bucket])))
    assert (found["way"], reason(found, "nsys")) == (None, "InlineVolume")


@pytest.mark.parametrize(
    ("name", "live"),
    [("RAY_ADDRESS", "ray://head:10001"), ("TF_CONFIG", '{"cluster": {"worker": ["gpt-worker-0:2222"]}}'),
     ("DLROVER_MASTER_ADDR", "elasticjob-gpt-dlrover-master:50001"), ("PADDLE_MASTER", "gpt-0:49178"),
     ("PET_RDZV_BACKEND", "etcd")],
)  # fmt: skip
def test_a_copy_joins_no_cluster_that_a_controller_names(name: str, live: str) -> None:
    _, variables = copied("python", "train.py", env=[{"name": name, "value": live}])
    assert variables[name] not in (live, None)
    assert "gpt" not in str(variables[name])
    assert "head" not in str(variables[name])
