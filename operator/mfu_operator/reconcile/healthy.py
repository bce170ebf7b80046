"""While nothing is wrong: learn what healthy looks like, and open an incident when it ends."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from mfu_operator.api import naming
from mfu_operator.model.baseline import ProfilingMode
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import ProfileFact
from mfu_operator.model.verdict import Verdict
from mfu_operator.reconcile import profile
from mfu_operator.reconcile.after.capture import capture_again
from mfu_operator.reconcile.after.proof import awaited, given_up
from mfu_operator.reconcile.effects import Record, Step, Subject
from mfu_operator.reconcile.known_good import known_good, newest_start_s, quiet, with_revision
from mfu_operator.reconcile.opening import dismissed, new_incident, onset_s
from mfu_operator.reconcile.proposed.follow import tell, withdraw
from mfu_operator.reconcile.world import World


def open_incident(world: World) -> Step | None:
    """A sustained loss opens the incident."""
    judgement = world.judgement
    if judgement is None or judgement.verdict is not Verdict.REGRESSED or dismissed(world, judgement):
        return None
    healthy = world.status.healthy_profile
    if healthy is not None and profile.awaits_job(healthy):
        healthy = profile.overlapping(healthy, "a loss set in while it ran")
    incident = new_incident(world, judgement, onset_s(world, judgement))
    event = Event("Warning", "Regressed", f"incident {incident.id}: {judgement.message}")
    status = given_up(world.status, ("SlowAgain", f"another loss set in before, incident {incident.id}"))
    return Record(
        replace(status, incidents=status.incidents + 1, incident=incident, healthy_profile=healthy),
        (event,),
    )


def remember_known_good(world: World) -> Step | None:
    """Note revision and images once they have held the baseline long enough to be somebody's baseline."""
    found = known_good(world) if world.status.baseline is not None else None
    known = world.status.known_good
    if found is None or (known is not None and replace(found, time_s=known.time_s) == known):
        return None
    same = known is not None and (known.revision, known.images) == (found.revision, found.images)
    if known is not None and same:
        return Record(replace(world.status, known_good=replace(known, nodes=found.nodes)), ())
    event = Event("Normal", "KnownGood", f"revision {(found.revision or 'unknown')[:12]} holds the baseline")
    started_s = newest_start_s(world.workload.pods) if world.workload is not None else None
    baseline = world.status.baseline
    if baseline is not None and started_s is not None:
        baseline = with_revision(baseline, found, started_s)
    return Record(replace(world.status, known_good=found, baseline=baseline), (event,))


def profile_once(world: World) -> Step | None:
    """Profile the healthy job once, so that a regression is explained as a difference."""
    if world.spec.profiling.mode is ProfilingMode.NEVER or world.status.baseline is None:
        return None
    known = world.status.healthy_profile
    if not profile.awaits_job(known) and awaited(world.status) is not None:
        return None
    subject_id = naming.healthy_id(world.identity.name, world.identity.uid)
    if (known is None or known.failure is not None) and profile.settled(world):
        profile.require_way(world)
    if known is None:
        return profile.launch(world, Subject.BASELINE, subject_id) if quiet(world.judgement) else None
    if known.account is not None:
        again = profile.is_outdated(world, known) and quiet(world.judgement)
        return profile.launch(world, Subject.BASELINE, subject_id, profile.with_all_attempts(known)) if again else None
    if known.failure is not None:
        again = profile.retry_due(world, known) and quiet(world.judgement)
        return profile.launch(world, Subject.BASELINE, subject_id, known) if again else None
    after = profile.observed(world, known, subject_id)
    if after is None:
        return None
    if after.account is not None:
        if not _can_be_judged(world):
            return None
        changed = _changed_since(world, after)
        after = after if changed is None else profile.overlapping(after, changed)
    return Record(replace(world.status, healthy_profile=after), (_profiled(after.failure, after.job),))


def _can_be_judged(world: World) -> bool:
    """Whether anything can be said of the job now. A finished Job stays for a day: there is time to ask again."""
    judged = world.judgement is not None and world.judgement.verdict is not Verdict.NO_DATA
    return judged and world.workload is not None and newest_start_s(world.workload.pods) is not None


def _changed_since(world: World, known: ProfileFact) -> str | None:
    """Why what the Job recorded may not be the healthy job; None where nothing speaks against it.

    Our own Job's gate is not an objection: it says that readings do not count, not that they are bad.
    """
    judgement, workload = world.judgement, world.workload
    assert judgement is not None
    assert workload is not None
    if judgement.verdict is not Verdict.HEALTHY:
        return f"the verdict is {judgement.verdict} now ({judgement.message})"
    if judgement.evidence_s > 0:
        return f"{judgement.evidence_s:.0f} s of evidence for a loss came up meanwhile"
    newest_s = newest_start_s(workload.pods)
    if newest_s is not None and newest_s > known.created_at:
        return f"a pod of the run started {newest_s - known.created_at:.0f} s after it was launched"
    return None


def _profiled(failure: tuple[str, str] | None, job: str) -> Event:
    if failure is None:
        return Event("Normal", "BaselineProfiled", f"Job {job} brought the healthy step's account")
    return Event("Warning", failure[0], failure[1])


CHAIN: Sequence[Callable[[World], Step | None]] = (
    open_incident,
    remember_known_good,
    withdraw,
    tell,
    capture_again,
    profile_once,
)
"""In the order in which a missing fact is obtained."""
