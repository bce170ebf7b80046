"""What a table of causes says of one key: which rows mean it, and which of its two values costs time."""

from typing import Any

import pytest

from mfu_operator.gitops import fingerprints
from mfu_operator.gitops.fingerprints import Fingerprint, Key, Pace
from tests.support import small_table
from tests.support.small_table import TABLE
from tests.support.small_table import Key as Changed


def pace(cause: str, name: str, old: Any, new: Any) -> Pace | None:
    return fingerprints.pace(TABLE.causes[cause], Changed(name, old, new))


def test_a_table_is_what_its_text_says() -> None:
    assert TABLE.causes["Link"] == Fingerprint(
        "Link", "Comms", False, (Key("shared", "down"), Key("*far_zug", "up")), frozenset({"far", "zug"})
    )
    loader, kernel = TABLE.causes["Loader"], TABLE.causes["Kernel"]
    assert loader.image
    assert loader.keys[:2] == (Key("workers", "down", 4, (), False), Key("prefetch", "down", None, (), True))
    assert kernel.keys[1].order == ("none", "1", "full_shard")
    assert loader.words == {"zig", "zag", "size"}
    assert TABLE.no_commit == {"Throttled", "Hardware"}
    assert (TABLE.images, TABLE.with_effect) == (("image", "image.tag"), ("*queue*",))
    assert (TABLE.without_effect, TABLE.without_pace) == (("seed", "labels.*"), ("lr",))
    assert TABLE.words == {"per", "step"}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (8, 2, Pace.SLOWER),
        ("2", "8", Pace.FASTER),
        (8, "8.0", Pace.UNCLEAR),
        ("few", 8, Pace.UNCLEAR),
        (8, "many", Pace.UNCLEAR),
        (8, None, Pace.SLOWER),
        (None, 8, Pace.FASTER),
        (None, 2, Pace.SLOWER),
        (True, 0, Pace.UNCLEAR),
        ("unlimited", 8, Pace.SLOWER),
        ("8", "unlimited", Pace.FASTER),
        ("-1", "1e-3", Pace.FASTER),
        ("8 parsecs", "2", Pace.UNCLEAR),
    ],
)
def test_a_number_that_falls_costs_time_and_one_that_is_absent_has_its_default(old: Any, new: Any, told: Pace) -> None:
    assert pace("Loader", "workers", old, new) is told


@pytest.mark.parametrize(
    ("unit", "plain"),
    [
        ("1000m", "1"),
        ("2k", "2000"),
        ("2Ki", "2048"),
        ("3Mi", str(3 * 1024**2)),
        ("3Gi", str(3 * 1024**3)),
        ("3Ti", str(3 * 1024**4)),
        ("5MB", "5000000"),
        ("5GB", "5000000000"),
        ("5g", "5000000000"),
        ("1500ms", "1.5"),
        ("1.5 s", "1.5"),
    ],
)
def test_units_are_part_of_a_number(unit: str, plain: str) -> None:
    assert pace("Loader", "workers", unit, plain) is Pace.UNCLEAR
    assert pace("Loader", "workers", unit, f"{float(plain) * 0.9}") is Pace.SLOWER
    assert pace("Loader", "workers", unit, f"{float(plain) * 1.1}") is Pace.FASTER


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("dtype", "bf16", "fp32", Pace.SLOWER),
        ("dtype", "torch.float32", "bf16-mixed", Pace.FASTER),
        ("dtype", "bf16", "float16", Pace.UNCLEAR),
        ("dtype", "bf16", "weird", Pace.UNCLEAR),
        ("dtype", "weird", "bf16", Pace.UNCLEAR),
        ("dtype", "bf16", None, Pace.UNCLEAR),
        ("dtype", None, "fp64", Pace.UNCLEAR),
        ("mode", "none", "full-shard", Pace.SLOWER),
        ("mode", "Strategy.FULL_SHARD", '"1"', Pace.FASTER),
        ("mode", 1, "1", Pace.UNCLEAR),
        ("mode", "other", "1", Pace.UNCLEAR),
        ("mode", "1", "other", Pace.UNCLEAR),
        ("mode", None, "1", Pace.UNCLEAR),
        ("mode", "1", None, Pace.UNCLEAR),
        ("log", None, "all", Pace.SLOWER),
        ("log", "off", "all", Pace.SLOWER),
        ("log", "all", None, Pace.FASTER),
        ("log", "all", "false", Pace.FASTER),
        ("log", "all", "some", None),
        ("log", None, "off", None),
        ("the_zap", "all", "some", None),
        ("debug", "0", "1", Pace.SLOWER),
        ("debug", None, "1", Pace.SLOWER),
        ("debug", "true", None, Pace.FASTER),
        ("debug", "1", "2", Pace.UNCLEAR),
    ],
)
def test_each_row_has_its_own_direction(name: str, old: Any, new: Any, told: Pace | None) -> None:
    assert pace("Kernel", name, old, new) is told


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("cache", True, False, Pace.SLOWER),
        ("cache", "never", "yes", Pace.FASTER),
        ("cache", "on", None, Pace.SLOWER),
        ("cache", "x", "y", Pace.UNCLEAR),
        ("path", "a", "b", Pace.UNCLEAR),
        ("mixed", 8, 1, Pace.ASIDE),
        ("mixed", 1, 8, Pace.FASTER),
        ("mixed", "a", "b", Pace.UNCLEAR),
        ("missing", 8, 1, None),
    ],
)
def test_a_row_beside_is_so_only_where_it_costs_time(name: str, old: Any, new: Any, told: Pace | None) -> None:
    assert pace("Store", name, old, new) is told


