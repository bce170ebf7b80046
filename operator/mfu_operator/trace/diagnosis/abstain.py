"""When nothing, or less, may be said: what a recording lacks, why that matters, and how to record instead."""

from dataclasses import dataclass

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.diagnosis import Bottleneck

RECORD = "nsys profile --trace=cuda,nvtx,osrt --sample=none --cpuctxsw=none"
AFTER_WARM_UP = f"{RECORD} --delay=60 --duration=30, or with torch.profiler schedule(wait=1, warmup=3, active=7)"

WITH_PRIVILEGES = (
    "give the profiled process the privilege to read GPU activity (CAP_SYS_ADMIN, or "
    f"NVreg_RestrictProfilingToAdminUsers=0), then: {RECORD}; on drivers of CUDA 13: --trace=cuda-sw,nvtx,osrt; with "
    "torch.profiler: activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
)

MOST_HIDDEN = 1 / 3
"""Of the step: with more of it inside whole graphs, what the kernels are is not known."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no verdict, and what to record so that there is one."""

    why: str
    advice: str


def refusal(now: StepAccount, baseline: StepAccount | None) -> Refusal | None:
    """What forbids any verdict on these accounts; None where nothing does."""
    accounts = [("the trace", now)] if baseline is None else [("the trace", now), ("the baseline", baseline)]
    found = (_of_one(said, account) or (_of_pair(said, account) if baseline else None) for said, account in accounts)
    return next((one for one in found if one is not None), None)


def _of_one(said: str, account: StepAccount) -> Refusal | None:
    if account.facts.get(facts.INCOMPLETE):
        why = account.facts.word(facts.INCOMPLETE) or "events were dropped"
        return Refusal(f"{said} is incomplete: {why}", f"record again, and keep every event: {RECORD} --duration=30")
    lost = account.facts.get(facts.DEVICE_LOST)
    if isinstance(lost, str):
        return Refusal(f"{said} holds {lost}", "record on a device of CUDA, ROCm or XPU: only those can be read")
    if lost:
        return Refusal(f"{said} holds launches or collectives of a GPU and no device activity", WITH_PRIVILEGES)
    if account.facts.number(facts.KERNELS_LOST):
        return Refusal(f"{said} holds copies and no kernel: what the device computed was not recorded", WITH_PRIVILEGES)
    return None


def _of_pair(said: str, account: StepAccount) -> Refusal | None:
    if account.facts.number(facts.WHOLE_STEPS) == 0:
        return Refusal(
            f"{said} marks no steps and none repeat beyond doubt: how long a step takes is not known",
            f"mark each step with an NVTX range named step, and record at least five: {AFTER_WARM_UP}",
        )
    if account.count < 2 and facts.SPREAD_STEPS not in account.facts:
        return Refusal(
            f"{said} holds one step only, which carries what belongs to its neighbours",
            f"record at least five whole steps: {AFTER_WARM_UP}",
        )
    return None


def withdrawn(bottleneck: Bottleneck | None, now: StepAccount, baseline: StepAccount | None) -> Refusal | None:
    """Why this bottleneck, though its part is the largest, may not be named; None where it may."""
    for account in (now, baseline):
        if account is None:
            continue
        if account.facts.number(facts.FIRST_ITERATION) and bottleneck in (
            Bottleneck.HOST_BOUND,
            Bottleneck.INPUT_STARVED,
        ):
            return Refusal(
                "the steps include the run's first iteration, where allocation, compilation and starting the loader's "
                "workers cost time that later steps do not lose",
                f"record later steps: {AFTER_WARM_UP}",
            )
        hidden = account.facts.number(facts.WHOLE_GRAPH_NS) or 0.0
        if hidden > MOST_HIDDEN * account.mean_ns and bottleneck in HIDDEN_BY_GRAPHS:
            return Refusal(
                f"{hidden / account.mean_ns:.0%} of the step are CUDA graphs recorded whole: which kernels, "
                "collectives and copies run in them is not known",
                f"record again with {RECORD} --cuda-graph-trace=node",
            )
    return None


SLOWED_BY_THE_FIRST = (Bottleneck.HOST_BOUND, Bottleneck.INPUT_STARVED)
HIDDEN_BY_GRAPHS = (Bottleneck.KERNEL_BOUND, Bottleneck.COMMS_BOUND, Bottleneck.COPY_BOUND)
