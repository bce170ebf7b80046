"""What a recording cannot show, as facts that diagnoses look at before they say anything."""

import re

from mfu_operator.model import facts
from mfu_operator.model.fact import Observed
from mfu_operator.model.trace import NONE, DeviceOps, Trace
from mfu_operator.trace.account.steps import Steps
from mfu_operator.trace.columns import intervals
from mfu_operator.trace.columns.distinct import used
from mfu_operator.trace.columns.parts import COMMUNICATION, WHOLE_GRAPH

FIRST = re.compile(r"(?<!\d)0+\*?$")
"""The end of a step's name that counts from zero."""


NCCL = re.compile(r"nccl:|nccl[A-Z]")
"""How torch.profiler and NCCL itself name the ranges of collectives."""


def of_trace(trace: Trace, steps: Steps) -> Observed:
    """incomplete: why events are missing; firstIteration: the counted steps include step 0. Absent where not so."""
    first = any(FIRST.search(steps.names[index]) for index in steps.counted)
    return {
        **({facts.INCOMPLETE: trace.incomplete} if trace.incomplete else {}),
        **({facts.FIRST_ITERATION: 1.0} if first else {}),
    }


def of_device(trace: Trace, ops: DeviceOps, steps: Steps) -> Observed:
    """kernelsLost: copies and no kernel on any device; wholeGraphNs: per mean counted step, of graphs kept whole."""
    graphs = ops.name == (trace.names.index(WHOLE_GRAPH) if WHOLE_GRAPH in trace.names else NONE)
    counted = list(steps.counted)
    hidden = intervals.within(
        intervals.union(ops.start[graphs], ops.end[graphs]), steps.start[counted], steps.end[counted]
    )
    return {
        **({facts.KERNELS_LOST: 1.0} if not computes(trace) else {}),
        **({facts.WHOLE_GRAPH_NS: float(hidden.mean())} if hidden.any() else {}),
    }


def uses_nccl(trace: Trace) -> bool:
    """Whether a range is NCCL's own, which runs on GPUs only."""
    return any(NCCL.match(trace.names[name]) for name in used(trace.ranges.name))


def computes(trace: Trace) -> bool:
    """Whether any kernel was recorded."""
    return bool((trace.ops.part <= COMMUNICATION).any())
