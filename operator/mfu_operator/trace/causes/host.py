"""Why the device waits for the host."""

from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.case import Case, milliseconds
from mfu_operator.trace.causes.entry import Cause, Evidence

HOST = ("idleSync", "idleAlloc", "idleHost", "idleLaunch")
MOST = 0.5
SLOWER = 1.035
"""Times the median operator: a host on which every operator is so much slower shares its cores."""

NOTICEABLE = 0.3
"""Of the growth: work of a kind that takes this much is no coincidence."""


def _share(case: Case, part: str) -> float:
    whole = case.growth(*HOST)
    return case.growth(part) / whole if whole > 0 else 0.0


def _more(case: Case, name: str) -> float:
    return (case.fact(name) or 0.0) - (case.before(name) or 0.0)


def _recompilation(case: Case) -> Evidence:
    if _more(case, "compileNs") < NOTICEABLE * case.growth(*HOST) or _more(case, "compileCalls") <= 0:
        return ()
    return (case.change("compiling per step", "compileNs"),)


def _debug(case: Case) -> Evidence:
    if case.baseline is None or _more(case, "debugCalls") < 1:
        return ()
    return (case.change("checks of a debugging aid per step", "debugCalls"),)


def _allocator(case: Case) -> Evidence:
    if _share(case, "idleAlloc") < MOST or _more(case, "allocCalls") <= 0:
        return ()
    return (
        case.change("allocation calls per step", "allocCalls"),
        f"the device waits {milliseconds(case.growth('idleAlloc'))} for them",
    )


def _synchronisation(case: Case) -> Evidence:
    if case.baseline is None:
        return (
            () if _share(case, "idleSync") < MOST else (case.change("blocking synchronisations per step", "syncCalls"),)
        )
    if _more(case, "syncCalls") < 1:
        return ()
    return (case.change("blocking synchronisations per step", "syncCalls"), case.change("time in them", "syncCallNs"))


def _launches(case: Case) -> Evidence:
    if not case.grew("kernelCalls", 1.15):
        return ()
    return (case.change("kernels launched per step", "kernelCalls"),)


def _oversubscribed(case: Case) -> Evidence:
    same = case.same("hostOps", 0.03) and case.same("kernelCalls", 0.03)
    if not same or not case.grew("hostOpMedianNs", SLOWER):
        return ()
    return (case.change("median operator on the host", "hostOpMedianNs"), "as many operators as before, each slower")


def _python(case: Case) -> Evidence:
    if case.baseline is None or _share(case, "idleHost") < MOST:
        return ()
    if not case.same("kernelCalls", 0.03) or case.grew("hostOpMedianNs", SLOWER):
        return ()
    return (
        f"host work between launches +{milliseconds(case.growth('idleHost'))} per step, as many launches as before",
    )


CAUSES = (
    Cause(
        "Recompilation",
        Bottleneck.HOST_BOUND,
        needs="time in a compiler within the steps",
        contradicted_by="no compiler range, or as much of it in the baseline",
        evidence=_recompilation,
        advice=("make shapes static or mark them dynamic, so that the compiler runs once",),
    ),
    Cause(
        "DebugInstrumentation",
        Bottleneck.HOST_BOUND,
        needs="ranges or operators of a debugging aid (anomaly detection, a profiler left on)",
        contradicted_by="the baseline has as many",
        evidence=_debug,
        advice=("turn anomaly detection and profilers off",),
    ),
    Cause(
        "Allocator",
        Bottleneck.HOST_BOUND,
        needs="more cudaMalloc or cudaFree in the step, and the device waits for them",
        contradicted_by="as many allocation calls as before",
        evidence=_allocator,
        advice=("remove empty_cache() and allocation from the loop", "use expandable segments, or a smaller peak"),
    ),
    Cause(
        "Synchronisation",
        Bottleneck.HOST_BOUND,
        needs="more blocking synchronisation calls per step",
        contradicted_by="as many as before",
        evidence=_synchronisation,
        advice=("remove .item(), .cpu() and print of tensors from the loop", "log every Nth step"),
    ),
    Cause(
        "LaunchOverhead",
        Bottleneck.HOST_BOUND,
        needs="more kernels launched per step",
        contradicted_by="as many kernels as before",
        evidence=_launches,
        advice=("restore CUDA graphs, the compiler or the fused optimizer", "make the batch larger"),
    ),
    Cause(
        "ThreadOversubscription",
        Bottleneck.HOST_BOUND,
        needs="as many operators on the host as before, all of them slower",
        contradicted_by="operators are as fast as before",
        evidence=_oversubscribed,
        advice=("restore the CPU request, limit and thread counts (OMP_NUM_THREADS, workers) of the baseline",),
    ),
    Cause(
        "PythonOverhead",
        Bottleneck.HOST_BOUND,
        needs="more host time between as many launches, without synchronisation or allocation",
        contradicted_by="operators themselves are slower",
        evidence=_python,
        advice=("look for work that was added to the loop: logging, metrics, Python hooks",),
    ),
)
