"""Recordings in columns, in few words: what a reader would have made of a trace. Times are integer nanoseconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mfu_operator.model.trace import NONE, Batches, DeviceOps, Messages, Spans, Trace, column
from mfu_operator.trace.account.collectives import Collectives
from mfu_operator.trace.account.steps import Steps
from mfu_operator.trace.columns.parts import COMPUTE

Row = tuple[str, int, int] | tuple[str, int, int, int]
"""Name, start, end, and the thread where it is not 0."""


@dataclass(frozen=True)
class Op:
    """One operation of a device; `launch` is the place of its call among the trace's calls."""

    name: str
    start: int
    end: int
    part: int = COMPUTE
    launch: int = NONE
    device: int = 0
    stream: int = 7
    size: int = 0
    pageable: int = 0
    shape: int = 0
    graph: int = 0
    message: int = NONE


@dataclass(frozen=True)
class Message:
    """What a collective carries."""

    start: int = 0
    end: int = 0
    thread: int = NONE
    kind: str | None = None
    size: int = 0
    group: str | None = None
    members: int = 0


def trace_of(
    *,
    ops: Sequence[Op] = (),
    calls: Sequence[Row] = (),
    ranges: Sequence[Row] = (),
    host_ops: Sequence[Row] = (),
    os_calls: Sequence[Row] = (),
    messages: Sequence[Message] = (),
    batches: Sequence[tuple[int, int, int]] = (),
    processes: Sequence[int] = (0,) * 10,
    **more: Any,
) -> Trace:
    """A trace of these rows. `batches` are (start, kind, size); `processes` that of each thread."""
    spans = (calls, ranges, host_ops, os_calls)
    named = [row[0] for rows in spans for row in rows] + [op.name for op in ops]
    named += [text for one in messages for text in (one.kind, one.group) if text is not None]
    names = list(dict.fromkeys(named))
    places = {name: place for place, name in enumerate(names)} | {None: NONE}

    def spans_of(rows: Sequence[Row]) -> Spans:
        threads = [row[3] if len(row) == 4 else 0 for row in rows]
        return Spans(
            column([row[1] for row in rows]),
            column([row[2] for row in rows]),
            column(threads),
            column([places[row[0]] for row in rows]),
        )

    said = {"path": "t", "format": "kineto-json", **more}
    return Trace(
        **said,
        names=tuple(names),
        processes=column(processes),
        ops=DeviceOps(
            **{
                name: column([places[op.name] if name == "name" else getattr(op, name) for op in ops])
                for name in DeviceOps.__slots__
            }
        ),
        calls=spans_of(calls),
        ranges=spans_of(ranges),
        host_ops=spans_of(host_ops),
        os_calls=spans_of(os_calls),
        messages=Messages(
            **{
                name: column(
                    [
                        places[value] if name in ("kind", "group") else value
                        for value in (getattr(one, name) for one in messages)
                    ]
                )
                for name in Messages.__slots__
            }
        ),
        batches=Batches(*(column([row[place] for row in batches]) for place in range(3))),
    )


def steps_of(*edges: int, thread: int | None = 0, left_out: tuple[int, ...] = ()) -> Steps:
    """Steps that follow each other, from edge to edge, named "step 0" and so on."""
    names = tuple(f"step {number}" for number in range(len(edges) - 1))
    return Steps(names, column(edges[:-1]), column(edges[1:]), thread, left_out=left_out)


def collectives_of(
    *rows: tuple[int, int],
    kinds: Sequence[str] | str = "all_reduce",
    step: Sequence[int] | None = None,
    groups: Sequence[str | None] | None = None,
    sizes: Sequence[int] | None = None,
    step_names: tuple[str, ...] = ("span",),
    counted: tuple[int, ...] | None = None,
    on_host: bool = False,
) -> Collectives:
    """A rank's collectives by their (start, end): by default all-reduces of the only step, which counts."""
    count = len(rows)
    return Collectives(
        column([row[0] for row in rows]),
        column([row[1] for row in rows]),
        column([0] * count if step is None else step),
        (kinds,) * count if isinstance(kinds, str) else tuple(kinds),
        (None,) * count if groups is None else tuple(groups),
        column([0] * count if sizes is None else sizes),
        step_names,
        tuple(range(len(step_names))) if counted is None else counted,
        on_host,
    )
