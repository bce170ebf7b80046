"""What was left on that only watches: it costs wherever it looks."""

from mfu_operator.model import facts
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.causes.entry import Cause, Evidence

NOTICEABLE = 0.3
"""Of the step's growth: checks that take this much are not a coincidence."""

SEVERAL = 4
"""A step: fewer checks are a program's own."""

MOST = 0.5
"""Of the new waits: as many checks bring most of them."""


def _debug(case: Case) -> Evidence:
    if case.baseline is None or case.more(facts.DEBUG_CALLS) < 1:
        return ()
    takes_time = case.more(facts.DEBUG_NS) >= NOTICEABLE * (case.now.mean_ns - case.baseline.mean_ns)
    if not takes_time and not _waited_for(case):
        return ()
    waits = (case.change("blocking synchronisations per step", facts.SYNC_CALLS),) if _waited_for(case) else ()
    return (
        case.change("checks of a debugging aid per step", facts.DEBUG_CALLS),
        case.change("time in them", facts.DEBUG_NS),
        *waits,
    )


def _waited_for(case: Case) -> bool:
    """Anomaly detection looks at every gradient and waits each time for the device's answer."""
    waits = case.more(facts.SYNC_CALLS)
    return waits >= SEVERAL and case.more(facts.DEBUG_CALLS) >= MOST * waits


CAUSES = (
    Cause(
        "DebugInstrumentation",
        Bottleneck.HOST_BOUND,
        needs="ranges, operators or kernels of a debugging aid (anomaly detection, a profiler left on) that take time, "
        "or after each of which the host waits for the device",
        contradicted_by="the baseline has as many, or they take little of what the step lost and bring no waits",
        evidence=_debug,
        advice=("turn anomaly detection and profilers off",),
        behind=(Bottleneck.HOST_BOUND, Bottleneck.KERNEL_BOUND),
    ),
)
