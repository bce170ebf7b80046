"""Why the device waits for the host."""

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.causes.entry import Cause, Evidence
from mfu_operator.trace.formatting import milliseconds

HOST = ("idleSync", "idleAlloc", "idleHost", "idleLaunch")
MOST = 0.5
"""Of what grew: less of it is not what made it grow."""

SLOWER = 0.75
"""Of the step's growth: a host that is slower throughout prolongs the step by no more than its own slowdown."""

LEAST_SLOWER = 0.02
"""Of the median operator: less is noise."""

GRAPH_LOST = 1.5
"""Times the launch calls for as many kernels: graphs launched them before."""

OPERATOR = 1.2
"""Times a launch call: an operator holds one and takes longer, or it is none."""

CALL_SLOWER = 1.1
"""Times a launch call: by less, it cannot be told from an operator that is slower as a whole."""

CALL_ALONE = 0.95
"""Of an operator's slowdown: where the launch call in it explains more, the rest of the host is as fast as before."""

MORE_SYNCS = 0.5
"""A step: fewer more are those of a log that is written now and then."""

LEAST_LAUNCHES = 0.03
"""Of the launches: fewer more are noise."""

LOADS = 0.1
"""Of the growth: where the host waits for files, sockets or threads so much longer, it may be loading what no range
names, and compute for that the rest of the time."""

NOTICEABLE = 0.3
"""Of the growth: work of a kind that takes this much is not a coincidence."""


def _share(case: Case, part: str) -> float:
    whole = case.growth(*HOST)
    return case.growth(part) / whole if whole > 0 else 0.0


def _recompilation(case: Case) -> Evidence:
    if case.more(facts.COMPILE_NS) < NOTICEABLE * case.growth(*HOST) or case.more(facts.COMPILE_CALLS) <= 0:
        return ()
    return (case.change("compiling per step", facts.COMPILE_NS),)


def _allocator(case: Case) -> Evidence:
    calls = case.more(facts.ALLOC_CALLS)
    if calls <= 0 or (case.baseline is not None and calls < 1):
        return ()
    if _share(case, "idleAlloc") < NOTICEABLE and case.more(facts.ALLOC_CALL_NS) < MOST * case.growth(*HOST):
        return ()
    return (
        case.change("allocation calls per step", facts.ALLOC_CALLS),
        case.change("time in them", facts.ALLOC_CALL_NS),
        f"the device waits {milliseconds(case.growth('idleAlloc'))} for them",
    )


def _synchronisation(case: Case) -> Evidence:
    if case.baseline is None:
        return (
            ()
            if _share(case, "idleSync") < MOST
            else (case.change("blocking synchronisations per step", facts.SYNC_CALLS),)
        )
    input_grown = case.growth("idleInput")
    if case.more(facts.SYNC_CALLS) < MORE_SYNCS:
        return ()
    if input_grown > case.growth(*HOST) and case.more(facts.INPUT_RANGE_NS) > MOST * input_grown:
        return ()
    return (
        case.change("blocking synchronisations per step", facts.SYNC_CALLS),
        case.change("time in them", facts.SYNC_CALL_NS),
    )


def _launches(case: Case) -> Evidence:
    now, before = case.fact(facts.KERNEL_CALLS), case.before(facts.KERNEL_CALLS)
    if now is None or not before or now / before - 1 < max(LEAST_LAUNCHES, MOST * _growth(case)):
        return ()
    return (case.change("kernels launched per step", facts.KERNEL_CALLS),)


def _launches_one_by_one(case: Case) -> Evidence:
    """As many kernels, by many more calls: a graph launched them together."""
    if not case.same(facts.KERNEL_CALLS, 0.1) or not case.grew(facts.LAUNCH_CALLS, GRAPH_LOST):
        return ()
    return (
        case.change("launch calls per step", facts.LAUNCH_CALLS),
        case.change("for as many kernels", facts.KERNEL_CALLS),
    )


def _slower_calls(case: Case) -> Evidence:
    """As many launch calls, each longer, while the rest of an operator takes as long as before."""
    now, before = _launch_ns(case.now), None if case.baseline is None else _launch_ns(case.baseline)
    if now is None or before is None or not case.same(facts.LAUNCH_CALLS, 0.03) or not case.same(facts.HOST_OPS, 0.03):
        return ()
    of_now, of_before = case.fact(facts.HOST_OP_MEDIAN_NS), case.before(facts.HOST_OP_MEDIAN_NS)
    if of_now is None or of_before is None or of_before < OPERATOR * before:
        return ()
    if now / before < CALL_SLOWER or now - before < CALL_ALONE * (of_now - of_before):
        return ()
    if case.more(facts.LAUNCH_CALL_NS) < MOST * case.growth(*HOST):
        return ()
    return (
        f"a launch call takes {now / 1e3:.3g} us, baseline {before / 1e3:.3g} us",
        case.change("launch calls per step", facts.LAUNCH_CALLS),
    )


