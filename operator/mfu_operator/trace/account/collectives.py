"""The collectives of one rank: when it took part, and in what.

What a collective does is known by what launched it: the kernel's own arguments, the range in which it was launched
("nccl:all_to_all", `record_param_comms`, NCCL's own ranges), and only then by the kernel's name, which is the same for
an all-to-all and for a transfer between two neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mfu_operator.model import facts
from mfu_operator.model.fact import Observed
from mfu_operator.model.trace import NONE, DeviceOps, Flags, Ints, Trace
from mfu_operator.trace.account.steps import Steps, in_counted
from mfu_operator.trace.columns import enclosing
from mfu_operator.trace.columns.distinct import distinct, used
from mfu_operator.trace.columns.parts import COMMUNICATION
from mfu_operator.trace.names import collectives as names
from mfu_operator.trace.names.range_names import select

MOST_KNOWN = 0.5
"""Of the collectives: with fewer that say what they carry, nothing is said of all."""


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """What the collectives of one kind reach, by nccl-tests' definitions (names/collectives.py), in bytes per second.

    `calls`, `size` (bytes) and `spent_ns` (their kernels, waits for other ranks included) are of the mean counted step.
    """

    kind: str
    calls: float
    size: float
    spent_ns: float
    algorithm: float
    bus: float


@dataclass(frozen=True, slots=True)
class Collectives:
    """One rank's collectives in the order of issue, equally long.

    `step` is the index into `step_names` of the step that issued each, NONE outside all steps; `counted` are the steps
    that means are over. `kind` is what it does, `group` its process group (None: not known), `size` its bytes (0: not
    known). `on_host`: they run on the host (gloo, UCC, MPI).
    """

    start: Ints
    end: Ints
    step: Ints
    kind: tuple[str, ...]
    group: tuple[str | None, ...]
    size: Ints
    step_names: tuple[str, ...]
    counted: tuple[int, ...]
    on_host: bool = False

    def __len__(self) -> int:
        return len(self.start)

    def where(self, keep: Flags | Ints) -> "Collectives":
        """The rows that `keep` selects: flags, shape (rows,), or indexes."""
        rows = np.arange(len(self))[keep]
        return Collectives(
            self.start[rows],
            self.end[rows],
            self.step[rows],
            tuple(self.kind[row] for row in rows),
            tuple(self.group[row] for row in rows),
            self.size[rows],
            self.step_names,
            self.counted,
            self.on_host,
        )

    def in_counted(self) -> Flags:
        """Whether a counted step issued each row."""
        found: Flags = np.isin(self.step, np.array(self.counted, dtype=np.int64))
        return found


def collectives(trace: Trace, ops: DeviceOps, steps: Steps) -> Collectives:
    """Those of the device, of the whole recording, or those of the host where the device has none."""
    found = _of_device(trace, ops, steps)
    return found if len(found) else host_collectives(trace, steps)


def host_collectives(trace: Trace, steps: Steps) -> Collectives:
    """Those that the process of the steps' thread runs on the host (gloo, UCC, MPI)."""
    spans = select(trace.ranges, trace.names, "mark", "collective")
    if steps.thread is not None:
        spans = spans.where(trace.processes[spans.thread] == trace.processes[steps.thread])
    kinds = [names.kind_of(trace.names[one]) for one in spans.name]
    together = np.array([kind not in (None, names.POINT_TO_POINT) for kind in kinds], dtype=np.bool_)
    rows = np.flatnonzero(together)
    rows = rows[np.argsort(spans.start[rows], kind="stable")]
    sizes = _sizes_of(trace, trace.messages.thread, spans.thread[rows], spans.start[rows])
    return Collectives(
        spans.start[rows],
        spans.end[rows],
        _step_of(spans.start[rows], steps),
        tuple(str(kinds[row]) for row in rows),
        (None,) * len(rows),
        sizes,
        steps.names,
        steps.counted,
        on_host=True,
    )


