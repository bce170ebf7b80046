"""Files of configuration as flat leaves."""

from typing import Any

import pytest

from mfu_operator.gitops import manifests
from mfu_operator.gitops.manifests import NotStructuredError, Place, flags, leaves, same_program

MAP = "kind: ConfigMap\nmetadata: {name: c}\n"
HEAD = {"ConfigMap/c kind": "ConfigMap", "ConfigMap/c metadata.name": "c"}


def told(path: str, text: str) -> dict[str, Any]:
    return {str(place): value for place, value in leaves(path, text).items()}


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.yaml", "x: {y: 1, z: {}}\n", {"a.yaml x.y": 1, "a.yaml x.z": {}}),
        ("a.yml", "---\n---\nx: null\n", {"a.yml x": None}),
        ("a.json", "[1, [2]]", {"a.json [0]": 1, "a.json [1][0]": 2}),
        ("a.yaml", "7\n", {"a.yaml": 7}),
        ("a.yaml", "x: [{name: n, v: 1}]\n", {"a.yaml x[n].name": "n", "a.yaml x[n].v": 1}),
        ("a.yaml", "x: [{name: n}, {name: n}]\n", {"a.yaml x[0].name": "n", "a.yaml x[1].name": "n"}),
        ("a.yaml", "x: [{name: n, key: 1}, {name: n, key: 2}]\n",
         {f"a.yaml x[{key}].{field}": value for key in (1, 2) for field, value in (("name", "n"), ("key", key))}),
        ("a.yaml", "x: [{name: n}, 1]\n", {"a.yaml x[0].name": "n", "a.yaml x[1]": 1}),
        ("a.yaml", "x: [{name: n}, {v: 1}]\n", {"a.yaml x[0].name": "n", "a.yaml x[1].v": 1}),
        ("a.yaml", "x: []\n", {}),
        ("a.yaml", "args: [--a=1, b]\n", {"a.yaml args: a": "1", "a.yaml args: words": '["b"]'}),
        ("a.yaml", "command: [1, a]\n", {"a.yaml command[0]": 1, "a.yaml command[1]": "a"}),
        ("a.yaml", "other: [--a=1]\n", {"a.yaml other[0]": "--a=1"}),
        ("a.json", '["--a=1"]', {"a.json [0]": "--a=1"}),
        ("a.yaml", "kind: Job\nmetadata: {name: 7}\n", {"a.yaml kind": "Job", "a.yaml metadata.name": 7}),
        ("a.yaml", "kind: Job\nmetadata: x\n", {"a.yaml kind": "Job", "a.yaml metadata": "x"}),
        ("a.yaml", "kind: 1\nmetadata: {name: x}\n", {"a.yaml kind": 1, "a.yaml metadata.name": "x"}),
        ("a.yaml", "kind: Job\nmetadata: {name: x}\n", {"Job/x kind": "Job", "Job/x metadata.name": "x"}),
        ("a.yaml", "kind: List\nitems: [{kind: Job, metadata: {name: x}}, 1]\n",
         {"Job/x kind": "Job", "Job/x metadata.name": "x", "a.yaml": 1}),
        ("a.yaml", "kind: List\nitems: x\n", {"a.yaml kind": "List", "a.yaml items": "x"}),
        ("a.yaml", "kind: Other\nitems: [{kind: Job}]\n", {"a.yaml kind": "Other", "a.yaml items[0].kind": "Job"}),
        ("a.toml", "[x]\ny = 1\n", {"a.toml x.y": 1}),
        ("a.env", "# c\nA=1\nB\n", {"a.env settings.A": "1", "a.env settings.B": None}),
        ("a.ini", "; c\n\n[s]\nKey: v\n", {"a.ini s.Key": "v"}),
        ("a.cfg", "[s]\nx = %(y)s\nx = 2\n", {"a.cfg s.x": "2"}),
        ("a.yaml", f"{MAP}x: 1\n", {**HEAD, "ConfigMap/c x": 1}),
        ("a.yaml", f"{MAP}data: {{a: '1'}}\n", {**HEAD, "ConfigMap/c data.a": "1"}),
        ("a.yaml", f"{MAP}data: {{a.yaml: 'x: 1'}}\n", {**HEAD, "ConfigMap/c data.a.yaml: x": 1}),
        ("a.yaml", f"{MAP}data: {{a: 'x: 1'}}\n", {**HEAD, "ConfigMap/c data.a": "x: 1"}),
        ("a.yaml", f"{MAP}data: {{a: '{{\"x\": 1}}'}}\n", {**HEAD, "ConfigMap/c data.a: x": 1}),
        ("a.yaml", f"{MAP}data: {{a: '[1]'}}\n", {**HEAD, "ConfigMap/c data.a: [0]": 1}),
        ("a.yaml", f"{MAP}data: {{a: '[1'}}\n", {**HEAD, "ConfigMap/c data.a": "[1"}),
        ("a.yaml", f"{MAP}data: {{a: \"x: 1\\ny: 2\"}}\n",
         {**HEAD, "ConfigMap/c data.a: x": 1, "ConfigMap/c data.a: y": 2}),
        ("a.yaml", f"{MAP}data: {{a: \"x\\ny\"}}\n", {**HEAD, "ConfigMap/c data.a": "x\ny"}),
        ("a.yaml", f"{MAP}data: {{a: \"x: 1\\n---\\ny\"}}\n",
         {**HEAD, "ConfigMap/c data.a: 0.x": 1, "ConfigMap/c data.a: 1": "y"}),
        ("a.yaml", f"{MAP}data: {{a.toml: 'x = 1'}}\n", {**HEAD, "ConfigMap/c data.a.toml: x": 1}),
        ("a.yaml", f"{MAP}data: {{a.env: 'X=1'}}\n", {**HEAD, "ConfigMap/c data.a.env: settings.X": "1"}),
        ("a.yaml", f"{MAP}data: {{a.toml: 'x'}}\n", {**HEAD, "ConfigMap/c data.a.toml": "x"}),
        ("a.yaml", f"{MAP}data: {{a.json: '{{\"args\": [\"--w=1\"]}}'}}\n",
         {**HEAD, "ConfigMap/c data.a.json: args: w": "1"}),
        ("a.yaml", f"{MAP}data: '{{\"x\": 1}}'\n", {**HEAD, "ConfigMap/c data": '{"x": 1}'}),
        ("a.yaml", f"{MAP}other: {{a.yaml: 'x: 1'}}\n", {**HEAD, "ConfigMap/c other.a.yaml": "x: 1"}),
        ("a.yaml", "data: {a.yaml: 'x: 1'}\n", {"a.yaml data.a.yaml": "x: 1"}),
    ],
)  # fmt: skip
def test_a_file_is_its_values_under_the_object_that_it_describes(
    path: str, text: str, expected: dict[str, Any]
) -> None:
    assert told(path, text) == expected


