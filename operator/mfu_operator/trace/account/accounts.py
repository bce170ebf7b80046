"""From a trace to the accounts of its devices, or of its training thread where no device activity was recorded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mfu_operator.errors import Unreadable
from mfu_operator.model import facts
from mfu_operator.model.account import ANALYSIS, PARTS, StepAccount
from mfu_operator.model.fact import Facts, Number, Observed
from mfu_operator.model.trace import NONE, DeviceOps, Ints, Trace
from mfu_operator.trace.account import accounting, blind_spots, device_facts, host_account, host_facts
from mfu_operator.trace.account.batch import batch_size
from mfu_operator.trace.account.collectives import (
    Bandwidth,
    Collectives,
    bandwidths,
    collectives,
    host_collectives,
    message_facts,
)
from mfu_operator.trace.account.host_collectives import collective_facts
from mfu_operator.trace.account.steps import FEWEST_INTERIOR, Steps, find_steps, in_counted, span
from mfu_operator.trace.account.windows.repetition import between_optimizer_steps, repeated
from mfu_operator.trace.account.windows.startup import Moment, Startup, longest_gaps, startup
from mfu_operator.trace.account.windows.uneven import left_out_ns, without_uneven
from mfu_operator.trace.columns import parts as part_numbers
from mfu_operator.trace.columns.distinct import distinct
from mfu_operator.trace.formatting import milliseconds

FEW_HIDDEN = 0.05
"""Of the device's operations: so few without a launch call are worth no warning."""

STRAY = 0.01
"""Of the busiest device's time: another device that is busy for less was not given a part of the work."""

SPREADS: Mapping[Number, tuple[int, ...]] = {
    facts.INPUT_STD_NS: (part_numbers.INPUT,),
    facts.COMMUNICATION_STD_NS: (part_numbers.COMMUNICATION,),
    facts.COMPUTE_STD_NS: (part_numbers.COMPUTE,),
    facts.COPY_STD_NS: (part_numbers.H2D, part_numbers.D2H, part_numbers.D2D, part_numbers.MEMSET),
    facts.HOST_STD_NS: (part_numbers.SYNC, part_numbers.ALLOC, part_numbers.HOST, part_numbers.LAUNCH),
}
"""The parts whose spread over the steps is told together, by the fact that tells it."""

RECORD_WITH = {
    "nsys-sqlite": "record with --trace=cuda,nvtx,osrt",
    "kineto-json": "record with torch.profiler, activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],",
}
"""By the trace's format."""

OF_NORMAL = 1.4826
"""Standard deviations of a normal distribution in its median absolute deviation (1 / Φ⁻¹(3/4))."""

DEVICE_LOST = "a GPU was used, and no device activity was recorded: where its time went is unknown"


@dataclass(frozen=True, slots=True)
class DeviceAccount:
    """One device's steps and their mean. `device` is None for an account from NVTX; parts has shape (steps, 12)."""

    device: int | None
    steps: Steps
    parts: Ints
    mean: StepAccount
    collectives: Collectives | None = None
    startup: Startup | None = None
    gaps: tuple[Moment, ...] = ()
    bandwidths: tuple[Bandwidth, ...] = ()


def accounts(trace: Trace, step_range: str | None = None) -> tuple[DeviceAccount, ...]:
    """The accounts of a trace, by device.

    Raises:
        Unreadable: NothingRecorded where there are neither operations nor step ranges, NoSuchRange.
    """
    devices = distinct(trace.ops.device)
    if len(devices):
        return _told_apart([_device_account(trace, int(device), step_range) for device in devices])
    return (_thread_account(trace, step_range),)


def _told_apart(found: Sequence[DeviceAccount]) -> tuple[DeviceAccount, ...]:
    """The accounts, with those marked whose device met nothing but stray operations: a rank's context on another's."""
    busy = [int(one.parts[:, list(part_numbers.BUSY)].sum()) for one in found]
    return tuple(_stray(one, its) if its < STRAY * max(busy) else one for one, its in zip(found, busy, strict=True))


