"""The parts of a step's account by number, in the order of `PARTS`: their order is their priority."""

from mfu_operator.model.account import PARTS

COMPUTE, COMMUNICATION, H2D, D2H, D2D, MEMSET, INPUT, SYNC, ALLOC, HOST, LAUNCH, UNKNOWN = range(len(PARTS))
BUSY = (COMPUTE, COMMUNICATION, H2D, D2H, D2D, MEMSET)

WHOLE_GRAPH = "CUDA graph"
"""The name under which readers keep a graph that was recorded as one operation."""
