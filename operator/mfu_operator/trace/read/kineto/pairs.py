"""Events in two halves, a beginning and an end, as the Trace Event Format allows beside complete ones.

torch.profiler writes complete events only. MosaicML's Composer merges its own ranges into the profiler's file
("dataloader/train", "event/forward"), and writes them in halves.
"""

from collections.abc import Sequence
from typing import Any

from mfu_operator.trace.read.kineto.events import Event

BEGIN, END = "B", "E"
EDGES = (BEGIN, END)


def paired(edges: Sequence[Event]) -> list[Event]:
    """Complete events: an end belongs to the last beginning of its thread that is still open, and that has its name
    where it has one. Halves are left out.
    """
    open_events: dict[tuple[Any, Any], list[Event]] = {}
    found = []
    for edge in sorted(edges, key=lambda one: one.ts):
        stack = open_events.setdefault((edge.pid, edge.tid), [])
        if edge.ph == BEGIN:
            stack.append(edge)
        elif (begin := _closed(stack, edge.name)) is not None:
            found.append(Event("X", begin.cat, begin.name, begin.pid, begin.tid, begin.ts, edge.ts - begin.ts))
    return found


def _closed(stack: list[Event], name: str) -> Event | None:
    """The innermost open event of that name (of any, for an end without one), taken from the stack."""
    for place in range(len(stack) - 1, -1, -1):
        if name in ("", stack[place].name):
            return stack.pop(place)
    return None