def _stray(account: DeviceAccount, busy_ns: int) -> DeviceAccount:
    said = (
        f"device {account.device} was busy for {milliseconds(busy_ns)} in all: it is left out of the means and of the "
        "diagnosis"
    )
    mean = account.mean
    return replace(
        account, mean=replace(mean, warnings=(*mean.warnings, said), facts=mean.facts | {facts.STRAY_DEVICE: 1.0})
    )


def _device_account(trace: Trace, device: int, step_range: str | None) -> DeviceAccount:
    ops = accounting.ops_of(trace, device)
    found = find_steps(trace, step_range, _launching_process(trace, ops)) or repeated(trace, ops)
    steps = without_uneven(trace, found) if found else span(int(ops.start.min()), int(ops.end.max()))
    began = None if found else startup(trace, ops)
    result = accounting.account(trace, ops, steps)
    if not blind_spots.computes(trace):
        accounting.forget_idle(result.parts)
    counted = list(steps.counted)
    totals = device_facts.kernel_totals(trace, ops, in_counted(ops.start, steps, counted), len(counted))
    base = _mean(trace, steps, result.parts, "gpu", *warnings_of(ops))
    mean = replace(
        base,
        gpu=trace.gpus.get(device),
        communication_total_ns=float(result.communication_total[counted].mean()),
        tensor_core_ns=device_facts.tensor_core(totals),
        kernels=totals[: device_facts.MOST_KERNELS],
        facts=base.facts
        | device_facts.device_facts(trace, ops, steps, totals)
        | blind_spots.of_device(trace, ops, steps)
        | ({} if found else _of_span(began)),
    )
    gaps = longest_gaps(trace, ops, int(steps.start[0]), int(steps.end[-1]))
    taken_part = collectives(trace, ops, steps)
    mean = replace(mean, facts=mean.facts | message_facts(taken_part))
    reached = bandwidths(trace, ops, steps)
    return DeviceAccount(device, steps, result.parts, mean, taken_part, began, gaps, reached)


def _of_span(began: Startup | None) -> Observed:
    """What is known of a window that is not a step."""
    known: Observed = {facts.WHOLE_STEPS: 0.0}
    if began is None:
        return known
    return {**known, facts.STARTUP_NS: float(began.ns), facts.STARTUP_COPIES_NS: float(began.copies_ns)}


def _thread_account(trace: Trace, step_range: str | None) -> DeviceAccount:
    found = find_steps(trace, step_range) or between_optimizer_steps(trace)
    steps = None if found is None else without_uneven(trace, found)
    if steps is None and trace.device_expected and len(trace.calls):
        steps = span(int(trace.calls.start.min()), int(trace.calls.end.max()))
    if steps is None:
        raise Unreadable("NothingRecorded", f"{trace.path}: {_nothing(trace)}")
    if trace.unread is not None or trace.device_expected or blind_spots.uses_nccl(trace):
        return _lost_device(trace, steps)
    parts = host_account.account_ranges(trace, steps)
    base = _mean(trace, steps, parts, "nvtx", "no device activity was recorded: the account is of host ranges")
    taken_part = host_collectives(trace, steps)
    mean = replace(
        base,
        communication_total_ns=base.parts_ns["communication"],
        ranges_ns=host_account.range_totals(trace, steps, steps.counted),
        facts=base.facts | message_facts(taken_part),
    )
    return DeviceAccount(None, steps, parts, mean, taken_part)


def _nothing(trace: Trace) -> str:
    if trace.unread is not None:
        return f"{trace.unread}, and no step ranges; what can be read is of CUDA, ROCm and XPU devices"
    impossible = [said for said in trace.warnings if "impossible times" in said]
    if impossible:
        return f"{'; '.join(impossible)}, and nothing is left to account for; record it again"
    if trace.incomplete is not None:
        return f"{trace.incomplete}, and neither device activity nor steps are left; copy or record it again"
    return f"neither device activity nor step ranges; {RECORD_WITH[trace.format]} and mark steps"


def _lost_device(trace: Trace, steps: Steps) -> DeviceAccount:
    """All of it unknown: there were launches, and what they ran was not recorded, or cannot be read."""
    parts = np.zeros((len(steps), len(PARTS)), dtype=np.int64)
    parts[:, part_numbers.UNKNOWN] = steps.end - steps.start
    base = _mean(trace, steps, parts, "gpu", DEVICE_LOST if trace.unread is None else f"{trace.unread} are left out")
    lost = 1.0 if trace.unread is None else trace.unread
    return DeviceAccount(None, steps, parts, replace(base, facts=base.facts | {facts.DEVICE_LOST: lost}))


