"""Values of manifests and of the files in them: YAML, TOML, INI, dotenv, and what is none of them."""

from typing import Any

import pytest

from mfu_operator.gitops.rendered import reading
from mfu_operator.gitops.rendered.reading import MAX_DEPTH, UnreadableText, dotenv, embedded, yaml_documents


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("a: 1\n---\n---\nb: [1, 2.5, true, null, x]\n", [{"a": 1}, {"b": [1, 2.5, True, None, "x"]}]),
        ("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n", [{"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}}]),
        (
            "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n",
            [{"a": {"x": 1}, "b": {"x": 2, "y": 2}, "c": {"x": 1, "y": 2}}],
        ),
        ("1: a\ntrue: b\n", [{"1": "a", "true": "b"}]),
        ("a: 1e-4\nb: '1e-4'\nc: -2E+3\nd: 1e-4x\n", [{"a": 1e-4, "b": "1e-4", "c": -2000.0, "d": "1e-4x"}]),
        (
            "a: 2026-01-01\nb: 2026-01-01 10:00:00\nc: 2026-02-31\n",
            [{"a": "2026-01-01", "b": "2026-01-01 10:00:00", "c": "2026-02-31"}],
        ),
        ("a: !!binary aGk=\nb: !!int x\n", [{"a": "aGk=", "b": "x"}]),
        ("", []),
    ],
)
def test_a_text_is_its_values(text: str, documents: list[Any]) -> None:
    assert yaml_documents(text) == documents


@pytest.mark.parametrize("opened", ["[", "{", "- ", "? ", "[{", ": "])
def test_nesting_that_would_end_the_parsers_stack_is_refused_before_it_is_parsed(opened: str) -> None:
    with pytest.raises(UnreadableText, match="nested deeper"):
        yaml_documents("a: 1\nb:\n  " + opened * 500_000)


def test_many_brackets_that_are_closed_are_no_nesting() -> None:
    assert yaml_documents("a: [" + "[], {}, " * 5_000 + "'[[']\n")


@pytest.mark.parametrize("text", ["a: [", "a: {<<: 1}", "a: {<<: [1]}", "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2)])
def test_what_is_not_yaml_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(UnreadableText, match=r"^(not YAML: while parsing .*|a merge key .*|nested deeper .*)$"):
        yaml_documents(text)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("a.toml", "[loader]\nworkers = 0\n", {"loader": {"workers": 0}}),
        ("a.toml", "workers: 0\n", None),
        ("A.INI", "; note\n[loader]\nWorkers=0\n", {"loader": {"Workers": "0"}}),
        ("a.cfg", "workers: 0\nflag\n", {"settings": {"workers": "0", "flag": None}}),
        ("a.conf", "# note\n\nworkers = 0\n", {"settings": {"workers": "0"}}),
        ("a.yaml", "workers: 0\n", {"workers": 0}),
        ("a.yml", "workers", None),
        ("a.json", '{"workers": 0}', {"workers": 0}),
        ("a.yaml", "a: 1\n---\nb: 2\n", {"0": {"a": 1}, "1": {"b": 2}}),
        ("a.yaml", "# nothing\n", None),
        ("a.yaml", "a: [\n", None),
        ("train.py", "workers: 0\nb: 1\n", None),
        ("run.sh", "A=1\nB=2\n", None),
        ("a.env", "A=1", {"A": "1"}),
        ("a.properties", "a.b=1", {"a.b": "1"}),
        ("settings", "A=1", None),
        ("settings", "A=1\nB='two'\n", {"A": "1", "B": "two"}),
        ("settings", "workers: 0\nb: 1\n", {"workers": 0, "b": 1}),
        ("settings", '{"workers": 0}', {"workers": 0}),
        ("settings", "[1, 2]", [1, 2]),
        ("settings", "workers: 0", None),
        ("settings", "only\nwords", None),
        ("settings", "a: [\nb", None),
        ("entry", "#!/bin/sh\na: 1\n", None),
    ],
)
def test_a_file_inside_a_configmap_is_read_by_its_name_and_else_by_what_it_holds(
    name: str, text: str, value: object
) -> None:
    assert embedded(name, text) == value


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("export A=1\n\n# note\n b = 2", None),
        ("export A=1\n\n# note\n B= 2 ", {"A": "1", "B": "2"}),
        ("A=\"x y\"\nB='z'\nC='z\nD=\nE='", {"A": "x y", "B": "z", "C": "'z", "D": "", "E": "'"}),
        ('A=""\nB=xax\nC="z\'', {"A": "", "B": "xax", "C": "\"z'"}),
        ("# note\n", None),
        ("A=1\nnot one", None),
    ],
)
def test_lines_of_keys_and_values_are_a_mapping(text: str, values: dict[str, str] | None) -> None:
    assert dotenv(text) == values


def refused(text: str) -> str | None:
    """Why a text is not read; None where it is."""
    try:
        yaml_documents(text)
    except UnreadableText as error:
        return str(error)
    return None


def test_a_text_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_CHARACTERS", 9)
    assert refused("a: 12345\n") is None
    assert refused("a: 123456\n") == "10 characters, of at most 9"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a: [1, 2]\n", 4),
        ("a: &x [1]\nb: *x\n", 5),
        ("a: &x {k: 1}\nb: {<<: *x}\n", 6),
        ("a: &x {k: 1}\nb: {<<: [*x, *x]}\n", 8),
        ("1\n", 1),
    ],
)
def test_what_aliases_and_merge_keys_repeat_counts_again(
    monkeypatch: pytest.MonkeyPatch, text: str, values: int
) -> None:
    monkeypatch.setattr(reading, "MAX_VALUES", values)
    assert refused(text) is None
    monkeypatch.setattr(reading, "MAX_VALUES", values - 1)
    assert refused(text) == f"more than {values - 1} values once aliases and merge keys are followed"


@pytest.mark.parametrize(
    ("text", "depth"),
    [("1", 0), ("a: 1", 1), ("a: {b: 1}", 2), ("[[1]]", 2), ("<<: {a: 1}", 2), ("<<: [{a: [1]}]", 3)],
)
def test_every_mapping_list_and_merge_is_one_deeper(monkeypatch: pytest.MonkeyPatch, text: str, depth: int) -> None:
    monkeypatch.setattr(reading, "MAX_DEPTH", depth)
    assert refused(text) is None
    monkeypatch.setattr(reading, "MAX_DEPTH", depth - 1)
    assert refused(text) == f"nested deeper than {depth - 1}"


@pytest.mark.parametrize(
    ("text", "too_deep"),
    [
        ("a: [[]]\nb: [[]]\n", False),
        ("a: ']]]'\nb: [{}]\n", False),
        ("a: [[], [[]]]\n", True),
        ("a: [[], {b: {}}]\n", True),
        ("a: ']]]'\nb: [[[]]]\n", True),
    ],
)
def test_brackets_that_are_open_at_once_are_counted_before_the_text_is_parsed(
    monkeypatch: pytest.MonkeyPatch, text: str, too_deep: bool
) -> None:
    monkeypatch.setattr(reading, "MOST_OPEN", 2)
    assert refused(text) == (f"nested deeper than {MAX_DEPTH}" if too_deep else None)


def test_a_file_that_is_too_long_is_not_read_by_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_EMBEDDED_CHARACTERS", 5)
    assert embedded("a.yaml", "a: 1\n") == {"a": 1}
    assert embedded("a.yaml", "a: 12\n") is None
