from typing import Any

import pytest

from mfu_operator.detect.comparable import completed, differences
from mfu_operator.detect.workload_facts import facts_of
from mfu_operator.model.baseline import Comparable
from mfu_operator.model.workload import Workload

DECLARED = Comparable(
    model="gpt-7b", gpu="H100", gpu_count=8, world_size=64, global_batch=256, sequence_length=4096,
    precision="bf16", parallelism={"tp": 2, "pp": 4},
)  # fmt: skip
SAME = {
    "model": "GPT 7B", "gpu": "NVIDIA H100 80GB HBM3", "gpu_count": "8", "world_size": "64", "global_batch": "256",
    "sequence_length": "4096", "precision": "bfloat16", "parallelism": "tp2,pp4",
}  # fmt: skip
OTHER = {
    "model": "gpt-13b",
    "gpu": "NVIDIA-A100-SXM4-80GB",
    "gpu_count": "4",
    "world_size": "32",
    "global_batch": "512",
    "sequence_length": "8192",
    "precision": "fp8",
    "parallelism": "tp4-pp4",
}
"""Each field with another value, as a label may hold it."""
TOLD = {
    "model": "model gpt-13b instead of gpt-7b",
    "gpu": "GPU NVIDIA-A100-SXM4-80GB instead of H100",
    "gpu_count": "GPUs per pod 4 instead of 8",
    "world_size": "world size 32 instead of 64",
    "global_batch": "global batch 512 instead of 256",
    "sequence_length": "sequence length 8192 instead of 4096",
    "precision": "precision fp8 instead of bf16",
    "parallelism": "tp parallelism 4 instead of 2",
}
FIELDS = sorted(OTHER)


def template(gpus: object = 8, **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "train", "resources": {"limits": {"nvidia.com/gpu": gpus}}, **spec}]}}


def workload(pod: dict[str, Any] | None = None, **more: Any) -> Workload:
    return Workload("uid", 0.0, pod or {}, **more)


def told_by(it: Workload) -> tuple[str, ...]:
    return differences(DECLARED, {}, facts_of(it))


def test_the_same_job_has_no_differences() -> None:
    assert differences(DECLARED, SAME, facts_of(workload(template("8"), pod_count=8))) == ()


def test_what_is_known_on_one_side_only_is_not_compared() -> None:
    assert differences(DECLARED, {"model": "", "rank": "0"}, {}) == ()
    assert differences(Comparable(model=""), SAME, facts_of(workload(template()))) == ()


def test_all_differences_are_named_with_both_values() -> None:
    assert set(differences(DECLARED, OTHER, {})) == set(TOLD.values())


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_read_from_the_metrics_labels(field: str) -> None:
    assert differences(DECLARED, SAME | {field: OTHER[field]}, {}) == (TOLD[field],)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_read_from_the_workloads_labels(field: str) -> None:
    mark = {f"mfu-operator.io/{field.replace('_', '-')}": OTHER[field]}
    assert told_by(workload(labels=mark)) == (TOLD[field],)
    assert told_by(workload(annotations=mark)) == (TOLD[field],)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_read_from_the_labels_of_the_pod_template(field: str) -> None:
    mark = {f"mfu-operator.io/{field.replace('_', '-')}": OTHER[field]}
    assert told_by(workload({"metadata": {"labels": mark}})) == (TOLD[field],)


def command(*words: str) -> Workload:
    return workload({"spec": {"containers": [{"name": "train", "command": list(words)}]}})


@pytest.mark.parametrize(
    ("it", "told"),
    [
        (workload(template(4)), "GPUs per pod 4 instead of 8"),
        (
            workload({"spec": {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}}}),
            "GPU NVIDIA-A100-SXM4-80GB instead of H100",
        ),
        (workload(template(8), pod_count=4), "world size of 4 pods with 8 GPUs instead of 64 ranks"),
        (command("torchrun", "--nproc_per_node=8", "train.py"), None),
        (command("python", "train.py", "--global-batch-size", "512"), "global batch 512 instead of 256"),
        (command("python", "train.py", "--seq-length", "8192"), "sequence length 8192 instead of 4096"),
        (command("python", "train.py", "--fp16"), "precision fp16 instead of bf16"),
        (command("sh", "-c", "python train.py ++trainer.precision=16-mixed"), "precision 16-mixed instead of bf16"),
        (command("train", "--training.mixed_precision_param=float32"), "precision float32 instead of bf16"),
        (command("run_clm.py", "--block_size", "8192"), "sequence length 8192 instead of 4096"),
        (command("train", "--tensor-model-parallel-size", "4"), "tp parallelism 4 instead of 2"),
        (command("train", "--parallelism.pipeline_parallel_degree=8"), "pp parallelism 8 instead of 4"),
    ],
)
def test_a_field_is_read_from_the_workloads_spec(it: Workload, told: str | None) -> None:
    assert told_by(it) == ((told,) if told else ())


