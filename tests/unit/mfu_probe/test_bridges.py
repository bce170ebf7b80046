"""What a framework logs is on the page that its metric profile is read from."""

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from mfu_operator.adapters.metric_names import profiles
from mfu_probe import bridges
from mfu_probe.bridges import Mirror, frameworks
from mfu_probe.bridges import gauges as module

SERVED = module._served
"""As it is outside of the tests."""

LOGGED: Mapping[str, tuple[str, ...]] = {
    "megatron": ("iteration-time", "throughput", "learning-rate"),
    "nemo": ("train_step_timing in s", "tflops_per_sec_per_gpu", "reduced_train_loss"),
    "composer": ("throughput/device/mfu", "throughput/device/tokens_per_sec", "time/batch", "time/train"),
    "lightning": ("train/device/mfu", "train/device/items_per_sec", "train/batches", "train/time"),
    "torchtitan": ("mfu(%)", "throughput(tps)", "time_metrics/end_to_end(s)", "n_tokens_seen", "memory/max_active(%)"),
    "hf_trainer": ("train_num_input_tokens_seen", "train_loss"),
}
"""Tags as the frameworks' sources write them; metric_profiles.yaml cites them. The Trainer's as the callback does."""


@pytest.fixture(autouse=True)
def mine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    """This process's mirror, which serves nothing."""
    made = Mirror()
    monkeypatch.setattr(module, "_served", lambda: made)
    yield made
    made.stop()


def shown(of: Mirror) -> dict[str, float]:
    samples = [line.split() for line in of.page().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in samples}


def test_every_profile_that_needs_a_bridge_is_looked_at() -> None:
    assert {*LOGGED, "mfu_probe"} == set(profiles())


@pytest.mark.parametrize("profile", sorted(LOGGED))
def test_what_a_framework_logs_is_what_its_profile_reads(mine: Mirror, profile: str) -> None:
    bridges.mirror(dict.fromkeys(LOGGED[profile], 0.5), 7)
    assert set(profiles()[profile].names.values()) <= shown(mine).keys()
    assert shown(mine)["global_step"] == 7


@pytest.mark.parametrize("profile", sorted(LOGGED))
def test_a_hang_is_seen_with_every_profile(profile: str) -> None:
    """A gauge that nobody sets any more keeps its value: without a step number a hang is told late."""
    assert "steps" in profiles()[profile].names


def test_the_page_is_served_and_nothing_else(mine: Mirror) -> None:
    mine.set({"loss": float("nan"), "grad norm": 2, "note": "text", "7b": 1.0})
    port = mine.serve(0)
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        page = answer.read().decode()
    assert page == "# TYPE _7b gauge\n_7b 1.0\n# TYPE grad_norm gauge\ngrad_norm 2.0\n# TYPE loss gauge\nloss NaN\n"
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    ("said", "port"), [(None, 9400), ("", 9400), ("9411", 9411), ("tcp://10.0.0.1:9090", 9400), ("nonsense", None)]
)
def test_the_page_is_on_the_port_of_the_probe_or_on_none(
    said: str | None, port: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`MFU_PROBE_PORT=tcp://…` is what Kubernetes says of a Service named mfu-probe."""
    served: list[int] = []
    monkeypatch.setattr(Mirror, "serve", lambda _, port: served.append(port))
    monkeypatch.setenv("MFU_PROBE_PORT", said) if said is not None else monkeypatch.delenv("MFU_PROBE_PORT", False)
    SERVED.__wrapped__()
    assert served == ([] if port is None else [port])


def test_tags_are_bounded(mine: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GAUGES", 2)
    mine.set({"a": 1, "b": 2, "c": 3})
    mine.set({"a": 4})
    assert shown(mine) == {"a": 4.0, "b": 2.0}


def test_every_summary_writer_is_mirrored_once_and_writes_as_before(mine: Mirror) -> None:
    written: list[tuple[Any, ...]] = []

    class Writer:
        def add_scalar(self, *arguments: Any) -> None:
            written.append(arguments)

    bridges.of_tensorboard(Writer)
    bridges.of_tensorboard(Writer)
    Writer().add_scalar("iteration-time", 2.5, 10)
    assert written == [("iteration-time", 2.5, 10)]
    assert shown(mine) == {"global_step": 10.0, "iteration_time": 2.5}


def stand_in(monkeypatch: pytest.MonkeyPatch, module_name: str, base: str) -> None:
    """A module of a framework that is not installed, with the class that a bridge is of."""
    made = ModuleType(module_name)
    setattr(made, base, type(base, (), {}))
    parts = module_name.split(".")
    for length in range(1, len(parts)):
        parent = ".".join(parts[:length])
        monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
    monkeypatch.setitem(sys.modules, module_name, made)


def test_the_trainer_s_logs_come_from_the_process_that_logs(mine: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "transformers", "TrainerCallback")
    callback = frameworks.trainer_callback()
    logs = {"num_input_tokens_seen": 4096, "loss": 2.5}
    callback.on_log(None, SimpleNamespace(is_world_process_zero=False, global_step=9), None, logs=logs)
    assert shown(mine) == {}
    callback.on_log(None, SimpleNamespace(is_world_process_zero=True, global_step=9), None, logs=logs)
    assert shown(mine) == {"global_step": 9.0, "train_loss": 2.5, "train_num_input_tokens_seen": 4096.0}


def test_lightning_and_composer_log_to_it(mine: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "lightning.pytorch.loggers.logger", "Logger")
    stand_in(monkeypatch, "composer.loggers", "LoggerDestination")
    frameworks.lightning_logger().log_metrics({"train/device/mfu": 0.4}, 3)
    frameworks.composer_destination().log_metrics({"throughput/device/mfu": 0.5}, 4)
    assert shown(mine) == {"global_step": 4.0, "throughput_device_mfu": 0.5, "train_device_mfu": 0.4}
