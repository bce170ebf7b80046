"""Which costly observations the next decision rests on."""

from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.model.incident import Incident, Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.verdict import Judgement, Verdict
from mfu_operator.reconcile.after.proof import awaited
from mfu_operator.reconcile.incident import proposal_missing
from mfu_operator.reconcile.proposed.follow import outstanding
from mfu_operator.reconcile.world import Need


def needs(spec: BaselineSpec, status: Status, judgement: Judgement | None) -> frozenset[Need]:
    """The observations to make before deciding."""
    follow = {Need.SOURCE} if outstanding(spec, status) else set()
    wanted = {Need.JOB} if awaited(status) is not None else set()
    if status.incident is not None:
        return _of_incident(spec, status.incident, judgement) | wanted | follow
    if judgement is not None and judgement.verdict is Verdict.HEALTHY and not judgement.gates:
        wanted.add(Need.SOURCE)
    return frozenset(wanted | follow)


def _of_incident(spec: BaselineSpec, incident: Incident, judgement: Judgement | None) -> frozenset[Need]:
    wanted = set()
    recovers = judgement is not None and judgement.verdict is Verdict.HEALTHY
    if recovers or proposal_missing(spec, incident):
        wanted.add(Need.SOURCE)
    proposal = incident.proposal
    if proposal is not None and proposal.state is PullRequestState.MERGED:
        wanted.add(Need.SOURCE)
    if proposal is not None and proposal.state is PullRequestState.OPEN:
        wanted.add(Need.PULL_REQUEST)
    return frozenset(wanted)
