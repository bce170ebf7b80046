"""A trace in columns: what was recorded, before anything is concluded from it. Times are integer nanoseconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mfu_operator.model.fact import Observed

Ints = NDArray[np.int64]
"""One column, shape (rows,)."""

Flags = NDArray[np.bool_]
"""One column of yes and no, shape (rows,)."""

NONE = -1
"""In a column of indexes: there is no such row."""


def column(values: object = ()) -> Ints:
    """A column from any sequence of integers."""
    return np.asarray(values, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Spans:
    """Intervals on host threads, equally long columns; `thread` and `name` index the trace's tables."""

    start: Ints = field(default_factory=column)
    end: Ints = field(default_factory=column)
    thread: Ints = field(default_factory=column)
    name: Ints = field(default_factory=column)

    def __len__(self) -> int:
        return len(self.start)

    def where(self, keep: Flags) -> "Spans":
        """The rows that `keep` (shape (rows,)) selects."""
        return Spans(self.start[keep], self.end[keep], self.thread[keep], self.name[keep])


@dataclass(frozen=True, slots=True)
class DeviceOps:
    """Kernels, copies and memsets, equally long columns.

    `part` indexes PARTS (0 compute … 5 memset); `launch` is the row in `calls` that issued the operation or NONE;
    `size` is bytes (0 for kernels); `pageable` is 1 where a host side of a copy is pageable memory; `shape` is a hash
    of the launch geometry, 0 where unknown; `graph` is 1 where a CUDA graph issued it, or where it is a whole graph;
    `message` is the row in the trace's `messages` that the operation itself names, or NONE.
    """

    start: Ints = field(default_factory=column)
    end: Ints = field(default_factory=column)
    device: Ints = field(default_factory=column)
    stream: Ints = field(default_factory=column)
    part: Ints = field(default_factory=column)
    name: Ints = field(default_factory=column)
    launch: Ints = field(default_factory=column)
    size: Ints = field(default_factory=column)
    pageable: Ints = field(default_factory=column)
    shape: Ints = field(default_factory=column)
    graph: Ints = field(default_factory=column)
    message: Ints = field(default_factory=column)

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class Messages:
    """What collectives carry, where that was recorded; equally long columns.

    Each row is a range [start, end) of the host `thread` that issued one, or what an operation says of itself (`thread`
    NONE). `kind` and `group` (the process group) index the trace's names, NONE where unknown; `size` is bytes and
    `members` the ranks of the group, 0 where unknown.
    """

    start: Ints = field(default_factory=column)
    end: Ints = field(default_factory=column)
    thread: Ints = field(default_factory=column)
    kind: Ints = field(default_factory=column)
    size: Ints = field(default_factory=column)
    group: Ints = field(default_factory=column)
    members: Ints = field(default_factory=column)

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class Batches:
    """How many samples operators were given at once, where their input shapes were recorded; equally long columns.

    `kind` says what kind of operator it was (trace/batch.py), `size` is how many samples it took.
    """

    start: Ints = field(default_factory=column)
    kind: Ints = field(default_factory=column)
    size: Ints = field(default_factory=column)

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class Trace:
    """One recorded file.

    `names` holds every name once; `processes` gives each thread's process. `calls` are CUDA (HIP) API calls, `ranges`
    what the program marked (NVTX, annotations), `host_ops` framework operators, `os_calls` calls of the operating
    system's libraries that were long enough to be recorded. `device_expected`: the recording was meant to hold
    device activity; `unread`: what it holds of device activity that cannot be read. `missing` names what a reader
    looked for and did not find; `incomplete`: why events are missing, so that what is not there proves nothing;
    `settings` are the recorder's own, where they change how long things take.
    """

    path: str
    format: str
    producer: str | None = None
    rank: int | None = None
    world_size: int | None = None
    names: tuple[str, ...] = ()
    processes: Ints = field(default_factory=column)
    ops: DeviceOps = field(default_factory=DeviceOps)
    calls: Spans = field(default_factory=Spans)
    ranges: Spans = field(default_factory=Spans)
    host_ops: Spans = field(default_factory=Spans)
    os_calls: Spans = field(default_factory=Spans)
    batches: Batches = field(default_factory=Batches)
    messages: Messages = field(default_factory=Messages)
    gpus: Mapping[int, str] = field(default_factory=dict)
    device_expected: bool = False
    unread: str | None = None
    warnings: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    incomplete: str | None = None
    settings: Observed = field(default_factory=dict)
