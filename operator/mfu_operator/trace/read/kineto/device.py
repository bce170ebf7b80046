"""What the events of a Kineto trace say of devices: kernels, copies and memsets, CUDA, ROCm and Intel."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mfu_operator.model.trace import Ints, column
from mfu_operator.trace.columns.parts import COMPUTE, D2D, D2H, H2D, MEMSET
from mfu_operator.trace.read.kineto.events import Arguments, Event
from mfu_operator.trace.read.kineto.numbers import integer, integers

DEVICE = ("kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset", "concurrent_kernel")
COPIES = ("gpu_memcpy", "Memcpy")
MEMSETS = ("gpu_memset", "Memset")

TO_DEVICE = re.compile(r"(?i)HtoD|HtoA|Host_?to_?Device|\b[HM]2D\b")
TO_HOST = re.compile(r"(?i)DtoH|AtoH|Device_?to_?Host|\bD2[HM]\b")
"""Names of copies: "Memcpy HtoD (Pinned -> Device)"; ROCm: "CopyHostToDevice"; Intel's, by kinds of memory (M is the
system's, H the host's for the device): "Memcpy M2D (MEMORY(Unknown) -> DEVICE)"."""


def device_columns(rows: Sequence[Event]) -> tuple[Ints, ...]:
    """(device, stream, correlation, bytes, shape, kind); kind is COMPUTE, D2D for any copy, or MEMSET."""
    nothing = Arguments()
    arguments = [row.args or nothing for row in rows]
    device = integers(
        [one.device if one.device is not None else row.pid for one, row in zip(arguments, rows, strict=True)]
    )
    stream = integers(
        [one.stream if one.stream is not None else row.tid for one, row in zip(arguments, rows, strict=True)]
    )
    correlation = integers([one.correlation for one in arguments])
    size = np.maximum(integers([one.bytes for one in arguments]), 0)
    shape = column([_shape(one) for one in arguments])
    kind = column([D2D if row.cat in COPIES else MEMSET if row.cat in MEMSETS else COMPUTE for row in rows])
    return np.maximum(device, 0), stream, correlation, size, shape, kind


def _shape(arguments: Arguments) -> int:
    """Blocks of the launch grid; 0 where unknown."""
    total = 1
    if not isinstance(arguments.grid, list):
        return 0
    for one in arguments.grid:
        total *= one if isinstance(one, int) and 0 <= one < 1 << 20 else 0
    return total


def copy_part(name: str) -> int:
    """The part of a copy by Kineto's name for it."""
    if TO_DEVICE.search(name):
        return H2D
    return D2H if TO_HOST.search(name) else D2D


def gpus_of(properties: Any) -> Mapping[int, str]:
    """The devices' names by their numbers, from `deviceProperties`."""
    rows = properties if isinstance(properties, list) else []
    known = [row for row in rows if isinstance(row, dict) and row.get("name")]
    return {integer(row.get("id")): str(row["name"]) for row in known}
