"""Why a baseline has no reading to be compared with."""

from collections.abc import Sequence
from dataclasses import replace

from mfu_operator.detect.cleaning import missing_pods, tells_the_speed
from mfu_operator.detect.utilisation import mfu_problem
from mfu_operator.errors import MfuError, Wait
from mfu_operator.measure.monitored_job import MonitoredJob
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.model.series import Reading
from mfu_operator.ports import Metrics

_SILENT_S = 300.0
"""A pod that restarts is silent for less."""

_MOST_NAMED = 5
"""Pods, in a message; `kubectl mfu doctor` has all that are read."""


def why_missing(job: MonitoredJob, now_s: float) -> MfuError | None:
    """What keeps a source that answers from telling of this job; None where it does, or where a run merely ended."""
    reading = job.speed.latest
    if reading is None:
        return absence(job) or _no_series(job.spec)
    if now_s - reading.time_s >= _SILENT_S:
        reason = absence(job)
        if reason is not None and not isinstance(reason, Wait):
            return reason
    elif _lacks_pods(job, reading):
        reason = absence(job) or _pods_missing(job, reading, now_s)
        if reason is not None:
            return reason
    if job.terms.baseline is None or job.terms.baseline.level.mfu is None:
        return None
    return mfu_problem(job.spec, reading)


def without_parts(source: Metrics, job: MonitoredJob, readings: Sequence[Reading]) -> Sequence[Reading]:
    """Readings of some of a run's pods without their values, where the source could not reach the others: ranks may
    differ, and the mean of some is not a reading of the run. Their steps and phases are."""
    if not readings or source.absence(job.workload) is None:
        return readings
    return [replace(each, values={}) if _lacks_pods(job, each) else each for each in readings]


def _lacks_pods(job: MonitoredJob, reading: Reading) -> bool:
    return bool(missing_pods(job.speed.state.run.incarnation, reading))


def _pods_missing(job: MonitoredJob, reading: Reading, now_s: float) -> MfuError | None:
    """That for long so many pods were not read that the mean of the others is not a reading of the run."""
    state = job.speed.state
    if tells_the_speed(state.run.incarnation, reading) or state.usable_s is None or now_s - state.usable_s < _SILENT_S:
        return None
    missing = sorted(missing_pods(state.run.incarnation, reading))
    of = len(missing) + reading.incarnation.count(",") + 1
    named = ", ".join(missing[:_MOST_NAMED]) + (", …" if len(missing) > _MOST_NAMED else "")
    return Wait(
        "PodsMissing",
        f"{len(missing)} of the run's {of} pods are not read ({named}), and the mean of the others is not a reading of "
        "the run: are these pods scraped, and does every shard of the metrics source answer?",
    )


def absence(job: MonitoredJob) -> MfuError | None:
    """What its source knows of why a workload was missing from the last answers; None where it knows of nothing."""
    source = job.terms.source
    return None if source is None else source.absence(job.workload)


def _no_series(spec: BaselineSpec) -> MfuError:
    workload = spec.workload
    profile = "the fleet's profile" if spec.metrics.profile is None else f"profile {spec.metrics.profile}"
    return Wait(
        "NoSeries",
        f"the metrics source has no series of {workload.kind} {workload.namespace}/{workload.name} under "
        f"the names of {profile}: is the job running and scraped, and do metrics.names and metrics.labels fit? "
        "`kubectl mfu doctor` shows each query",
    )
