"""A capture of the running job by hand: the Job that the operator would launch, with a person's own rights.

No budget is asked or charged. It bounds what runs unasked; a person in an incident is not to be refused for what the
operator has spent, nor the operator for what people have looked at. The ranks themselves take one capture at a time,
half a minute apart, and a copy is never launched by hand.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mfu_operator.api import decode
from mfu_operator.api.group import BASELINE_LABEL, MANAGED_BY_LABEL
from mfu_operator.cli.capture.held_traces import HOLD_S, HeldTraces
from mfu_operator.errors import AskPerson, Retry, Unreadable
from mfu_operator.model.account import StepAccount
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.model.incident import Status
from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.ports import Cluster
from mfu_operator.profiling.live.job import live_job
from mfu_operator.profiling.live.request import MOST_STEPS, CaptureRequest
from mfu_operator.reconcile.way import Live, way_of
from mfu_operator.reconcile.world import Defaults, Identity, World
from mfu_operator.trace import termination_message as compact

BY_HAND = "kubectl-mfu"
"""The value of MANAGED_BY_LABEL: the operator leaves such a Job alone."""

LOOK_EVERY_S = 2.0


def capture_now(
    cluster: Cluster,
    body: Mapping[str, Any],
    image: str | None,
    ranks: int | None,
    steps: int | None,
    tell: Callable[[str], None],
    traces: HeldTraces | None = None,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.time,
    steady: Callable[[], float] = time.monotonic,
) -> StepAccount:
    """Launch the coordinating Job for a TrainingBaseline's workload, and wait for its account.

    Args:
        cluster: with the rights of whoever asks: read the workload and its pods, create a Job.
        body: the TrainingBaseline.
        image: the profiler image, unless spec.profiling.image names one.
        ranks: how many ranks are asked; None: as the spec says.
        steps: how many steps are recorded; None: as the spec says.
        tell: progress.
        traces: fetches the traces while the Job holds them; None: it holds none.

    Raises:
        Retry: there is no workload, or no way to capture it.
        AskPerson: (NotLive) the operator would run a copy.
        Unreadable: what the Job left instead of an account.
    """
    spec = decode.spec(body)
    profiling = replace(
        spec.profiling, ranks=ranks or spec.profiling.ranks, steps=min(steps or spec.profiling.steps, MOST_STEPS)
    )
    spec = replace(spec, profiling=profiling)
    metadata, started_s = body["metadata"], now()
    spec, way = _live(cluster, metadata, spec, image, started_s)
    name = f"mfu-hand-{metadata['name'][:36].replace('.', '-').rstrip('-')}-{int(started_s):x}"
    hold_s = HOLD_S if traces is not None else 0.0
    asked = CaptureRequest(name, profiling.steps, profiling.deadline_s, way.pods, way.targets, profiling.ranks, hold_s)
    labels = {BASELINE_LABEL: metadata["name"][:63].rstrip("-."), MANAGED_BY_LABEL: BY_HAND}
    owner = {key: body[key] for key in ("apiVersion", "kind")} | {key: metadata[key] for key in ("name", "uid")}
    spec = replace(spec, profiling=replace(profiling, deadline_s=profiling.deadline_s + hold_s))
    cluster.ensure_job(live_job(name, spec, asked, owner, image, labels, way.queue))
    tell(f"Job {name} asks {len(way.targets)} of {way.pods} pods; kubectl logs -f job/{name} follows it")
    ends_s = steady() + spec.profiling.deadline_s
    return _account(_awaited(cluster, metadata["namespace"], name, ends_s, tell, traces, sleep, steady))


def _live(
    cluster: Cluster, metadata: Mapping[str, Any], spec: BaselineSpec, image: str | None, at_s: float
) -> tuple[BaselineSpec, Live]:
    """The spec of the run that is there, and whom of its pods to ask. Raises Retry and AskPerson as `capture_now`."""
    workload = cluster.workload(spec.workload)
    if workload is None:
        raise Retry("WorkloadNotFound", f"there is no {spec.workload.title}; is the job running?")
    spec = spec.of_run(workload.name, workload.earlier_runs)
    identity = Identity(metadata["namespace"], metadata["name"], metadata["uid"], metadata.get("generation", 1))
    way = way_of(World(at_s, identity, spec, Status(), Defaults("", image), workload=workload))
    if isinstance(way, Retry):
        raise way
    if not isinstance(way, Live):
        raise AskPerson(
            "NotLive",
            "the running job cannot be asked, so the operator would run a copy; kubectl mfu capture -f says why",
        )
    return spec, way


def _awaited(
    cluster: Cluster, namespace: str, name: str, ends_s: float,
    tell: Callable[[str], None], traces: HeldTraces | None, sleep: Callable[[float], None], steady: Callable[[], float],
) -> ProfilingJob:  # fmt: skip
    said = ""
    while True:
        job = cluster.profiling_job(namespace, name)
        if job is None:
            raise Retry("JobGone", f"Job {name} was deleted before it finished")
        if job.phase in (JobPhase.SUCCEEDED, JobPhase.FAILED):
            return job
        if steady() > ends_s:
            raise Retry("DeadlineExceeded", f"Job {name} did not finish in time; raise spec.profiling.deadline")
        standing = f"{job.phase}" + (f": {job.reason}: {job.message}" if job.reason else "")
        if standing != said:
            tell(f"Job {name}: {standing}")
            said = standing
        if traces is not None and job.phase is JobPhase.RUNNING:
            traces.fetch(namespace, name)
        sleep(LOOK_EVERY_S)


def _account(job: ProfilingJob) -> StepAccount:
    if job.result or job.phase is JobPhase.SUCCEEDED:
        return compact.decode(job.result or "")
    raise Unreadable(job.reason or "JobFailed", f"Job {job.name}: {job.message or 'failed without a message'}")
