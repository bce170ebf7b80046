"""What the sweep says of a baseline, and whether that calls for a tick before its time."""

from collections.abc import Callable

from mfu_operator.api import status as codec
from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.measuring import level_in_force, register
from mfu_operator.cycle.profiling.slots import ProfilingSlot
from mfu_operator.errors import Stall
from mfu_operator.measure.view import SweepView
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.model.incident import Status
from mfu_operator.model.verdict import Verdict
from mfu_operator.process.fleet import Member, SweepMark
from mfu_operator.reconcile.after.proof import awaited, unproven
from mfu_operator.reconcile.refresh import tells_more
from mfu_operator.reconcile.symptoms import refreshed


def sweep_mark(adapters: Adapters, member: Member, view: SweepView) -> SweepMark:
    """What of all that the sweep and the profiling slots know of a baseline may call for a tick."""
    disturbed = adapters.slots.spans(member.identity.uid, member.nodes)
    reason = None if view.problem is None else view.problem.reason
    return SweepMark(view.filled, view.judgement, reason, view.run, disturbed, view.symptoms)


def calls_for_tick(last: SweepMark | None, now: SweepMark, now_s: float) -> bool:
    """Whether the sweep says something that the last tick did not go by; before the first tick: anything to go by."""
    if last is None:
        return now.problem is not None or now.filled
    if (last.problem, last.disturbed) != (now.problem, now.disturbed):
        return True
    if last.run is not None and last.run != now.run:
        return True
    known = last.symptoms or ()
    if now.symptoms is not None and refreshed(known, now.symptoms, now_s)[0] != known:
        return True
    return now.judgement is not None and tells_more(last.judgement, now.judgement)


def take_up(adapters: Adapters, member: Member, now_s: float, steady_s: float, due_s: Callable[[bool], float]) -> None:
    """Recall what the status says was opened and is under way, and let the sweep read of a baseline before its first
    tick looks at the cluster. Ten thousand looks would take minutes after a restart: where the status says that nothing
    was in progress they wait for their turn.

    Args:
        adapters: the adapters.
        member: the baseline.
        now_s: the time, Unix seconds.
        steady_s: seconds on a clock that nobody sets.
        due_s: when the first tick is due, by whether nothing was in progress.
    """
    spec, status = member.spec, codec.salvage(member.status()).status
    adapters.breaker.recall(member.identity.namespace, status, now_s, steady_s)
    adapters.budgets.recall(member.identity.uid, status.launches, now_s)
    adapters.sharers.note(f"{member.identity.namespace}/{member.identity.name}", status, steady_s)
    if isinstance(spec, Stall):
        return
    _recall_job(adapters, member, spec, status, now_s)
    if spec.suspend or any((spec.metrics.secret, spec.metrics.ca, spec.metrics.certificate)):
        return
    member.level = level_in_force(spec, status)
    register(adapters, member.identity.uid, spec, status, now_s)
    if status.observed_generation != member.identity.generation:
        return
    rests = _was_at_rest(status)
    if rests:
        member.last = SweepMark(True, status.judgement, None, None, (), status.symptoms)
    member.due_s = due_s(rests)


def _recall_job(adapters: Adapters, member: Member, spec: BaselineSpec, status: Status, now_s: float) -> None:
    """A profiling Job that may run still counts among those under way before its baseline's first tick."""
    profile = awaited(status)
    if profile is not None:
        ends_s = profile.created_at + spec.profiling.deadline_s
        slot = ProfilingSlot(member.identity.uid, profile.node, profile.created_at, ends_s)
        adapters.slots.note(f"{member.identity.namespace}/{profile.job}", slot, now_s)


def _was_at_rest(status: Status) -> bool:
    judgement = status.judgement
    if judgement is None or judgement.verdict is not Verdict.HEALTHY or judgement.gates or judgement.evidence_s > 0:
        return False
    if status.incident is not None or status.recording is not None or awaited(status) is not None:
        return False
    if unproven(status) is not None:
        return False
    return status.baseline is not None
