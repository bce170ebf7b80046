"""The ready-made profiles against what the frameworks log, through the bridge that METRICS.md shows."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from mfu_operator.adapters.metric_names import profiles

GUIDE = Path(__file__).parents[3] / "operator" / "METRICS.md"

LOGGED: Mapping[str, tuple[str, ...]] = {
    "megatron": ("iteration-time", "throughput", "learning-rate"),
    "nemo": ("train_step_timing in s", "tflops_per_sec_per_gpu", "reduced_train_loss"),
    "composer": ("throughput/device/mfu", "throughput/device/tokens_per_sec", "time/batch", "time/train"),
    "lightning": ("train/device/mfu", "train/device/items_per_sec", "train/batches", "train/time"),
    "torchtitan": ("mfu(%)", "throughput(tps)", "time_metrics/end_to_end(s)", "n_tokens_seen", "memory/max_active(%)"),
    "hf_trainer": ("train_num_input_tokens_seen", "train_loss"),
}
"""Tags as the frameworks' sources write them; metric_profiles.yaml cites them. The Trainer's as the callback does."""


@pytest.fixture
def bridge() -> Iterator[Mapping[str, Any]]:
    """The names that the guide's code makes, without its web server."""
    code = next(
        block for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL) if "mirror" in block
    )
    made: dict[str, Any] = {}
    exec(code.replace("start_http_server(9400)\n", ""), made)
    yield made
    for gauge in made["gauges"].values():
        REGISTRY.unregister(gauge)


def test_every_profile_that_needs_a_bridge_is_looked_at() -> None:
    assert {*LOGGED, "mfu_probe"} == set(profiles())


@pytest.mark.parametrize("profile", sorted(LOGGED))
def test_what_a_framework_logs_is_what_its_profile_reads(bridge: Mapping[str, Any], profile: str) -> None:
    bridge["mirror"](dict.fromkeys(LOGGED[profile], 0.5), 7)
    assert set(profiles()[profile].names.values()) <= set(bridge["gauges"])
    assert REGISTRY.get_sample_value("global_step") == 7


@pytest.mark.parametrize("profile", sorted(LOGGED))
def test_a_hang_is_seen_with_every_profile(profile: str) -> None:
    """A gauge that nobody sets any more keeps its value: without a step number a hang is told late."""
    assert "steps" in profiles()[profile].names
