"""What was left on that only watches: it costs wherever it looks."""

from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.case import Case
from mfu_operator.trace.causes.entry import Cause, Evidence

NOTICEABLE = 0.3
"""Of the step's growth: checks that take this much are no coincidence."""


def _debug(case: Case) -> Evidence:
    if case.baseline is None or case.more("debugCalls") < 1:
        return ()
    if case.more("debugNs") < NOTICEABLE * (case.now.mean_ns - case.baseline.mean_ns):
        return ()
    return (case.change("checks of a debugging aid per step", "debugCalls"), case.change("time in them", "debugNs"))


CAUSES = (
    Cause(
        "DebugInstrumentation",
        Bottleneck.HOST_BOUND,
        needs="ranges, operators or kernels of a debugging aid (anomaly detection, a profiler left on) that take time",
        contradicted_by="the baseline has as many, or they take little of what the step lost",
        evidence=_debug,
        advice=("turn anomaly detection and profilers off",),
        behind=(Bottleneck.HOST_BOUND, Bottleneck.KERNEL_BOUND),
    ),
)
