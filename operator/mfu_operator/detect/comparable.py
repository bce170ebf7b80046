"""Whether a job is the one that the baseline was recorded for. Only what is known on both sides is compared."""

import re
from collections.abc import Mapping
from dataclasses import fields, replace

from mfu_operator.detect.peaks import are_told_apart, is_slice
from mfu_operator.detect.precision import precision_of
from mfu_operator.model.baseline import Comparable
from mfu_operator.model.whole_number import whole_number

_PARALLELISM = re.compile(r"""([a-z](?:[a-z_]*[a-z])?)[\s"'=:_]*(\d+)""")
"""An axis and its degree: "tp8", "tensor_parallel=8", '"tp": 8'. Quadratic where no number follows: for short texts."""

_MOST_TEXT = 253
"""As long as the definition lets a person write it; what is longer is a tenant's text and no name."""

_VENDORS = frozenset({"nvidia", "amd", "tesla", "instinct", "gpu"})


def differences(declared: Comparable, info: Mapping[str, str], facts: Mapping[str, str]) -> tuple[str, ...]:
    """The fields that differ, each with both values ("global batch 512 instead of 256"); empty: comparable.

    Args:
        declared: what the baseline declares; None fields are not compared.
        info: what the job's metrics say about it; empty values are unknown.
        facts: what its object says (`workload_facts.facts_of`), which speaks where `info` does not.
    """
    known = _known(info, facts)
    found = [
        _text("model", declared.model or None, known.get("model")),
        _gpu(declared.gpu, known.get("gpu")),
        _number("GPUs per pod", declared.gpu_count, known.get("gpu_count")),
        _world_size(declared.world_size, known),
        _number("global batch", declared.global_batch, known.get("global_batch")),
        _number("sequence length", declared.sequence_length, known.get("sequence_length")),
        _precision(declared.precision, known.get("precision")),
        *_parallelism(declared.parallelism, _degrees(known.get("parallelism"))),
    ]
    return tuple(difference for difference in found if difference)


def completed(declared: Comparable, info: Mapping[str, str], facts: Mapping[str, str]) -> Comparable:
    """`declared` with what it leaves open filled in from what is known of the job; arguments as for `differences`."""
    known = _known(info, facts)
    return replace(
        declared,
        gpu=declared.gpu or _name(known.get("gpu")),
        gpu_count=declared.gpu_count or _count(known, "gpu_count"),
        world_size=declared.world_size or _count(known, "world_size") or _ranks(known),
        global_batch=declared.global_batch or _count(known, "global_batch"),
        sequence_length=declared.sequence_length or _count(known, "sequence_length"),
        precision=declared.precision or _name(known.get("precision")),
        parallelism={**_degrees(known.get("parallelism")), **declared.parallelism},
    )


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


def _known(info: Mapping[str, str], facts: Mapping[str, str]) -> dict[str, str]:
    return {**facts, **{field: value for field, value in info.items() if value}}


def _name(text: str | None) -> str | None:
    return text if text and len(text) <= _MOST_TEXT else None


def _count(known: Mapping[str, str], field: str) -> int | None:
    return whole_number(known.get(field, ""))


def _ranks(known: Mapping[str, str]) -> int | None:
    """A rank for each GPU of each pod."""
    pods, gpus = _count(known, "pods"), _count(known, "gpu_count")
    return None if pods is None or gpus is None else pods * gpus


def _degrees(text: str | None) -> dict[str, int]:
    found = {axis: whole_number(degree) for axis, degree in _PARALLELISM.findall(_axis(_name(text) or ""))}
    return {axis: degree for axis, degree in found.items() if degree is not None}


def _axis(text: str) -> str:
    return text.lower().replace("-", "_")


def _text(field: str, declared: str | None, measured: str | None) -> str | None:
    if declared is None or measured is None or _plain(declared) == _plain(measured):
        return None
    return f"{field} {measured} instead of {declared}"


def _precision(declared: str | None, measured: str | None) -> str | None:
    if declared is None or measured is None or precision_of(declared) == precision_of(measured):
        return None
    return f"precision {measured} instead of {declared}"


def _gpu(declared: str | None, measured: str | None) -> str | None:
    """A part of a name is that GPU: "H100" is "NVIDIA H100 80GB HBM3", "A10" is not an A100, a slice is not a card."""
    if declared is None or measured is None:
        return None
    ours, theirs = _words(declared), _words(measured)
    same = is_slice(declared) == is_slice(measured) and not are_told_apart(declared, measured)
    if same and (ours <= theirs or theirs <= ours):
        return None
    return f"GPU {measured} instead of {declared}"


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", name.lower())) - _VENDORS


def _world_size(declared: int | None, known: Mapping[str, str]) -> str | None:
    """Ranks as the job or its object says them. Where only pods are known there is a rank for each, or for each GPU."""
    if declared is None or "world_size" in known:
        return _number("world size", declared, known.get("world_size"))
    pods, gpus = _count(known, "pods"), _count(known, "gpu_count")
    if pods is None or gpus is None or declared in (pods, pods * gpus):
        return None
    return f"world size of {pods} pods with {gpus} GPUs instead of {declared} ranks"


def _number(field: str, declared: int | None, measured: str | None) -> str | None:
    if declared is None or measured is None:
        return None
    try:
        number = float(measured)
    except ValueError:
        return None
    return None if number == declared else f"{field} {number:g} instead of {declared}"


def _parallelism(declared: Mapping[str, int], known: Mapping[str, int]) -> list[str | None]:
    measured = {axis: known[_axis(axis)] for axis in declared if _axis(axis) in known}
    return [_number(f"{axis} parallelism", declared[axis], str(degree)) for axis, degree in measured.items()]


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
