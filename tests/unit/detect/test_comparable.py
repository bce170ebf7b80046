from typing import Any

from mfu_operator.detect.comparable import differences
from mfu_operator.model.baseline import Comparable

DECLARED = Comparable(
    model="gpt-7b", gpu="H100", gpu_count=8, world_size=64, global_batch=256, sequence_length=4096,
    precision="bf16", parallelism={"tp": 2, "pp": 4},
)  # fmt: skip
SAME = {
    "model": "GPT 7B", "gpu": "NVIDIA H100 80GB HBM3", "world_size": "64", "global_batch": "256",
    "sequence_length": "4096", "precision": "bfloat16", "parallelism": "tp2,pp4",
}  # fmt: skip


def template(gpus: object = 8) -> dict[str, Any]:
    return {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": gpus}}}]}}


def test_the_same_job_has_no_differences() -> None:
    assert differences(DECLARED, SAME, template("8")) == ()


def test_what_is_known_on_one_side_only_is_not_compared() -> None:
    assert differences(DECLARED, {"model": "", "rank": "0"}, {}) == ()
    assert differences(Comparable(model=""), SAME, template()) == ()


def test_each_difference_is_named_with_both_values() -> None:
    info = SAME | {"global_batch": "512", "gpu": "NVIDIA A100-SXM4-80GB", "parallelism": "tp=4 pp=4"}
    assert differences(DECLARED, info, template(4)) == (
        "GPU NVIDIA A100-SXM4-80GB instead of H100",
        "GPUs per pod 4 instead of 8",
        "global batch 512 instead of 256",
        "tp parallelism 4 instead of 2",
    )


def test_labels_of_the_workload_speak_where_the_job_does_not() -> None:
    assert differences(DECLARED, {}, {}, {"mfu-operator.io/global-batch": "512"}) == (
        "global batch 512 instead of 256",
    )
