"""What a workload's object says of its run, field by field."""

from typing import Any

import pytest

from mfu_operator.detect.workload_facts import facts_of
from mfu_operator.model.workload import Workload


def told(spec: dict[str, Any] | None = None, pods: int | None = None, **more: Any) -> dict[str, str]:
    return facts_of(Workload("uid", 0.0, {"spec": spec} if spec is not None else {}, pod_count=pods, **more))


def training(*words: str, **more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "train", "command": list(words), **more}]}


def asking(**resources: dict[str, object]) -> dict[str, Any]:
    return {"name": "train", "resources": resources}


def test_an_object_that_says_nothing_has_no_facts() -> None:
    assert told() == {}
    assert told({"containers": None, "nodeSelector": None, "affinity": None}) == {}
    assert facts_of(Workload("uid", 0.0, {"metadata": None, "spec": None})) == {}
    nothing = {"resources": None, "env": None, "command": None, "args": None}
    assert told({"containers": [nothing, {"resources": {"limits": None, "requests": None}}]}) == {}


def test_pods_are_a_fact_where_the_object_says_how_many() -> None:
    assert told({}, pods=0) == {"pods": "0"}


@pytest.mark.parametrize(
    ("limits", "gpus"),
    [
        ({"nvidia.com/gpu": 8}, "8"),
        ({"amd.com/gpu": "4"}, "4"),
        ({"gpu.intel.com/i915": "2"}, "2"),
        ({"nvidia.com/gpu": "8", "cpu": "64", "rdma/hca": "1"}, "8"),
        ({"nvidia.com/gpu": "0"}, None),
        ({"cpu": "64"}, None),
    ],
)
def test_gpus_are_what_the_containers_ask_for(limits: dict[str, object], gpus: str | None) -> None:
    assert told({"containers": [asking(limits=limits)]}).get("gpu_count") == gpus


def test_gpus_of_all_containers_are_counted_and_limits_stand_above_requests() -> None:
    two = [asking(limits={"nvidia.com/gpu": 4}, requests={"nvidia.com/gpu": 9}), asking(requests={"nvidia.com/gpu": 2})]
    assert told({"containers": two}) == {"gpu_count": "6"}


def test_slices_of_one_kind_are_told_and_of_two_are_not() -> None:
    one = asking(limits={"nvidia.com/mig-1g.10gb": 2})
    assert told({"containers": [one, one]}) == {"gpu_count": "4", "gpu": "MIG 1g.10gb"}
    other = asking(limits={"nvidia.com/mig-3g.40gb": 1})
    assert told({"containers": [one, other]}) == {"gpu_count": "3"}


def affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}, {}, {"matchExpressions": None}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def allows(*values: str, key: str = "nvidia.com/gpu.product", operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("expressions", "gpu"),
    [
        ([allows("NVIDIA-L40S")], "NVIDIA-L40S"),
        ([allows("NVIDIA-L40S"), allows("NVIDIA-L40S", key="amd.com/gpu.product-name")], "NVIDIA-L40S"),
        ([allows("NVIDIA-L40S", "NVIDIA-L4")], None),
        ([allows("NVIDIA-L40S", operator="NotIn")], None),
        ([allows("zone-1", key="topology.kubernetes.io/zone")], None),
        ([allows("NVIDIA-L40S"), {"key": "nvidia.com/gpu.product", "operator": "Exists"}], "NVIDIA-L40S"),
        ([allows("NVIDIA-L40S"), {"key": "nvidia.com/gpu.product", "operator": "In", "values": None}], "NVIDIA-L40S"),
        ([], None),
    ],
)
def test_the_gpu_is_the_only_one_that_the_affinity_allows(expressions: list[dict[str, Any]], gpu: str | None) -> None:
    assert told(affinity(*expressions)).get("gpu") == gpu


def test_a_node_selector_stands_above_an_affinity() -> None:
    both = affinity(allows("NVIDIA-L40S")) | {"nodeSelector": {"zone": "a", "amd.com/gpu.product-name": "MI300X"}}
    assert told(both) == {"gpu": "MI300X"}