def _mean(trace: Trace, steps: Steps, parts: Ints, source: str, *warnings: str) -> StepAccount:
    counted, alike = list(steps.counted), list(steps.alike)
    spread = _spread if alike == counted else _robust_spread
    lengths = steps.end - steps.start
    exchanged = parts[:, part_numbers.COMMUNICATION]
    known = parts[:, part_numbers.INPUT] + host_facts.compiling(trace, steps)
    return StepAccount(
        count=len(counted),
        mean_ns=float(lengths[counted].mean()),
        std_ns=spread(lengths[alike]),
        parts_ns=dict(zip(PARTS, accounting.mean(parts, counted), strict=True)),
        account_from=source,
        warnings=(*trace.warnings, *steps.warnings, *warnings),
        facts=Facts.of(
            {
                facts.ANALYSIS: float(ANALYSIS),
                facts.REST_STD_NS: _rest_spread(lengths[alike], known[alike], spread),
                facts.OWN_STD_NS: _rest_spread(lengths[alike] - exchanged[alike], known[alike], spread),
                **{fact: spread(parts[np.ix_(alike, of)].sum(axis=1)) for fact, of in SPREADS.items()},
                **host_facts.input_facts(trace, steps, counted),
                **({} if alike == counted else {facts.SPREAD_STEPS: float(len(alike))}),
                **({facts.LEFT_OUT_NS: left_out_ns(steps)} if steps.left_out else {}),
                **blind_spots.of_trace(trace, steps),
                **host_facts.blocked_facts(trace, steps, counted),
                **collective_facts(trace, steps, counted),
                **_conditions(trace, steps),
            }
        ),
    )


def _rest_spread(lengths: Ints, known: Ints, spread: Callable[[Ints], float]) -> float:
    """The spread of what is neither input nor compiling, over the steps in which these do not stand out.

    In a step that waits long, a device that its host runs ahead of works off what was queued for the next ones.
    """
    usual = ~host_facts.stands_out(known)
    rest = lengths - known
    return spread(rest[usual] if usual.sum() >= FEWEST_INTERIOR else rest)


def _spread(lengths: Ints) -> float:
    """Standard deviation in ns (n − 1); 0 with one step."""
    return float(lengths.std(ddof=1)) if len(lengths) > 1 else 0.0


def _robust_spread(lengths: Ints) -> float:
    """The standard deviation of a normal distribution with this median absolute deviation: the first or the last of few
    steps is often another."""
    return OF_NORMAL * float(np.median(np.abs(lengths - np.median(lengths))))


def warnings_of(ops: DeviceOps) -> tuple[str, ...]:
    """What the device's records cannot show."""
    said = []
    hidden = int((ops.launch == NONE).sum())
    if hidden > FEW_HIDDEN * len(ops):
        said.append(
            f"{hidden} of {len(ops)} device operations have no launch call: the idle time before them is unknown"
        )
    if ops.graph.any():
        said.append("CUDA graphs issue kernels without launch calls; record with --cuda-graph-trace=node to see inside")
    return tuple(said)


def _conditions(trace: Trace, steps: Steps) -> Observed:
    """What must be equal for two accounts to be compared, as far as the trace tells."""
    size = batch_size(trace, steps)
    observed = dict(trace.settings)
    if trace.producer is not None:
        observed[facts.PRODUCER] = trace.producer.split()[0]
    if trace.world_size is not None:
        observed[facts.WORLD_SIZE] = float(trace.world_size)
    if size is not None:
        observed[facts.BATCH_SIZE] = float(size)
    return observed


def _launching_process(trace: Trace, ops: DeviceOps) -> int | None:
    launch = ops.launch[ops.launch != NONE]
    if not len(launch):
        return None
    processes, counts = np.unique(trace.processes[trace.calls.thread[launch]], return_counts=True)
    return int(processes[np.argmax(counts)])
