"""Which revision a good reading speaks for: the one that the newest pod read when it started."""

from collections.abc import Sequence
from dataclasses import replace

from mfu_operator.gitops.window import runs
from mfu_operator.model.baseline import Baseline
from mfu_operator.model.commit import Source
from mfu_operator.model.incident import KnownGood
from mfu_operator.model.verdict import Judgement, Verdict
from mfu_operator.model.workload import Pod
from mfu_operator.reconcile.symptoms import CONDITIONS, NOT_LEARNING
from mfu_operator.reconcile.world import Unseen, World, seen

CLOCK_SKEW_S = 2.0
"""A pod's start and a deployment are stamped to the second, by two clocks."""


MOST_NODES = 512
"""Names that are kept in a status: a run of more nodes has its move judged by a person."""


def known_good(world: World) -> KnownGood | None:
    """Revision and images that hold the baseline now; None while that cannot be said.

    It can be said when the verdict is healthy without a trace of loss, half a detection horizon after the newest pod
    began to count: a reading or a revision that lived for seconds is nobody's baseline, and neither is one that does
    not learn, however fast. While the source cannot be seen, the pod's start is noted in the revision's place: the
    deployments tell it once they can be read.
    """
    assert world.workload is not None
    started_s = newest_start_s(world.workload.pods)
    unseen = world.source_problem is not None
    if started_s is None or not quiet(world.judgement) or (unseen and world.status.known_good is not None):
        return None
    if any(CONDITIONS[symptom.reason] == NOT_LEARNING for symptom in world.status.symptoms):
        return None
    assert world.judgement is not None
    detection = world.spec.detection
    speaks_from_s = started_s + detection.warmup_s + detection.sustain_s / 2
    if world.judgement.last_usable_s is None or world.judgement.last_usable_s < speaks_from_s:
        return None
    images = tuple(sorted({image for pod in world.workload.pods for image in pod.images}))
    nodes = tuple(sorted({pod.node for pod in world.workload.pods if pod.node is not None}))
    nodes = nodes if len(nodes) <= MOST_NODES else ()
    if isinstance(world.source, Unseen) and not unseen:
        return None
    if unseen:
        return KnownGood(None, images, started_s, nodes)
    source = seen(world.source)
    revision = revision_read(source, started_s) if source is not None else None
    if source is not None and revision is None:
        return None
    return KnownGood(revision, images, world.now_s, nodes)


def with_revision(baseline: Baseline, found: KnownGood, started_s: float) -> Baseline:
    """A recorded level with the revision and the images that ran while it was recorded: those of a pod that was there
    when the recording ended."""
    if baseline.recorded_at is None or baseline.revision is not None or started_s > baseline.recorded_at:
        return baseline
    return replace(baseline, revision=found.revision, images=found.images)


def quiet(judgement: Judgement | None) -> bool:
    """Healthy, nothing gated, and not one second of evidence for a loss. The first reading after a gate is none yet,
    however slow it is: it is not quiet either."""
    if judgement is None or judgement.verdict is not Verdict.HEALTHY or judgement.gates:
        return False
    slow = judgement.change is not None and judgement.change < -(judgement.tolerance or 0.0)
    return judgement.evidence_s == 0 and not slow


def newest_start_s(pods: Sequence[Pod]) -> float | None:
    """When the newest of the run's pods started; None where none runs."""
    return max((pod.started_at for pod in pods if pod.started_at is not None), default=None)


def revision_read(source: Source, started_s: float) -> str | None:
    """The revision whose deployment had begun when a pod started; None where the history does not reach back."""
    deployed = runs(source.deployed)
    begun = [
        each
        for each in deployed
        if (each.started_s if each.started_s is not None else each.time_s) <= started_s + CLOCK_SKEW_S
    ]
    return begun[-1].revision if begun else None
