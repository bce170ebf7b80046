"""What a pull request waits for although everything is known: a cool-down, a freeze, a snooze. A person's approval ends
all of them for the incident."""

from dataclasses import replace

from mfu_operator.detect.formatting import clock
from mfu_operator.errors import Wait
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.incident import Incident, Refusal, Status
from mfu_operator.reconcile.world import World

REJECTED = "Rejected"
"""Why an incident has no proposal where a person rejected it by command."""

PINNED = "outside-"
"""How the id of a pin begins, in which no commit's does."""

MOST_REFUSED = 20
"""Refusals that a status keeps: as many as ten incidents of two commits."""


def hold(world: World, incident: Incident) -> None:
    """Raise Wait(CoolDown, Frozen, Snoozed) until when nothing is proposed."""
    if incident.approved is not None:
        return
    _cool_down(world)
    if world.spec.remediation.mode is not RemediationMode.PULL_REQUEST:
        return
    ends = [(end_s, each.reason) for each in world.spec.remediation.freeze if (end_s := each.ends_s(world.now_s))]
    if ends:
        end_s, reason = max(ends, key=lambda each: each[0])
        told = f"spec.remediation.freeze is in force until {clock(end_s)}{f': {reason}' if reason else ''}"
        raise Wait("Frozen", f"{told}; kubectl mfu approve opens the pull request all the same", end_s)
    snooze = world.status.snooze
    if snooze is not None and world.now_s < snooze.until_at:
        raise Wait("Snoozed", f"a person snoozed it until {clock(snooze.until_at)}: {snooze.reason}", snooze.until_at)


def refusal(status: Status, blamed: str) -> tuple[str, str] | None:
    """(reason, message) where a person refused to undo this commit, or to pin what came with none; None where nobody
    did.

    Args:
        blamed: the commit's id, or the pin's.
    """
    found = next((each for each in status.refused if each.sha == blamed), None)
    if found is None:
        return None
    told = f"{undoing(blamed, found.subject)} was refused on {clock(found.refused_at)}: {found.reason}"
    return "Refused", f"{told}; it is not proposed again"


def undoing(blamed: str, subject: str) -> str:
    """What a person says no to, for a sentence."""
    return f"pinning ({subject})" if blamed.startswith(PINNED) else f"undoing commit {blamed[:12]}"


def blamed_of(incident: Incident) -> tuple[str, str] | None:
    """What an incident holds responsible: the id of the commit or the pin, and what it is; None: nothing yet."""
    if incident.suspect is not None:
        return incident.suspect.sha, incident.suspect.subject
    return (incident.pin.id, "; ".join(incident.pin.told)) if incident.pin is not None else None


def refused(status: Status, incident: Incident, reason: str, now_s: float) -> Status:
    """The status that remembers a person's no to what an incident holds responsible."""
    blamed = blamed_of(incident)
    return with_refusal(status, *blamed, reason, now_s) if blamed is not None else status


def with_refusal(status: Status, sha: str, subject: str, reason: str, now_s: float) -> Status:
    """The status that remembers a person's no to undoing a commit."""
    others = tuple(each for each in status.refused if each.sha != sha)
    return replace(status, refused=(Refusal(sha, subject, reason, now_s), *others)[:MOST_REFUSED])


def _cool_down(world: World) -> None:
    earlier = [each for each in world.status.history if each.proposal is not None and not each.proposal.dry_run]
    if not earlier or earlier[0].recovery is None:
        return
    ends_s = earlier[0].recovery.recovered_at + world.spec.remediation.cool_down_s
    if world.now_s < ends_s:
        raise Wait(
            "CoolDown",
            "the last proposal's incident ended less than spec.remediation.coolDown ago; the next proposal may follow "
            f"at {clock(ends_s)}",
        )
