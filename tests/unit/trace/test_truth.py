"""What is known of real traces, from those who recorded them or by measurement."""

import gzip
from pathlib import Path

import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Answer, Difference

TRACES = Path("tests/data/traces")


def answer(path: str, baseline: str | None = None) -> Answer:
    return analyze([TRACES / path], [TRACES / baseline] if baseline else [])


def test_loader_workers_from_four_to_none_starve_the_input_by_58_ms() -> None:
    found = answer("kineto/resnet50_workers0_a.json.gz", "kineto/resnet50_workers4_a.json.gz")
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == ("InputStarved", "DataLoaderWorkers")
    assert isinstance(found.difference, Difference)
    delta = {part: round(value / 1e6, 2) for part, value in found.difference.account_ns.items()}
    assert (delta["idleInput"], delta["compute"], delta["h2d"]) == (58.54, -1.28, -1.18)
    assert found.difference.step_ns == pytest.approx(sum(found.difference.account_ns.values()))


def unmarked(name: str, folder: Path) -> Path:
    """The trace as a profiler without a schedule would have written it: no step is marked."""
    text = gzip.decompress((TRACES / f"kineto/{name}.json.gz").read_bytes())
    path = folder / name
    path.write_bytes(text.replace(b'"ProfilerStep#', b'"SomethingElse#'))
    return path


@pytest.mark.parametrize(
    ("now", "baseline", "bottleneck"),
    [
        ("resnet50_workers0_a", "resnet50_workers4_a", "InputStarved"),
        ("resnet50_workers0_a", "resnet50_workers4_b", "InputStarved"),
        ("resnet50_workers4_a", "resnet50_workers4_b", None),
        ("resnet50_workers4_b", "resnet50_workers4_a", None),
    ],
)
def test_the_same_is_found_where_no_step_is_marked(
    now: str, baseline: str, bottleneck: str | None, tmp_path: Path
) -> None:
    assert analyze([unmarked(now, tmp_path)], [unmarked(baseline, tmp_path)]).diagnosis.bottleneck == bottleneck


def test_the_same_configuration_twice_has_no_bottleneck() -> None:
    found = answer("kineto/resnet50_workers4_b.json.gz", "kineto/resnet50_workers4_a.json.gz")
    assert found.diagnosis.bottleneck is None


def test_another_gpu_and_another_world_size_are_not_compared() -> None:
    found = answer("hta/trace_diff_test_v100.json.gz", "hta/trace_diff_control_a100.json.gz")
    assert isinstance(found.difference, Difference)
    assert not found.difference.comparable
    assert len(found.difference.not_comparable_because) == 2
    assert found.diagnosis.bottleneck == "Inconclusive"


@pytest.mark.parametrize(
    ("path", "bottleneck", "cause"),
    [
        ("hta/nccl_data.json.gz", "HostBound", None),
        ("hta/alexnet_first_iteration.json.gz", None, None),
        ("tracelens/resnet_act_checkpoint_mi300_rank0.json.gz", "CommsBound", "ExposedCollectives"),
        ("tracelens/bert_small_h100.json.gz", "HostBound", None),
        ("tracelens/qwen_h100.json.gz", "KernelBound", None),
        ("nsys/h100_2gpu_1s.sqlite", "CopyBound", "Offload"),
        ("nsys/healthy_1pct.sqlite", None, None),
        ("hta/negative_queue_rank0.json.gz", "Inconclusive", None),
        ("hta/sampled_rank-0.json.gz", "Inconclusive", None),
    ],
)
def test_what_bounds_a_step_is_told_without_a_baseline(path: str, bottleneck: str | None, cause: str | None) -> None:
    found = answer(path).diagnosis
    assert (found.bottleneck, found.cause) == (bottleneck, cause)


def test_a_trace_of_the_host_alone_says_what_gloo_does_beside_its_ranges() -> None:
    found = answer("hta/cpu_only.json.gz").diagnosis
    assert any(said.startswith("collectives of the host run 246.4 ms of 285.0 ms per step") for said in found.evidence)
    assert found.confidence <= 0.5


def test_graphs_that_hide_kernels_lead_to_advice_on_what_to_record() -> None:
    found = answer("hta/negative_queue_rank0.json.gz")
    assert any("--cuda-graph-trace=node" in one for one in found.diagnosis.advice)


@pytest.mark.parametrize(
    "name", ["cpu_only", "rank_non_gpu", "distributed_info_not_found", "large_integer", "with_gpu_user_annotation"]
)
def test_edges_of_the_format_are_read_without_negative_time(name: str) -> None:
    for device in answer(f"hta/{name}.json.gz").devices:
        for step in device.steps:
            assert min(step.account_ns.values()) >= 0
            assert sum(step.account_ns.values()) == step.end_ns - step.start_ns


def test_a_trace_of_an_unknown_kind_of_device_is_refused_with_what_to_record() -> None:
    with pytest.raises(Unreadable, match=r"1313 device events .*\(mtia_ccp_events\), .*and no step ranges"):
        answer("hta/mtia_inference.json.gz")


def test_the_demos_own_training_without_workers_is_told_from_the_one_with_four() -> None:
    folder = Path("tests/data/nsys_cpu")
    found = analyze([folder / "workers0.sqlite"], [folder / "workers4.sqlite"])
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == ("InputStarved", "DataLoaderWorkers")
    assert isinstance(found.difference, Difference)
    assert found.difference.account_ns["idleInput"] == pytest.approx(77.87e6, rel=0.001)
