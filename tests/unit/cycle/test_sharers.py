"""Which other baselines a pull request is about, as far as they were heard of."""

from dataclasses import replace

from mfu_operator.cycle.sharers import FRESH_S, RECALL_S, Sharers
from mfu_operator.model.incident import Status
from mfu_operator.reconcile.proposed.facts import shares
from tests.support import worlds
from tests.support.worlds import SETTLED, ailing, explained

ASKED: Status = ailing(explained(suspect=worlds.SUSPECT, proposal=worlds.PROPOSED))
OTHER: Status = ailing(explained(proposal=replace(worlds.PROPOSED, url="https://git.example/2")))


def test_a_baseline_is_told_of_every_other_and_not_of_itself() -> None:
    sharers = Sharers()
    sharers.note("a/one", ASKED, 0.0)
    sharers.note("a/two", OTHER, 0.0)
    assert sharers.others("a/one", 0.0) == shares(OTHER, "a/two")
    assert sharers.others("a/two", 0.0) == shares(ASKED, "a/one")
    assert sharers.others("a/three", 0.0) == (*shares(ASKED, "a/one"), *shares(OTHER, "a/two"))


def test_what_is_known_of_a_baseline_is_what_its_last_tick_said() -> None:
    sharers = Sharers()
    sharers.note("a/one", ASKED, 0.0)
    sharers.note("a/one", OTHER, 1.0)
    assert sharers.others("a/two", 1.0) == shares(OTHER, "a/one")
    sharers.note("a/one", SETTLED, 2.0)
    assert sharers.others("a/two", 2.0) == ()
    sharers.note("a/one", SETTLED, 3.0)
    assert sharers.others("a/two", 3.0) == ()


def test_one_that_was_not_heard_of_for_long_is_gone() -> None:
    sharers = Sharers()
    sharers.note("a/one", ASKED, 100.0)
    assert sharers.others("a/two", 100.0 + FRESH_S - 1) != ()
    assert sharers.others("a/two", 100.0 + FRESH_S) == ()


def test_one_that_was_deleted_is_forgotten() -> None:
    sharers = Sharers()
    sharers.note("a/deleted", ASKED, 100.0)
    sharers.note("a/one", ASKED, 200.0)
    sharers.note("a/three", SETTLED, 100.0 + FRESH_S)
    assert sharers._known.keys() == {"a/one"}


def test_after_a_start_nobody_is_known_until_every_status_was_read() -> None:
    sharers = Sharers()
    assert sharers.others("a/two", -1e9) == ()
    sharers.begin(50.0)
    sharers.note("a/one", ASKED, 60.0)
    assert sharers.others("a/two", 50.0 + RECALL_S - 1) is None
    assert sharers.others("a/two", 50.0 + RECALL_S) == shares(ASKED, "a/one")
