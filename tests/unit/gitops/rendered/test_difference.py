"""Where two renderings differ, and how that is told."""

from dataclasses import replace

import pytest

from mfu_operator.gitops.rendered.difference import Difference, Row, differences, rows
from mfu_operator.gitops.rendered.leaf import Leaf, Scalar
from mfu_operator.gitops.rendered.workload import Delivered

JOB = "Job/gpt"
FIELD = "spec.args[0]"


def leaf(key: str, value: str, of: str = JOB, name: str = "", field: str = "", raw: Scalar = None, **more: str) -> Leaf:
    return Leaf(of, key, name or key, value, field or key, value if raw is None else raw, **more)  # type: ignore[arg-type]


def gets(*leaves: Leaf, objects: tuple[str, ...] = (), told: dict[str, str] | None = None) -> Delivered:
    held = (*objects, *dict.fromkeys(each.object for each in leaves))
    return Delivered({(each.object, each.key): each for each in leaves}, told or {}, held)


def told(before: Delivered, after: Delivered) -> list[str]:
    return [str(each) for each in differences(before, after)]


def test_what_is_the_same_is_no_difference_and_others_stand_in_order() -> None:
    before = gets(leaf("a", "1"), leaf("b", "1"), leaf("gone", "1"), leaf("c", "1", of="ConfigMap/c"))
    after = gets(leaf("a", "1"), leaf("b", "2"), leaf("new", "1"), leaf("c", "2", of="ConfigMap/c"))
    assert told(before, after) == [
        "ConfigMap/c c: 1 → 2",
        "Job/gpt b: 1 → 2",
        "Job/gpt gone: 1 → (absent)",
        "Job/gpt new: (absent) → 1",
    ]


def test_a_value_that_only_is_written_otherwise_is_the_same() -> None:
    assert told(gets(leaf("a", "1", raw="1000m")), gets(leaf("a", "1", raw="1"))) == []


def test_a_difference_has_both_values_and_what_they_are_of() -> None:
    before = gets(leaf("k", "8", name="workers", field="f", raw="--w 8", file="a.yaml", container="t", beside="e.py"))
    after = gets(replace(next(iter(before.leaves.values())), value="0", raw="--w 0"), told={JOB: "Job/ml/gpt"})
    assert differences(before, after) == (
        Difference(
            "Job/ml/gpt", JOB, "k", "workers", "f", "--w 8", "--w 0", "8", "0", True, True, False, "a.yaml", "t",
            "e.py",
        ),
    )  # fmt: skip
    (gone,) = differences(before, gets())
    assert (gone.object, gone.place, gone.after, gone.new) == (JOB, (JOB, "k"), None, None)
    assert (gone.was_there, gone.is_there, gone.name, gone.before) == (True, False, "workers", "--w 8")
    (came,) = differences(gets(), after)
    assert (came.before, came.old, came.was_there, came.is_there) == (None, None, False, True)


@pytest.mark.parametrize(
    ("raw", "other", "shown"),
    [
        ("--a 1 --b", "--a 1", ("--a 1 --b", "--a 1")),
        ("--b", None, ("--b", None)),
        ("a\n--b", "a", ("a\n--b", "a")),
    ],
)
def test_an_option_that_goes_leaves_the_field_that_held_it(raw: str, other: str | None, shown: tuple[str, str]) -> None:
    b = leaf(f"{FIELD} --b", "1", name="b", field=FIELD, raw=raw)
    kept = () if other is None else (leaf(f"{FIELD} --a", "1", name="a", field=FIELD, raw=f"{other} "),)
    (gone,) = differences(gets(b, *(replace(each, raw=raw) for each in kept)), gets(*kept))
    (came,) = differences(gets(*kept), gets(b, *(replace(each, raw=raw) for each in kept)))
    after = None if shown[1] is None else f"{shown[1]} "
    assert (gone.before, gone.after) == (came.after, came.before) == (shown[0], after)


def test_a_field_of_one_value_does_not_stay_where_its_value_goes() -> None:
    plain = leaf("spec.a", "x y", field="spec.a")
    other = leaf("spec.a --b", "1", field="spec.a", raw="x y --b")
    (gone,) = [each for each in differences(gets(plain, other), gets(other)) if each.key == "spec.a"]
    assert gone.after is None
    (came,) = [each for each in differences(gets(other), gets(plain, other)) if each.key == "spec.a"]
    assert came.before is None
    (option,) = differences(gets(plain, other), gets(plain))
    assert option.after is None
    number = leaf("spec.a --c", "1", field="spec.a", raw=7)
    (lost,) = [each for each in differences(gets(number, other), gets(other)) if each.key == "spec.a --c"]
    assert lost.after is None


def test_a_word_that_another_one_took_the_place_of_is_gone() -> None:
    b, c = (leaf(f"{FIELD} --{name}", "1", field=FIELD, raw=f"--{name}") for name in "bc")
    assert [(each.before, each.after) for each in differences(gets(b), gets(c))] == [("--b", None), (None, "--c")]


def config(name: str, workers: str = "8") -> tuple[Leaf, Leaf]:
    """A ConfigMap, and the job's reference to it."""
    return leaf("data.workers", workers, of=f"ConfigMap/{name}"), leaf("spec.config", name, name="reference")


def test_a_config_that_is_referred_to_by_another_name_is_the_same() -> None:
    assert told(gets(*config("gpt")), gets(*config("gpt-v2"))) == []
    assert told(gets(*config("gpt")), gets(*config("gpt-v2", "0"))) == ["ConfigMap/gpt-v2 data.workers: 8 → 0"]


