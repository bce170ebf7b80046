# ruff: noqa: E501 - a table
"""The table of causes against the causes that the analysis can name."""

import pytest

from mfu_operator.gitops.blame import scores
from mfu_operator.gitops.fingerprints import normal, table
from mfu_operator.trace.diagnosis.causes import CAUSES

NAMES = sorted({cause.name for cause in CAUSES})


@pytest.mark.parametrize("name", NAMES)
def test_a_cause_of_the_analysis_has_its_keys_or_is_one_that_no_commit_makes(name: str) -> None:
    assert (name in table().causes) != (name in table().no_commit)


def test_a_cause_of_the_table_stands_under_the_bottleneck_that_the_analysis_gives_it() -> None:
    analysed = {cause.name: str(cause.bottleneck) for cause in CAUSES}
    assert {name: entry.bottleneck for name, entry in table().causes.items()} == {
        name: analysed.get(name) for name in table().causes
    }


class Change:
    """A key with two values."""

    def __init__(self, name: str, old: object, new: object) -> None:
        self.name, self.old, self.new = name, old, new
        self.was_there, self.is_there = old is not None, new is not None


# (cause, key, before, after): what costs time by the documentation of the program that reads the key
SLOWER = [
    ("SlowLink", "NCCL_IB_DISABLE", "0", "1"), ("SlowLink", "NCCL_P2P_DISABLE", None, "1"),
    ("SlowLink", "NCCL_NET_GDR_LEVEL", "PHB", "LOC"), ("SlowLink", "FI_PROVIDER", "efa", "tcp"),
    ("SlowLink", "spec.containers[t].resources.limits.vpc.amazonaws.com/efa", "32", None),
    ("SlowLink", "spec.template.spec.hostNetwork", "true", "false"),
    ("LostOverlap", "overlap_grad_reduce", "true", "false"), ("LostOverlap", "tp_comm_overlap", "true", "false"),
    ("LostOverlap", "optimizer.overlap_comm", "true", "false"), ("LostOverlap", "forward_prefetch", "true", "false"),
    ("ExposedCollectives", "zero_optimization.stage", "1", "3"), ("ExposedCollectives", "tp", "1", "8"),
    ("ExposedCollectives", "fsdp_sharding_strategy", "SHARD_GRAD_OP", "FULL_SHARD"),
    ("ExposedCollectives", "gradient_accumulation_steps", "8", "1"),
    ("SmallMessages", "ddp.bucket_cap_mb", "25", "1"), ("SmallMessages", "reduce_bucket_size", "500000000", "1000"),
    ("HostCollectives", "distributed_backend", "nccl", "gloo"),
    ("PrecisionLost", "trainer.precision", "bf16-mixed", "32-true"), ("PrecisionLost", "mixed_precision", "bf16", "no"),
    ("PrecisionLost", "NVIDIA_TF32_OVERRIDE", None, "0"), ("PrecisionLost", "torch_dtype", "bfloat16", "float32"),
    ("PrecisionLost", "bf16.enabled", "true", "false"),
    ("AttentionFallback", "attn_implementation", "flash_attention_2", "eager"),
    ("AttentionFallback", "NVTE_FLASH_ATTN", "1", "0"), ("AttentionFallback", "use_flash_attn", "true", "false"),
    ("AttentionFallback", "attention_backend", "flash", "unfused"),
    ("Recompute", "recompute_granularity", "selective", "full"), ("Recompute", "gradient_checkpointing", "false", "true"),
    ("Recompute", "activation_checkpoint.mode", "none", "full"),
    ("ShapeChanged", "seq_length", "2048", "4096"), ("ShapeChanged", "micro_batch_size", "4", "8"),
    ("Unfused", "torch_compile", "true", "false"), ("Unfused", "bias_gelu_fusion", "true", "false"),
    ("NewKernel", "cudnn_benchmark", "true", "false"), ("NewKernel", "deterministic", "false", "true"),
    ("LaunchOverhead", "enable_cuda_graph", "true", "false"), ("LaunchOverhead", "compile", "true", "false"),
    ("Recompilation", "dataloader_drop_last", "true", "false"),
    ("ThreadOversubscription", "OMP_NUM_THREADS", "8", "64"), ("PythonOverhead", "log_level", "info", "debug"),
    ("Synchronisation", "logging_steps", "100", "1"), ("Synchronisation", "CUDA_LAUNCH_BLOCKING", None, "1"),
    ("Synchronisation", "wall_clock_breakdown", "false", "true"), ("Synchronisation", "check_for_nan_in_loss", "false", "true"),
    ("Allocator", "torch_empty_cache_steps", "100", "1"), ("Allocator", "PYTORCH_NO_CUDA_MEMORY_CACHING", None, "1"),
    ("DebugInstrumentation", "NCCL_DEBUG", "WARN", "TRACE"), ("DebugInstrumentation", "detect_anomaly", "false", "true"),
    ("DebugInstrumentation", "TORCH_DISTRIBUTED_DEBUG", "OFF", "DETAIL"),
    ("DebugInstrumentation", "flops_profiler.enabled", "false", "true"),
    ("PageableCopies", "dataloader_pin_memory", "true", "false"),
    ("Offload", "zero_optimization.offload_optimizer.device", "none", "cpu"), ("Offload", "cpu_offload", "false", "true"),
    ("DataLoaderWorkers", "dataloader_num_workers", "8", "0"), ("DataLoaderWorkers", "loader.workers", "8", "1"),
    ("WorkerRestart", "persistent_workers", "true", "false"), ("PrefetchBursts", "prefetch_factor", "4", "1"),
    ("SlowStorage", "data.local_cache", "true", "false"), ("CpuTransform", "use_fast", "true", "false"), ("ExtraCopies", "cpu_offload", "false", "true"),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "key", "before", "after"), SLOWER)
def test_a_key_is_known_in_the_direction_that_costs_time_and_not_in_the_other(
    cause: str, key: str, before: str | None, after: str | None
) -> None:
    assert scores.of_change(Change(key, before, after), cause)[0] >= scores.PLAUSIBLE
    assert scores.of_change(Change(key, after, before), cause)[0] < scores.PLAUSIBLE


@pytest.mark.parametrize("key", ["seed", "lr", "max_steps", "NCCL_DEBUG", "WANDB_MODE", "output_dir", "num_epochs"])
@pytest.mark.parametrize("cause", ["SlowLink", "LostOverlap", "DataLoaderWorkers", "PrecisionLost", "Recompute"])
def test_a_harmless_key_is_never_plausible(cause: str, key: str) -> None:
    for before, after in (("1", "2"), ("2", "1"), ("INFO", "WARN"), ("true", "false"), (None, "x")):
        assert scores.of_change(Change(key, before, after), cause)[0] < scores.PLAUSIBLE


def test_names_are_compared_without_case_and_dashes() -> None:
    assert normal("numWorkers") == normal("num-workers") == normal("NUM_WORKERS") == "num_workers"