def test_options_are_those_of_the_container_that_trains() -> None:
    spec = {
        "containers": [
            {"name": "proxy", "args": ["--seq-length", "1"]},
            {"name": "train", "args": ["--seq-length", "4096"]},
        ]
    }
    workload = Workload("uid", 0.0, {"spec": spec})
    assert facts_of(workload) == {"sequence_length": "1"}
    assert facts_of(workload, "train") == {"sequence_length": "4096"}
    assert facts_of(workload, "other") == {}


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["--seq-length", "4096"], {"sequence_length": "4096"}),
        (["--seq_length=4096"], {"sequence_length": "4096"}),
        (["-seq-length", "4096"], {"sequence_length": "4096"}),
        (["data.SEQ_LENGTH=4096"], {"sequence_length": "4096"}),
        (["seq_length", "4096"], {}),
        (["seq_length=4096"], {"sequence_length": "4096"}),
        (["--seq-length"], {}),
        (["--seq-length", "--bf16"], {"precision": "bf16"}),
        (["--seq-length="], {}),
        (["--seq-length", "none"], {}),
        (["--seq-length", "$LENGTH"], {}),
        (["--seq-length", "many"], {}),
        (["--seq-length", "1", "--seq-len", "1"], {"sequence_length": "1"}),
        (["--seq-length", "1", "--seq-len", "2"], {}),
        (["train seq_length=4096 # --bf16"], {"sequence_length": "4096"}),
        (["it's --seq-length 4096"], {"sequence_length": "4096"}),
        (["train\n--seq-length\t4096"], {"sequence_length": "4096"}),
        (["--seq-length", "'4096'"], {}),
        (["--seq-length '4096'"], {"sequence_length": "4096"}),
        (["==", "--", "!"], {}),
        (["--lr", "1", "--seq-length", "4096"], {"sequence_length": "4096"}),
        (["--eval.seq-length", "512", "--seq-length", "4096"], {"sequence_length": "4096"}),
        (["--tensor-model-parallel-size", "$TP", "--pipeline-model-parallel-size", "none"], {}),
    ],
)
def test_an_option_is_read_as_programs_read_it(words: list[str], facts: dict[str, str]) -> None:
    assert told(training(*words)) == facts


@pytest.mark.parametrize(
    ("words", "precision"),
    [
        (["--bf16"], "bf16"),
        (["--bf16", "true"], "bf16"),
        (["--bf16=True"], "bf16"),
        (["--bf16", "False"], None),
        (["--bf16", "auto"], None),
        (["--bf16", "--verbose"], "bf16"),
        (["--fp8-format", "hybrid"], "fp8"),
        (["--fp8"], "fp8"),
        (["--fp8", "E4M3"], "fp8"),
        (["--fp8", "None"], None),
        (["--precision", "bf16-mixed"], "bf16-mixed"),
        (["--precision", "mixed"], None),
    ],
)
def test_a_flag_says_what_its_being_there_means(words: list[str], precision: str | None) -> None:
    assert told(training(*words)).get("precision") == precision


def test_command_and_arguments_are_one_line_and_texts_that_are_no_list_are_none() -> None:
    assert told(training("--seq-length", args=["4096"])) == {"sequence_length": "4096"}
    assert told({"containers": [{"command": "--seq-length 1", "args": ("--seq-length", 4096)}]}) == {
        "sequence_length": "4096"
    }


def test_environment_variables_with_a_value_are_options() -> None:
    env = [{"name": "SEQ_LENGTH", "value": "4096"}, {"name": "MICRO", "valueFrom": {}}, {"name": "BF16", "value": "1"}]
    assert told(training(env=env)) == {"sequence_length": "4096", "precision": "bf16"}
    assert told(training(env=[{"name": "BF16", "valueFrom": {"fieldRef": {}}}])) == {}


def test_axes_are_one_fact() -> None:
    words = ["--tensor-model-parallel-size", "4", "--pipeline-model-parallel-size", "2"]
    assert told(training(*words)) == {"parallelism": "tp=4,pp=2"}


PARTS = ["--nproc_per_node=8", "--per_device_train_batch_size=4", "--gradient_accumulation_steps=2"]


def test_world_size_and_batch_are_counted_from_their_parts_where_all_are_there() -> None:
    assert told(training(*PARTS), pods=2) == {"pods": "2", "world_size": "16", "global_batch": "128"}
    assert told(training(*PARTS)) == {}
    assert told(training(PARTS[0]), pods=2) == {"pods": "2", "world_size": "16"}
    assert told(training(PARTS[1]), pods=2) == {"pods": "2"}
    assert told(training(*PARTS[:2]), pods=2)["global_batch"] == "64"


def test_what_is_said_outright_stands_above_what_is_counted() -> None:
    words = [*PARTS, "--global-batch-size", "99"]
    assert told(training(*words), pods=2)["global_batch"] == "99"


def test_marks_stand_above_the_command_the_objects_above_the_templates_and_labels_above_annotations() -> None:
    def mark(field: str, value: str) -> dict[str, str]:
        return {f"mfu-operator.io/{field}": value, "app.kubernetes.io/name": "x"}

    metadata = {"annotations": mark("global-batch", "2"), "labels": mark("global-batch", "3")}
    template = {"metadata": metadata, "spec": training("--global-batch-size", "1")}
    workload = Workload("uid", 0.0, template)
    assert facts_of(workload) == {"global_batch": "3"}
    annotated = Workload("uid", 0.0, template, annotations=mark("global-batch", "4"))
    assert facts_of(annotated) == {"global_batch": "4"}
    labelled = Workload("uid", 0.0, template, labels=mark("global-batch", "5"), annotations=mark("global-batch", "4"))
    assert facts_of(labelled) == {"global_batch": "5"}
    assert facts_of(Workload("uid", 0.0, {"metadata": {"annotations": mark("global-batch", "2")}})) == {
        "global_batch": "2"
    }
    assert facts_of(Workload("uid", 0.0, template, labels=mark("global-batch", ""))) == {"global_batch": "3"}