@pytest.mark.parametrize(
    "option",
    [
        "--matmul.precision=high",
        "--matmul.precision=fp32",
        "--precision=highest",
        "--mixed_precision=no",
        "--mixed-precision=auto",
        "--eval_batch.seq_len=512",
        "--validation.seq_len=512",
        "++model.val_ds.global_batch_size=8",
    ],
)
def test_an_option_of_something_else_than_the_training_step_says_nothing(option: str) -> None:
    assert told_by(command("train", option)) == ()


@pytest.mark.parametrize("written", ["fp16", "16-mixed", "float32", "amp_fp8", "transformer-engine", "tf32"])
def test_a_precision_that_is_known_by_any_name_is_compared(written: str) -> None:
    assert told_by(command("train", f"--model.precision={written}")) == (f"precision {written} instead of bf16",)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM"),
        ("cloud.google.com/gke-accelerator", "nvidia-tesla-a100"),
        ("karpenter.k8s.aws/instance-gpu-name", "a100"),
    ],
)
def test_the_gpu_is_read_from_the_labels_of_every_cloud(label: str, value: str) -> None:
    assert told_by(workload({"spec": {"nodeSelector": {label: value}}})) == (f"GPU {value} instead of H100",)


def test_the_gpu_is_read_from_the_node_affinity() -> None:
    terms = [{"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-L40S"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    assert told_by(workload({"spec": {"affinity": affinity}})) == ("GPU NVIDIA-L40S instead of H100",)


def test_ranks_are_pods_times_processes_where_the_command_says_so() -> None:
    pod = template(8, args=["--nproc-per-node", "4", "train.py"])
    assert told_by(workload(pod, pod_count=8)) == ("world size 32 instead of 64",)


def test_the_batch_of_a_trainer_is_counted_from_its_parts() -> None:
    words = ["--nproc_per_node=8", "train.py", "--per_device_train_batch_size", "4", "--gradient_accumulation_steps=2"]
    assert facts_of(workload(template(8, args=words), pod_count=2))["global_batch"] == "128"
    once = facts_of(workload(template(8, args=words[:-1]), pod_count=2))
    assert once["global_batch"] == "64"
    assert "global_batch" not in facts_of(workload(template(8, args=words[1:])))


def test_environment_variables_of_the_training_container_are_options_too() -> None:
    pod = template(8, env=[{"name": "GLOBAL_BATCH_SIZE", "value": "512"}, {"name": "SEQ_LEN", "value": "$(OTHER)"}])
    assert told_by(workload(pod)) == ("global batch 512 instead of 256",)


def test_one_process_for_all_gpus_of_a_pod_is_a_rank_as_well() -> None:
    declared = Comparable("gpt", world_size=8)
    assert differences(declared, {}, facts_of(workload(template(8), pod_count=8))) == ()


def test_what_an_object_says_twice_and_differently_is_no_fact() -> None:
    assert told_by(command("train", "--bf16", "--fp8-format", "hybrid")) == ()
    assert told_by(command("train", "--global-batch-size", "$BATCH")) == ()


def test_the_job_itself_knows_better_than_its_labels_and_its_labels_than_its_command() -> None:
    stale = workload(
        {"spec": {"containers": [{"args": ["--global-batch-size", "128"]}]}},
        labels={"mfu-operator.io/global-batch": "512"},
    )
    assert differences(DECLARED, {"global_batch": "256"}, facts_of(stale)) == ()
    assert told_by(stale) == ("global batch 512 instead of 256",)


@pytest.mark.parametrize(("ours", "theirs"), [("A10", "NVIDIA A100-SXM4-80GB"), ("L4", "NVIDIA L40S")])
def test_a_name_within_another_name_is_another_gpu(ours: str, theirs: str) -> None:
    assert differences(Comparable("", gpu=ours), {"gpu": theirs}, {}) == (f"GPU {theirs} instead of {ours}",)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("A100", "NVIDIA A100-SXM4-80GB MIG 1g.10gb"),
        ("NVIDIA A100-SXM4-80GB", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", "NVIDIA A100-SXM4-80GB"),
        ("A100 MIG 1g.10gb", "NVIDIA A100-SXM4-80GB MIG 3g.40gb"),
        ("NVIDIA H200", "NVIDIA H200 NVL"),
    ],
)
def test_a_slice_of_a_card_and_another_card_of_its_name_are_other_gpus(ours: str, theirs: str) -> None:
    assert differences(Comparable("", gpu=ours), {"gpu": theirs}, {}) == (f"GPU {theirs} instead of {ours}",)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("A100 MIG 1g.10gb", "NVIDIA A100-SXM4-80GB MIG 1g.10gb"),
        ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "NVIDIA A100-SXM4-80GB MIG 1g.10gb"),
        ("H100", "NVIDIA H100 NVL"),
        ("NVIDIA H100 80GB HBM3", "nvidia-h100-80gb"),
        ("H100 80GB", "NVIDIA H100 80GB HBM3"),
    ],
)
def test_the_same_slice_and_a_part_of_a_name_are_the_same_gpu(ours: str, theirs: str) -> None:
    assert differences(Comparable("", gpu=ours), {"gpu": theirs}, {}) == ()


