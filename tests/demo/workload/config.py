"""The configuration of a training run: a YAML file in blocks, each checked for what it may hold."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TypeVar

import yaml

Block = TypeVar("Block")


class ConfigError(ValueError):
    """The file does not describe a run; the message says where and what it may hold instead."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Size of the transformer: `layers` blocks of `width` features with `heads` heads."""

    name: str = "demo-gpt"
    layers: int = 2
    width: int = 48
    heads: int = 4


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """`batch_size` in sequences of `sequence_length` tokens; `max_steps` 0 means for ever."""

    batch_size: int = 8
    sequence_length: int = 48
    learning_rate: float = 0.003
    seed: int = 1
    max_steps: int = 0


@dataclass(frozen=True, slots=True)
class HardwareConfig:
    """What the run declares about what it runs on; `peak_flops` in FLOP/s."""

    gpu: str = "cpu"
    precision: str = "fp32"
    peak_flops: float = 52e9


@dataclass(frozen=True, slots=True)
class DataConfig:
    """Where objects come from: `shards` × `objects_per_shard` of them, `objects_per_batch` make one batch."""

    store_url: str = "http://object-store:8080"
    shards: int = 16
    objects_per_shard: int = 64
    objects_per_batch: int = 4


@dataclass(frozen=True, slots=True)
class LoaderConfig:
    """`num_workers` processes, each up to `prefetch_factor` batches ahead; 0 loads in the training process itself."""

    num_workers: int = 4
    prefetch_factor: int = 2


@dataclass(frozen=True, slots=True)
class CheckpointConfig:
    """Write to `path` every `every_steps` steps (0: never)."""

    path: str = "/checkpoints/demo.npz"
    every_steps: int = 2000


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """Evaluate `batches` held-out batches every `every_steps` steps (0: never)."""

    every_steps: int = 1500
    batches: int = 8


@dataclass(frozen=True, slots=True)
class LoggingConfig:
    """One line every `every_steps` steps."""

    every_steps: int = 200


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file; a block or field that is left out has the default above."""

    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    data: DataConfig = field(default_factory=DataConfig)
    loader: LoaderConfig = field(default_factory=LoaderConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    logging: LoggingConfig = field(default_factory=LoggingConfig)


def load_config(path: Path) -> Config:
    """Read the file at `path`. Raises ConfigError."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {error}") from error
    return decode_config(content)


def decode_config(content: object) -> Config:
    """The configuration that `content`, the loaded YAML, describes. Raises ConfigError."""
    blocks = _mapping(content, "the file")
    types = {
        "model": ModelConfig,
        "training": TrainingConfig,
        "hardware": HardwareConfig,
        "data": DataConfig,
        "loader": LoaderConfig,
        "checkpoint": CheckpointConfig,
        "evaluation": EvaluationConfig,
        "logging": LoggingConfig,
    }
    _refuse_unknown(blocks, set(types), "the file")
    return Config(**{name: _decode_block(types[name], blocks[name], name) for name in blocks})


def _decode_block(kind: type[Block], content: object, name: str) -> Block:
    values = _mapping(content, name)
    defaults = {item.name: getattr(kind(), item.name) for item in fields(kind)}  # type: ignore[arg-type]
    _refuse_unknown(values, set(defaults), name)
    return kind(**{key: _coerce(value, defaults[key], f"{name}.{key}") for key, value in values.items()})


def _coerce(value: object, default: object, name: str) -> object:
    if isinstance(default, float) and isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)  # YAML 1.1 reads 2e10 as text
        except ValueError as error:
            raise ConfigError(f"{name} must be a number, not {value!r}") from error
    if type(value) is not type(default):
        raise ConfigError(f"{name} must be {type(default).__name__}, not {value!r}")
    if isinstance(value, int) and value < 0:
        raise ConfigError(f"{name} must not be negative, but is {value}")
    return value


def _mapping(content: object, name: str) -> dict[str, object]:
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise ConfigError(f"{name} must be a mapping of names to values")
    return content


def _refuse_unknown(values: dict[str, object], known: set[str], name: str) -> None:
    unknown = sorted(set(values) - known)
    if unknown:
        raise ConfigError(f"{name} has no {', '.join(unknown)}; it may hold {', '.join(sorted(known))}")
