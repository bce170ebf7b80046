"""How suspicious one change is, by a small table in which every kind of row stands once."""

from typing import Any

import pytest

from mfu_operator.gitops.blame import scores
from mfu_operator.gitops.blame.scores import PLAUSIBLE, RESEMBLING, UNREAD
from tests.support import small_table
from tests.support.small_table import Key


@pytest.mark.parametrize(
    ("cause", "key", "score", "why"),
    [
        ("Loader", Key("workers", 8, 0), 1.0, "a key of Loader, in the direction that costs time"),
        ("Loader", Key("prefetch", 8, 0), 0.65, "can cause Loader, although it is not its own key"),
        ("Loader", Key("workers", "a", "b"), 0.6, "a key of Loader"),
        ("Loader", Key("workers", 0, 8), 0.1, "a key of Loader, but in the direction that saves time"),
        ("Loader", Key("cache", 1, 0), 0.62, "costs time as Store, which shows as the same bottleneck"),
        ("Loader", Key("cache", 0, 1), 0.1, "a key of Store, in the direction that saves time"),
        ("Loader", Key("path", "a", "b"), 0.3, "a key of Store, not of Loader"),
        ("Loader", Key("dtype", "bf16", "fp32"), 0.3, "a key of Kernel, not of Loader"),
        ("Loader", Key("the_far_zug", 1, 2), 0.25, "a key that is not known to cause Loader"),
        ("Loader", Key("unheard_of", 1, 2), 0.25, "a key that is not known to cause Loader"),
        ("Loader", Key("seed", 1, 2), 0.0, "no training step sees it"),
        ("Loader", Key("lr", 1, 2), 0.0, "it changes what is learned, and not how long a step takes"),
        ("Loader", Key("image", "a", "b"), 0.6, "a new image can cause Loader"),
        ("Store", Key("image", "a", "b"), 0.3, "an image rarely causes Store"),
        ("Input", Key("image", "a", "b"), 0.6, "a new image can cause Input"),
        ("Comms", Key("image", "a", "b"), 0.3, "an image rarely causes Comms"),
        (None, Key("image", "a", "b"), 0.6, "a new image can cause a loss"),
        ("Input", Key("workers", 8, 0), 1.0, "a key of Loader, in the direction that costs time"),
        ("Input", Key("cache", 1, 0), 1.0, "a key of Store, in the direction that costs time"),
        (None, Key("workers", 8, 0), 0.8, "costs time as Loader"),
        (None, Key("both", 8, 0), 0.8, "costs time as Store"),
        (None, Key("path", "a", "b"), 0.5, "a key of Store"),
        (None, Key("workers", 0, 8), 0.1, "a key of Loader, in the direction that saves time"),
        (None, Key("unheard_of", 1, 2), 0.25, "a key that is not known to cause a loss"),
        ("Store", Key("shared", 1, 2), 0.3, "a key of Kernel, not of Store"),
    ],
)  # fmt: skip
def test_a_change_is_as_suspicious_as_the_table_says(
    monkeypatch: pytest.MonkeyPatch, cause: str | None, key: Key, score: float, why: str
) -> None:
    small_table.use(monkeypatch)
    assert scores.of_change(key, cause) == (score, why)


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("both", 8, 0, "a key of Store, in the direction that costs time"),
        ("both", 0, 8, "a key of Loader, in the direction that costs time"),
        ("mixed", 8, 0, "can cause Store, although it is not its own key"),
        ("mixed", 0, 8, "a key of Loader"),
        ("other", 0, 8, "a key of Store"),
        ("other", 8, 0, "a key of Loader, in the direction that costs time"),
    ],
)
def test_of_the_causes_of_a_bottleneck_the_one_that_fits_best_is_told(
    monkeypatch: pytest.MonkeyPatch, name: str, old: Any, new: Any, why: str
) -> None:
    small_table.use(monkeypatch)
    assert scores.of_change(Key(name, old, new), "Input")[1] == why


@pytest.mark.parametrize("cause", ["Link", "Comms"])
def test_what_only_resembles_a_key_of_the_cause_is_told_and_blames_nobody(
    monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    small_table.use(monkeypatch)
    told = scores.of_change(Key("the_far_zug", 1, 2), cause)
    assert told == (
        RESEMBLING, "its name resembles keys of Link, and it is not one that is known: look at it",
    )  # fmt: skip
    assert scores.of_change(Key("cache.the_zig", 8, 0), "Input")[1].startswith("its name resembles keys of Loader")
    assert UNREAD < RESEMBLING < PLAUSIBLE <= 1


def test_a_key_of_the_family_counts_more_than_one_that_resembles(monkeypatch: pytest.MonkeyPatch) -> None:
    small_table.use(monkeypatch)
    assert scores.of_change(Key("the_zig.cache", 1, 0), "Loader")[0] == 0.62


@pytest.mark.parametrize(
    ("before", "after", "cause", "word"),
    [
        ("run --workers 8", "run", "Loader", "workers"),
        ("run", "run --workers 8", "Input", "workers"),
        (None, "prefetch, workers", "Loader", "prefetch"),
        ("workers", None, "Loader", "workers"),
        ("workers 8", "workers 4", "Loader", None),
        ("a", "b", "Loader", None),
        ("a", "the_zig", "Loader", None),
        ("cache", "dtype", "Loader", None),
        ("both", "x", "Input", "both"),
        (None, None, "Loader", None),
        ("log", "x", "Kernel", None),
    ],
)
def test_a_text_is_plausible_where_a_word_that_changed_in_it_is_a_key_of_the_cause(
    monkeypatch: pytest.MonkeyPatch, before: str | None, after: str | None, cause: str, word: str | None
) -> None:
    small_table.use(monkeypatch)
    unread = (UNREAD, "a text that is not read by meaning: its effect on the step is unknown")
    named = (0.6, f"a text that is not read by meaning; what changed in it names {word}, a key of {cause}")
    assert scores.of_text(before, after, cause) == (unread if word is None else named)


def test_a_side_that_is_absent_is_not_the_word_none(monkeypatch: pytest.MonkeyPatch) -> None:
    small_table.use(monkeypatch)
    assert scores.of_text(None, "x", "Kernel")[0] == scores.of_text("x", None, "Kernel")[0] == UNREAD
    assert scores.of_text("none", "x", "Kernel")[0] == 0.6
