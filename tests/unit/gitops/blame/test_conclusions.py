"""When a commit stands out, when none is blamed, and what the sentence says."""

from dataclasses import replace

import pytest

from mfu_operator.gitops.blame.cleared import pin_id
from mfu_operator.gitops.blame.model import Blame, Moved, Step, Window
from mfu_operator.gitops.blame.verdicts import judge
from mfu_operator.gitops.rendered.difference import Difference
from tests.support.blamed import changed, gets, step, unrendered

WORKERS = "DataLoaderWorkers"
FULL = changed("num_workers", "8", "0", key="full")
ASIDE = changed("prefetch_factor", "4", "1", key="aside")
FAMILY = changed("use_cache", "true", "false", key="family")
VAGUE = changed("num_workers", "few", "many", key="vague")
TEXT = changed("text", "a", "b", text=True)
OTHER = changed("OMP_NUM_THREADS", "8", "64", key="other")
ZORP = changed("zorp", "1", "2")
SCORES = {FULL: 1.0, ASIDE: 0.65, FAMILY: 0.62, VAGUE: 0.6, TEXT: 0.4, OTHER: 0.3, ZORP: 0.25}
GOOD, BAD = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
MOVED = Moved("gpt:latest", GOOD, BAD)
MOVED_TOLD = "image gpt:latest ran as sha256:111111111111 at good and as sha256:222222222222 at bad"


def window(*steps: Step, besides: tuple[Difference, ...] = ()) -> Window:
    """What differs is what the commits changed, and `besides`."""
    found = [difference for each in steps for difference in each.changed or ()]
    return Window(steps, gets(), gets(), (*dict.fromkeys(found), *besides))


def blame(seen: Window, cause: str | None = WORKERS) -> Blame:
    return judge(seen, "Job/gpt", cause)


@pytest.mark.parametrize(("found", "score"), SCORES.items(), ids=[each.key for each in SCORES])
def test_the_changes_of_these_tests_have_the_scores_of_the_table(found: Difference, score: float) -> None:
    (judged,) = blame(window(step("a", found))).suspects
    assert judged.score == score


def test_the_only_plausible_commit_stands_out() -> None:
    seen = window(step("b"), step("a", FULL))
    told = blame(seen)
    assert told.chosen is told.suspects[1]
    assert told.because == (
        "aaaaaaa (commit a) stands out among 2 commits of the window, compared by what each gives Job/gpt: "
        f"{FULL}: a key of DataLoaderWorkers, in the direction that costs time."
    )
    assert (told.outside, told.rebuilt) == ((), ())


def test_a_commit_alone_is_one_commit_and_its_subject_is_one_short_line() -> None:
    one = step("a", FULL)
    named = replace(one, commit=replace(one.commit, subject="Fewer\n  workers " + "x" * 60))
    assert f"aaaaaaa (Fewer workers {'x' * 46}) stands out among 1 commit of the window" in blame(window(named)).because


@pytest.mark.parametrize(
    ("first", "second", "chosen"),
    [
        (FULL, FULL, False),
        (FULL, ASIDE, True),
        (ASIDE, VAGUE, False),
        (ASIDE, TEXT, True),
        (FAMILY, TEXT, False),
        (FAMILY, OTHER, True),
        (VAGUE, OTHER, True),
        (VAGUE, ZORP, True),
    ],
)
def test_the_first_is_blamed_where_it_stands_clearly_above_the_second(
    first: Difference, second: Difference, chosen: bool
) -> None:
    other = replace(second, key="second")
    told = blame(window(step("a", other), step("b", first)))
    if chosen:
        assert told.chosen is told.suspects[1]
    else:
        assert told.chosen is None
        assert told.because.startswith("2 commits can have caused DataLoaderWorkers")
        assert told.because.endswith("None stands out, and none is blamed.")


def test_all_that_can_have_done_it_are_named_the_rivals_first() -> None:
    told = blame(window(step("a", TEXT), step("b", VAGUE), step("c", FAMILY), step("d", ZORP)))
    assert told.chosen is None
    assert told.because == (
        "3 commits can have caused DataLoaderWorkers by what they changed of Job/gpt: ccccccc (commit c), "
        "bbbbbbb (commit b), aaaaaaa (commit a). None stands out, and none is blamed."
    )


