"""From an incident with a suspect to the proposal that undoes it."""

import re
from dataclasses import replace
from hashlib import sha256

from mfu_operator.errors import AskPerson
from mfu_operator.gitops import message
from mfu_operator.model.account import StepAccount
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.model.commit import Commit, Source, Suspect
from mfu_operator.model.incident import Incident
from mfu_operator.model.investigation import Findings
from mfu_operator.model.proposal import Edit, Proposal, ProposalKind, Review
from mfu_operator.model.series import Course

BRANCH_PREFIX = "mfu-operator/"

_SHA_HEAD = 12
_DIGEST_HEAD = 12
"""Hexadecimal digits: the suspect is there for a person, the digest tells repositories, bases and clusters apart."""


_VERBS = {ProposalKind.REVERT: "revert", ProposalKind.MINIMAL_REVERT: "undo"}


def branch(
    repository: str,
    base: str,
    suspect_sha: str,
    installation: str,
    kind: ProposalKind = ProposalKind.REVERT,
    edits: tuple[Edit, ...] = (),
) -> str:
    """The branch of the proposal that undoes a commit ("mfu-operator/revert-1a2b3c4d5e6f-0f9e8d7c6b5a").

    The same from every baseline and replica of one installation, another one from another installation. What does not
    take the whole commit back is told apart by the lines that it changes, so that it stays the same while others
    change the rest of those files.

    Args:
        repository: its address in any form; forms of one repository give one branch.
        base: the branch that the proposal is to be merged into.
        suspect_sha: the commit to undo, in full.
        installation: the id of the cluster that the operator runs in.
        kind: the proposal's kind.
        edits: those of the proposal.
    """
    lines = [line for edit in edits for line in (edit.path, *message.changed_lines(edit))]
    facts = (_place(repository), base, suspect_sha, installation, *lines)
    digest = sha256("\0".join(facts).encode()).hexdigest()[:_DIGEST_HEAD]
    return f"{BRANCH_PREFIX}{_VERBS.get(kind, 'pin')}-{suspect_sha[:_SHA_HEAD]}-{digest}"


def _place(repository: str) -> str:
    """Host and path: "git.example.org/team/models" of its https, ssh and scp-like addresses."""
    scp = re.fullmatch(r"(?:[\w.-]+@)?([\w.-]+):(?!//)(.+)", repository)
    host, _, path = (f"{scp[1]}/{scp[2].lstrip('/')}" if scp else repository.partition("://")[2]).partition("/")
    name = host.rpartition("@")[2].partition(":")[0].lower()
    return f"{name}/{path.strip('/').removesuffix('.git')}"


def propose(
    incident: Incident,
    suspect: Suspect | None,
    findings: Findings,
    source: Source,
    *,
    subject: str,
    installation: str,
    healthy: StepAccount | None = None,
    runbooks: str = "",
    cost: message.Cost | None = None,
    course: Course = (),
    forge: ForgeKind | None = None,
    forge_address: str | None = None,
    review: Review | None = None,
) -> Proposal:
    """The proposal that undoes the chosen commit, or what came with none, as it was rendered.

    Args:
        incident: its diagnosis, profile and values are told in the description.
        suspect: the chosen commit; None where what is undone came with no commit.
        findings: with what undoes it.
        source: the branch to merge into.
        subject: the baseline's namespace and name ("training/gpt-small").
        installation: the id of the cluster that the operator runs in.
        healthy: the step account of the baseline.
        runbooks: address of the folder of runbooks, for the link.
        cost: what the loss costs.
        course: how the signal went around the onset.
        forge: the kind of the host, where it is declared; for links.
        forge_address: its base address, where it is declared.
        review: whom the pull request asks; None: whoever owns the files.

    Raises:
        AskPerson: nothing undoes it, and why.
    """
    undoing = findings.undoing
    if undoing is None:
        raise AskPerson(*(findings.declined or ("RevertConflict", "the commit cannot be undone.")))
    story = message.Story(
        undoing,
        incident,
        findings.ranking,
        suspect,
        source,
        subject,
        installation,
        healthy,
        runbooks,
        cost,
        forge,
        forge_address,
        course,
    )
    revert = undoing.kind is ProposalKind.REVERT
    sha = suspect.commit.sha if suspect is not None else message.pin_id(undoing.edits)
    return Proposal(
        kind=undoing.kind,
        branch=branch(source.repository, source.branch, sha, installation, undoing.kind, undoing.edits),
        base=source.branch,
        title=message.title(story),
        body=message.body(story),
        commit_message=message.commit_message(story),
        revert_sha=sha if revert else None,
        base_sha=undoing.base,
        edits=undoing.edits,
        review=_asked(review or Review(), undoing.owners),
    )


def _asked(review: Review, owners: tuple[str, ...]) -> Review:
    more = owners if review.code_owners else ()
    return replace(review, reviewers=tuple(dict.fromkeys((*review.reviewers, *more))))


def is_rollback(commit: Commit) -> bool:
    """Whether the commit undoes another one, by git's or this operator's own mark."""
    return bool(
        re.search(
            r"^(?:This reverts (?:commit|merge)\b|Mfu-Operator-(?:Incident|Suspect): )", commit.body, re.MULTILINE
        )
        or re.match(r"(?:Revert|Rollback|Roll back)\b", commit.subject, re.IGNORECASE)
        or re.match(rf"Merge .*(?:\b{BRANCH_PREFIX}|\brevert-)", commit.subject)
    )
