"""From the samples of many series to one reading per job and moment. Sources differ in how samples come, not here."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean

from mfu_operator.model.baseline import Signal, WorkloadRef
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.whole_number import whole_number

MFU = "mfu"
STEP_TIME = "stepTime"
THROUGHPUT = "throughput"
STEPS = "steps"
PHASE = "phase"
INFO = "info"
RUNNING_RATIO = "runningRatio"
SCRAPED_AT = "scrapedAt"
"""What a sample is of; the keys of a profile's names, and the scrape's own time."""

INFO_FIELDS = frozenset(
    {"model", "gpu", "gpus", "gpu_count", "world_size", "global_batch", "sequence_length", "precision", "parallelism"}
)
"""What a job says about itself: `gpus` are those that one process drives, `gpu_count` those of one pod."""

REPLICA_LABELS = ("prometheus_replica", "__replica__", "receive_replica", "replica")
"""What tells a pair of scrapers apart: Prometheus Operator's default, Mimir's, Thanos Receive's, a common choice."""

_SIGNALS = {MFU: Signal.MFU, STEP_TIME: Signal.STEP_TIME, THROUGHPUT: Signal.THROUGHPUT}
_GATING_FIRST = (Phase.STARTING, Phase.CHECKPOINT, Phase.EVALUATION, Phase.PAUSED, Phase.RUNNING)
_PHASES = {str(phase): phase for phase in Phase}

GONE_AFTER_S = 90.0
"""A process last scraped 90 s before its newest sibling belongs to an earlier set of pods: 1.5 times the slowest common
scrape interval, and well below the 5 minutes for which Prometheus repeats the last sample."""


@dataclass(slots=True)
class _Process:
    """What one process showed at one moment, as one scraper of a pair has it."""

    pod: str
    instance: str
    scraped_s: float | None = None
    values: dict[str, float] = field(default_factory=dict)
    phase: Phase = Phase.UNKNOWN
    info: Mapping[str, str] = field(default_factory=dict)


class Assembly:
    """Collects samples, then makes readings of them.

    Args:
        compared: labels of any series of a job → fields of its readings' info.
    """

    def __init__(self, compared: Mapping[str, str] | None = None) -> None:
        self._compared = compared or {}
        self._moments: dict[WorkloadRef, dict[float, dict[str, _Process]]] = {}

    def add(
        self,
        workload: WorkloadRef,
        labels: Mapping[str, str],
        pod: str,
        kind: str,
        points: Iterable[tuple[float, float]],
    ) -> None:
        """Add a series' (moment, value) points.

        Args:
            workload: whose job it is.
            labels: the series' labels; `instance` tells processes of one pod apart, `phase` names the phase.
            pod: the pod's name.
            kind: one of MFU … SCRAPED_AT. Values are in the signals' units, SCRAPED_AT in Unix seconds.
            points: moments (of evaluation) in Unix seconds, and values; values that are not finite numbers are dropped.
        """
        moments = self._moments.setdefault(workload, {})
        instance = labels.get("instance", "")
        key = f"{pod} {instance} {_replica(labels)}"
        for at_s, value in points:
            if not math.isfinite(value):
                continue
            processes = moments.setdefault(at_s, {})
            process = processes.get(key)
            if process is None:
                process = processes[key] = _Process(pod, instance)
            _note(process, kind, value, labels)
            if self._compared:
                process.info = {**process.info, **self._named(labels)}

    def _named(self, labels: Mapping[str, str]) -> dict[str, str]:
        return {name: labels[label] for label, name in self._compared.items() if labels.get(label)}

    def readings(self) -> dict[WorkloadRef, tuple[Reading, ...]]:
        """Readings by workload, oldest first, each scrape once; workloads without any signal or phase are absent."""
        found = {}
        for workload, moments in self._moments.items():
            readings: list[Reading] = []
            for at_s in sorted(moments):
                reading = _reading(at_s, list(moments[at_s].values()))
                if reading is not None and (not readings or reading.time_s > readings[-1].time_s):
                    readings.append(reading)
            if readings:
                found[workload] = tuple(readings)
        return found


def _replica(labels: Mapping[str, str]) -> str:
    return next((labels[label] for label in REPLICA_LABELS if label in labels), "")


def _note(process: _Process, kind: str, value: float, labels: Mapping[str, str]) -> None:
    if kind == PHASE:
        if value == 1:
            process.phase = _PHASES.get(labels.get("phase", ""), Phase.UNKNOWN)
    elif kind == INFO:
        told = {name: text for name, text in labels.items() if name in INFO_FIELDS and text}
        process.info = {**told, **process.info}
    elif kind == SCRAPED_AT:
        process.scraped_s = value if process.scraped_s is None else max(process.scraped_s, value)
    elif kind == STEPS:
        process.values[STEPS] = max(value, process.values.get(STEPS, value))
    else:
        process.values[kind] = value


def _reading(at_s: float, processes: list[_Process]) -> Reading | None:
    """The mean over the processes that were scraped last; a process without a time of its own has the moment's."""
    processes = _once([process for process in processes if process.values or process.phase is not Phase.UNKNOWN])
    if not processes:
        return None
    times = {id(process): at_s if process.scraped_s is None else process.scraped_s for process in processes}
    newest_s = max(times.values())
    current = [process for process in processes if newest_s - times[id(process)] <= GONE_AFTER_S]
    values = {}
    for kind, signal in _SIGNALS.items():
        measured = [_per_gpu(process, kind) for process in current if kind in process.values]
        if measured:
            values[signal] = fmean(measured)
    ratios = [process.values[RUNNING_RATIO] for process in current if RUNNING_RATIO in process.values]
    return Reading(
        time_s=newest_s,
        values=values,
        phase=_phase(current),
        step=max((process.values[STEPS] for process in current if STEPS in process.values), default=None),
        incarnation=",".join(sorted({process.pod for process in current})),
        info=next((process.info for process in current if process.info), {}),
        running_ratio=fmean(ratios) if ratios else None,
    )


def _once(processes: list[_Process]) -> list[_Process]:
    """Each process as the scraper has it that saw it last; one that died repeats its last samples for minutes."""
    latest: dict[tuple[str, str], _Process] = {}
    for process in processes:
        key = (process.pod, process.instance)
        known = latest.get(key)
        if known is None or (process.scraped_s or 0.0) > (known.scraped_s or 0.0):
            latest[key] = process
    return list(latest.values())


def _per_gpu(process: _Process, kind: str) -> float:
    value = process.values[kind]
    if kind != THROUGHPUT:
        return value
    return value / (whole_number(process.info.get("gpus", "")) or 1)


def _phase(processes: list[_Process]) -> Phase:
    """What gates any rank gates the job: the others wait for it."""
    seen = {process.phase for process in processes}
    return next((phase for phase in _GATING_FIRST if phase in seen), Phase.UNKNOWN)
