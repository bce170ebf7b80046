"""What an effect brought, as facts, and what is told of it."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import AskPerson, Stall, Wait
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.commit import Ranking, Suspect
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import (
    Exoneration,
    Incident,
    PinFact,
    ProfileFact,
    ProposalFact,
    Refusal,
    Status,
    SuspectFact,
)
from mfu_operator.model.investigation import Findings, Undoing
from mfu_operator.model.proposal import Edit, Proposal, ProposalKind, PullRequestState
from mfu_operator.reconcile.conclude import Conclusion, Failure, conclude, failed
from mfu_operator.reconcile.effects import (
    EnsureJob,
    EnsurePullRequest,
    Investigate,
    Investigated,
    JobEnsured,
    Note,
    Noted,
    Outcome,
    Previewed,
    PreviewProposal,
    Proposed,
    Subject,
    Withdraw,
    Withdrawn,
)
from tests.support import worlds
from tests.support.worlds import NOW_S, PULL, SETTLED, ailing, explained, incident, spec, world

PROPOSAL = Proposal(ProposalKind.REVERT, "mfu-operator/revert-2", "main", "Revert it", "body", "message")
PROFILE = ProfileFact("mfu-a2", 2, NOW_S)
CLOSED, MERGED, OPEN = PullRequestState.CLOSED, PullRequestState.MERGED, PullRequestState.OPEN


def of(conclusion: Conclusion) -> Incident:
    assert conclusion.status.incident is not None
    return conclusion.status.incident


def test_an_outcome_of_another_effect_is_a_fault() -> None:
    with pytest.raises(TypeError, match="Noted is not an outcome of EnsureJob"):
        conclude(world(), EnsureJob(Subject.BASELINE, {}, PROFILE), Noted())


def test_a_job_is_noted_where_its_subject_is() -> None:
    here = world(ailing(incident()))
    healthy = conclude(here, EnsureJob(Subject.BASELINE, {}, PROFILE), JobEnsured())
    assert healthy.status == replace(here.status, healthy_profile=PROFILE)
    said = "Job mfu-a2 records the healthy job (attempt 2)"
    assert healthy.events == (Event("Normal", "ProfilingBaseline", said, "mfu-a2"),)
    slow = conclude(here, EnsureJob(Subject.INCIDENT, {}, PROFILE), JobEnsured())
    assert slow.status == replace(here.status, incident=incident(profile=PROFILE))
    assert slow.events == (Event("Normal", "Profiling", "Job mfu-a2 records the slow job (attempt 2)", "mfu-a2"),)


def test_only_a_proposal_s_question_for_a_person_is_final_for_the_incident() -> None:
    error = AskPerson("RevertConflict", "by hand")
    event = Event("Warning", "RevertConflict", "by hand")
    here = world(ailing(explained()))
    blocked = replace(here.status, incident=explained(blocked=("RevertConflict", "by hand")))
    assert failed(here, "ProposalFailed", error) == (blocked, None, (event,))
    for seen, condition in ((here, "ProfilingFailed"), (world(), "ProposalFailed")):
        assert failed(seen, condition, error) == (
            seen.status, Failure(condition, "RevertConflict", "by hand"), (event,),
        )  # fmt: skip
    assert failed(here, "ProposalFailed", Wait("CoolDown", "at noon")) == (here.status, None, ())
    stalled = Failure("ProposalFailed", "BadToken", "renew it", True)
    assert failed(here, "ProposalFailed", Stall("BadToken", "renew it"))[:2] == (here.status, stalled)


def asked(status: Status, findings: Findings, mode: RemediationMode = RemediationMode.PULL_REQUEST) -> Conclusion:
    """What is concluded of these findings."""
    here = world(status, spec=spec(mode))
    return conclude(here, Investigate(worlds.QUESTION), Investigated(findings))


FOUND = worlds.found()
FACT = SuspectFact(
    worlds.SLOW, "Save memory", "Pat", FOUND.ranking.suspects[0].changed, FOUND.ranking.suspects[0].because, 2
)


def test_the_suspect_is_noted_with_the_revisions_that_were_compared() -> None:
    concluded = asked(ailing(explained(good_revision=None)), FOUND)
    assert concluded.status == ailing(explained(suspect=FACT, good_revision=worlds.GOOD, bad_revision=worlds.QUIET))
    said = f"commit 222222222222: {FOUND.ranking.because}"
    assert concluded.events == (Event("Warning", "Suspected", said),)


LINKED = replace(worlds.STARVED, runbook="runbooks/input.md")


def test_the_same_suspect_is_told_once() -> None:
    assert asked(ailing(explained(suspect=FACT)), FOUND).events == ()
    assert len(asked(ailing(explained(suspect=replace(FACT, candidates=3))), FOUND).events) == 1


def test_the_proposal_tells_the_incident_that_it_answers() -> None:
    then = asked(ailing(explained(diagnosis=LINKED)), FOUND).then
    assert isinstance(then, EnsurePullRequest)
    assert then.source == worlds.QUESTION.source
    body = then.proposal.body
    assert f'{{"incident": "{worlds.INCIDENT.id}", "baseline": "team-a/gpt-small"}}' in body
    assert "https://runbooks.example/input.md" in body
    assert worlds.INSTALLATION in then.proposal.commit_message


def test_the_proposal_sets_the_step_against_the_healthy_one_where_that_is_known() -> None:
    def body(status: Status, **changes: Any) -> str:
        here = world(replace(status, incident=explained(diagnosis=LINKED)), **changes)
        then = conclude(here, Investigate(worlds.QUESTION), Investigated(FOUND)).then
        assert isinstance(then, EnsurePullRequest)
        return then.proposal.body

    both = body(ailing(explained()))
    assert body(ailing(explained(), healthy_profile=None)) != both
    assert body(ailing(explained(), healthy_profile=PROFILE)) == body(ailing(explained(), healthy_profile=None))
    nowhere = replace(worlds.DEFAULTS, runbook_base_url=None)
    assert "runbooks.example" not in body(ailing(explained()), defaults=nowhere)


def test_a_dry_run_tries_the_same_proposal() -> None:
    pushed = asked(ailing(explained()), FOUND).then
    tried = asked(ailing(explained()), FOUND, RemediationMode.DRY_RUN).then
    assert isinstance(pushed, EnsurePullRequest) and isinstance(tried, PreviewProposal)
    assert (tried.proposal, tried.source) == (pushed.proposal, pushed.source)


def test_a_commit_that_a_person_refused_to_undo_is_named_and_not_proposed() -> None:
    refused = Refusal(worlds.SLOW, "Save memory", "we need the memory", NOW_S - 86400)
    concluded = asked(ailing(explained(), refused=(refused,)), FOUND)
    message = (
        "undoing commit 222222222222 was refused on 2026-09-20 14:14 UTC: we need the memory; it is not proposed again"
    )
    assert of(concluded).blocked == ("Refused", message)
    assert (of(concluded).suspect, concluded.then) == (FACT, None)
    assert concluded.events[1:] == (Event("Warning", "Refused", message),)
    assert concluded.events[0].reason == "Suspected"


def test_what_cannot_be_undone_is_named_and_left_to_a_person() -> None:
    concluded = asked(ailing(explained()), replace(FOUND, undoing=None, declined=("RevertConflict", "two changed it")))
    assert (of(concluded).suspect, of(concluded).blocked) == (FACT, ("RevertConflict", "two changed it"))
    assert concluded.then is None
    assert [each.reason for each in concluded.events] == ["Suspected", "RevertConflict"]
    assert concluded.events[1].kind == "Warning"


EDIT = Edit("apps/gpt/values.yaml", "tag: new\n", "tag: old\n")
PIN = Undoing(ProposalKind.PIN_DIGEST, worlds.QUIET, (EDIT,), pins=("image gpt",))


def test_what_came_with_no_commit_is_set_back_and_nobody_is_suspected() -> None:
    findings = Findings(Ranking((), None, "the image was rebuilt"), PIN)
    concluded = asked(ailing(explained(suspect=FACT)), findings)
    assert isinstance(concluded.then, EnsurePullRequest)
    assert concluded.then.proposal.kind is ProposalKind.PIN_DIGEST
    assert (of(concluded).suspect, concluded.events) == (None, ())


HARMLESS = Suspect(worlds.COMMITS[0], 0.2, (), ())
NOBODY = Findings(Ranking((HARMLESS,), None, "Nobody stands out."))
NO_SUSPECT: list[tuple[str, Findings, tuple[str, str]]] = [
    ("nobody is plausible", NOBODY, ("NoSuspect", "Nobody stands out.")),
    (
        "with what speaks against it",
        replace(NOBODY, declined=("RollbackOfRollback", "It is a rollback.")),
        ("NoSuspect", "Nobody stands out. It is a rollback."),
    ),
    (
        "one is plausible, and no more than that",
        Findings(Ranking((HARMLESS, replace(HARMLESS, score=0.5)), None, "Two could.")),
        ("NoSingleSuspect", "Two could."),
    ),
    (
        "nothing could be rendered",
        Findings(Ranking((replace(HARMLESS, score=0.9),), None, "Nothing is blamed."), not_rendered="helm"),
        ("CannotRender", "Nothing is blamed."),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("findings", "blocked"), [row[1:] for row in NO_SUSPECT], ids=[row[0] for row in NO_SUSPECT])
def test_why_nobody_is_suspected_is_told_once_and_final(findings: Findings, blocked: tuple[str, str]) -> None:
    concluded = asked(ailing(explained()), findings)
    assert (of(concluded).blocked, of(concluded).suspect, concluded.then) == (blocked, None, None)
    assert concluded.events == (Event("Warning", *blocked),)
    assert (of(concluded).good_revision, of(concluded).bad_revision) == (worlds.GOOD, worlds.QUIET)


def test_those_that_were_undone_in_vain_are_named_where_nobody_is_left() -> None:
    commit = Exoneration(replace(worlds.SUSPECT, sha="4" * 40), worlds.MERGED, worlds.NOW_S)
    pin = Exoneration(None, worlds.MERGED, worlds.NOW_S, PinFact("outside-1"))
    concluded = asked(ailing(explained(exonerated=(commit, pin))), NOBODY)
    names = f"444444444444, what {worlds.MERGED.url} pins"
    told = f"Nobody stands out. ({names} did not do it: undone, and the loss remained)"
    assert of(concluded).blocked == ("NoSuspect", told)


SECRET = "+ password: hunter2-hunter2\n"


def test_a_rehearsal_keeps_what_would_be_proposed_without_a_secret() -> None:
    here = world(ailing(explained()))
    concluded = conclude(here, PreviewProposal(worlds.source(), PROPOSAL), Previewed(SECRET + "+ workers: 4\n"))
    fact = ProposalFact(
        ProposalKind.REVERT, "mfu-operator/revert-2", "Revert it", True, "+ password: ***\n+ workers: 4\n"
    )
    assert concluded.status == ailing(explained(proposal=fact))
    said = "DryRun: would open 'Revert it' from branch mfu-operator/revert-2"
    assert concluded.events == (Event("Normal", "WouldPropose", said),)


def proposed(found: Any, status: Status | None = None, head: str | None = "e" * 40) -> Conclusion:
    here = world(status or ailing(explained(suspect=worlds.SUSPECT)))
    effect = EnsurePullRequest(worlds.source(), PROPOSAL)
    outcome: Outcome = Proposed(found, SECRET, head)
    return conclude(here, effect, outcome)


def test_a_request_is_noted_as_the_forge_has_it() -> None:
    concluded = proposed(replace(PULL, branch="mfu-operator/theirs", title="Their title"))
    assert of(concluded).proposal == ProposalFact(
        ProposalKind.REVERT, "mfu-operator/theirs", "Their title", False, "+ password: ***\n", PULL.url, 1, OPEN,
        opened_at=NOW_S, head="e" * 40,
    )  # fmt: skip
    assert concluded.events == (Event("Normal", "Proposed", f"{PULL.url}: Their title", PULL.url),)
    assert of(concluded).blocked is None


def test_a_forge_that_tells_no_branch_and_no_title_has_those_that_were_asked_for() -> None:
    fact = of(proposed(replace(PULL, branch="", title=""))).proposal
    assert fact is not None
    assert (fact.branch, fact.title) == ("mfu-operator/revert-2", "Revert it")


def test_whoever_could_not_be_asked_is_told() -> None:
    concluded = proposed(replace(PULL, title="T", unmet=("no reviewer pat", "no label slow")))
    said = f"{PULL.url}: no reviewer pat; no label slow"
    assert concluded.events[1:] == (Event("Warning", "ReviewNotAsked", said),)


def test_a_request_that_was_closed_before_is_a_no_and_remembered_for_its_commit() -> None:
    concluded = proposed(replace(PULL, state=CLOSED))
    blocked = ("PullRequestClosed", f"{PULL.url} was closed without merging, which is taken as a no")
    assert of(concluded).blocked == blocked
    assert concluded.events == (Event("Warning", *blocked),)
    fact = of(concluded).proposal
    assert fact is not None and fact.state is CLOSED
    reason = f"{PULL.url} was closed without merging"
    assert concluded.status.refused == (Refusal(worlds.SLOW, "Save memory", reason, NOW_S),)
    unnamed = proposed(replace(PULL, state=CLOSED), ailing(explained()))
    assert (of(unnamed).blocked, unnamed.status.refused) == (blocked, ())


def merged_at(time_s: float | None) -> Conclusion:
    return proposed(replace(PULL, state=MERGED, merged_at=time_s, merge_sha="f" * 40))


def test_a_request_that_was_merged_since_the_loss_began_may_end_it() -> None:
    for time_s in (worlds.ONSET_S, NOW_S):
        fact = of(merged_at(time_s)).proposal
        assert fact is not None
        assert (fact.state, fact.merged_at, fact.merge_sha) == (MERGED, time_s, "f" * 40)
        assert [each.reason for each in merged_at(time_s).events] == ["Proposed"]


@pytest.mark.parametrize(("time_s", "when"), [(worlds.ONSET_S - 1, "2026-09-21 13:54 UTC"), (None, "an unknown time")])
def test_a_request_that_was_merged_before_the_loss_answers_nothing(time_s: float | None, when: str) -> None:
    concluded = merged_at(time_s)
    message = (
        f"{PULL.url} was merged at {when}, before this loss began at 2026-09-21 13:54 UTC: the loss has another cause, "
        "or the merge was not rolled out to this run"
    )
    assert concluded.status == ailing(explained(suspect=worlds.SUSPECT, blocked=("AlreadyReverted", message)))
    assert concluded.events == (Event("Warning", "AlreadyReverted", message),)


OURS = replace(worlds.PROPOSED, head="e" * 40)
PAST = explained(proposal=OURS, recovery=worlds.RECOVERY)


def withdrawn(found: Any, theirs: bool = False) -> Conclusion:
    here = world(replace(SETTLED, history=(PAST,)))
    return conclude(here, Withdraw(worlds.source(), OURS, "not needed"), Withdrawn(found, theirs))


def test_a_request_that_is_withdrawn_says_why_wherever_it_is_noted() -> None:
    concluded = withdrawn(replace(PULL, state=CLOSED, withdrawn=True))
    fact = replace(OURS, state=CLOSED, withdrawn="not needed")
    assert concluded.status.history == (replace(PAST, proposal=fact),)
    said = f"{PULL.url} is closed and its branch removed: not needed"
    assert concluded.events == (Event("Normal", "Withdrawn", said, PULL.url),)


def test_a_request_that_a_person_closed_first_is_their_no() -> None:
    (past,) = withdrawn(replace(PULL, state=CLOSED)).status.history
    assert past.proposal == replace(OURS, state=CLOSED)


def test_a_request_that_was_merged_first_is_noted_as_merged_and_nothing_is_told() -> None:
    concluded = withdrawn(replace(PULL, state=MERGED, merged_at=NOW_S, merge_sha="f" * 40))
    (past,) = concluded.status.history
    assert past.proposal == replace(OURS, state=MERGED, merged_at=NOW_S, merge_sha="f" * 40)
    assert concluded.events == ()


def test_a_request_that_a_person_pushed_to_is_left_alone() -> None:
    concluded = withdrawn(PULL, theirs=True)
    assert concluded.status.history == (replace(PAST, proposal=replace(OURS, theirs=True)),)
    said = f"{PULL.url} holds a commit that a person pushed: it is theirs, and is left open (not needed)"
    assert concluded.events == (Event("Normal", "TakenOver", said, PULL.url),)


def test_a_comment_is_noted_once_it_stands_or_is_refused() -> None:
    here = world(replace(SETTLED, history=(PAST,)))
    effect = Note(worlds.source(), OURS, "text", "abc")
    (past,) = conclude(here, effect, Noted()).status.history
    assert past.proposal == replace(OURS, noted="abc")
    assert conclude(here, effect, Noted()).events == ()
    refused = conclude(here, effect, Noted("comments are off"))
    assert refused.status.history == (past,)
    said = f"the forge refused a comment on {PULL.url}: comments are off"
    assert refused.events == (Event("Warning", "NoteRefused", said, f"{PULL.url} abc"),)