@pytest.mark.parametrize(
    ("name", "old", "told"),
    [
        ("zig", 8, Pace.SLOWER),
        ("the_zig", 8, Pace.RESEMBLING),
        ("zig.zig", 8, Pace.SLOWER),
        ("per_step_zig", 8, Pace.SLOWER),
        ("per2_zag_zig", 8, Pace.SLOWER),
        ("per_step_size_zag_zig", 8, Pace.SLOWER),
        ("metadata.x.the_zig", 8, Pace.SLOWER),
        ("spec.x.the_zig", 8, Pace.SLOWER),
        ("x.spec.the_zig", 8, Pace.RESEMBLING),
        ("the_zig", "same", Pace.RESEMBLING),
        ("spec.size", 0, Pace.SLOWER),
    ],
)
def test_a_pattern_means_a_key_of_whose_words_every_one_is_known(
    monkeypatch: pytest.MonkeyPatch, name: str, old: Any, told: Pace
) -> None:
    small_table.use(monkeypatch)
    assert pace("Loader", name, old, 1) is told


def test_what_begins_with_a_programs_own_name_is_meant_whatever_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    small_table.use(monkeypatch)
    assert pace("Loader", "zag_whatever_it_is", 1, 8) is Pace.SLOWER
    assert pace("Link", "far_zug", 1, 8) is Pace.SLOWER


def test_the_worst_of_the_rows_that_mean_a_key_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    small_table.use(monkeypatch)
    assert pace("Loader", "zag_zig", 1, 8) is Pace.SLOWER
    assert pace("Loader", "zag_zig", 8, 1) is Pace.SLOWER
    assert pace("Loader", "zag_the_zig", 8, 1) is Pace.FASTER


def test_a_row_that_means_training_is_not_of_evaluation() -> None:
    assert pace("Loader", "eval.workers", 8, 0) is None
    assert pace("Loader", "eval_zog", 0, 8) is Pace.SLOWER
    assert pace("Loader", "eval.eval_zog", 0, 8) is Pace.SLOWER


@pytest.mark.parametrize(
    ("name", "evaluation"),
    [
        ("validation.workers", True),
        ("data.eval_loader.workers", True),
        ("val", True),
        ("test.steps", True),
        ("test_steps", True),
        ("clip_val", False),
        ("unit_test", False),
        ("train_val.workers", False),
        ("stages[eval]/workers", True),
        ("workers", False),
        ("train.workers", False),
    ],
)
def test_a_key_is_of_evaluation_by_a_word_of_any_of_its_parts(name: str, evaluation: bool) -> None:
    assert fingerprints.of_evaluation(name) is evaluation


@pytest.mark.parametrize(
    ("name", "old", "new", "without"),
    [
        ("seed", 1, 2, True),
        ("train.seed", 1, 2, True),
        ("labels.app", 1, 2, True),
        ("labels.queue-name", 1, 2, False),
        ("queue", 1, 2, False),
        ("workers", 1, 2, False),
    ],
)
def test_what_no_step_sees_is_listed_and_nothing_acts_by_it(
    monkeypatch: pytest.MonkeyPatch, name: str, old: Any, new: Any, without: bool
) -> None:
    small_table.use(monkeypatch)
    assert fingerprints.without_effect(Changed(name, old, new)) is without
    assert fingerprints.marks_with_effect(name) is ("queue" in name)


@pytest.mark.parametrize(
    ("name", "old", "new", "without"),
    [
        ("lr", 0.1, 0.2, True),
        ("optim.lr", "0.1", "0.2", True),
        ("lr", 0, 0.2, False),
        ("lr", 0.1, 0, False),
        ("lr", None, 0.2, False),
        ("lr", 0.2, None, False),
        ("lr", None, 0, True),
        ("workers", 1, 2, False),
    ],
)
def test_what_is_learned_has_no_pace_unless_it_is_switched(
    monkeypatch: pytest.MonkeyPatch, name: str, old: Any, new: Any, without: bool
) -> None:
    small_table.use(monkeypatch)
    assert fingerprints.without_pace(Changed(name, old, new)) is without


def test_a_null_that_is_written_is_off_and_what_is_not_there_is_off_too(monkeypatch: pytest.MonkeyPatch) -> None:
    small_table.use(monkeypatch)

    class Odd(Changed):
        was_there = False

    assert not fingerprints.without_pace(Odd("lr", "left over", 0.1))


@pytest.mark.parametrize(("name", "image"), [("image", True), ("gpt.image.tag", True), ("image_pull", False)])
def test_images_are_known_by_their_keys(monkeypatch: pytest.MonkeyPatch, name: str, image: bool) -> None:
    small_table.use(monkeypatch)
    assert fingerprints.is_image(Changed(name, "a", "b")) is image


@pytest.mark.parametrize(
    ("name", "normal"),
    [("numWorkers", "num_workers"), ("num-workers", "num_workers"), ("FP8Recipe", "fp8_recipe"), ("NUM2", "num2"),
     ("aB.cD", "a_b.c_d")],
)  # fmt: skip
def test_every_spelling_of_a_key_is_one(name: str, normal: str) -> None:
    assert fingerprints.normal(name) == normal