def test_slices_that_a_pod_asks_for_are_no_whole_cards() -> None:
    limits = {"nvidia.com/mig-1g.10gb": "8"}
    pod = {"spec": {"containers": [{"name": "train", "resources": {"limits": limits}}]}}
    assert told_by(workload(pod)) == ("GPU MIG 1g.10gb instead of H100",)
    pod["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}  # type: ignore[assignment]
    assert told_by(workload(pod)) == ("GPU NVIDIA-H100-80GB-HBM3 MIG 1g.10gb instead of H100",)
    declared = Comparable("", gpu="H100 MIG 1g.10gb", gpu_count=8)
    assert differences(declared, {}, facts_of(workload(pod))) == ()


@pytest.mark.parametrize(
    "written", ["tp8-pp2", "tp=8,pp=2", "TP_8 PP_2", "tp: 8, pp: 2", '{"tp": 8, "pp": 2}', "pp2dp4tp8", "tp-8_pp-2"]
)
def test_degrees_of_parallelism_are_read_however_they_are_written(written: str) -> None:
    declared = Comparable("", parallelism={"tp": 4, "pp": 2})
    assert differences(declared, {"parallelism": written}, {}) == ("tp parallelism 8 instead of 4",)


def test_an_axis_may_have_a_long_name() -> None:
    declared = Comparable("", parallelism={"tensor-parallel": 4, "fsdp": 8})
    assert differences(declared, {"parallelism": "tensor_parallel=8,fsdp=8"}, {}) == (
        "tensor-parallel parallelism 8 instead of 4",
    )


@pytest.mark.parametrize("letter", ["a", "_", "a_"])
def test_a_text_without_end_is_no_parallelism_and_costs_nothing(letter: str) -> None:
    assert differences(Comparable("", parallelism={"tp": 4}), {"parallelism": letter * 1_000_000}, {}) == ()


def test_what_is_left_open_is_filled_in_from_metrics_and_object_and_what_is_declared_stays() -> None:
    facts = facts_of(workload(template("8"), pod_count=8)) | {"global_batch": "128", "parallelism": "tp=8,cp=2"}
    info = {"gpu": "NVIDIA H200", "global_batch": "256", "parallelism": "", "precision": "bf16"}
    declared = Comparable("gpt-7b", precision="fp8", parallelism={"tp": 4})
    assert completed(declared, info, facts) == Comparable(
        "gpt-7b", gpu="NVIDIA H200", gpu_count=8, world_size=64, global_batch=256, precision="fp8",
        parallelism={"tp": 4, "cp": 2},
    )  # fmt: skip


def test_what_nobody_says_or_what_is_no_number_stays_open() -> None:
    assert completed(Comparable("gpt"), {}, {}) == Comparable("gpt")
    wild = {"global_batch": "many", "gpu": "x" * 5000, "parallelism": "tp" + "9" * 5000, "pods": "4"}
    assert completed(Comparable("gpt"), wild, {}) == Comparable("gpt")


@pytest.mark.parametrize("field", sorted(set(FIELDS) - {"model"}))
def test_every_field_that_was_left_open_is_compared_with_what_it_was(field: str) -> None:
    was = completed(Comparable("gpt-7b"), SAME, {})
    assert differences(was, SAME, {}) == ()
    assert len(differences(was, SAME | {field: OTHER[field]}, {})) == 1


def test_vendors_and_punctuation_make_no_difference() -> None:
    assert differences(Comparable("", gpu="nvidia-tesla-a100"), {"gpu": "NVIDIA A100-SXM4-80GB"}, {}) == ()


@pytest.mark.parametrize("pods", ["²", "many", "9" * 5000])
def test_a_number_of_pods_that_is_no_number_is_not_known(pods: str) -> None:
    assert differences(DECLARED, {}, {"pods": pods, "gpu_count": "8"}) == ()


@pytest.mark.parametrize("written", ["²", "2e0", "9" * 5000])
def test_what_an_object_counts_in_no_plain_digits_is_no_fact(written: str) -> None:
    options = {"name": "train", "command": ["train.py", "--global-batch-size", written]}
    found = facts_of(workload({"spec": {"containers": [options]}}, pod_count=1))
    assert found == {"pods": "1"}
    assert "gpu_count" not in facts_of(workload(template(written), pod_count=1))
