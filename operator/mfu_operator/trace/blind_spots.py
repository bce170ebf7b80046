"""What a recording cannot show, as facts that diagnoses look at before they say anything."""

import re

from mfu_operator.model.trace import NONE, DeviceOps, Trace
from mfu_operator.trace import intervals
from mfu_operator.trace.accounting import COMMUNICATION
from mfu_operator.trace.distinct import used
from mfu_operator.trace.host_facts import Facts
from mfu_operator.trace.steps import Steps

WHOLE_GRAPH = "CUDA graph"
"""The name under which readers keep a graph that was recorded as one operation."""

FIRST = re.compile(r"(?<!\d)0+\*?$")
"""The end of a step's name that counts from zero."""


NCCL = re.compile(r"nccl:|nccl[A-Z]")
"""How torch.profiler and NCCL itself name the ranges of collectives."""


def of_trace(trace: Trace, steps: Steps) -> Facts:
    """incomplete: why events are missing; firstIteration: the counted steps include step 0. Absent where not so."""
    first = any(FIRST.search(steps.names[index]) for index in steps.counted)
    return {
        **({"incomplete": trace.incomplete} if trace.incomplete else {}),
        **({"firstIteration": 1.0} if first else {}),
    }


def of_device(trace: Trace, ops: DeviceOps, steps: Steps) -> Facts:
    """kernelsLost: copies and no kernel on any device; wholeGraphNs: per mean counted step, of graphs kept whole."""
    graphs = ops.name == (trace.names.index(WHOLE_GRAPH) if WHOLE_GRAPH in trace.names else NONE)
    counted = list(steps.counted)
    hidden = intervals.within(
        intervals.union(ops.start[graphs], ops.end[graphs]), steps.start[counted], steps.end[counted]
    )
    return {
        **({"kernelsLost": 1.0} if not computes(trace) else {}),
        **({"wholeGraphNs": float(hidden.mean())} if hidden.any() else {}),
    }


def uses_nccl(trace: Trace) -> bool:
    """Whether a range is NCCL's own, which runs on GPUs only."""
    return any(NCCL.match(trace.names[name]) for name in used(trace.ranges.name))


def computes(trace: Trace) -> bool:
    """Whether any kernel was recorded."""
    return bool((trace.ops.part <= COMMUNICATION).any())
