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
    ],
)
def test_what_is_only_read_from_a_storage_is_no_hindrance(fields: dict[str, Any]) -> None:
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
