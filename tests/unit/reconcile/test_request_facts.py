"""The pull requests that a status names: each baseline's part in them, and their facts wherever they stand."""

from dataclasses import replace

import pytest

from mfu_operator.model.incident import Exoneration, Incident, ProposalFact
from mfu_operator.model.sharer import Sharer, Stage
from mfu_operator.reconcile.proposed.facts import incidents, proposals, same_commit, shares, with_proposal
from tests.support import worlds
from tests.support.worlds import NOW_S, SETTLED, ailing, explained, incident

URL = str(worlds.PROPOSED.url)
ASKED = explained(suspect=worlds.SUSPECT, proposal=worlds.PROPOSED)
OTHER = replace(worlds.MERGED, url="https://git.example/2", number=2)
UNDONE = Exoneration(replace(worlds.SUSPECT, sha="4" * 40), OTHER, NOW_S - 60)
PART = Sharer("team-a/gpt", URL, "mfu", 0.46, 0.381, worlds.ONSET_S, suspect=worlds.SLOW)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("abcdef1234567", "abcdef1234567", True),
        ("abcdef1", "abcdef1234567", True),
        ("abcdef1234567", "abcdef1", True),
        ("abcdef", "abcdef1234567", False),
        ("abcdef1234567", "abcdef", False),
        ("abcdef1234567", "abcdef2234567", False),
        ("", "", False),
        (None, "abcdef1", False),
        ("abcdef1", None, False),
        (None, None, False),
    ],
)
def test_two_ids_are_of_one_commit_where_one_begins_with_the_other(
    one: str | None, other: str | None, same: bool
) -> None:
    assert same_commit(one, other) is same


def test_the_open_incident_comes_before_those_of_the_past() -> None:
    past, older = incident(id="past"), incident(id="older")
    history = (past, older)
    assert list(incidents(replace(SETTLED, history=history))) == [past, older]
    assert list(incidents(ailing(ASKED, history=history))) == [ASKED, past, older]


STAGES: list[tuple[str, Incident, Sharer]] = [
    ("slow", ASKED, PART),
    ("merged", replace(ASKED, proposal=worlds.MERGED), replace(PART, merged=True, merge_sha="f" * 40)),
    ("recovered", replace(ASKED, recovery=worlds.RECOVERY, ended_at=NOW_S),
     replace(PART, stage=Stage.RECOVERED, staged_at=NOW_S - 60, after=0.458)),
    ("recovered, though rejected", replace(ASKED, recovery=worlds.RECOVERY, blocked=("Rejected", "")),
     replace(PART, stage=Stage.RECOVERED, staged_at=NOW_S - 60, after=0.458)),
    ("rejected", replace(ASKED, blocked=("Rejected", "no")), replace(PART, stage=Stage.ENDED)),
    ("rejected and ended", replace(ASKED, blocked=("Rejected", "no"), ended_at=NOW_S),
     replace(PART, stage=Stage.ENDED)),
    ("blocked for another reason", replace(ASKED, blocked=("NoSuspect", "")), PART),
    ("ended", replace(ASKED, ended_at=NOW_S), replace(PART, stage=Stage.ENDED, staged_at=NOW_S)),
    ("nobody suspected", replace(ASKED, suspect=None), replace(PART, suspect="")),
]  # fmt: skip


@pytest.mark.parametrize(("of", "part"), [row[1:] for row in STAGES], ids=[row[0] for row in STAGES])
def test_a_baseline_s_part_in_its_request_is_at_its_incident_s_stage(of: Incident, part: Sharer) -> None:
    assert shares(ailing(of), "team-a/gpt") == (part,)


def test_a_baseline_has_a_part_in_what_was_undone_in_vain_too() -> None:
    undone = replace(
        PART, url=str(OTHER.url), merged=True, merge_sha="f" * 40, suspect="4" * 40, stage=Stage.EXONERATED,
        staged_at=NOW_S - 60,
    )  # fmt: skip
    assert shares(ailing(replace(ASKED, exonerated=(UNDONE,))), "team-a/gpt") == (PART, undone)
    assert shares(ailing(explained(exonerated=(UNDONE,))), "team-a/gpt") == (undone,)


def test_a_request_without_an_address_is_nobody_s() -> None:
    nameless = replace(worlds.PROPOSED, url=None)
    undone = replace(UNDONE, proposal=replace(OTHER, url=None))
    of = explained(proposal=nameless, exonerated=(undone,))
    assert shares(ailing(of), "team-a/gpt") == ()
    assert list(proposals(ailing(of))) == []


def test_of_two_incidents_with_one_request_the_newer_counts() -> None:
    past = replace(ASKED, id="past", recovery=worlds.RECOVERY)
    assert shares(ailing(ASKED, history=(past,)), "team-a/gpt") == (PART,)


def test_requests_are_those_with_an_address_and_a_number_the_newest_first() -> None:
    first = replace(UNDONE, proposal=replace(OTHER, url="https://git.example/3", number=3))
    of, past = replace(ASKED, exonerated=(first, UNDONE)), explained(proposal=OTHER)
    found = [(each.id, proposal.number) for each, proposal in proposals(ailing(of, history=(past,)))]
    assert found == [(of.id, 1), (of.id, 2), (of.id, 3), (past.id, 2)]
    assert list(proposals(ailing(explained()))) == []
    for unknown in (replace(worlds.PROPOSED, number=None), replace(worlds.PROPOSED, url=None)):
        assert list(proposals(ailing(explained(proposal=unknown)))) == []


def theirs(fact: ProposalFact) -> ProposalFact:
    return replace(fact, theirs=True)


def test_a_fact_of_a_request_is_changed_wherever_it_stands_and_of_no_other() -> None:
    undone = replace(UNDONE, proposal=worlds.PROPOSED)
    of, past = replace(ASKED, exonerated=(UNDONE, undone)), explained(proposal=worlds.PROPOSED)
    other = explained(proposal=OTHER)
    changed = with_proposal(ailing(of, history=(past, other, explained())), URL, theirs)
    mine = theirs(worlds.PROPOSED)
    assert changed.incident == replace(of, proposal=mine, exonerated=(UNDONE, replace(undone, proposal=mine)))
    assert changed.history == (replace(past, proposal=mine), other, explained())
    assert with_proposal(SETTLED, URL, theirs) == SETTLED
