"""From a trace to the accounts of its devices, or of its training thread where no device activity was recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mfu_operator.errors import Unreadable
from mfu_operator.model.account import ANALYSIS, PARTS, StepAccount
from mfu_operator.model.trace import NONE, DeviceOps, Ints, Trace
from mfu_operator.trace import accounting, answer, blind_spots, device_facts, host_account, host_facts
from mfu_operator.trace.batch import batch_size
from mfu_operator.trace.case import milliseconds
from mfu_operator.trace.distinct import distinct
from mfu_operator.trace.ranks import Collectives, collectives
from mfu_operator.trace.repetition import repeated
from mfu_operator.trace.steps import FEWEST_INTERIOR, Steps, find_steps, span

FEW_HIDDEN = 0.05
"""Of the device's operations: so few without a launch call are worth no warning."""

STRAY = 0.01
"""Of the busiest device's time: another device that is busy for less was not given a part of the work."""

SPREADS: Mapping[str, tuple[int, ...]] = {
    "input": (accounting.INPUT,),
    "communication": (accounting.COMMUNICATION,),
    "compute": (accounting.COMPUTE,),
    "copy": (accounting.H2D, accounting.D2H, accounting.D2D, accounting.MEMSET),
    "host": (accounting.SYNC, accounting.ALLOC, accounting.HOST, accounting.LAUNCH),
}
"""The parts whose spread over the steps is told together, under a fact's name."""

RECORD_WITH = {
    "nsys-sqlite": "record with --trace=cuda,nvtx,osrt",
    "kineto-json": "record with torch.profiler, activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],",
}
"""By the trace's format."""

DEVICE_LOST = "a GPU was used, and no device activity was recorded: where its time went is unknown"


@dataclass(frozen=True, slots=True)
class DeviceAccount:
    """One device's steps and their mean. `device` is None for an account from NVTX; parts has shape (steps, 12)."""

    device: int | None
    steps: Steps
    parts: Ints
    mean: StepAccount
    collectives: Collectives | None = None


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
    busy = [int(one.parts[:, list(accounting.BUSY)].sum()) for one in found]
    return tuple(_stray(one, its) if its < STRAY * max(busy) else one for one, its in zip(found, busy, strict=True))


def _stray(account: DeviceAccount, busy_ns: int) -> DeviceAccount:
    said = (
        f"device {account.device} was busy for {milliseconds(busy_ns)} in all: it is left out of the means and of the "
        "diagnosis"
    )
    mean = account.mean
    return replace(
        account, mean=replace(mean, warnings=(*mean.warnings, said), facts={**mean.facts, answer.STRAY_DEVICE: 1.0})
    )


def _device_account(trace: Trace, device: int, step_range: str | None) -> DeviceAccount:
    ops = accounting.ops_of(trace, device)
    found = find_steps(trace, step_range, _launching_process(trace, ops)) or repeated(trace, ops)
    steps = found or span(int(ops.start.min()), int(ops.end.max()))
    result = accounting.account(trace, ops, steps)
    if not blind_spots.computes(trace):
        accounting.forget_idle(result.parts)
    counted = list(steps.counted)
    totals = device_facts.kernel_totals(trace, ops, device_facts.in_counted(ops.start, steps, counted), len(counted))
    base = _mean(trace, steps, result.parts, "gpu", *warnings_of(ops))
    mean = replace(
        base,
        gpu=trace.gpus.get(device),
        communication_total_ns=float(result.communication_total[counted].mean()),
        tensor_core_ns=device_facts.tensor_core(totals),
        kernels=totals[: device_facts.MOST_KERNELS],
        facts={
            **base.facts,
            **device_facts.device_facts(trace, ops, steps, totals),
            **blind_spots.of_device(trace, ops, steps),
            **({} if found else {"wholeSteps": 0.0}),
        },
    )
    return DeviceAccount(device, steps, result.parts, mean, collectives(trace, ops, steps))


