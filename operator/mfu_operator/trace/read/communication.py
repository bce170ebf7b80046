"""Which kernels communicate, beyond those whose names say so."""

from dataclasses import replace

import numpy as np

from mfu_operator.model.trace import NONE, DeviceOps, Trace
from mfu_operator.trace.columns import enclosing
from mfu_operator.trace.columns.distinct import used
from mfu_operator.trace.columns.parts import COMMUNICATION, COMPUTE
from mfu_operator.trace.names import collectives, kernels


def recognised(trace: Trace) -> Trace:
    """The trace with those kernels counted as communication that say so, or were launched in a collective's range.

    Of the kernels there only one whose name says nothing: a collective also launches copies and additions of its own.
    """
    issuing = {int(one) for one in used(trace.ranges.name) if collectives.issued_by(trace.names[int(one)])}
    spans = trace.ranges.where(np.isin(trace.ranges.name, np.array(sorted(issuing), dtype=np.int64)))
    unknown = {int(one) for one in used(trace.ops.name) if kernels.category(trace.names[int(one)]) == kernels.OTHER}
    ops = trace.ops
    rows = np.flatnonzero(
        (ops.part == COMPUTE) & (ops.launch != NONE) & np.isin(ops.name, np.array(sorted(unknown), dtype=np.int64))
    )
    said = ops.name[(ops.part == COMPUTE) & (ops.message != NONE)]
    if not len(said) and (not len(spans) or not len(rows)):
        return trace
    launch = ops.launch[rows]
    around = enclosing.innermost(
        spans.start, spans.end, spans.thread, trace.calls.start[launch], trace.calls.thread[launch]
    )
    names = np.array(sorted({*ops.name[rows[around != NONE]].tolist(), *said.tolist()}), dtype=np.int64)
    part = np.where((ops.part == COMPUTE) & np.isin(ops.name, names), COMMUNICATION, ops.part)
    columns = {name: getattr(ops, name) for name in DeviceOps.__slots__}
    return replace(trace, ops=DeviceOps(**{**columns, "part": part}))
