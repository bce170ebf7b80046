"""Files → Answer. The one door to trace analysis."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from mfu_operator.errors import Unreadable
from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.diagnosis import Diagnosis
from mfu_operator.model.trace import Trace
from mfu_operator.trace import answer, formats, ranks
from mfu_operator.trace.accounts import DeviceAccount, accounts
from mfu_operator.trace.diagnose import diagnose
from mfu_operator.trace.difference import difference
from mfu_operator.trace.formats import TraceFile
from mfu_operator.trace.limits import MOST_EVENTS
from mfu_operator.trace.merge import merged


@dataclass(frozen=True, slots=True)
class Read:
    """One trace: what its file says of itself, without its columns, and the accounts of its devices."""

    row: answer.TraceRow
    devices: tuple[DeviceAccount, ...]

    @property
    def counted(self) -> tuple[DeviceAccount, ...]:
        """The devices that means are over."""
        return tuple(one for one in self.devices if answer.STRAY_DEVICE not in one.mean.facts)


def analyze(traces: Sequence[Path], baseline: Sequence[Path] = (), step_range: str | None = None) -> answer.Answer:
    """Everything that is known of the traces, and of their difference from the baseline's.

    Args:
        traces: files or folders, one file per rank.
        baseline: the same of a run to compare with.
        step_range: the name of the step ranges, where it is not a usual one.

    Raises:
        Unreadable: the message names the file, what is wrong and what to do.
    """
    before = read_all(baseline, step_range) if baseline else ()
    return answer_of(read_all(traces, step_range), before)


def answer_of(reads: Sequence[Read], baseline: Sequence[Read] = ()) -> answer.Answer:
    """The answer from traces that are read already."""
    now = mean_account(reads)
    before = mean_account(baseline) if baseline else None
    compared = compare_ranks(reads)
    return answer.Answer(
        traces=tuple(one.row for one in reads),
        devices=tuple(_device_row(index, device) for index, one in enumerate(reads) for device in one.devices),
        diagnosis=_diagnosis_row(diagnose(now, before)),
        difference=msgspec.UNSET if before is None else difference(now, before),
        ranks=msgspec.UNSET if compared is None else compared,
    )


def profile(traces: Sequence[Path], step_range: str | None = None) -> StepAccount:
    """The mean account over all devices of the traces: what a profiling Job hands back. Raises Unreadable."""
    return mean_account(read_all(traces, step_range))


def read_all(paths: Sequence[Path], step_range: str | None) -> tuple[Read, ...]:
    """The accounts of every trace. Raises Unreadable."""
    return read_files(formats.expand(paths), step_range)


def read_files(files: Sequence[TraceFile], step_range: str | None, most_events: int = MOST_EVENTS) -> tuple[Read, ...]:
    """The accounts of every file, one in memory at a time; one of more events is refused. Raises Unreadable."""
    return tuple(_read(formats.read(file, most_events), step_range) for file in files)


def mean_account(reads: Sequence[Read]) -> StepAccount:
    """The mean over all devices. Raises Unreadable (NoTrace) where there are none."""
    every = [device.mean for one in reads for device in one.counted]
    if not every:
        raise Unreadable("NoTrace", "no trace was given; name a file or a folder")
    mean = merged(every)
    compared = compare_ranks(reads)
    return mean if compared is None else replace(mean, facts={**mean.facts, **_rank_facts(compared)})


def compare_ranks(reads: Sequence[Read]) -> answer.Ranks | None:
    """Who waits for whom, where there are several ranks that share collectives."""
    known = [(one.row.rank, device) for one in reads for device in one.counted if device.collectives is not None]
    numbers = [rank for rank, _ in known if rank is not None]
    names = numbers if len(set(numbers)) == len(known) else list(range(len(known)))
    shared = [device.collectives for _, device in known if device.collectives is not None]
    return ranks.compare([device.mean for _, device in known], shared, names)


def _rank_facts(compared: answer.Ranks) -> dict[str, float | str]:
    if compared.slowest is None or compared.clock == "unaligned":
        return {}
    facts: dict[str, float | str] = {
        "rankSkewNs": compared.skew_ns,
        "rankWaitNs": sum(compared.wait_ns.values()) / len(compared.wait_ns),
        "slowestRank": float(compared.slowest),
    }
    return facts if compared.slow_in is None else {**facts, "slowestIn": compared.slow_in}


def _read(trace: Trace, step_range: str | None) -> Read:
    devices = accounts(trace, step_range)
    said = dict.fromkeys(warning for device in devices for warning in device.mean.warnings)
    return Read(_trace_row(trace, tuple(said)), devices)


def _trace_row(trace: Trace, warnings: tuple[str, ...]) -> answer.TraceRow:
    return answer.TraceRow(
        path=trace.path,
        format=trace.format,
        producer=trace.producer,
        rank=trace.rank,
        world_size=trace.world_size,
        warnings=warnings,
    )


def _device_row(trace: int, account: DeviceAccount) -> answer.DeviceRow:
    steps = account.steps
    interior = steps.interior
    rows = tuple(
        answer.StepRow(
            name=steps.names[index],
            start_ns=int(steps.start[index]),
            end_ns=int(steps.end[index]),
            interior=interior[index],
            account_ns={part: int(value) for part, value in zip(PARTS, account.parts[index], strict=True)},
        )
        for index in range(len(steps))
    )
    return answer.DeviceRow(
        trace=trace,
        device=account.device,
        gpu=account.mean.gpu,
        account_from=account.mean.account_from,
        steps=rows,
        step=mean_row(account.mean),
    )


def mean_row(account: StepAccount) -> answer.MeanStep:
    """An account in the contract's spelling."""
    tensor = account.tensor_core_ns
    return answer.MeanStep(
        count=account.count,
        mean_ns=account.mean_ns,
        std_ns=account.std_ns,
        account_ns={part: account.parts_ns.get(part, 0.0) for part in PARTS},
        communication_total_ns=account.communication_total_ns,
        tensor_core=answer.TensorCore(
            eligible_ns=tensor.get("eligible", 0.0),
            used_ns=tensor.get("used", 0.0),
            unknown_ns=tensor.get("unknown", 0.0),
        ),
        kernels=tuple(
            answer.KernelRow(name=one.name, category=one.category, calls=one.calls, total_ns=one.total_ns)
            for one in account.kernels
        ),
        ranges_ns=account.ranges_ns,
        facts=account.facts,
    )


def _diagnosis_row(found: Diagnosis) -> answer.DiagnosisRow:
    return answer.DiagnosisRow(
        bottleneck=None if found.bottleneck is None else found.bottleneck.value,
        cause=found.cause,
        confidence=found.confidence,
        evidence=found.evidence,
        advice=found.advice,
        runbook=found.runbook,
    )