def _launch_ns(account: StepAccount) -> float | None:
    """A launch call's mean length."""
    calls, spent = account.facts.number(facts.LAUNCH_CALLS), account.facts.number(facts.LAUNCH_CALL_NS)
    return spent / calls if calls and spent else None


def _later_starts(case: Case) -> Evidence:
    """As many launches, each started later."""
    if _share(case, "idleLaunch") < MOST or not case.same(facts.KERNEL_CALLS, 0.03):
        return ()
    if _slower_throughout(case):
        return ()
    return (
        f"from launch call to start the device waits {milliseconds(case.growth('idleLaunch'))} longer per step",
        case.change("kernels launched per step", facts.KERNEL_CALLS),
    )


def _growth(case: Case) -> float:
    """Of the baseline's step."""
    return 0.0 if case.baseline is None else case.now.mean_ns / case.baseline.mean_ns - 1


def _slower_throughout(case: Case) -> bool:
    now, before = case.fact(facts.HOST_OP_MEDIAN_NS), case.before(facts.HOST_OP_MEDIAN_NS)
    return bool(now and before) and now / before - 1 >= max(LEAST_SLOWER, SLOWER * _growth(case))  # type: ignore[operator]


def _oversubscribed(case: Case) -> Evidence:
    if not case.same(facts.HOST_OPS, 0.03) or not case.same(facts.KERNEL_CALLS, 0.03) or not _slower_throughout(case):
        return ()
    return (
        case.change("median operator on the host", facts.HOST_OP_MEDIAN_NS),
        "as many operators as before, each slower",
    )


def _python(case: Case) -> Evidence:
    if _share(case, "idleHost") < MOST or not case.same(facts.KERNEL_CALLS, 0.03):
        return ()
    if (
        _slower_throughout(case)
        or case.more(facts.HOST_BLOCKED_NS) > LOADS * case.growth(*HOST)
        or not _waits_known(case)
    ):
        return ()
    return (
        f"host work between launches +{milliseconds(case.growth('idleHost'))} per step, as many launches as before",
    )


def _waits_known(case: Case) -> bool:
    """Whether waiting for input would show: by the loader's ranges, or by the operating system's calls."""
    return case.fact(facts.INPUT_RANGE_NS) is not None or case.fact(facts.HOST_BLOCKED_NS) is not None


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
        "Allocator",
        Bottleneck.HOST_BOUND,
        needs="more cudaMalloc or cudaFree in the step, which take a good part of what the step lost",
        contradicted_by="as many allocation calls as before",
        evidence=_allocator,
        advice=("remove empty_cache() and allocation from the loop", "use expandable segments, or a smaller peak"),
    ),
    Cause(
        "Synchronisation",
        Bottleneck.HOST_BOUND,
        needs="more blocking synchronisation calls per step, after which the device waits for what was hidden",
        contradicted_by="as many as before, or the input itself takes longer",
        evidence=_synchronisation,
        advice=("remove .item(), .cpu() and print of tensors from the loop", "log every Nth step"),
        behind=(Bottleneck.HOST_BOUND, Bottleneck.INPUT_STARVED),
    ),
    Cause(
        "LaunchOverhead",
        Bottleneck.HOST_BOUND,
        needs="more kernels launched, by half of the share that the step lost; more or longer calls for as many",
        contradicted_by="as many kernels as before, by as many calls that take and wait as long",
        evidence=lambda case: (
            _launches(case) or _launches_one_by_one(case) or _slower_calls(case) or _later_starts(case)
        ),
        advice=("restore CUDA graphs, the compiler or the fused optimizer", "make the batch larger"),
    ),
    Cause(
        "ThreadOversubscription",
        Bottleneck.HOST_BOUND,
        needs="as many operators on the host as before, slower by most of the share that the step lost",
        contradicted_by="operators are as fast as before, or their slowness cannot explain the step's",
        evidence=_oversubscribed,
        advice=("restore the CPU request, limit and thread counts (OMP_NUM_THREADS, workers) of the baseline",),
    ),
    Cause(
        "PythonOverhead",
        Bottleneck.HOST_BOUND,
        needs="more host time between as many launches, without synchronisation or allocation, in a recording that "
        "would show waiting for input",
        contradicted_by="operators themselves are slower, or the host was blocked in system calls",
        evidence=_python,
        advice=("look for work that was added to the loop: logging, metrics, Python hooks",),
    ),
)