def _of_device(trace: Trace, ops: DeviceOps, steps: Steps) -> Collectives:
    rows = np.flatnonzero(ops.part == COMMUNICATION)
    issued = issue_times(trace, ops, rows)
    order = np.argsort(issued, kind="stable")
    rows, issued = rows[order], issued[order]
    message = messages_of(trace, ops, rows)
    kinds = kinds_of(trace, ops, rows, message)
    groups = _groups_of(trace, ops.stream[rows], message)
    keep = np.array([kind != names.POINT_TO_POINT for kind in kinds], dtype=np.bool_)
    found = Collectives(
        ops.start[rows],
        ops.end[rows],
        _step_of(issued, steps),
        kinds,
        groups,
        np.where(message == NONE, 0, _at(trace.messages.size, message)),
        steps.names,
        steps.counted,
    )
    return found.where(keep)


def message_facts(found: Collectives) -> Observed:
    """How much the collectives of a mean counted step carry, and the median one; absent where most do not say."""
    mine = found.in_counted()
    known = mine & (found.size > 0)
    if not known.any() or known.sum() < MOST_KNOWN * mine.sum():
        return {}
    return {
        facts.MESSAGE_BYTES: float(found.size[known].sum(dtype=np.float64)) / len(found.counted),
        facts.MESSAGE_MEDIAN_BYTES: float(np.median(found.size[known])),
    }


def bandwidths(trace: Trace, ops: DeviceOps, steps: Steps) -> tuple[Bandwidth, ...]:
    """By kind, what the device's collectives of the counted steps reach; without those that do not say what they carry.

    Several kernels that one call launched share its size.
    """
    rows = np.flatnonzero((ops.part == COMMUNICATION) & in_counted(ops.start, steps, steps.counted))
    message, issued_by = messages_of(trace, ops, rows), _issued_by(trace, ops, rows)
    call = np.where(issued_by == NONE, message, issued_by)
    length = (ops.end - ops.start)[rows]
    found: dict[str, list[tuple[int, float, int]]] = {}
    for one in distinct(call[call != NONE]):
        mine = call == one
        carried = _carried(trace, int(message[mine][0]))
        if carried is not None:
            kind, size, on_bus = carried
            found.setdefault(kind, []).append((size, on_bus, int(length[mine].sum())))
    each = [_bandwidth(kind, reached, len(steps.counted)) for kind, reached in found.items()]
    return tuple(sorted(each, key=lambda one: -one.spent_ns))


def _carried(trace: Trace, row: int) -> tuple[str, int, float] | None:
    """Kind, nccl-tests' size, and that on the bus; None where one of them is not known."""
    messages = trace.messages
    kind, name = _message_kind(trace, row), trace.names[int(messages.kind[row])]
    if kind is None or not messages.size[row]:
        return None
    members = int(messages.members[row])
    factor, scale = names.bus_factor(kind, members), names.size_factor(name, members)
    if factor is None or scale is None:
        return None
    size = int(messages.size[row]) * scale
    return kind, size, size * factor


def _bandwidth(kind: str, reached: Sequence[tuple[int, float, int]], steps: int) -> Bandwidth:
    size, on_bus, spent = (sum(one[place] for one in reached) for place in range(3))
    per_second = 1e9 / max(1, spent)
    return Bandwidth(kind, len(reached) / steps, size / steps, spent / steps, size * per_second, on_bus * per_second)


def issue_times(trace: Trace, ops: DeviceOps, rows: Ints) -> Ints:
    """When each operation was issued. One without a launch call was issued before all that follow it on its stream."""
    launch = ops.launch[rows]
    issued = ops.start[rows].copy()
    known = launch != NONE
    issued[known] = trace.calls.start[launch[known]]
    for stream in distinct(ops.stream[rows]):
        mine = np.flatnonzero(ops.stream[rows] == stream)
        mine = mine[np.argsort(ops.start[rows][mine], kind="stable")]
        issued[mine] = np.minimum.accumulate(issued[mine][::-1])[::-1]
    return issued


