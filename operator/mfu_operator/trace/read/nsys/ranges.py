"""The NVTX ranges of an nsys export, by names that do not differ from call to call."""

import numpy as np

from mfu_operator.model.trace import NONE, Ints, Spans, column
from mfu_operator.trace.columns.distinct import with_places
from mfu_operator.trace.read.nsys.tables import Tables

EVENTS = "NVTX_EVENTS"
COLUMNS = frozenset({"start", "end", "eventType", "globalTid"})

RANGE_EVENTS = (59, 60, 70, 71)
"""Types of the NVTX events that are ranges: on a thread's stack, and from anywhere to anywhere; the same of nvtxt files
that were imported (ENUM_NSYS_EVENT_TYPE)."""

OF_ONE_CALL = (b"op_id = ", b"seq = ", b"sizes = ", b"input_op_ids = ")
"""After an operator's name and a comma in the ranges of torch.autograd.profiler.emit_nvtx."""


def ranges_of(tables: Tables) -> Spans:
    """The ranges that have ended."""
    if not tables.columns.get(EVENTS, frozenset()) >= COLUMNS:
        return Spans()
    where = f'WHERE eventType IN {RANGE_EVENTS} AND "end" >= start AND globalTid NOT NULL'
    start, end, thread, string = tables.integers(EVENTS, ("start", "end", "globalTid", "textId"), where)
    name = _names(tables, string, where)
    keep = tables.sound(EVENTS, start, end)
    return Spans(start[keep], end[keep], tables.threads_of(thread[keep]), name[keep])


def _names(tables: Tables, strings: Ints, where: str) -> Ints:
    """The names of ranges: the text where there is any, else that of the string id."""
    names = np.full(len(strings), NONE, dtype=np.int64)
    if _has_texts(tables):
        texts = tables.connection.execute(f"SELECT CAST(text AS BLOB) FROM {EVENTS} {where}")
        found = (_name(tables, text) if text else NONE for (text,) in texts)
        names = np.fromiter(found, dtype=np.int64)
    rest = names == NONE
    once, place = with_places(strings[rest])
    names[rest] = column([_name(tables, tables.string(int(one))) for one in once])[place]
    return names


def _has_texts(tables: Tables) -> bool:
    """Whether any range has a text of its own: in many exports all have string ids."""
    if "text" not in tables.columns[EVENTS]:
        return False
    found = tables.connection.execute(f"SELECT EXISTS (SELECT 1 FROM {EVENTS} WHERE text NOT NULL)")
    return bool(found.fetchone()[0])


def _name(tables: Tables, text: bytes) -> int:
    """The index of a range's name, without what makes each call's another one."""
    plain, comma, rest = text.partition(b", ")
    while comma and not rest.startswith(OF_ONE_CALL):
        more, comma, rest = rest.partition(b", ")
        plain += b", " + more
    return tables.name(plain)
