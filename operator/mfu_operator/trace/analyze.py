"""Files → Answer. The one door to trace analysis."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from mfu_operator.errors import Unreadable
from mfu_operator.model import facts
from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.diagnosis import Diagnosis
from mfu_operator.model.fact import Fact, Observed
from mfu_operator.model.trace import Trace
from mfu_operator.trace import answer
from mfu_operator.trace.account import ranks
from mfu_operator.trace.account.accounts import DeviceAccount, accounts
from mfu_operator.trace.account.merge import merged
from mfu_operator.trace.account.windows.startup import MOST_GAPS
from mfu_operator.trace.columns.limits import MOST_EVENTS
from mfu_operator.trace.diagnosis.abstain import refusal
from mfu_operator.trace.diagnosis.diagnose import diagnose
from mfu_operator.trace.diagnosis.difference import difference
from mfu_operator.trace.diagnosis.opportunities import opportunities
from mfu_operator.trace.read import formats
from mfu_operator.trace.read.formats import TraceFile

MOST_RANKS = 1 << 20
"""Of a job: a trace that claims more is not believed."""


@dataclass(frozen=True, slots=True)
class Read:
    """One trace: what its file says of itself, without its columns, and the accounts of its devices."""

    row: answer.TraceRow
    devices: tuple[DeviceAccount, ...]

    @property
    def counted(self) -> tuple[DeviceAccount, ...]:
        """The devices that means are over."""
        return tuple(one for one in self.devices if facts.STRAY_DEVICE not in one.mean.facts)


def analyze(traces: Sequence[Path], baseline: Sequence[Path] = (), step_range: str | None = None) -> answer.Answer:
    """Everything that is known of the traces, and of their difference from the baseline's.

    Args:
        traces: files or folders, one file per rank.
        baseline: the same of a run to compare with.
        step_range: the name of the step ranges, where it is not a usual one.

    Raises:
        Unreadable: the message names the file, what is wrong and what to do.
    """
    now, unread = read_any(formats.expand(traces), step_range)
    before, unread_before = read_any(formats.expand(baseline), step_range) if baseline else ((), ())
    return answer_of(now, before, (*unread, *unread_before))


def answer_of(
    reads: Sequence[Read], baseline: Sequence[Read] = (), unreadable: Sequence[answer.UnreadableFile] = ()
) -> answer.Answer:
    """The answer from traces that are read already, with the files that could not be."""
    now = mean_account(reads, len(unreadable))
    before = mean_account(baseline) if baseline else None
    compared = compare_ranks(reads)
    every = [device for one in reads for device in one.devices]
    return answer.Answer(
        traces=tuple(one.row for one in reads),
        devices=tuple(_device_row(index, device) for index, one in enumerate(reads) for device in one.devices),
        diagnosis=_diagnosis_row(diagnose(now, before)),
        difference=msgspec.UNSET if before is None else difference(now, before),
        ranks=msgspec.UNSET if compared is None else compared,
        unreadable=tuple(unreadable) or msgspec.UNSET,
        opportunities=_opportunity_rows(now) if before is None else msgspec.UNSET,
        startup=_startup_row(every),
        longest_gaps=_gap_rows(every),
    )


def profile(traces: Sequence[Path], step_range: str | None = None) -> StepAccount:
    """The mean account over all devices of the traces: what a profiling Job hands back. Raises Unreadable."""
    reads, unread = read_any(formats.expand(traces), step_range)
    return mean_account(reads, len(unread))


def read_all(paths: Sequence[Path], step_range: str | None) -> tuple[Read, ...]:
    """The accounts of every trace. Raises Unreadable."""
    return read_any(formats.expand(paths), step_range)[0]


def read_any(
    files: Sequence[TraceFile], step_range: str | None, most_events: int = MOST_EVENTS
) -> tuple[tuple[Read, ...], tuple[answer.UnreadableFile, ...]]:
    """The accounts of every file, one in memory at a time, and which of a folder's could not be read.

    Raises:
        Unreadable: for one that was named itself, or where none can be read; also for one of more events.
    """
    reads: list[Read] = []
    refused: list[Unreadable] = []
    unreadable: list[answer.UnreadableFile] = []
    for file in files:
        try:
            reads.append(_read(formats.read(file, most_events), step_range))
        except Unreadable as error:
            if not file.listed:
                raise
            refused.append(error)
            because = error.message.removeprefix(f"{file.shown}: ")
            unreadable.append(answer.UnreadableFile(path=str(file.shown), because=because))
    if refused and not reads:
        raise refused[0]
    return tuple(reads), tuple(unreadable)


def mean_account(reads: Sequence[Read], unread: int = 0) -> StepAccount:
    """The mean over all devices, with so many files more that could not be read.

    Raises:
        Unreadable: NoTrace, where there are none.
    """
    every = [device.mean for one in reads for device in one.counted]
    if not every:
        raise Unreadable("NoTrace", "no trace was given; name a file or a folder")
    mean = merged(_of_steps(every))
    compared = compare_ranks(reads)
    observed = {**_recorded_ranks(reads), **({} if compared is None else _rank_facts(compared))}
    if unread:
        observed[facts.FILES_UNREAD] = float(unread)
    return replace(mean, facts=mean.facts | observed)


def _of_steps(every: Sequence[StepAccount]) -> Sequence[StepAccount]:
    """Those of steps, where any is: a recorded span is not a step, and its mean with steps is nothing."""
    known = [one for one in every if one.facts.number(facts.WHOLE_STEPS) != 0]
    if not known or len(known) == len(every):
        return every
    said = f"{len(every) - len(known)} of {len(every)} devices have no steps: the mean is over the others"
    return [replace(one, warnings=(*one.warnings, said)) for one in known]


def _recorded_ranks(reads: Sequence[Read]) -> dict[Fact, float | str]:
    """How many ranks of the job were given, and which were not."""
    given = [one.row.rank for one in reads for _ in one.counted]
    worlds = {one.row.world_size for one in reads if one.row.world_size is not None}
    known = {rank for rank in given if rank is not None}
    observed: dict[Fact, float | str] = {facts.RANKS_RECORDED: float(len(known) if None not in given else len(given))}
    if (
        len(worlds) == 1
        and None not in given
        and (missing := sorted(set(range(min(next(iter(worlds)), MOST_RANKS))) - known))
    ):
        observed[facts.RANKS_MISSING] = "rank " + numbers_in_words(missing)
    return observed


def numbers_in_words(numbers: Sequence[int]) -> str:
    """Ascending numbers with runs as such: "0, 2-5, 9"."""
    runs: list[list[int]] = []
    for one in numbers:
        if runs and one == runs[-1][-1] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def compare_ranks(reads: Sequence[Read]) -> answer.Ranks | None:
    """Who waits for whom, where there are several ranks that share collectives."""
    known = [
        (one.row.rank, device.mean, device.collectives)
        for one in reads
        for device in one.counted
        if device.collectives is not None
    ]
    numbers = [rank for rank, _, _ in known if rank is not None]
    names = numbers if len(set(numbers)) == len(known) else list(range(len(known)))
    return ranks.compare([mean for _, mean, _ in known], [shared for _, _, shared in known], names)


def _rank_facts(compared: answer.Ranks) -> Observed:
    """Without the rank's name where the ends of collectives do not confirm that they are the same: the waits are then
    at most these, which is what a baseline is asked."""
    if compared.slowest is None:
        return {}
    observed: Observed = {
        facts.RANK_SKEW_NS: compared.skew_ns,
        facts.RANK_WAIT_NS: sum(compared.wait_ns.values()) / len(compared.wait_ns),
    }
    if compared.clock == "unaligned" and compared.compared == "collectives":
        return observed
    named: Observed = {**observed, facts.SLOWEST_RANK: float(compared.slowest)}
    if compared.in_turns:
        named = {**named, facts.RANKS_IN_TURNS: 1.0}
    return named if compared.slow_in is None else {**named, facts.SLOWEST_IN: compared.slow_in}


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
            left_out=index in steps.left_out,
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
        collectives=_collective_rows(account) or msgspec.UNSET,
    )


def _collective_rows(account: DeviceAccount) -> tuple[answer.CollectiveRow, ...]:
    return tuple(
        answer.CollectiveRow(
            kind=one.kind,
            calls=one.calls,
            bytes=one.size,
            total_ns=one.spent_ns,
            algorithm_bytes_per_second=one.algorithm,
            bus_bytes_per_second=one.bus,
        )
        for one in account.bandwidths
    )


def _opportunity_rows(now: StepAccount) -> tuple[answer.OpportunityRow, ...]:
    """None of an account that forbids any verdict."""
    if refusal(now, None) is not None:
        return ()
    return tuple(
        answer.OpportunityRow(
            cause=one.cause,
            bottleneck=one.bottleneck.value,
            ms=one.ns / 1e6,
            share=one.share,
            evidence=one.evidence,
            remedy=one.remedy,
        )
        for one in opportunities(now)
    )


def _startup_row(devices: Sequence[DeviceAccount]) -> answer.StartupRow | msgspec.UnsetType:
    """That of the device which took longest to begin."""
    began = [(one.startup.ns, index, one.startup) for index, one in enumerate(devices) if one.startup is not None]
    if not began:
        return msgspec.UNSET
    ns, index, found = max(began, key=lambda one: one[0])
    calls = tuple(answer.CallRow(name=str(one.name), ms=one.ns / 1e6, at_ns=one.at_ns) for one in found.calls)
    return answer.StartupRow(ms=ns / 1e6, calls=calls, device=index)


def _gap_rows(devices: Sequence[DeviceAccount]) -> tuple[answer.GapRow, ...] | msgspec.UnsetType:
    """The longest of all devices that count."""
    gaps = [
        answer.GapRow(ms=gap.ns / 1e6, at_ns=gap.at_ns, call=gap.name, device=index)
        for index, one in enumerate(devices)
        if facts.STRAY_DEVICE not in one.mean.facts
        for gap in one.gaps
    ]
    return tuple(sorted(gaps, key=lambda one: -one.ms)[:MOST_GAPS]) if gaps else msgspec.UNSET


def mean_row(account: StepAccount) -> answer.MeanStep:
    """An account in the contract's spelling."""
    tensor = account.tensor_core_ns
    return answer.MeanStep(
        count=account.count,
        mean_ns=account.mean_ns,
        std_ns=account.std_ns,
        account_ns={part: account.parts_ns.get(part, 0.0) for part in PARTS},
        communication_total_ns=account.communication_total_ns,
        overlap_efficiency=_overlap(account),
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
        facts=account.facts.named,
    )


def _overlap(account: StepAccount) -> float | msgspec.UnsetType:
    total = account.communication_total_ns
    if total <= 0 or account.account_from == "nvtx":
        return msgspec.UNSET
    return 1.0 - min(account.parts_ns.get("communication", 0.0) / total, 1.0)


def _diagnosis_row(found: Diagnosis) -> answer.DiagnosisRow:
    return answer.DiagnosisRow(
        bottleneck=None if found.bottleneck is None else found.bottleneck.value,
        cause=found.cause,
        confidence=found.confidence,
        evidence=found.evidence,
        advice=found.advice,
        runbook=found.runbook,
    )
