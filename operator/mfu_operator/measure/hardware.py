"""When the GPUs of a baseline are looked at: in every sweep with a loss, now and then without one, once before it."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mfu_operator.errors import MfuError
from mfu_operator.measure.hardware_record import Look
from mfu_operator.measure.missing_readings import absence
from mfu_operator.measure.monitored_job import MonitoredJob, workloads
from mfu_operator.measure.sweep_round import SweepRound
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.series import HardwareReading
from mfu_operator.ports import Metrics

log = logging.getLogger(__name__)

_USUAL_EVERY = 20
"""What hardware usually reads is looked at in every twentieth sweep, of a twentieth of the baselines that hold theirs:
each ten minutes, and ten thousand are one query more a sweep."""

_ONSET_UNCERTAINTY_S = 120.0
"""A fault begins with its loss, and the loss gathers evidence a minute or two later: what was read until shortly before
the onset is usual, and what was read since may be the fault."""

_BEFORE_LOSS_S = 600.0
_MOST_LOOKS_BACK = 2
"""Of a loss whose beginning this process did not see, the hardware of ten minutes before it is asked for: of losses
that began within the same ten minutes together, and of two such spans a sweep."""


def look_at_hardware(source: Metrics, swept: SweepRound) -> None:
    """Look at the GPUs of those of a source's baselines whose turn it is. Without an answer nothing changes."""
    if not source.measures_hardware:
        for one in swept.current:
            one.note_hardware(replace(one.hardware, complete=True))
        return
    slow = [one for one in swept.current if one.speed.state.alarmed]
    for one in slow:
        one.note_hardware(one.hardware.with_look_as_usual((one.began_s or swept.now_s) - _ONSET_UNCERTAINTY_S))
    well = [one for one in swept.share(swept.current, _USUAL_EVERY) if one.holds_baseline]
    for at_s, group in _by_beginning([one for one in slow if _wants_usual(one)]):
        for one in group:
            one.note_hardware(replace(one.hardware, tries_back=one.hardware.tries_back + 1))
        _note_usual(group, _asked(source, group, at_s))
    found = _asked(source, [*slow, *well], swept.now_s)
    for one in slow:
        gpus = (found or {}).get(one.workload, ())
        one.note_hardware(replace(one.hardware, now=gpus, complete=not _wants_usual(one)))
    for one in well:
        if found is not None and not _lacks(found, one):
            one.note_hardware(one.hardware.looked(Look(swept.now_s, found.get(one.workload, ()))))


def _note_usual(
    baselines: Sequence[MonitoredJob], found: Mapping[WorkloadRef, tuple[HardwareReading, ...]] | None
) -> None:
    """`found` None: it could not be asked for, so nothing is usual yet. Nor is it where the answer may lack it."""
    for one in baselines:
        if found is not None and not _lacks(found, one):
            one.note_hardware(one.hardware.with_usual(found.get(one.workload, ())))


def _lacks(found: Mapping[WorkloadRef, tuple[HardwareReading, ...]], job: MonitoredJob) -> bool:
    return job.workload not in found and absence(job) is not None


def _asked(
    source: Metrics, baselines: Sequence[MonitoredJob], at_s: float
) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]] | None:
    """None where the source could not be asked."""
    if not baselines:
        return {}
    try:
        return source.hardware(workloads(baselines), at_s)
    except MfuError as problem:
        log.info("hardware metrics: %s: %s", problem.reason, problem.message)
        return None


def _wants_usual(job: MonitoredJob) -> bool:
    """Whether what was usual before the loss is to be asked for."""
    return job.hardware.wants_usual and job.began_s is not None


def _by_beginning(baselines: Sequence[MonitoredJob]) -> list[tuple[float, list[MonitoredJob]]]:
    """Those whose losses began within the same span, with a time before it; only the first spans."""
    spans: dict[int, list[MonitoredJob]] = {}
    for one in baselines:
        spans.setdefault(int((one.began_s or 0.0) // _BEFORE_LOSS_S), []).append(one)
    return [((span - 1) * _BEFORE_LOSS_S, spans[span]) for span in sorted(spans)[:_MOST_LOOKS_BACK]]
