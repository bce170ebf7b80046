"""Which keys of a file have other values, and how that is told: in a line, whatever the values are."""

from typing import Any

import pytest

from mfu_operator.gitops.changes import Change, Sort, changes
from mfu_operator.gitops.manifests import Place
from mfu_operator.model.commit import FileChange

WORKERS = Place("train.yaml", "workers")


@pytest.mark.parametrize(("length", "told"), [(60, "x" * 60), (61, f"{'x' * 57}…")])
def test_a_long_value_is_cut_to_sixty_characters(length: int, told: str) -> None:
    assert str(Change(WORKERS, None, "x" * length, was_there=False)) == f"{WORKERS} (absent) → {told}"


@pytest.mark.parametrize(
    ("value", "told"), [(None, "null"), (True, "true"), (False, "false"), (4, "4"), ("a \n b", "a b"), (1.5, "1.5")]
)
def test_a_value_is_told_as_it_is_written(value: Any, told: str) -> None:
    assert str(Change(WORKERS, 8, value)) == f"{WORKERS} 8 → {told}"


@pytest.mark.parametrize(
    ("place", "hidden"),
    [
        (Place("Secret/s", "data.a"), True),
        (Place("Job/j", "spec.password"), True),
        (Place("Job/j", "args", "api_key"), True),
        (Place("ConfigMap/s", "data.a"), False),
    ],
)
def test_a_secret_is_hidden_and_its_absence_is_told(place: Place, hidden: bool) -> None:
    shown = "(hidden)" if hidden else "x"
    assert str(Change(place, "x", None, is_there=False)) == f"{place} {shown} → (absent)"


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (Place("Job/j", "spec.containers[t].env[NCCL_DEBUG].value"), "NCCL_DEBUG"),
        (Place("Job/j", "env[A].value"), "A"),
        (Place("Job/j", "spec.args", "num_workers"), "num_workers"),
        (Place("Job/j", "spec.args", "args: workers"), "args.workers"),
        (Place("Job/j", "spec.myenv[A].value"), "spec.myenv[A].value"),
    ],
)
def test_a_change_is_called_what_the_table_of_causes_calls_it(place: Place, name: str) -> None:
    change = Change(place, 1, 2)
    assert (change.name, change.old, change.new) == (name, 1, 2)


def of(path: str, before: str | None, after: str | None) -> list[str]:
    return [str(each) for each in changes(FileChange(path, before, after))]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("a: 1\nb: 1\n", "a: 2\nb: 1  # same\n", ["f.yaml a 1 → 2"]),
        ("a: 1\n", "a: '1'\n", ["f.yaml a 1 → 1"]),
        ("a: 1\n", "a: true\n", ["f.yaml a 1 → true"]),
        ("a: null\n", "{}\n", ["f.yaml a null → (absent)", "f.yaml (absent) → {}"]),
        ("b: 1\n", "b: 1\na: 1\n", ["f.yaml a (absent) → 1"]),
        (None, "a: 1\n", ["f.yaml a (absent) → 1"]),
        ("a: 1\n", None, ["f.yaml a 1 → (absent)"]),
        ("a: {}\n", "a: {b: 1}\n", ["f.yaml a.b (absent) → 1"]),
        ("a: {b: 1}\n", "a: {}\n", ["f.yaml a.b 1 → (absent)"]),
        ("a: {}\n", "ab: {b: 1}\n", ["f.yaml a {} → (absent)", "f.yaml ab.b (absent) → 1"]),
        ("a: {}\nc: 1\n", "a: {b: 1}\nc: 1\n", ["f.yaml a.b (absent) → 1"]),
        ("a: {}\n", "a: 1\n", ["f.yaml a {} → 1"]),
        ("a: {}\n", "c: 1\n", ["f.yaml a {} → (absent)", "f.yaml c (absent) → 1"]),
        ("a: 0\n", "a: {b: 1}\n", ["f.yaml a 0 → (absent)", "f.yaml a.b (absent) → 1"]),
        ("c: 1\nb: 1\n", "c: 2\nb: 2\n", ["f.yaml b 1 → 2", "f.yaml c 1 → 2"]),
    ],
)
def test_structured_files_are_compared_by_value(before: str | None, after: str | None, told: list[str]) -> None:
    assert sorted(of("f.yaml", before, after)) == sorted(told)
    assert of("f.yaml", before, after) == sorted(of("f.yaml", before, after))