def _thread_account(trace: Trace, step_range: str | None) -> DeviceAccount:
    steps = find_steps(trace, step_range)
    if steps is None and trace.device_expected and len(trace.calls):
        steps = span(int(trace.calls.start.min()), int(trace.calls.end.max()))
    if steps is None:
        raise Unreadable("NothingRecorded", f"{trace.path}: {_nothing(trace)}")
    if trace.unread is not None or trace.device_expected or blind_spots.uses_nccl(trace):
        return _lost_device(trace, steps)
    parts = host_account.account_ranges(trace, steps)
    base = _mean(trace, steps, parts, "nvtx", "no device activity was recorded: the account is of host ranges")
    mean = replace(
        base,
        communication_total_ns=base.parts_ns["communication"],
        ranges_ns=host_account.range_totals(trace, steps, steps.counted),
    )
    return DeviceAccount(None, steps, parts, mean)


def _nothing(trace: Trace) -> str:
    if trace.unread is not None:
        return f"{trace.unread}, and no step ranges; what can be read is of CUDA, ROCm and XPU devices"
    return f"neither device activity nor step ranges; {RECORD_WITH[trace.format]} and mark steps"


def _lost_device(trace: Trace, steps: Steps) -> DeviceAccount:
    """All of it unknown: there were launches, and what they ran was not recorded, or cannot be read."""
    parts = np.zeros((len(steps), len(PARTS)), dtype=np.int64)
    parts[:, accounting.UNKNOWN] = steps.end - steps.start
    base = _mean(trace, steps, parts, "gpu", DEVICE_LOST if trace.unread is None else f"{trace.unread} are left out")
    lost = 1.0 if trace.unread is None else trace.unread
    return DeviceAccount(None, steps, parts, replace(base, facts={**base.facts, "deviceLost": lost}))


def _mean(trace: Trace, steps: Steps, parts: Ints, source: str, *warnings: str) -> StepAccount:
    counted = list(steps.counted)
    lengths = (steps.end - steps.start)[counted]
    return StepAccount(
        count=len(counted),
        mean_ns=float(lengths.mean()),
        std_ns=_spread(lengths),
        parts_ns=dict(zip(PARTS, accounting.mean(parts, counted), strict=True)),
        account_from=source,
        warnings=(*trace.warnings, *steps.warnings, *warnings),
        facts={
            "analysis": float(ANALYSIS),
            "restStdNs": _rest_spread(
                lengths, parts[counted, accounting.INPUT] + host_facts.compiling(trace, steps)[counted]
            ),
            **{f"{group}StdNs": _spread(parts[np.ix_(counted, of)].sum(axis=1)) for group, of in SPREADS.items()},
            **host_facts.input_facts(trace, steps, counted),
            **blind_spots.of_trace(trace, steps),
            **host_facts.blocked_facts(trace, steps, counted),
            **host_facts.collective_facts(trace, steps, counted),
            **_conditions(trace, steps),
        },
    )


def _rest_spread(lengths: Ints, known: Ints) -> float:
    """The spread of what is neither input nor compiling, over the steps in which these do not stand out.

    In a step that waits long, a device that its host runs ahead of works off what was queued for the next ones.
    """
    usual = ~host_facts.stands_out(known)
    rest = lengths - known
    return _spread(rest[usual] if usual.sum() >= FEWEST_INTERIOR else rest)


def _spread(lengths: Ints) -> float:
    """Standard deviation in ns (n − 1); 0 with one step."""
    return float(lengths.std(ddof=1)) if len(lengths) > 1 else 0.0


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


def _conditions(trace: Trace, steps: Steps) -> dict[str, float | str]:
    """What must be equal for two accounts to be compared, as far as the trace tells."""
    size = batch_size(trace, steps)
    batch = {} if size is None else {"batchSize": float(size)}
    world = {} if trace.world_size is None else {"worldSize": float(trace.world_size)}
    producer = {} if trace.producer is None else {"producer": trace.producer.split()[0]}
    return {**trace.settings, **producer, **world, **batch}


def _launching_process(trace: Trace, ops: DeviceOps) -> int | None:
    launch = ops.launch[ops.launch != NONE]
    if not len(launch):
        return None
    processes, counts = np.unique(trace.processes[trace.calls.thread[launch]], return_counts=True)
    return int(processes[np.argmax(counts)])