def test_without_a_diagnosis_the_loss_is_spoken_of() -> None:
    """Without one, what costs time as anything has 0.8, and a vague key 0.5."""
    told = blame(window(step("a", VAGUE), step("b", FULL)), None)
    assert told.chosen is told.suspects[1]
    assert blame(window(step("a", VAGUE)), None).chosen is not None
    rivals = blame(window(step("a", FULL), step("b", replace(FULL, key="again"))), None)
    assert "2 commits can have caused the loss by what" in rivals.because


def test_what_is_just_plausible_is_a_rival_too() -> None:
    told = blame(window(step("a", VAGUE), step("b", changed("image", "gpt:v1", "gpt:v2"))), None)
    assert told.because.startswith("2 commits can have caused the loss")


@pytest.mark.parametrize("side", ["good", "bad"])
def test_where_a_side_is_not_rendered_nothing_is_blamed(side: str) -> None:
    seen = replace(window(step("a", FULL)), why_not="no helm")
    seen = replace(seen, good=None) if side == "good" else replace(seen, bad=None)
    told = blame(seen)
    assert (told.chosen, told.because) == (None, "Nothing is blamed, because nothing was compared: no helm.")


def test_where_a_bound_was_met_nothing_is_blamed() -> None:
    seen = replace(window(besides=(FULL,)), why_not="more commits than are compared", moved=(MOVED,))
    told = blame(seen)
    assert told == Blame((), None, "Nothing is blamed: more commits than are compared.")


@pytest.mark.parametrize(
    ("cause", "because"),
    [
        ("Throttled", "Throttled lies in a machine and not in a commit: nothing is blamed."),
        ("Straggler", "Straggler lies in a machine and not in a commit: nothing is blamed."),
        ("Inconclusive", "The diagnosis is inconclusive: nothing is blamed."),
    ],
)
def test_a_cause_that_no_commit_makes_blames_none(cause: str, because: str) -> None:
    seen = replace(window(step("a", FULL)), moved=(MOVED,))
    told = blame(seen, cause)
    assert (told.chosen, told.because, told.outside, told.rebuilt) == (None, because, (), ())
    alone = blame(replace(window(besides=(FULL,)), moved=(MOVED,)), cause)
    assert (alone.outside, alone.rebuilt) == ((), ())


@pytest.mark.parametrize("cause", [WORKERS, "InputStarved", None])
@pytest.mark.parametrize("steps", [(), (step("a"),), (step("a", ZORP),)])
def test_an_image_that_was_rebuilt_alone_is_no_commits_matter(cause: str | None, steps: tuple[Step, ...]) -> None:
    told = blame(replace(window(*steps), moved=(MOVED,)), cause)
    assert told.because == (
        f"No commit is blamed: {MOVED_TOLD}, and no commit of the window can have caused {cause or 'the loss'}."
    )
    assert (told.chosen, told.rebuilt) == (None, (MOVED,))


def test_a_rebuilt_image_counts_little_where_the_cause_does_not_lie_in_one() -> None:
    told = blame(replace(window(step("a"), step("b")), moved=(MOVED,)), "SlowStorage")
    assert (told.chosen, told.rebuilt) == (None, ())
    assert told.because == (
        "None of 2 commits changes what Job/gpt gets: it is the same at good and at bad. Image gpt:latest was rebuilt "
        "under its tag, which does not bring that cause about."
    )


@pytest.mark.parametrize(("found", "chosen"), [(FULL, True), (ASIDE, False), (VAGUE, False)])
def test_beside_a_rebuilt_image_only_a_commit_that_is_clearly_worse_is_blamed(found: Difference, chosen: bool) -> None:
    told = blame(replace(window(step("a", found)), moved=(MOVED,)))
    assert (told.chosen is not None) is chosen
    assert told.rebuilt == ()
    if chosen:
        assert told.because.endswith(f"costs time. Besides, {MOVED_TOLD}.")
    else:
        assert told.because == (
            "aaaaaaa (commit a) can have caused DataLoaderWorkers, and so can something other than a commit: "
            f"{MOVED_TOLD}."
        )