@pytest.mark.parametrize(
    ("path", "text"),
    [("a.txt", "x: 1"), ("a.yaml", "x: ["), ("a.toml", "x"), ("a.ini", "[s\n"), ("a.env", "A\n more\n"), ("a", "")],
)
def test_what_is_no_configuration_is_refused(path: str, text: str) -> None:
    with pytest.raises(NotStructuredError):
        leaves(path, text)


def test_a_broken_file_is_refused_with_the_reason() -> None:
    with pytest.raises(NotStructuredError, match="Expected"):
        leaves("a.toml", "x")
    assert leaves("a.yaml", "") == {}


def test_a_file_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MAX_LEAVES", 2)
    assert len(leaves("a.json", "[1, 2]")) == 2
    with pytest.raises(NotStructuredError, match="more than 2 values"):
        leaves("a.json", "[1, 2, 3]")


@pytest.mark.parametrize(
    ("place", "shown", "leaf"),
    [
        (Place("Job/x", "spec.a"), "Job/x spec.a", "spec.a"),
        (Place("", "spec.a"), "spec.a", "spec.a"),
        (Place("a.yaml", ""), "a.yaml", ""),
        (Place("Job/x", "args", "lr"), "Job/x args: lr", "args: lr"),
    ],
)
def test_a_place_is_told_with_its_document(place: Place, shown: str, leaf: str) -> None:
    assert (str(place), place.leaf) == (shown, leaf)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ([], {}),
        (["--a=1", "-b=2", "c=3", "+d=4", "--e=f=g"], {"a": "1", "b": "2", "c": "3", "+d": "4", "e": "f=g"}),
        (["--a", "1", "-b", "-2"], {"a": "1", "b": "-2"}),
        (["--a", "--b"], {"a": True, "b": True}),
        (["--a", "1", "2"], {"a": "1", "words": '["2"]'}),
        (["x", "--a", "1", "y"], {"a": "1", "words": '["x", "y"]'}),
        (["run --a 1  # note", "--b"], {"a": "1", "b": True, "words": '["run"]'}),
        (["run 'a b' é"], {"words": '["run", "a b", "é"]'}),
        (["it's --a 1"], {"a": "1", "words": '["it\'s"]'}),
        (["a\nb=1"], {"b": "1", "words": '["a"]'}),
    ],
)
def test_a_command_line_is_its_options(words: list[str], meant: dict[str, Any]) -> None:
    assert flags(words) == meant


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a = 'x'  # c", 'a  =  "x"', True),
        ("a = 1", "a = 2", False),
        ("a = (", "a = (", False),
        ("a", "\0", False),
    ],
)
def test_two_texts_are_one_program_whatever_their_layout(one: str, other: str, same: bool) -> None:
    assert same_program(one, other) is same
