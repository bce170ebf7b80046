"""An incident's record of facts as moments, each after what made it possible."""

from collections.abc import Iterator
from dataclasses import dataclass

from mfu_operator.gitops.values import signal_name, value
from mfu_operator.model.diagnosis import NOTHING_GREW, Bottleneck, Diagnosis
from mfu_operator.model.incident import Incident, ProfileFact, Proof, ProposalFact, SuspectFact
from mfu_operator.model.proposal import PullRequestState

NOT_RULED_OUT = "hardware is not ruled out"
"""How the evidence begins where some of the hardware was not measured."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What happened. `at_s` is None where the record does not say when; it was then after `after_s`.

    `dated_by` is the reason of the Event that reports it, None where the operator posts none.
    """

    what: str
    told: str
    at_s: float | None
    after_s: float
    dated_by: str | None = None


def moments_of(incident: Incident) -> tuple[Moment, ...]:
    """The moments of an incident, in the order in which one led to the next."""
    found: list[Moment] = []
    for what, told, at_s, dated_by in _facts(incident):
        after_s = max((each.at_s for each in found if each.at_s is not None), default=incident.onset_at)
        found.append(Moment(what, told, at_s, after_s, dated_by))
    return tuple(found)


Fact = tuple[str, str, float | None, str | None]


def _facts(incident: Incident) -> Iterator[Fact]:
    before, slow = (value(incident.signal, each) for each in (incident.baseline_value, incident.regressed_value))
    yield "Onset", f"{signal_name(incident.signal)} left {before}", incident.onset_at, None
    told = f"{signal_name(incident.signal)} {slow} instead of {before}, {incident.drop:.1%} slower"
    yield "Opened", f"the loss was sustained: {told}", incident.opened_at, "Regressed"
    if incident.profile is not None:
        yield from _profile(incident.profile)
    if incident.diagnosis is not None:
        yield from _diagnosis(incident.diagnosis)
    if incident.confirmed_at is not None:
        yield "Confirmed", "the loss lasted, so that a pull request may be opened", incident.confirmed_at, "Confirmed"
    for each in incident.exonerated:
        if each.suspect is not None:
            yield from _suspect(each.suspect)
        yield from _proposal(each.proposal)
        undone = f"the revert of {each.suspect.sha[:12]}" if each.suspect is not None else each.named
        told = f"{undone} was rolled out, and the loss remained"
        yield "Exonerated", told, each.exonerated_at, "Exonerated"
    if incident.suspect is not None:
        yield from _suspect(incident.suspect)
    elif incident.pin is not None:
        yield "Suspected", f"what came with no commit: {'; '.join(incident.pin.told)}", None, "Suspected"
    if incident.approved is not None:
        yield "Approved", incident.approved.reason, incident.approved.approved_at, "Approved"
    if incident.proposal is not None:
        yield from _proposal(incident.proposal)
    if incident.blocked is not None:
        reason, message = incident.blocked
        yield "NotProposed", f"{reason}: {message}", None, reason
    yield from _end(incident)


def _profile(profile: ProfileFact) -> Iterator[Fact]:
    yield "Profiling", f"Job {profile.job} (attempt {profile.attempt})", profile.created_at, "Profiling"
    if profile.failure is not None:
        yield "ProfilingFailed", ": ".join(profile.failure), profile.finished_at, profile.failure[0]
    elif profile.account is not None:
        account = profile.account
        told = f"a step takes {account.mean_ns / 1e6:.1f} ms in the mean of {account.count}"
        yield "Profiled", told, profile.finished_at, "Profiled"


def _diagnosis(found: Diagnosis) -> Iterator[Fact]:
    evidence = "; ".join(found.evidence)
    if found.bottleneck is Bottleneck.HARDWARE_DEGRADED:
        yield "HardwareDegraded", f"{found.cause or 'cause unknown'}: {evidence}", None, "Diagnosed"
        return
    unmeasured = next((each for each in found.evidence if each.startswith(NOT_RULED_OUT)), None)
    if unmeasured is not None:
        yield "HardwareUnknown", unmeasured, None, "Diagnosed"
    elif found.bottleneck is not Bottleneck.INCONCLUSIVE:
        yield "HardwareRuledOut", "no sign of failing hardware", None, "Diagnosed"
    named = f"{found.bottleneck or NOTHING_GREW}" + (f" / {found.cause}" if found.cause else "")
    yield "Diagnosed", f"{named} ({found.confidence:.0%}): {evidence}", None, "Diagnosed"


def _suspect(suspect: SuspectFact) -> Iterator[Fact]:
    told = f"commit {suspect.sha[:12]} {suspect.subject!r} by {suspect.author}, of {suspect.candidates}"
    yield "Suspected", told, None, "Suspected"


def _proposal(proposal: ProposalFact) -> Iterator[Fact]:
    if proposal.dry_run:
        yield "WouldPropose", f"DryRun: {proposal.title}", None, "WouldPropose"
        return
    where = proposal.url or proposal.branch
    yield "Proposed", f"{where}: {proposal.title}", proposal.opened_at, "Proposed"
    if proposal.theirs:
        yield "TakenOver", f"a person pushed to {proposal.branch}", None, "TakenOver"
    if proposal.state is PullRequestState.MERGED:
        as_what = f" as {proposal.merge_sha[:12]}" if proposal.merge_sha else ""
        yield "Merged", f"{where}{as_what}", proposal.merged_at, "Merged"
    elif proposal.withdrawn is not None:
        yield "Withdrawn", f"{where}: {proposal.withdrawn}", None, "Withdrawn"
    elif proposal.state is PullRequestState.CLOSED:
        yield "Closed", f"{where} was closed without a merge", None, "PullRequestClosed"


def _proof(proof: Proof) -> Iterator[Fact]:
    """The step that was captured again after the recovery."""
    profile = proof.profile
    if profile is not None:
        yield "CapturingAgain", f"Job {profile.job}", profile.created_at, "CapturingAgain"
    if proof.missing is not None:
        yield "NotCapturedAgain", ": ".join(proof.missing), None, "NotCapturedAgain"
    elif proof.part is not None and proof.slow_ns is not None and proof.after_ns is not None:
        told = f"{proof.part} {proof.after_ns / 1e6:.1f} ms, {proof.slow_ns / 1e6:.1f} ms while slow"
        yield "CapturedAgain", told, None if profile is None else profile.finished_at, "CapturedAgain"


def _end(incident: Incident) -> Iterator[Fact]:
    recovery = incident.recovery
    if recovery is not None:
        after = value(recovery.signal, recovery.after)
        told = f"{signal_name(recovery.signal)} {after}; {recovery.gpu_hours_lost:.3g} device-hours lost"
        yield "Recovered", told, recovery.recovered_at, "Recovered"
        if incident.proof is not None:
            yield from _proof(incident.proof)
    elif incident.ended_at is not None:
        because = incident.accepted or incident.superseded or ": ".join(incident.closed or ())
        lost = "" if incident.gpu_hours_lost is None else f"; {incident.gpu_hours_lost:.3g} device-hours lost"
        yield "Ended", f"without a recovery: {because}{lost}", incident.ended_at, None
