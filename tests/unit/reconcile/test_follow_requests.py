"""What is still to do for a pull request: withdrawn where nobody wants it, and told to those it is about."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.gitops.note import note
from mfu_operator.model.baseline import Remediation, RemediationMode
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Exoneration, Incident, Status
from mfu_operator.model.proposal import Closing, PullRequestState
from mfu_operator.model.sharer import Sharer, Stage
from mfu_operator.reconcile.effects import Note, Record, Withdraw
from mfu_operator.reconcile.proposed.facts import shares
from mfu_operator.reconcile.proposed.follow import outstanding, tell, withdraw
from mfu_operator.reconcile.world import UNSEEN, World
from tests.support import worlds
from tests.support.worlds import NOW_S, SETTLED, ailing, explained, spec, world

OURS = replace(worlds.PROPOSED, head="e" * 40)
MERGED = replace(worlds.MERGED, head="e" * 40)
SUSPECTED = explained(suspect=worlds.SUSPECT, proposal=OURS)
REJECTED = replace(SUSPECTED, blocked=("Rejected", "a person rejected undoing it"))
PAST = replace(SUSPECTED, recovery=worlds.RECOVERY)
ENDED = replace(SUSPECTED, ended_at=NOW_S - 60)
URL = str(OURS.url)
DAY_S = 86400.0
PULL_REQUEST, DRY_RUN, OFF = RemediationMode.PULL_REQUEST, RemediationMode.DRY_RUN, RemediationMode.OBSERVE
SECRETLESS = spec(remediation=replace(spec().remediation, secret=None))


def after(*history: Incident) -> Status:
    """A job that is well again."""
    return replace(SETTLED, history=history)


def because(here: World) -> str | None:
    """Why a pull request is withdrawn; None where none is."""
    step = withdraw(here)
    if step is None:
        return None
    assert isinstance(step, Withdraw)
    assert (step.source, step.proposal.url) == (worlds.source(), URL)
    return step.because


RECOVERED = "training recovered at 2026-09-21 14:13 UTC before this was merged (mfu 0.381 while slow, 0.458 now)"
UNWANTED: list[tuple[str, Status, RemediationMode, str | None]] = [
    ("asked for", ailing(SUSPECTED), PULL_REQUEST, None),
    ("rejected", ailing(REJECTED), PULL_REQUEST, "a person rejected undoing it"),
    ("rejected and another mode", ailing(REJECTED), OFF, "a person rejected undoing it"),
    ("blocked for another reason", ailing(replace(SUSPECTED, blocked=("NoSuspect", ""))), PULL_REQUEST, None),
    ("rejected, a person's now", ailing(replace(REJECTED, proposal=replace(OURS, theirs=True))), PULL_REQUEST, None),
    ("rejected before it was proposed", ailing(replace(REJECTED, proposal=None)), OFF, None),
    ("another mode", ailing(SUSPECTED), DRY_RUN,
     "spec.remediation.mode is DryRun now, so nothing is proposed any more"),
    ("another mode, a person's now", ailing(replace(SUSPECTED, proposal=replace(OURS, theirs=True))), OFF, None),
    ("another mode, merged", ailing(replace(SUSPECTED, proposal=MERGED)), OFF, None),
    ("another mode, nothing proposed", ailing(explained()), OFF, None),
    ("recovered", after(PAST), PULL_REQUEST, RECOVERED),
    ("recovered long before others", after(explained(proposal=MERGED, recovery=worlds.RECOVERY), PAST), PULL_REQUEST,
     RECOVERED),
    ("recovered by its merge", after(replace(PAST, proposal=replace(MERGED, noted="a"))), PULL_REQUEST, None),
    ("recovered, nothing proposed", after(replace(PAST, proposal=None)), PULL_REQUEST, None),
    ("ended in another way", after(ENDED), PULL_REQUEST, None),
    ("nothing ever", SETTLED, PULL_REQUEST, None),
]  # fmt: skip


@pytest.mark.parametrize(("status", "mode", "why"), [row[1:] for row in UNWANTED], ids=[row[0] for row in UNWANTED])
def test_a_request_that_nobody_wants_any_more_is_withdrawn_with_the_reason(
    status: Status, mode: RemediationMode, why: str | None
) -> None:
    assert because(world(status, spec=spec(mode))) == why
    assert outstanding(spec(mode), status) is (why is not None)


def test_a_person_s_no_is_told_from_what_is_not_needed() -> None:
    for status, closing in ((ailing(REJECTED), Closing.REJECTED), (after(PAST), Closing.NOT_NEEDED)):
        step = withdraw(world(status))
        assert isinstance(step, Withdraw) and step.closing is closing
    blocked = replace(PAST, blocked=("NoSuspect", ""))
    step = withdraw(world(after(blocked)))
    assert isinstance(step, Withdraw) and step.closing is Closing.NOT_NEEDED


@pytest.mark.parametrize(
    "changes",
    [{"source": None}, {"source": UNSEEN}, {"spec": SECRETLESS}, {"sharers": None}],
    ids=["no source", "nobody looked", "no token", "nobody knows who else needs it"],
)
def test_nothing_is_withdrawn_by_who_cannot(changes: dict[str, Any]) -> None:
    assert withdraw(world(after(PAST), **changes)) is None


def shared(stage: Stage, url: str = URL) -> Sharer:
    return Sharer("team-a/zeta", url, "mfu", 0.46, 0.38, NOW_S - 600, stage)


def test_a_request_that_another_baseline_waits_for_stays_and_the_next_one_is_looked_at() -> None:
    other = replace(OURS, url="https://git.example/other", number=2)
    elsewhere = replace(PAST, proposal=other)
    assert withdraw(world(after(PAST), sharers=(shared(Stage.SLOW),))) is None
    for sharer in (shared(Stage.RECOVERED), shared(Stage.SLOW, "https://git.example/third")):
        assert because(world(after(PAST), sharers=(sharer,))) == RECOVERED
    step = withdraw(world(after(PAST, elsewhere), sharers=(shared(Stage.SLOW),)))
    assert isinstance(step, Withdraw) and step.proposal == other


def test_what_could_not_be_withdrawn_within_a_day_is_left_for_a_person() -> None:
    ended_s = worlds.RECOVERY.recovered_at
    assert because(world(after(PAST), now_s=ended_s + DAY_S)) == RECOVERED
    step = withdraw(world(after(PAST), now_s=ended_s + DAY_S + 1, source=None))
    assert isinstance(step, Record)
    assert step.status.history[0].proposal == replace(OURS, theirs=True)
    told = f"{URL} could not be withdrawn within a day: it is left for you to close"
    assert step.events == (Event("Warning", "LeftOpen", told),)


def test_an_open_incident_is_never_given_up() -> None:
    assert because(world(ailing(REJECTED), now_s=NOW_S + 30 * DAY_S)) == "a person rejected undoing it"


def noted(here: World) -> Note | None:
    step = tell(here)
    assert step is None or isinstance(step, Note)
    return step


BY_MERGE = explained(suspect=worlds.SUSPECT, proposal=MERGED, recovery=worlds.RECOVERY)
UNDONE = Exoneration(worlds.SUSPECT, MERGED, NOW_S - 60)


def test_a_recovery_by_a_merge_is_told_on_the_request() -> None:
    step = noted(world(after(BY_MERGE)))
    assert step is not None
    assert (step.source, step.proposal) == (worlds.source(), MERGED)
    assert step.text == note(shares(after(BY_MERGE), "team-a/gpt-small"))
    assert len(step.digest) == 12
    told = replace(BY_MERGE, proposal=replace(MERGED, noted=step.digest))
    assert noted(world(after(told))) is None
    again = replace(told, proposal=replace(MERGED, noted="another"))
    assert noted(world(after(again))) is not None


TOLD: list[tuple[str, Status, tuple[Sharer, ...], bool]] = [
    ("asked, of one job alone", ailing(SUSPECTED), (), False),
    ("asked, of two jobs", ailing(SUSPECTED), (shared(Stage.SLOW),), True),
    ("asked, another of another request", ailing(SUSPECTED), (shared(Stage.SLOW, "https://git.example/2"),), False),
    ("recovered before it was merged", after(PAST), (), False),
    ("recovered by the merge", after(BY_MERGE), (), True),
    ("merged, and slow", ailing(replace(SUSPECTED, proposal=MERGED)), (), False),
    ("ended in another way", after(ENDED), (), False),
    ("undone in vain", ailing(explained(exonerated=(UNDONE,))), (), True),
]


@pytest.mark.parametrize(("status", "others", "told"), [row[1:] for row in TOLD], ids=[row[0] for row in TOLD])
def test_a_comment_is_made_where_it_says_more_than_the_description(
    status: Status, others: tuple[Sharer, ...], told: bool
) -> None:
    assert (noted(world(status, sharers=others)) is not None) is told


def test_of_several_baselines_the_first_by_name_writes_for_all() -> None:
    last, first = shared(Stage.SLOW), replace(shared(Stage.SLOW), baseline="team-a/alpha")
    step = noted(world(ailing(SUSPECTED), sharers=(last,)))
    assert step is not None
    assert step.text == note((*shares(ailing(SUSPECTED), "team-a/gpt-small"), last))
    assert noted(world(ailing(SUSPECTED), sharers=(last, first))) is None


def test_the_next_request_is_told_where_the_first_needs_nothing() -> None:
    other = replace(MERGED, url="https://git.example/other", number=2)
    step = noted(world(after(PAST, replace(BY_MERGE, proposal=other))))
    assert step is not None and step.proposal == other


@pytest.mark.parametrize(
    "changes",
    [
        {"source": None}, {"source": UNSEEN}, {"sharers": None}, {"spec": SECRETLESS}, {"spec": spec(DRY_RUN)},
        {"now_s": worlds.RECOVERY.recovered_at + DAY_S + 1},
    ],
    ids=["no source", "nobody looked", "nobody knows of others", "no token", "a dry run", "a day later"],
)  # fmt: skip
def test_nothing_is_told_by_who_cannot_or_may_not(changes: dict[str, Any]) -> None:
    assert noted(world(after(BY_MERGE), **changes)) is None


def test_until_a_day_is_over_it_is_told() -> None:
    assert noted(world(after(BY_MERGE), now_s=worlds.RECOVERY.recovered_at + DAY_S)) is not None
    ended = replace(ENDED, exonerated=(UNDONE,), proposal=None)
    assert noted(world(after(ended), now_s=NOW_S - 60 + DAY_S)) is not None
    assert noted(world(after(ended), now_s=NOW_S - 60 + DAY_S + 1)) is None


UNTOLD: list[tuple[str, Status, bool]] = [
    ("recovered by a merge", after(BY_MERGE), True),
    ("recovered by a merge, and told", after(replace(BY_MERGE, proposal=replace(MERGED, noted="a"))), False),
    ("refused, then recovered", after(replace(PAST, proposal=replace(OURS, state=PullRequestState.CLOSED))), False),
    ("recovered by itself", after(replace(PAST, proposal=None)), False),
    ("merged, and slow", ailing(replace(SUSPECTED, proposal=MERGED)), False),
    ("undone in vain", ailing(explained(exonerated=(UNDONE,))), True),
    ("undone in vain, and told",
     ailing(explained(exonerated=(replace(UNDONE, proposal=replace(MERGED, noted="a")),))), False),
    ("undone in vain in a past incident", after(explained(exonerated=(UNDONE,))), True),
]  # fmt: skip


@pytest.mark.parametrize(("status", "waits"), [row[1:] for row in UNTOLD], ids=[row[0] for row in UNTOLD])
def test_the_source_is_looked_for_where_something_is_to_be_told(status: Status, waits: bool) -> None:
    assert outstanding(spec(), status) is waits
    assert not outstanding(spec(DRY_RUN), status)
    assert not outstanding(SECRETLESS, status)


def test_without_a_token_nothing_is_outstanding() -> None:
    bare = spec(remediation=Remediation(OFF))
    assert not outstanding(bare, ailing(REJECTED))