def test_a_key_of_another_document_is_no_first_key() -> None:
    two = "kind: A\nmetadata: {name: x}\na: {}\n---\nkind: B\nmetadata: {name: x}\na: {b: 1}\n"
    assert "A/x a {} → (absent)" in of("f.yaml", two, two.replace("a: {}\n", ""))


def test_a_text_among_values_is_compared_line_by_line() -> None:
    assert of("f.yaml", 'a: "x=1\\ny=1"\n', 'a: "x=1\\ny=2"\n') == ["f.yaml a y 1 → 2"]
    assert of("f.yaml", 'a: "x"\n', 'a: "x\\ny"\n') == ["f.yaml a (text changed)"]
    assert of("f.yaml", "a: x\n", "a: y\n") == ["f.yaml a x → y"]
    assert of("f.yaml", "a: 1\n", 'a: "x\\ny"\n') == ["f.yaml a 1 → x y"]
    assert of("f.yaml", 'a: "x\\ny"\n', "a: 1\n") == ["f.yaml a x y → 1"]


@pytest.mark.parametrize(
    ("path", "before", "after", "told"),
    [
        ("t.py", "a = 1  # x\n", "a  =  1\n", []),
        ("t.py", "lr = 1\nx()\n", "lr = 2\nx()\n", ["t.py lr 1 → 2"]),
        ("t.py", "lr = 1\n", None, ["t.py (text changed)"]),
        ("t.py", "", "x", ["t.py (text changed)"]),
        ("t.py", "f(\n  lr=1,\n)\n", "f(\n  lr=2,\n)\n", ["t.py lr 1 → 2"]),
        ("t.py", "f(1)\n", "f(2)\n", ["t.py (text changed)"]),
        ("run.sh", "# a\nx\n", "x\n  # b\n", []),
        ("run.sh", "x\n", "  x  \n\n", []),
        ("run.sh", "x # a\n", "x # b\n", ["run.sh (text changed)"]),
        ("v.tpl", "{{/* a */}}\n// b\nx\n", "{{- /* c */}}\nx\n", []),
        ("run.sh", "A=1\nB=1\n", "A=2\nB=2\n", ["run.sh A 1 → 2", "run.sh B 1 → 2"]),
        ("run.sh", "A=1\n", "B=1\n", ["run.sh (text changed)"]),
        ("run.sh", "A=1\nB=1\nC=1\n", "A=2\nB=1\nC=3\n", ["run.sh A 1 → 2", "run.sh C 1 → 3"]),
        ("run.sh", "A=1\nx\n", "A=2\ny\n", ["run.sh (text changed)"]),
        ("run.sh", "A=1\n", "A=2\nx\n", ["run.sh (text changed)"]),
        ("run.sh", "x\n", "A=1\n", ["run.sh (text changed)"]),
        ("run.sh", "A=1\n", "x\n", ["run.sh (text changed)"]),
        ("conf", "- 'a' : 1,\n", "- 'a' : 2,\n", ["conf a 1 → 2"]),
        ("conf", None, None, []),
    ],
)
def test_other_texts_are_compared_without_comments_and_layout(
    path: str, before: str | None, after: str | None, told: list[str]
) -> None:
    assert of(path, before, after) == told


def test_a_text_whose_words_changed_has_no_values() -> None:
    (change,) = changes(FileChange("run.sh", "x\n", "y\n"))
    assert change == Change(Place("run.sh", ""), None, None, Sort.TEXT)
    (value,) = changes(FileChange("run.sh", "A=1\n", "A=2\n"))
    assert (value.sort, value.was_there, value.is_there) == (Sort.VALUE, True, True)
