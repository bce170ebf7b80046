"""Values of manifests and of the files in them: YAML, TOML, INI, dotenv, and what is none of them."""

from typing import Any

import pytest

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
        ("a: 2026-01-01\n", [{"a": "2026-01-01"}]),
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
        ("# note\n", None),
        ("A=1\nnot one", None),
    ],
)
def test_lines_of_keys_and_values_are_a_mapping(text: str, values: dict[str, str] | None) -> None:
    assert dotenv(text) == values
