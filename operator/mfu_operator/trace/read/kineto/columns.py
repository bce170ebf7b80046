"""The events of a Kineto trace in columns: every category spelling since PyTorch 1.8."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from mfu_operator.model import facts
from mfu_operator.model.trace import NONE, Batches, DeviceOps, Ints, Messages, Spans, Trace, column
from mfu_operator.trace.columns import operator_shapes
from mfu_operator.trace.columns.distinct import used
from mfu_operator.trace.columns.joins import ambiguous, join
from mfu_operator.trace.columns.parts import D2D, MEMSET
from mfu_operator.trace.names.kernels import part_of
from mfu_operator.trace.names.range_names import is_range, mean
from mfu_operator.trace.read.kineto.device import DEVICE, copy_part, device_columns, gpus_of
from mfu_operator.trace.read.kineto.events import UNSAID, Document, Event
from mfu_operator.trace.read.kineto.merged import by_rank, ranks_of, told_apart
from mfu_operator.trace.read.kineto.messages import said_by, speaking
from mfu_operator.trace.read.kineto.numbers import LATEST_US, count_of, integers, times
from mfu_operator.trace.read.kineto.pairs import EDGES, paired

CALLS = (
    "cuda_runtime",
    "Runtime",
    "cuda_driver",
    "hip_runtime",
    "xpu_runtime",
    "xpu_driver",
    "mtia_runtime",
    "privateuse1_runtime",
    "privateuse1_driver",
)
UNREAD = ("mtia_ccp_events", "hpu_op")
"""Activities of devices that are not described as kernels and copies (Kineto's ActivityType)."""

RANGES = ("user_annotation",)
HOST_OPS = ("cpu_op", "Operator", "operator")
PYTHON = ("python_function",)
LOADER_FRAME = "torch/utils/data/dataloader.py("
"""The loader's own Python frames, where stacks were recorded: torch.profiler's annotation covers __next__ alone, and
not the start of workers (__iter__)."""

MEMORY = "cpu_instant_event"

FEWEST_EVENTS = 0.5
"""Of the numbered host events: with fewer left, nothing can be said about the step."""

CUT_SHORT = "the file is cut short: the events after the cut are missing"
SAMPLED = "the trace was sampled"

ENOUGH_SHAPED, MOST_SHAPED = 4, 16
"""Pieces that tell the batch size, and pieces in which it is looked for."""

Key = TypeVar("Key")


class _Numbered(dict[Key, int], Generic[Key]):
    """Keys, numbered in the order in which they are met."""

    def __missing__(self, key: Key) -> int:
        self[key] = len(self)
        return self[key]

    def of(self, keys: Sequence[Key]) -> Ints:
        """The keys' numbers."""
        return np.fromiter(map(self.__getitem__, keys), dtype=np.int64, count=len(keys))


class _Threads(_Numbered[tuple[Any, Any]]):
    """Threads by (process, thread) as the events spell them: a number and its text name the same one."""

    def __init__(self) -> None:
        self.spelled: _Numbered[tuple[str, str]] = _Numbered()

    def __missing__(self, key: tuple[Any, Any]) -> int:
        self[key] = self.spelled[str(key[0]), str(key[1])]
        return self[key]


class Columns:
    """Events in columns, gathered piece by piece. `events`: how many there were, of any kind."""

    def __init__(self) -> None:
        self.events = 0
        self._names: _Numbered[str] = _Numbered()
        self._threads = _Threads()
        self._owners: _Numbered[Any] = _Numbered()
        self._renumbered: dict[int, int] = {}
        self._edges: list[Event] = []
        self._rows: dict[str, list[tuple[Ints, ...]]] = {kind: [] for kind in ("ops", "calls", "ranges", "host_ops")}
        self._batches: list[tuple[int, int, int]] = []
        self._messages: list[tuple[int, ...]] = []
        self._pieces, self._shaped = 0, 0
        self._damaged = 0
        self._alike = 0
        self._stacks, self._memory = 0, 0
        self._unread: Counter[str] = Counter()
        self._numbered = 0
        self._highest = 0

    def add(self, events: Sequence[Event]) -> None:
        """Take up the events of one piece."""
        self.events += len(events)
        kinds: dict[str, list[Event]] = {kind: [] for kind in self._rows}
        sort = dict.fromkeys(DEVICE, kinds["ops"].append) | dict.fromkeys(CALLS, kinds["calls"].append)
        sort |= dict.fromkeys(RANGES, kinds["ranges"].append) | dict.fromkeys(HOST_OPS, kinds["host_ops"].append)
        python: list[Event] = []
        instants: list[Event] = []
        unread: list[Event] = []
        sort |= dict.fromkeys(PYTHON, python.append) | dict.fromkeys(UNREAD, unread.append)
        phases = dict.fromkeys(EDGES, self._edges.append) | {"i": instants.append}
        for event in events:
            if event.ph == "X":
                if (keep := sort.get(event.cat or "")) is not None:
                    keep(event)
            elif (keep := phases.get(event.ph)) is not None:
                keep(event)
        memory = [event for event in instants if event.cat == MEMORY]
        for numbered in (kinds["ranges"], kinds["host_ops"], python, memory):
            self._count(numbered)
        kinds["ranges"] += [event for event in python if LOADER_FRAME in event.name]
        self._stacks += len(python)
        self._memory += len(memory)
        self._unread.update(event.cat or "" for event in unread)
        self._note_batches(kinds["host_ops"])
        for kind, rows in kinds.items():
            if rows:
                self._rows[kind].append(self._columns_of(kind, rows))

    def _add_pairs(self) -> None:
        """What other tools write into the profiler's file, in pairs of a beginning and an end, are ranges."""
        rows = paired(self._edges)
        if rows:
            self._rows["ranges"].append(self._columns_of("ranges", rows))

    def _count(self, events: Sequence[Event]) -> None:
        """Host events are numbered as they are recorded: gaps show that some were dropped later."""
        said = [event.args.event for event in events if event.args is not None]
        numbers = [number for number in said if type(number) is int]
        self._numbered += len(numbers)
        self._highest = max(self._highest, max(numbers, default=0))

    def _note_batches(self, operators: Sequence[Event]) -> None:
        """The batch sizes that operators' inputs show: the first pieces tell, and to ask all of them costs time."""
        if self._shaped >= ENOUGH_SHAPED or self._pieces >= MOST_SHAPED:
            return
        before = len(self._batches)
        for event in operators:
            kind = operator_shapes.OPERATORS.get(event.name)
            if kind is None or event.args is None or event.args.shapes is UNSAID:
                continue
            size = operator_shapes.batch_of(kind, bytes(event.args.shapes))
            if size is not None and abs(event.ts) < LATEST_US:
                self._batches.append((round(event.ts * 1000), kind, size))
        self._pieces += 1
        self._shaped += len(self._batches) > before

    def _columns_of(self, kind: str, rows: list[Event]) -> tuple[Ints, ...]:
        start, end, sound = times(rows)
        if not sound.all():
            self._damaged += int((~sound).sum())
            rows = [row for row, keep in zip(rows, sound, strict=True) if keep]
            start, end = start[sound], end[sound]
        name = self._names.of([row.name for row in rows])
        if kind == "ops":
            owner = self._owners.of([row.pid for row in rows])
            return (start, end, name, *device_columns(rows), owner, self._messages_of(rows, start, end))
        thread = self._threads.of([(row.pid, row.tid) for row in rows])
        if kind in ("ranges", "host_ops"):
            self._messages_of(rows, start, end, thread)
        if kind == "calls":
            return (start, end, thread, name, integers([row.args and row.args.correlation for row in rows]))
        return (start, end, thread, name)

    def _messages_of(self, rows: Sequence[Event], start: Ints, end: Ints, thread: Ints | None = None) -> Ints:
        """For each event the message that it names, by its number, or NONE; what it says is kept."""
        found = np.full(len(rows), NONE, dtype=np.int64)
        for place in speaking(rows):
            said = said_by(rows[place])
            if said is None:
                continue
            found[place] = len(self._messages)
            on = NONE if thread is None else int(thread[place])
            group = NONE if said.group is None else self._names[said.group]
            times = (int(start[place]), int(end[place]), on)
            self._messages.append((*times, self._names[said.kind], said.size, group, said.members))
        return found

    def trace(self, path: Path, about: Document, *, truncated: bool) -> Trace:
        """The recording of all events so far, with what the document says around them."""
        self._add_pairs()
        names = tuple(self._names)
        calls, correlations = self._calls()
        ops = self._ops(names, calls, correlations)
        gpus = gpus_of(about.deviceProperties)
        ranges, host_ops = self._host(names)
        info = about.distributedInfo if isinstance(about.distributedInfo, dict) else {}
        sampled = self._sampled(about)
        return Trace(
            path=str(path),
            format="kineto-json",
            producer="torch.profiler",
            rank=count_of(info.get("rank")),
            world_size=count_of(info.get("world_size")) or None,
            names=names,
            processes=self._processes(),
            ops=ops,
            calls=calls,
            ranges=ranges,
            host_ops=host_ops,
            batches=Batches(*column(self._batches).reshape(-1, 3).T),
            messages=Messages(*column(self._messages).reshape(-1, 7).T),
            gpus={**gpus, **{new: gpus[old] for new, old in self._renumbered.items() if old in gpus}},
            device_expected=bool(mean(calls, names, "cuda", "launch", "graph").any()),
            warnings=self._warnings(truncated, sampled),
            unread=self._unread_devices(),
            incomplete=CUT_SHORT if truncated else SAMPLED if sampled else None,
            settings={
                facts.PROFILER_STACKS: float(bool(about.with_stack)),
                facts.PROFILER_SHAPES: float(bool(about.record_shapes)),
                facts.PROFILER_MEMORY: float(bool(about.profile_memory)),
            },
        )

    def _warnings(self, truncated: bool, sampled: bool) -> tuple[str, ...]:
        said = []
        if truncated:
            said.append(CUT_SHORT)
        if sampled:
            said.append(
                f"only {self._numbered} of {self._highest + 1} recorded host events are in the file: it was sampled"
            )
        if self._alike:
            said.append(
                f"several processes number {self._alike} of their calls alike, so that these launch nothing for sure; "
                "give one file per rank"
            )
        if self._renumbered:
            said.append(
                f"several ranks in the file number their devices alike: {len(self._renumbered)} of them are given "
                f"new numbers, from {min(self._renumbered)} on"
            )
        if self._damaged:
            said.append(f"{self._damaged} events have impossible times and are left out")
        return tuple(said)

    def _unread_devices(self) -> str | None:
        if not self._unread:
            return None
        kinds = ", ".join(sorted(self._unread))
        return f"{self._unread.total()} device events of a kind that cannot be read ({kinds})"

    def _sampled(self, about: Document) -> bool:
        """Whether events were dropped at random: where a whole kind is gone, a tool took it and the rest is whole."""
        if (about.with_stack and not self._stacks) or (about.profile_memory and not self._memory):
            return False
        return self._numbered > 0 and self._numbered < FEWEST_EVENTS * (self._highest + 1)

    def _joined_rows(self, kind: str, width: int) -> tuple[Ints, ...]:
        pieces = self._rows[kind]
        if not pieces:
            return tuple(column() for _ in range(width))
        return tuple(np.concatenate([piece[index] for piece in pieces]) for index in range(width))

    def _calls(self) -> tuple[Spans, Ints]:
        start, end, thread, name, correlation = self._joined_rows("calls", 5)
        _, of_thread = self._ranks()
        alike = (correlation > 0) & ambiguous(by_rank(correlation, of_thread[thread]), self._processes()[thread])
        self._alike = int(alike.sum())
        return Spans(start, end, thread, name), np.where(alike, NONE, correlation)

    def _ranks(self) -> tuple[Ints, Ints]:
        """The rank that a merging tool's labels tell, by the owner of operations and by thread."""
        return ranks_of(list(self._owners), [process for process, _ in self._threads.spelled])

    def _host(self, names: Sequence[str]) -> tuple[Spans, Spans]:
        """Ranges and operators: before PyTorch 1.11 annotations were recorded as operators."""
        marked = Spans(*self._joined_rows("ranges", 4))
        ops = Spans(*self._joined_rows("host_ops", 4))
        annotations = column([int(one) for one in used(ops.name) if is_range(names[one])])
        mine = np.isin(ops.name, annotations)
        both = [(marked, ops.where(mine))]
        ranges = Spans(
            *(np.concatenate([getattr(a, key), getattr(b, key)]) for a, b in both for key in Spans.__slots__)
        )
        return ranges, ops.where(~mine)

    def _ops(self, names: Sequence[str], calls: Spans, correlations: Ints) -> DeviceOps:
        start, end, name, device, stream, correlation, size, shape, kind, owner, message = self._joined_rows("ops", 11)
        of_owner, of_thread = self._ranks()
        keys = by_rank(correlations, of_thread[calls.thread])
        launch = np.where(correlation > 0, join(by_rank(correlation, of_owner[owner]), keys), NONE)
        device, self._renumbered = told_apart(device, owner, list(self._owners))
        by_name = np.zeros((3, len(names)), dtype=np.int64)
        for one in used(name):
            by_name[:, one] = part_of(names[one]), copy_part(names[one]), "ageable" in names[one]
        kernel_part, copy, pageable = by_name[:, name]
        copies = kind == D2D
        part = np.where(copies, copy, np.where(kind == MEMSET, MEMSET, kernel_part))
        graph = mean(calls, names, "cuda", "graph")
        by_graph = (launch != NONE) & graph[calls.name][launch] if len(calls) else np.zeros(len(start), dtype=np.bool_)
        return DeviceOps(
            start,
            end,
            device,
            stream,
            part,
            name,
            launch,
            size,
            pageable * copies,
            shape,
            column(by_graph),
            message,
        )

    def _processes(self) -> Ints:
        known: _Numbered[str] = _Numbered()
        return known.of([process for process, _ in self._threads.spelled])
