"""From an incident with a suspect to the proposal that undoes it."""

import re

from mfu_operator.errors import AskPerson
from mfu_operator.gitops import message
from mfu_operator.gitops.changes import meaning, under
from mfu_operator.gitops.fingerprints import is_image, without_effect
from mfu_operator.gitops.images import parse
from mfu_operator.gitops.pin import pin
from mfu_operator.model.account import StepAccount
from mfu_operator.model.commit import Commit, Ranking, Source
from mfu_operator.model.incident import Incident, KnownGood
from mfu_operator.model.proposal import Proposal, ProposalKind

BRANCH_PREFIX = "mfu-operator/"

Pins = tuple[tuple[str, str, str], ...]


def branch(incident_id: str) -> str:
    """The incident's branch: the same for the same incident, and a valid ref name."""
    return BRANCH_PREFIX + re.sub(r"\.lock(?=/|$)", "-lock", message.token(incident_id) or "incident")


def propose(
    incident: Incident,
    ranking: Ranking,
    source: Source,
    *,
    subject: str,
    known_good: KnownGood | None = None,
    healthy: StepAccount | None = None,
    runbooks: str = "",
) -> Proposal:
    """The proposal that undoes the chosen commit: a revert, or a pin of the last good image where only a moving tag of
    it changed.

    Args:
        incident: its diagnosis, profile and values are told in the description.
        ranking: with a chosen suspect.
        source: the branch to merge into.
        subject: the baseline's namespace and name ("training/gpt-small").
        known_good: the images that ran while readings held the baseline.
        healthy: the step account of the baseline.
        runbooks: address of the folder of runbooks, for the link.

    Raises:
        AskPerson(NoSuspect): no commit stands out.
        AskPerson(RollbackOfRollback): the suspect is itself a revert.
    """
    suspect = ranking.chosen
    if suspect is None:
        raise AskPerson("NoSuspect", f"{ranking.because}. Nothing is proposed.")
    if is_rollback(suspect.commit):
        raise AskPerson(
            "RollbackOfRollback",
            f"the suspect {suspect.commit.sha[:12]} is itself a rollback; undoing it would bring back what somebody "
            "took out. Decide between the two by hand.",
        )
    pins = _pins(suspect.commit, source, known_good)
    kind = ProposalKind.PIN if pins else ProposalKind.REVERT
    story = message.Story(kind, incident, ranking, suspect, source, subject, healthy, runbooks, pins)
    return Proposal(
        kind=kind,
        branch=branch(incident.id),
        base=source.branch,
        title=message.title(story),
        body=message.body(story),
        commit_message=message.commit_message(story),
        revert_sha=None if pins else suspect.commit.sha,
        pins=pins,
    )


def is_rollback(commit: Commit) -> bool:
    """Whether the commit undoes another one, by git's or this operator's own mark."""
    return bool(
        re.search(r"^(?:This reverts (?:commit|merge)\b|Mfu-Operator-Incident: )", commit.body, re.MULTILINE)
        or re.match(r"(?:Revert|Rollback|Roll back)\b", commit.subject, re.IGNORECASE)
        or re.match(rf"Merge .*(?:\b{BRANCH_PREFIX}|\brevert-)", commit.subject)
    )


def _pins(commit: Commit, source: Source, known_good: KnownGood | None) -> Pins:
    """The pins that undo a commit which changes only images whose old tags do not say what ran."""
    changes = [change for change in meaning(commit, source.path).changes if not without_effect(change)]
    if known_good is None or not changes or not all(is_image(change) for change in changes):
        return ()
    found = []
    for image in map(parse, known_good.images):
        if not image.name or image.digest is None:
            continue
        for file in commit.changes:
            concerned = file.read or under(file.path, source.path)
            if concerned and image.digest not in (file.before or "") and _takes(file.after, image.name, image.digest):
                found.append((file.path, image.name, image.digest))
    return tuple(sorted(set(found)))


def _takes(text: str | None, image: str, digest: str) -> bool:
    try:
        return text is not None and pin(text, image, digest) != text
    except AskPerson:
        return False
