"""Reads an nsys SQLite export of any schema from 2022.4 on."""

import sqlite3
from pathlib import Path

from mfu_operator.errors import Unreadable
from mfu_operator.model.trace import Trace
from mfu_operator.trace.columns.limits import MOST_EVENTS, check_count
from mfu_operator.trace.names.range_names import select
from mfu_operator.trace.read.nsys.about import read_about
from mfu_operator.trace.read.nsys.device import CALLS, KERNELS, OP_TABLES, calls_of, device_ops_of
from mfu_operator.trace.read.nsys.payloads import messages_of
from mfu_operator.trace.read.nsys.ranges import EVENTS, ranges_of
from mfu_operator.trace.read.nsys.tables import Tables, check_whole, connect

SYSTEM_CALLS = "OSRT_API"
EVENT_TABLES = (*OP_TABLES, CALLS, EVENTS, SYSTEM_CALLS)
NAMELESS = "the table of names (StringIds) is missing: what kernels and calls do is not known"
WANTED = frozenset({KERNELS, CALLS, EVENTS})
"""Without one of them a trace is read, and says what it cannot show."""


def read_nsys(path: Path, shown: Path, most_events: int = MOST_EVENTS) -> Trace:
    """The recording in columns.

    Args:
        path: the export.
        shown: what a person calls it: the export, or the report that it was made from.
        most_events: one of more is refused.

    Raises:
        Unreadable: NotATrace; TooLarge; CorruptTrace, where SQLite or the values in it are not what an export holds.
    """
    check_whole(path, shown)
    try:
        with connect(path) as connection:
            return _trace(Tables(connection), shown, most_events)
    except (sqlite3.Error, OverflowError, ValueError, TypeError) as error:
        said = " ".join(str(error).split())
        raise Unreadable(
            "CorruptTrace", f"{shown}: this nsys export is damaged or incomplete ({said}); export the .nsys-rep again"
        ) from error


def _trace(tables: Tables, shown: Path, most_events: int) -> Trace:
    if not tables.columns.keys() & {"StringIds", EVENTS, KERNELS}:
        raise Unreadable(
            "NotATrace", f"{shown}: an SQLite file, but not an export of nsys (no StringIds, no NVTX_EVENTS)"
        )
    check_count(shown, tables.count(EVENT_TABLES), most_events)
    tables.read_strings()
    about = read_about(tables.connection, tables.columns)
    calls, call_keys = calls_of(tables)
    ops = device_ops_of(tables, calls, call_keys, about.own_gpus)
    ranges = ranges_of(tables)
    messages = messages_of(tables)
    os_calls = tables.spans(SYSTEM_CALLS)
    launched = select(calls, tables.names, "cuda", "launch", "graph")
    return Trace(
        path=str(shown),
        format="nsys-sqlite",
        producer=about.producer,
        rank=about.rank,
        world_size=about.world_size,
        names=tables.names,
        processes=tables.processes,
        ops=ops,
        calls=calls,
        ranges=ranges,
        messages=messages,
        os_calls=os_calls,
        gpus=about.gpus,
        device_expected=bool(len(launched)) or about.device_tracing_failed,
        warnings=(*about.warnings, *tables.warnings, *(() if tables.has_strings else (NAMELESS,))),
        missing=tuple(sorted(WANTED - tables.columns.keys())),
        incomplete=about.incomplete if tables.has_strings else NAMELESS,
    )
