"""The data of `kubectl mfu tour`, made from published traces: `python -m tests.docs.tour_data` writes them."""

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

from mfu_operator.trace.analyze import analyze

DATA = Path(__file__).parents[2] / "operator" / "mfu_operator" / "cli" / "tour" / "data"
PUBLISHED = Path(__file__).parents[1] / "data" / "traces" / "kineto"
TRACES = {"fast.json.gz": "resnet50_workers4_a.json.gz", "slow.json.gz": "resnet50_workers0_a.json.gz"}

_ARGUMENTS = {"device", "stream", "correlation", "grid", "bytes", "name"}
"""What the account reads of an event; call stacks and shapes are most of a published file."""

_BEGIN, _SLOW, _END = (
    datetime(2026, 11, 17, hour, minute, tzinfo=UTC).timestamp() for hour, minute in ((6, 0), (9, 0), (9, 48))
)
_EVERY_S = 30


def trace(published: str) -> bytes:
    """A published trace without what no account reads of it: nested operators, call stacks, memory events, flows."""
    whole = json.loads(gzip.decompress((PUBLISHED / published).read_bytes()))
    events = [_lean(event) for event in whole["traceEvents"] if event["ph"] in "XM"]
    kept = [*_outermost(events), *(event for event in events if event.get("cat") != "Operator")]
    begin = min(event["ts"] for event in kept)
    for event in kept:
        event["ts"] -= begin
    lean = {
        "schemaVersion": whole["schemaVersion"],
        "deviceProperties": whole["deviceProperties"][:1],
        "traceEvents": sorted(kept, key=lambda event: event["ts"]),
    }
    return gzip.compress(json.dumps(lean, separators=(",", ":")).encode(), mtime=0)


def _lean(event: dict[str, Any]) -> dict[str, Any]:
    arguments = {name: value for name, value in event.get("args", {}).items() if name in _ARGUMENTS}
    return {**{name: value for name, value in event.items() if name != "args"}, "args": arguments}


def _outermost(events: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    ends: dict[object, float] = {}
    operators = (event for event in events if event.get("cat") == "Operator")
    for event in sorted(operators, key=lambda each: (each["ts"], -each["dur"])):
        end = ends.get(event["tid"], 0.0)
        step = event["name"].startswith("ProfilerStep")
        if step or event["ts"] >= end or event["name"].startswith(("enumerate(DataLoader)", "Optimizer")):
            yield event
        if not step:
            ends[event["tid"]] = max(end, event["ts"] + event["dur"])


def series() -> str:
    """Readings of the step time, each the mean of as many of the traces' steps, drawn at random, as 30 s hold; a
    checkpoint every half hour."""
    drawn = random.Random(50)
    steps = {name: _steps_s(published) for name, published in TRACES.items()}
    lines = ["time,value,phase"]
    for second in range(0, int(_END - _BEGIN), _EVERY_S):
        now_s = _BEGIN + second
        pool = steps["fast.json.gz" if now_s < _SLOW else "slow.json.gz"]
        steps_each = round(_EVERY_S / mean(pool))
        value = mean(drawn.choices(pool, k=steps_each))
        phase = "running"
        if now_s % 1800 < 2 * _EVERY_S:
            phase, value = ("starting" if now_s in (_BEGIN, _SLOW) else "checkpoint"), 4 * value
        lines.append(f"{datetime.fromtimestamp(now_s, UTC):%Y-%m-%dT%H:%M:%SZ},{value:.4f},{phase}")
    return "\n".join(lines) + "\n"


def _steps_s(published: str) -> list[float]:
    steps = analyze([PUBLISHED / published]).devices[0].steps
    return [(step.end_ns - step.start_ns) / 1e9 for step in steps if step.interior and not step.left_out]


if __name__ == "__main__":
    for name, published in TRACES.items():
        (DATA / name).write_bytes(trace(published))
    (DATA / "step-times.csv").write_text(series())