def messages_of(trace: Trace, ops: DeviceOps, rows: Ints) -> Ints:
    """For each operation the row in `messages` that it names itself, or that stands around its launch; else NONE."""
    own = ops.message[rows]
    return np.where(own == NONE, _issued_by(trace, ops, rows), own)


def _issued_by(trace: Trace, ops: DeviceOps, rows: Ints) -> Ints:
    """For each operation the row in `messages` that stands around its launch, or NONE."""
    messages = trace.messages
    launch = ops.launch[rows]
    known = launch != NONE
    at, thread = trace.calls.start[launch[known]], trace.calls.thread[launch[known]]
    found = np.full(len(rows), NONE, dtype=np.int64)
    found[known] = enclosing.innermost(messages.start, messages.end, messages.thread, at, thread)
    return found


def kinds_of(trace: Trace, ops: DeviceOps, rows: Ints, message: Ints) -> tuple[str, ...]:
    """What each operation does: by what launched it, else by its name.

    Where NCCL's kernel for sending and receiving was seen to be launched for one purpose only, one whose launch was not
    recorded has the same.
    """
    by_name = [names.kind_of(trace.names[one]) or trace.names[one].partition("(")[0] for one in ops.name[rows]]
    by_range = _ranges_around(trace, ops, rows)
    found = [
        (_message_kind(trace, int(row)) or around or name)
        for row, around, name in zip(message, by_range, by_name, strict=True)
    ]
    meant = {kind for kind, name in zip(found, by_name, strict=True) if name == names.SEND_RECEIVE != kind}
    only = meant.pop() if len(meant) == 1 else names.SEND_RECEIVE
    return tuple(only if kind == names.SEND_RECEIVE else kind for kind in found)


def _message_kind(trace: Trace, row: int) -> str | None:
    if row == NONE or trace.messages.kind[row] == NONE:
        return None
    return names.kind_of(trace.names[int(trace.messages.kind[row])])


def _ranges_around(trace: Trace, ops: DeviceOps, rows: Ints) -> Sequence[str | None]:
    """What the ranges say in which the operations were launched."""
    kinds = {int(one): names.issued_by(trace.names[one]) for one in used(trace.ranges.name)}
    telling = np.array([kinds[int(one)] is not None for one in trace.ranges.name], dtype=np.bool_)
    spans = trace.ranges.where(telling)
    launch = ops.launch[rows]
    found: list[str | None] = [None] * len(rows)
    known = np.flatnonzero(launch != NONE)
    at, thread = trace.calls.start[launch[known]], trace.calls.thread[launch[known]]
    for place, row in zip(known, enclosing.innermost(spans.start, spans.end, spans.thread, at, thread), strict=True):
        if row != NONE:
            found[place] = kinds[int(spans.name[row])]
    return found


def _groups_of(trace: Trace, stream: Ints, message: Ints) -> tuple[str | None, ...]:
    """The process groups; where one was not recorded, that of all others on the stream."""
    group = np.where(message == NONE, NONE, _at(trace.messages.group, message))
    for one in distinct(stream):
        mine = stream == one
        known = distinct(group[mine & (group != NONE)])
        if len(known) == 1:
            group[mine] = known[0]
    return tuple(None if one == NONE else trace.names[int(one)] for one in group)


def _sizes_of(trace: Trace, threads: Ints, thread: Ints, at: Ints) -> Ints:
    messages = trace.messages
    rows = enclosing.innermost(messages.start, messages.end, threads, at, thread)
    return np.where(rows == NONE, 0, _at(messages.size, rows))


def _step_of(at: Ints, steps: Steps) -> Ints:
    step = np.searchsorted(steps.start, at, side="right") - 1
    inside = (step >= 0) & (at < steps.end[step])
    return np.where(inside, step, NONE)


def _at(values: Ints, rows: Ints) -> Ints:
    return values[np.maximum(rows, 0)] if len(values) else np.zeros(len(rows), dtype=np.int64)
