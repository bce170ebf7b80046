"""Whether a job is the one that the baseline was recorded for. Only what is known on both sides is compared."""

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from mfu_operator.api.group import GROUP
from mfu_operator.model.baseline import Comparable

_GPU_RESOURCE = re.compile(r"^(nvidia\.com/(gpu|mig-.+)|amd\.com/gpu|gpu\.intel\.com/.+)$")
_GPU_NODE_LABELS = ("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator")
_LABEL_PREFIX = f"{GROUP}/"
_SYNONYMS = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float8": "fp8"}
_PARALLELISM = re.compile(r"([a-z]+)[=:_-]?(\d+)")


def differences(
    declared: Comparable,
    info: Mapping[str, str],
    template: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """The fields that differ, each with both values ("global batch 512 instead of 256"); empty: comparable.

    Args:
        declared: what the baseline declares; None fields are not compared.
        info: what the job exports about itself (labels of its info metric); empty values are unknown.
        template: its pod template, for the number and product of GPUs that it asks for.
        labels: the workload's labels; `mfu-operator.io/<field>` (global-batch, …) speaks where `info` does not.
    """
    known = {field: value for field, value in info.items() if value}
    for label, value in (labels or {}).items():
        if label.startswith(_LABEL_PREFIX) and value:
            known.setdefault(label.removeprefix(_LABEL_PREFIX).replace("-", "_"), value)
    found = [
        _text("model", declared.model or None, known.get("model")),
        _gpu(declared.gpu, known.get("gpu") or _gpu_product(template)),
        _number("GPUs per pod", declared.gpu_count, _gpu_count(template)),
        _number("world size", declared.world_size, known.get("world_size")),
        _number("global batch", declared.global_batch, known.get("global_batch")),
        _number("sequence length", declared.sequence_length, known.get("sequence_length")),
        _text("precision", declared.precision, known.get("precision")),
        *_parallelism(declared.parallelism, known.get("parallelism", "")),
    ]
    return tuple(difference for difference in found if difference)


def changed(recorded: Comparable, declared: Comparable) -> tuple[str, ...]:
    """The fields in which two declarations differ, each with both values ("globalBatch 1024, was 512")."""
    names = {each.name: _camel(each.name) for each in fields(Comparable)}
    pairs = ((shown, getattr(recorded, name), getattr(declared, name)) for name, shown in names.items())
    return tuple(f"{shown} {_shown(now)}, was {_shown(before)}" for shown, before, now in pairs if before != now)


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={degree}" for name, degree in sorted(value.items())) or "not declared"
    return "not declared" if value is None else str(value)


def _text(field: str, declared: str | None, measured: str | None) -> str | None:
    if declared is None or measured is None or _plain(declared) == _plain(measured):
        return None
    return f"{field} {measured} instead of {declared}"


def _gpu(declared: str | None, measured: str | None) -> str | None:
    """GPU names are compared by containment: "H100" is "NVIDIA H100 80GB HBM3"."""
    if declared is None or measured is None:
        return None
    ours, theirs = _plain(declared), _plain(measured)
    if ours in theirs or theirs in ours:
        return None
    return f"GPU {measured} instead of {declared}"


def _number(field: str, declared: int | None, measured: str | int | None) -> str | None:
    if declared is None or measured is None:
        return None
    try:
        number = float(measured)
    except ValueError:
        return None
    return None if number == declared else f"{field} {number:g} instead of {declared}"


def _parallelism(declared: Mapping[str, int], measured: str) -> list[str | None]:
    known = {axis: int(degree) for axis, degree in _PARALLELISM.findall(measured.lower())}
    return [_number(f"{axis} parallelism", degree, known.get(axis.lower())) for axis, degree in declared.items()]


def _plain(text: str) -> str:
    plain = re.sub(r"[^a-z0-9]", "", text.lower())
    return _SYNONYMS.get(plain, plain)


def _gpu_count(template: Mapping[str, Any]) -> int | None:
    """GPUs that one pod asks for; None where it asks for none (they may come by another way)."""
    total = 0
    for container in (template.get("spec") or {}).get("containers") or ():
        resources = container.get("resources") or {}
        asked = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
        total += sum(int(str(count)) for name, count in asked.items() if _GPU_RESOURCE.match(name))
    return total or None


def _gpu_product(template: Mapping[str, Any]) -> str | None:
    selector = (template.get("spec") or {}).get("nodeSelector") or {}
    return next((str(selector[label]) for label in _GPU_NODE_LABELS if label in selector), None)
