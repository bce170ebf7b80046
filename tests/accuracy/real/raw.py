"""Kineto documents as dictionaries: what an event is, and how time is put into them, without the product's help."""

import gzip
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

Event = dict[str, Any]
Document = dict[str, Any]
Delay = tuple[float, float]
"""From when on, µs by the document's clock, and how long, µs."""

CALLS = ("cuda_runtime", "cuda_driver", "runtime", "hip_runtime")
ON_DEVICE = ("kernel", "gpu_memcpy", "memcpy", "gpu_memset", "memset")
JUST = 0.01
"""Microseconds: just before or after an instant."""


def document(path: Path) -> Document:
    found = json.loads(gzip.decompress(path.read_bytes()), strict=False)
    assert isinstance(found, dict)
    return found


def from_zero(documents: Sequence[Document]) -> tuple[Document, ...]:
    """By a clock that begins with the first of them: since 1970, half a microsecond is the least that a float tells."""
    first = min(float(one["ts"]) for document in documents for one in events(document) if _timed(one)) - 1_000
    return tuple(
        with_events(document, [{**one, "ts": one["ts"] - first} if _timed(one) else one for one in events(document)])
        for document in documents
    )


def with_events(document: Document, found: list[Event]) -> Document:
    """The document with other events."""
    return {**document, "traceEvents": found}


def _timed(event: Event) -> bool:
    return event.get("ts", 0) > 0 and event.get("ph") != "M"


def write(documents: Sequence[Document], folder: Path) -> Path:
    """One file per rank in a new folder."""
    folder.mkdir(parents=True)
    for place, one in enumerate(documents):
        (folder / f"rank{place}.json").write_bytes(msgspec.json.encode(one))
    return folder


def events(document: Document) -> list[Event]:
    found = document["traceEvents"]
    assert isinstance(found, list)
    return found


def category(event: Event) -> str:
    return str(event.get("cat", "")).lower()


def end(event: Event) -> float:
    return float(event["ts"] + event.get("dur", 0))


def on_device(document: Document) -> list[Event]:
    """What the device did, in order of its start."""
    return sorted((one for one in events(document) if category(one) in ON_DEVICE), key=lambda one: one["ts"])


def is_collective(event: Event) -> bool:
    return category(event) == "kernel" and "nccl" in event["name"].lower()


def computes(event: Event) -> bool:
    return category(event) == "kernel" and not is_collective(event)


def is_step(event: Event) -> bool:
    return str(event.get("name")).startswith("ProfilerStep") and category(event) in ("user_annotation", "operator")


def steps(document: Document) -> list[Event]:
    return sorted(filter(is_step, events(document)), key=lambda one: one["ts"])


def windows(document: Document) -> list[tuple[float, float]]:
    """From the start of a step to the start of the next; the last to its own end."""
    marked = steps(document)
    starts = [float(one["ts"]) for one in marked]
    return list(zip(starts, [*starts[1:], end(marked[-1])], strict=True))


def step_us(document: Document) -> float:
    """The median step."""
    lengths = sorted(high - low for low, high in windows(document))
    return lengths[len(lengths) // 2]


def launches(document: Document) -> dict[Any, Event]:
    """Correlation → the call that launched it."""
    return {one["args"].get("correlation"): one for one in events(document) if category(one) in CALLS}


def of_host(_event: Event) -> bool:
    """No operation of a device takes longer where its host stands still."""
    return False


def delayed(document: Document, delays: Sequence[Delay], stretch: Callable[[Event], bool]) -> Document:
    """The document of a run that stood still at some moments.

    All that begins later is later. Of what runs at such a moment, what the host does takes longer, and of what the
    device does only what `stretch` says. With `of_host` the moments are the host's: the device goes on with what was
    launched before.
    """
    ordered = sorted(delays)
    moments = [at for at, _ in ordered]
    sums = [0.0, *accumulate(us for _, us in ordered)]
    calls = launches(document) if stretch is of_host else {}
    changed = []
    for event in events(document):
        if not _timed(event):
            changed.append(event)
            continue
        start = float(event["ts"])
        launch = calls.get(event.get("args", {}).get("correlation")) if category(event) in ON_DEVICE else None
        later = sums[bisect_right(moments, start if launch is None else launch["ts"])]
        one = {**event, "ts": start + later}
        if "dur" in event and (category(event) not in ON_DEVICE or stretch(event)):
            one["dur"] = event["dur"] + sums[bisect_left(moments, start + event["dur"])] - later
        changed.append(one)
    return with_events(document, changed)


def idle_gaps(document: Document) -> list[tuple[float, float]]:
    """When the device does nothing, between its operations."""
    gaps, reach = [], None
    for one in on_device(document):
        if reach is not None and one["ts"] > reach:
            gaps.append((reach, float(one["ts"])))
        reach = end(one) if reach is None else max(reach, end(one))
    return gaps


def host_gaps(document: Document) -> list[Event]:
    """Launch calls that the device waits for: it idles when they are made, and does next what they launch."""
    calls = launches(document)
    first = {float(one["ts"]): one for one in reversed(on_device(document))}
    found = []
    for low, high in idle_gaps(document):
        call = calls.get(first[high].get("args", {}).get("correlation"))
        if call is not None and low < call["ts"] < high:
            found.append(call)
    return found