def test_an_image_is_not_the_only_thing_left_where_something_else_differs_or_a_commit_is_plausible() -> None:
    besides = replace(window(step("a"), besides=(FULL,)), moved=(MOVED,))
    assert (blame(besides).outside, blame(besides).rebuilt) == ((FULL,), ())
    two = replace(window(step("a", ASIDE), step("b", ZORP)), moved=(MOVED,))
    assert (blame(two).chosen, blame(two).rebuilt) == (None, ())
    vague = blame(replace(window(step("a", VAGUE)), moved=(MOVED,)), None)
    assert vague.because.startswith("aaaaaaa (commit a) can have caused the loss, and so can")
    assert vague.rebuilt == ()


@pytest.mark.parametrize("side", ["good", "why_not"])
def test_no_image_is_held_responsible_where_nothing_was_compared(side: str) -> None:
    seen = replace(window(step("a")), moved=(MOVED,))
    seen = replace(seen, good=None) if side == "good" else replace(seen, why_not="too many commits")
    assert blame(seen).rebuilt == ()


def test_where_nothing_changed_the_sentence_says_so() -> None:
    assert blame(window()).because == "There is no commit between good and bad, and Job/gpt gets the same at both."
    assert blame(window(step("a"))).because == (
        "The only commit does not change what Job/gpt gets: it is the same at good and at bad."
    )
    partly = replace(window(step("a"), step("b")), not_compared=("ConfigMap/x",))
    assert blame(partly).because == (
        "None of 2 commits changes what Job/gpt gets, as far as it was compared: it is the same at good and at bad. "
        "Not compared: ConfigMap/x."
    )


def test_what_was_changed_and_is_gone_again_is_named_three_at_most() -> None:
    steps = [step(sha, FULL) for sha in "abcd"]
    told = blame(replace(window(*steps, step("e")), changed=()))
    assert told.because == (
        "Job/gpt gets the same at good and at bad: what aaaaaaa (commit a), bbbbbbb (commit b), ccccccc (commit c) "
        "changed is not there any more at bad, or could not be compared. No commit is blamed."
    )


@pytest.mark.parametrize(
    ("outside", "told"), [((), ""), (("chart a 1 → 2", "values of b"), " (chart a 1 → 2, values of b)")]
)
def test_a_difference_that_no_commit_made_comes_from_outside(outside: tuple[str, ...], told: str) -> None:
    harmless = replace(window(step("a"), step("b"), besides=(ZORP,)), outside=outside)
    assert blame(harmless).because == (
        f"None of 2 commits changes what Job/gpt gets, although it differs between good and bad ({ZORP}): the "
        f"difference comes from outside these commits{told}. No commit is blamed."
    )
    assert blame(harmless).outside == ()
    assert blame(window(besides=(FULL,))).outside == (FULL,)
    culprit = replace(window(step("a"), besides=(FULL,)), outside=outside)
    assert blame(culprit).because == (
        f"{FULL} differs between good and bad, and no commit of the window changed it: it comes from outside these "
        f"commits{told}. No commit is blamed."
    )
    assert blame(culprit).outside == (FULL,)


@pytest.mark.parametrize(
    ("of_a_commit", "besides", "cause", "chosen"),
    [
        (FULL, replace(FULL, key="besides"), WORKERS, False),
        (FULL, ASIDE, WORKERS, True),
        (ASIDE, VAGUE, WORKERS, False),
        (FULL, VAGUE, None, True),
        (FULL, ZORP, WORKERS, True),
    ],
)
def test_what_no_commit_changed_and_is_nearly_as_suspicious_leaves_nobody_to_blame(
    of_a_commit: Difference, besides: Difference, cause: str | None, chosen: bool
) -> None:
    told = blame(window(step("a", of_a_commit), besides=(besides,)), cause)
    assert (told.chosen is not None) is chosen
    assert told.outside == (() if chosen else (besides,))
    if not chosen:
        assert told.because == (
            f"{besides} differs between good and bad too, and no commit of the window changed it: it comes from "
            "outside these commits. No commit is blamed."
        )


def test_of_several_things_from_outside_the_worst_is_named() -> None:
    told = blame(window(step("a"), besides=(ASIDE, FULL, VAGUE)))
    assert told.because.startswith(f"{FULL} differs between good and bad, and")
    assert told.outside == (ASIDE, FULL, VAGUE)
    assert blame(window(step("a"), besides=(VAGUE,)), None).outside == (VAGUE,)