def test_an_option_in_a_config_that_was_renamed_goes_with_its_field() -> None:
    def renamed(name: str, raw: str, *keys: str) -> Delivered:
        options = (leaf(f"data.x {key}", "1", of=f"ConfigMap/{name}", field="data.x", raw=raw) for key in keys)
        return gets(*options, leaf("spec.config", name, name="reference"))

    (gone,) = differences(renamed("gpt", "--a --b", "--a", "--b"), renamed("gpt-v2", "--a -", "--a"))
    assert (gone.object, gone.key, gone.before, gone.after) == ("ConfigMap/gpt-v2", "data.x --b", "--a --b", "--a -")
    (came,) = differences(renamed("gpt", "--a -", "--a"), renamed("gpt-v2", "--a --b", "--a", "--b"))
    assert (came.before, came.after) == ("--a -", "--a --b")


def test_a_config_that_is_still_there_was_not_renamed() -> None:
    both = gets(*config("gpt-v2", "0"), objects=("ConfigMap/gpt",))
    assert told(gets(*config("gpt")), both) == [
        "ConfigMap/gpt data.workers: 8 → (absent)",
        "ConfigMap/gpt-v2 data.workers: (absent) → 0",
        "Job/gpt spec.config: gpt → gpt-v2",
    ]


@pytest.mark.parametrize("kind", ["Secret", "PriorityClass"])
def test_a_reference_to_an_object_of_another_kind_is_a_difference(kind: str) -> None:
    after = gets(leaf("data.workers", "8", of=f"{kind}/x"), leaf("spec.config", "x", name="reference"))
    assert "Job/gpt spec.config: gpt → x" in told(gets(*config("gpt")), after)


def test_a_reference_to_what_is_not_rendered_is_a_difference() -> None:
    before, after = gets(leaf("spec.config", "a", name="reference")), gets(leaf("spec.config", "b", name="reference"))
    assert told(before, after) == ["Job/gpt spec.config: a → b"]
    assert told(gets(*config("gpt")), after) == [
        "ConfigMap/gpt data.workers: 8 → (absent)",
        "Job/gpt spec.config: gpt → b",
    ]


def test_a_reference_to_what_is_rendered_only_afterwards_is_a_difference() -> None:
    before = gets(leaf("spec.config", "a", name="reference"))
    assert told(before, gets(*config("b"))) == [
        "ConfigMap/b data.workers: (absent) → 8",
        "Job/gpt spec.config: a → b",
    ]


def test_a_reference_that_came_is_a_difference_and_a_name_that_looks_like_one_is_no_reference() -> None:
    assert told(gets(), gets(leaf("spec.config", "a", name="reference"))) == ["Job/gpt spec.config: (absent) → a"]
    before = gets(leaf("data.workers", "8", of="ConfigMap/a"), leaf("spec.x", "a"))
    after = gets(leaf("data.workers", "8", of="ConfigMap/b"), leaf("spec.x", "b"))
    assert len(told(before, after)) == 3
    other = leaf("spec.x", "gpt"), leaf("spec.x", "gpt-v2")
    assert told(gets(*config("gpt"), other[0]), gets(*config("gpt-v2"), other[1])) == ["Job/gpt spec.x: gpt → gpt-v2"]


def test_only_configs_and_secrets_of_that_very_name_are_renamed() -> None:
    others = ("Job/gpt-old", "ConfigMap/other", "ConfigMap/x-gpt-old")
    before, after = gets(*config("gpt-old"), objects=others), gets(*config("gpt-new"), objects=others)
    assert told(before, after) == []


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "(absent)"),
        (True, "true"),
        (7, "7"),
        ("two  \n words", "two words"),
        ("x" * 60, "x" * 60),
        ("x" * 61, f"{'x' * 57}…"),
    ],
)
def test_a_value_is_told_in_one_short_line(value: Scalar, told: str) -> None:
    found = Difference(
        "a", "a", "k", "workers", "f", value, "0", value, "0", value is not None, True, True, "", "", ""
    )  # fmt: skip
    assert str(found) == f"a f: {told} → 0"


def test_of_a_long_field_the_key_that_changed_is_told() -> None:
    long = "--workers 8 " + "x" * 60
    found = Difference("a", "a", "k", "workers", "f", long, "short", "8", "0", True, True, False, "", "", "")
    assert str(found) == "a f: workers 8 → 0"
    assert str(replace(found, before="short", after=long)) == "a f: workers 8 → 0"
    assert str(replace(found, is_there=False)) == "a f: workers 8 → (absent)"
    assert str(replace(found, was_there=False)) == "a f: workers (absent) → 0"
    assert str(replace(found, text=True)) == f"a f: {long[:57]}… → short"
    assert str(replace(found, before="x" * 60)) == f"a f: {'x' * 60} → short"


def test_several_options_of_one_field_are_one_row() -> None:
    one = Difference("a", "a", "k", "w", "f", "--w 8 --b", "--w 0", "8", "0", True, True, False, "", "", "")
    other = replace(one, key="b", is_there=False, after="--w")
    text = replace(one, key="t", text=True, is_there=False, before="z")
    elsewhere = replace(one, field="g")
    assert rows([elsewhere, one, replace(one, key="k2")]) == (
        Row("a", "f", "--w 8 --b", "--w 0"),
        Row("a", "g", "--w 8 --b", "--w 0"),
    )
    assert rows([one, other]) == (Row("a", "f", "--w 8 --b", "--w"), Row("a", "f", "--w 8 --b", "--w 0"))
    assert rows([one, text]) == (Row("a", "f", "--w 8 --b", "--w 0"),)
    assert rows([other, replace(other, key="k3")]) == (Row("a", "f", "--w 8 --b", "--w"),)
