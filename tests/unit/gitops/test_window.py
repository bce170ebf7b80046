"""Which revisions bracket a loss, and which are exonerated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfu_operator.errors import AskPerson, Wait
from mfu_operator.gitops.window import runs, window
from mfu_operator.model.commit import Deployed, Source
from mfu_operator.model.incident import KnownGood


def source(*deployed: Deployed, synced: str | None = None) -> Source:
    return Source("https://git.example.org/team/models.git", "main", "apps/gpt", deployed, synced)


def good(revision: str | None, time_s: float) -> KnownGood:
    return KnownGood(revision, (), time_s)


def test_the_revision_deployed_between_the_last_good_reading_and_the_onset_is_suspect() -> None:
    history = source(Deployed("a", 0), Deployed("b", 1000))
    assert window(history, good("a", 990), 1120) == ("a", "b")


def test_every_revision_up_to_the_onset_is_inside() -> None:
    history = source(Deployed("a", 0), Deployed("b", 1000), Deployed("c", 1030), Deployed("d", 1060))
    assert window(history, good("a", 990), 1120) == ("a", "d")


def test_a_revision_deployed_clearly_after_the_onset_is_exonerated() -> None:
    history = source(Deployed("a", 0), Deployed("b", 1000), Deployed("c", 1181))
    assert window(history, good("a", 990), 1120) == ("a", "b")


@pytest.mark.parametrize("deployed_s", [1179, 1180])
def test_a_revision_deployed_just_after_the_estimated_onset_is_not(deployed_s: float) -> None:
    history = source(Deployed("a", 0), Deployed("b", deployed_s))
    assert window(history, good("a", 990), 1120) == ("a", "b")


def test_a_deployment_counts_from_its_beginning() -> None:
    history = source(Deployed("a", 0), Deployed("b", 1500, started_s=1100))
    assert window(history, good("a", 990), 1120) == ("a", "b")


def test_a_revision_synced_twice_was_deployed_when_it_first_came() -> None:
    history = source(Deployed("a", 0), Deployed("a", 500), Deployed("b", 1000), Deployed("b", 1010))
    assert window(history, good("a", 990), 1120) == ("a", "b")


def test_a_known_good_revision_that_the_history_forgot_still_bounds_the_window() -> None:
    history = source(Deployed("b", 1000), Deployed("c", 1030))
    assert window(history, good("a", 990), 1120) == ("a", "c")


def test_after_a_rollback_and_a_new_commit_the_rollback_is_the_good_one() -> None:
    history = source(Deployed("a", 0), Deployed("b", 300), Deployed("a", 600), Deployed("c", 1000))
    assert window(history, good("a", 990), 1120) == ("a", "c")


def test_a_revision_that_was_taken_back_before_the_onset_did_not_do_it() -> None:
    with pytest.raises(AskPerson, match="no revision was deployed"):
        window(source(Deployed("a", 0), Deployed("b", 1000), Deployed("a", 1030)), good("a", 990), 1120)


@pytest.mark.parametrize("later", [(), (Deployed("b", 2000),)])
def test_no_revision_in_between_means_that_no_commit_did_it(later: tuple[Deployed, ...]) -> None:
    with pytest.raises(AskPerson) as raised:
        window(source(Deployed("a", 0), *later), good("a", 990), 1120)
    assert raised.value.reason == "NoRevisionChanged"
    assert "no commit did it" in raised.value.message
    assert not later or "880 s after the onset" in raised.value.message


def test_without_a_good_revision_a_person_is_asked() -> None:
    with pytest.raises(AskPerson) as raised:
        window(source(Deployed("b", 1000)), good(None, 990), 1120)
    assert raised.value.reason == "KnownGoodUnknown"


def test_a_revision_that_was_deployed_again_stays_one_run_and_one_that_came_back_is_another() -> None:
    a, again, b, back = Deployed("a", 0), Deployed("a", 5), Deployed("b", 10), Deployed("a", 20)
    assert runs((back, b, again, a)) == [a, b, back]
    assert runs(()) == []


def test_a_deployment_at_the_very_moment_of_the_last_good_reading_was_read() -> None:
    assert window(source(Deployed("a", 0), Deployed("b", 990), Deployed("c", 1000)), good("b", 990), 1120) == ("b", "c")
    assert window(source(Deployed("a", 0), Deployed("b", 990), Deployed("c", 1000)), good(None, 990), 1120) == (
        "b",
        "c",
    )


def test_the_good_revision_is_the_one_that_was_read_and_not_a_later_one() -> None:
    history = source(Deployed("a", 0), Deployed("b", 500), Deployed("c", 1000))
    assert window(history, good("a", 990), 1120) == ("a", "c")


def test_without_a_name_the_last_revision_before_the_good_reading_is_good() -> None:
    history = source(Deployed("a", 0), Deployed("b", 500), Deployed("c", 1000))
    assert window(history, good(None, 990), 1120) == ("b", "c")


def test_a_good_revision_that_was_deployed_after_the_onset_again_is_not_the_good_end() -> None:
    history = source(Deployed("a", 0), Deployed("b", 1000), Deployed("c", 1100))
    assert window(history, good("c", 990), 1120) == ("a", "c")


def test_a_tool_without_history_and_without_a_good_revision_asks_a_person() -> None:
    with pytest.raises(AskPerson, match="keeps no history") as raised:
        window(source(synced="b"), good(None, 990), 1120)
    assert raised.value.reason == "KnownGoodUnknown"
    with pytest.raises(AskPerson, match="took effect only when the pods restarted") as same:
        window(source(synced="a"), good("a", 990), 1120)
    assert same.value.message.endswith("images behind moving tags.")


def test_a_tool_without_history_gives_the_window_up_to_what_is_synced() -> None:
    assert window(source(synced="b"), good("a", 990), 1120) == ("a", "b")
    with pytest.raises(AskPerson):
        window(source(synced="a"), good("a", 990), 1120)
    with pytest.raises(Wait):
        window(source(), good("a", 990), 1120)


@given(st.permutations([Deployed("a", 0), Deployed("b", 1000), Deployed("b", 1005), Deployed("c", 1030)]))
def test_the_order_in_which_deployments_are_told_does_not_matter(deployed: list[Deployed]) -> None:
    assert window(source(*deployed), good("a", 990), 1120) == ("a", "c")
