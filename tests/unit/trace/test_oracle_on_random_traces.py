"""Whole files of random events, read and accounted for by both: the operator and the second opinion agree on all twelve
parts. The random ones hold what recorded ones rarely do: operations without length, equal starts, launches after their
kernels, gaps across steps, several devices, streams and threads."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mfu_operator.trace.analyze import analyze
from tests.support import oracle
from tests.support.synthetic.loop import ALLREDUCE, GEMM

SPAN = 1_000
STEP = 200
KERNELS = (GEMM, ALLREDUCE, "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pinned)", "Memset (Device)")
CALLS = ("cudaLaunchKernel", "cudaStreamSynchronize", "cudaMalloc", "cudaGraphLaunch", "cudaEventRecord")
MICROSECONDS = st.integers(0, SPAN)
BUSY, WAITING = st.integers(0, 60), st.integers(0, 400)
"""Operations are short and what the host does is long, so that there are gaps, and reasons for them that overlap."""

CORRELATIONS = st.integers(1, 6)


def event(cat: str, name: str, start: int, length: int, thread: int, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": thread, "ts": start, "dur": length, "args": args}


def device_event(kind: int, start: int, length: int, device: int, stream: int, correlation: int) -> dict[str, Any]:
    name = KERNELS[kind]
    cat = "gpu_memset" if name.startswith("Memset") else "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
    return event(cat, name, start, length, stream, device=device, stream=stream, correlation=correlation)


OPS = st.builds(
    device_event,
    st.integers(0, len(KERNELS) - 1),
    MICROSECONDS,
    BUSY,
    st.integers(0, 1),
    st.integers(7, 9),
    CORRELATIONS,
)
HOST = st.builds(
    lambda name, start, length, thread, correlation: event(
        "cuda_runtime", name, start, length, thread, correlation=correlation
    ),
    st.sampled_from(CALLS),
    MICROSECONDS,
    WAITING,
    st.integers(1, 2),
    CORRELATIONS,
)
INPUTS = st.builds(
    lambda start, length, thread: event("user_annotation", "enumerate(DataLoader)#x", start, length, thread),
    MICROSECONDS,
    WAITING,
    st.integers(1, 2),
)
STEPS = [event("user_annotation", f"ProfilerStep#{n}", n * STEP, STEP - 20, 1) for n in range(SPAN // STEP)]


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(OPS, min_size=1, max_size=20),
    st.lists(HOST, min_size=4, max_size=25),
    st.lists(INPUTS, max_size=6),
    st.booleans(),
)
def test_the_account_of_a_random_trace_agrees_with_an_independent_sweep(
    ops: list[dict[str, Any]], calls: list[dict[str, Any]], inputs: list[dict[str, Any]], marked: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        path.write_text(json.dumps({"traceEvents": [*(STEPS if marked else []), *inputs, *calls, *ops]}))
        found = analyze([path])
        recording = oracle.recording(path)
    for device in found.devices:
        assert device.device is not None
        windows = [(step.start_ns, step.end_ns) for step in device.steps]
        if marked:
            assert windows == oracle.windows_of_marks(recording.marks)
        expected = oracle.sweep(recording, device.device, windows)
        idle = ("idleInput", "idleSync", "idleAlloc", "idleHost", "idleLaunch", "idleUnknown")
        lost = all(op.part not in ("compute", "communication") for each in recording.ops.values() for op in each)
        for step, window in zip(device.steps, expected, strict=True):
            parts = dict(window.parts)
            if lost:
                parts |= dict.fromkeys(idle, 0) | {"idleUnknown": sum(parts[one] for one in idle)}
            assert dict(step.account_ns) == parts
