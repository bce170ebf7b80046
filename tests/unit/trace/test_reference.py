"""The accounts of real traces against an independent sweep."""

from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mfu_operator.model.trace import Trace
from mfu_operator.trace.account import accounting
from mfu_operator.trace.account.steps import Steps, span
from mfu_operator.trace.read import formats

TRACES = Path("tests/data/traces")


def reference() -> dict[tuple[str, int], dict[str, list[int]]]:
    found: dict[tuple[str, int], dict[str, list[int]]] = defaultdict(dict)
    for line in (TRACES / "reference.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        path, device, window, *numbers = line.split("\t")
        found[path, int(device)][window] = [int(one) for one in numbers]
    return found


@cache
def trace_of(path: str) -> Trace:
    return formats.read(formats.TraceFile(TRACES / path, TRACES / path))


def profiler_steps(trace: Trace) -> Steps:
    """The ranges' own durations, as the reference has its windows."""
    wanted = [index for index, name in enumerate(trace.names) if name.startswith("ProfilerStep")]
    ranges = trace.ranges.where(np.isin(trace.ranges.name, wanted))
    order = np.argsort(ranges.start)
    names = tuple(trace.names[index] for index in ranges.name[order])
    return Steps(names, ranges.start[order], ranges.end[order], None)


@pytest.mark.parametrize(("path", "device"), reference())
def test_compute_communication_and_copies_agree_to_the_nanosecond(path: str, device: int) -> None:
    expected = reference()[path, device]
    trace = trace_of(path)
    ops = accounting.ops_of(trace, device)
    steps = span(int(ops.start.min()), int(ops.end.max())) if "span" in expected else profiler_steps(trace)
    accounts = accounting.account(trace, ops, steps)
    for index, name in enumerate(steps.names):
        length = int(steps.end[index] - steps.start[index])
        assert [length, *accounts.parts[index][:6].tolist()] == expected[name][:7]
        assert accounts.parts[index].sum() == length
        assert (accounts.parts[index] >= 0).all()