@pytest.mark.parametrize("suspect", [(), (step("f", FULL),)])
def test_what_only_a_commit_that_was_not_compared_can_have_changed_blames_nobody(suspect: tuple[Step, ...]) -> None:
    besides = replace(FULL, key="besides")
    seen = window(*suspect, *(unrendered(sha) for sha in "abcd"), step("e"), besides=(besides, VAGUE))
    assert blame(seen).because == (
        f"{besides} differs between good and bad, and only a commit that could not be compared can have changed it "
        "(aaaaaaa (commit a), bbbbbbb (commit b), ccccccc (commit c); not compared: no kustomize). No commit is blamed."
    )


def test_where_only_commits_that_were_not_compared_are_left_they_are_named() -> None:
    seen = window(*(unrendered(sha) for sha in "abcd"), step("e"), besides=(ZORP,))
    assert blame(seen).because == (
        "aaaaaaa (commit a), bbbbbbb (commit b), ccccccc (commit c) could not be compared (not compared: no "
        "kustomize); every other commit gives the workload the same. Nothing is blamed on what was not rendered."
    )


@pytest.mark.parametrize("others", [(), (unrendered("c"),), (step("d"),)])
def test_where_no_commit_is_plausible_the_most_suspicious_change_is_told(others: tuple[Step, ...]) -> None:
    seen = window(step("a", ZORP), step("b", TEXT), *others)
    assert blame(seen).because == (
        "No commit is known to cause DataLoaderWorkers: bbbbbbb (commit b) changes Job/gpt most "
        f"suspiciously ({TEXT}: a text that is not read by meaning: its effect on the step is unknown). No "
        "commit is blamed."
    )


def test_a_commit_that_was_set_back_is_not_what_differs_from_outside() -> None:
    back = replace(FULL, before="0", after="8", old="0", new="8")
    seen = replace(window(step("b", back), step("a", FULL)), changed=(FULL,))
    assert blame(seen).outside == (FULL,)


@pytest.mark.parametrize(
    ("count", "listed"), [(1, "f0"), (5, "f0, f1, f2, f3, f4"), (6, "f0, f1, f2, f3, f4 and 1 more")]
)
def test_what_was_left_out_or_not_compared_is_told_at_the_end(count: int, listed: str) -> None:
    names = tuple(f"f{number}" for number in range(count))
    left_out = blame(replace(window(step("a", FULL)), left_out=names)).because
    assert left_out.endswith(f". Left out, because two renderings of one revision differ in them: {listed}.")
    assert blame(replace(window(step("a", FULL)), not_compared=names)).because.endswith(f". Not compared: {listed}.")


def test_what_was_set_back_in_vain_is_responsible_for_nothing() -> None:
    seen = window(step("a", ASIDE), besides=(FULL,))
    hidden = blame(seen)
    assert (hidden.chosen, hidden.outside) == (None, (FULL,))
    cleared = judge(seen, "Job/gpt", WORKERS, (pin_id(hidden.outside, ()),))
    assert cleared.chosen is cleared.suspects[0]
    assert cleared.because.endswith(f"Set back before, which brought nothing back: {FULL}.")
    nothing = judge(window(step("a"), besides=(FULL,)), "Job/gpt", WORKERS, (pin_id((FULL,), ()),))
    assert (nothing.chosen, nothing.outside) == (None, ())


def test_a_rebuilt_image_that_was_set_back_in_vain_is_not_pinned_again() -> None:
    seen = replace(window(step("a")), moved=(MOVED,))
    first = blame(seen, "PrecisionLost")
    assert first.rebuilt == (MOVED,)
    again = judge(seen, "Job/gpt", "PrecisionLost", (pin_id((), first.rebuilt),))
    assert (again.chosen, again.rebuilt) == (None, ())
    assert MOVED_TOLD not in again.because
    assert again.because.endswith("Set back before, which brought nothing back: image gpt:latest.")


def test_a_pin_of_other_things_clears_nothing() -> None:
    seen = window(step("a"), besides=(FULL, OTHER))
    assert judge(seen, "Job/gpt", WORKERS, (pin_id((OTHER,), ()),)).outside == blame(seen).outside != ()


def test_a_pin_has_the_same_id_whatever_the_values_and_in_any_order() -> None:
    assert pin_id((FULL, OTHER), ()) == pin_id((OTHER, replace(FULL, before="7")), ())
    assert pin_id((FULL,), ()) != pin_id((OTHER,), ()) != pin_id((), (MOVED,))
    assert len(pin_id((FULL,), ())) == len("outside-") + 40
