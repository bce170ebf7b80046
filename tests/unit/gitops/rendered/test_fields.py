"""Objects as leaves: under which key, by which name and with which value a field is known."""

from typing import Any

import pytest

from mfu_operator.gitops.rendered import fields, shell
from mfu_operator.gitops.rendered.fields import Leaves, TooManyLeaves, without_hash
from mfu_operator.gitops.rendered.leaf import Leaf, hidden

KEY = b"key"
JOB = "Job/gpt"


def plain(value: Any, path: str = "") -> dict[str, Leaf]:
    """The leaves of a value by their key."""
    leaves = Leaves(KEY)
    leaves.plain(JOB, value, path)
    return {key: each for (_, key), each in leaves.found.items()}


def values(value: Any, path: str = "") -> dict[str, Any]:
    return {key: each.value for key, each in plain(value, path).items()}


def file(name: str, text: str) -> dict[str, Leaf]:
    """The leaves of an entry of a ConfigMap."""
    leaves = Leaves(KEY)
    leaves.file(JOB, "data.f", name, text)
    return {key: each for (_, key), each in leaves.found.items()}


def test_every_scalar_is_a_leaf_under_its_path() -> None:
    value = {"a": 1, "b": {"c.d": True}, "e": [1, "x"], "f": {}, "g": None, "h": [{"name": "n", "v": 2.0}], "i": []}
    assert values(value) == {
        "a": "1", 'b["c.d"]': "true", "e[0]": "1", "e[1]": "x", "f": "{}", "g": "null", "h[n].name": "n", "h[n].v": "2",
    }  # fmt: skip
    assert plain(value)['b["c.d"]'] == Leaf(JOB, 'b["c.d"]', "b.c.d", "true", 'b["c.d"]', True)
    assert plain(value)["f"] == Leaf(JOB, "f", "f", "{}", "f", "{}")
    assert values({}) == {}


@pytest.mark.parametrize(
    ("path", "raw", "meant"),
    [
        ("resources.limits.cpu", "1000m", "1"),
        ("resources.requests.memory", "1Ki", "1024"),
        ('resources.limits["nvidia.com/gpu"]', "8.0", "8"),
        ("spec.hard.pods", "1k", "1000"),
        ("emptyDir.sizeLimit", "1k", "1000"),
        ("spec.storage", "1k", "1000"),
        ("env.cpu", "1000m", "1000m"),
        ("limits", "1k", "1k"),
    ],
)
def test_quantities_stand_where_kubernetes_keeps_them(path: str, raw: str, meant: str) -> None:
    (leaf,) = plain(raw, path).values()
    assert (leaf.value, leaf.raw, leaf.field) == (meant, raw, path)


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ("spec.containers[t].image", "gpt:v1", "image"),
        ("spec.image", {"tag": "v1"}, "spec.image.tag"),
        ("spec.image", 7, "spec.image"),
        ("spec.containers[t].env[NCCL_DEBUG].value", "INFO", "NCCL_DEBUG"),
        ("spec.env[A].valueFrom", "x", "spec.env[A].valueFrom"),
        ('data["a.b"].c', 1, "data.a.b.c"),
    ],
)
def test_a_field_is_called_what_the_table_of_causes_calls_it(path: str, value: Any, name: str) -> None:
    assert [each.name for each in plain(value, path).values()] == [name]


def test_a_field_belongs_to_the_container_that_it_is_of() -> None:
    pod = {
        "containers": [{"name": "t", "env": [{"name": "A"}], "args": ["--x"], "extra": {}}],
        "initContainers": [{"name": "i"}],
    }
    found = plain({"spec": pod, "kind": {"a": 1}})
    assert {key: each.container for key, each in found.items()} == {
        "spec.containers[t].name": "t",
        "spec.containers[t].env[A].name": "t",
        "spec.containers[t].args --x --x": "t",
        "spec.containers[t].extra": "t",
        "spec.initContainers[i].name": "i",
        "kind.a": "",
    }


def test_a_secret_among_the_fields_is_told_as_its_hash() -> None:
    found = plain("hunter2", "spec.env[DB_PASSWORD].value")["spec.env[DB_PASSWORD].value"]
    assert (found.name, found.raw) == ("DB_PASSWORD", hidden("hunter2", KEY))
    option = plain({"command": ["python", "t.py", "--api-key", "hunter2"]}, "spec")["spec.command --api_key"]
    assert option.raw == hidden("hunter2", KEY)
    joined = plain({"command": ["python", "t.py", "--api-key=hunter2"]}, "spec")["spec.command --api_key"]
    assert joined.raw == hidden("--api-key=hunter2", KEY)
    opened = plain({"command": ["python", "t.py", "--seed=1"]}, "spec")["spec.command --seed"]
    assert opened.raw == "--seed=1"


def test_a_value_that_looks_like_a_token_is_hidden_although_its_field_does_not() -> None:
    word = "--checkpoint-path=i0VpEBOWfbZAVaBSo63bbH6xnAbn"
    assert plain({"command": ["python", "t.py", word]}, "spec")["spec.command --checkpoint_path"].raw == "***"


def test_a_command_and_its_arguments_are_one_command_line() -> None:
    found = plain({"command": ["python", "t.py"], "args": ["--workers", 4], "image": "gpt"}, "spec")
    assert {key: (each.name, each.value, each.field, each.text) for key, each in found.items()} == {
        "spec.args --workers": ("workers", "4", "spec.args[1]", False),
        "spec.args word 0": ("words", "python", "spec.command[0]", True),
        "spec.args word 1": ("words", "t.py", "spec.command[1]", True),
        "spec.image": ("image", "gpt", "spec.image", False),
    }
    assert set(plain({"command": ["python"]}, "spec")) == {"spec.command word 0"}


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        ({"command": "python"}, {"command"}),
        ({"command": []}, set()),
        ({"command": ["a", {"b": 1}]}, {"command[0]", "command[1].b"}),
        ({"other": ["a"]}, {"other[0]"}),
        ({"args": ["a"], "command": [{"b": 1}]}, {"args a word 0", "command[0].b"}),
    ],
)
def test_what_is_no_list_of_words_is_no_command(value: dict[str, Any], keys: set[str]) -> None:
    assert set(plain(value)) == keys


def test_the_entry_point_and_the_environment_of_ray_are_read_by_meaning() -> None:
    found = plain({"entrypoint": "python t.py --workers 4", "runtimeEnvYAML": "env_vars: {A: 1}\n"}, "spec")
    assert found["spec.entrypoint --workers"].value == "4"
    assert found["spec.entrypoint --workers"].field == "spec.entrypoint"
    assert found["spec.runtimeEnvYAML.env_vars.A"] == Leaf(
        JOB, "spec.runtimeEnvYAML.env_vars.A", "env_vars.A", "1", "spec.runtimeEnvYAML.env_vars.A", 1, False,
        "runtime_env.yaml",
    )  # fmt: skip
    assert set(plain({"entrypoint": 1, "runtimeEnvYAML": 2})) == {"entrypoint", "runtimeEnvYAML"}


@pytest.mark.parametrize(
    ("path", "value", "reference"),
    [
        ("spec.volumes[v].secret", {"secretName": "s-bcdfghkmt2"}, "s"),
        ("spec.volumes[v].configMap", {"name": "c-bcdfghkmt2"}, "c"),
        ("spec.envFrom[0].configMapRef", {"name": "c"}, "c"),
        ("spec.envFrom[0].secretRef", {"name": "c"}, "c"),
        ("spec.valueFrom.secretKeyRef", {"name": "c"}, "c"),
    ],
)
def test_a_reference_is_compared_without_the_suffix_of_a_generator(
    path: str, value: dict[str, str], reference: str
) -> None:
    ((key, raw),) = value.items()
    where = f"{path}.{key}"
    assert plain(value, path) == {where: Leaf(JOB, where, "reference", reference, where, raw)}


def test_another_name_is_no_reference() -> None:
    assert plain({"name": "x"}, "spec.claim")["spec.claim.name"].name == "spec.claim.name"
    assert plain({"key": "x"}, "spec.configMap")["spec.configMap.key"].name == "spec.configMap.key"


def test_a_document_that_a_command_writes_is_read_as_a_file() -> None:
    text = 'cat > ds.json <<EOF\n{"stage": 3}\nEOF\npython t.py'
    found = plain({"command": ["bash", "-c", text]}, "spec")
    leaf = found["spec.command <ds.json .stage"]
    assert (leaf.name, leaf.value, leaf.file, leaf.field) == ("stage", "3", "ds.json", "spec.command[2].stage")


def test_every_document_of_a_command_is_read() -> None:
    text = "cat > a.yaml <<A\nx: 1\nA\ncat > b.yaml <<B\ny: 2\nB\n"
    found = plain({"command": ["bash", "-c", text]}, "spec")
    assert [each.name for each in found.values() if each.file] == ["x", "y"]


def test_what_runs_beside_the_training_is_told_of_an_option() -> None:
    text = "torchrun t.py --x 1\npython eval.py --x 2"
    found = plain({"command": ["bash", "-c", text]}, "spec")
    assert {each.beside for each in found.values()} == {"", "eval.py"}
    assert {each.beside for each in file("run.sh", text).values()} == {"", "eval.py"}


def test_a_file_of_a_known_form_is_its_values() -> None:
    assert file("a.yaml", "loader: {workers: 8}\nlist: [{name: n, v: null}]\nempty: []\nnone: {}\n") == {
        f"data.f.{inner}": Leaf(JOB, f"data.f.{inner}", inner, value, f"data.f.{inner}", raw, file="a.yaml")
        for inner, value, raw in (
            ("loader.workers", "8", 8),
            ("list[n].name", "n", "n"),
            ("list[n].v", "null", None),
            ("empty", "[]", "[]"),
            ("none", "{}", "{}"),
        )
    }
    (first, second) = file("a.json", "[1, 2.5]").values()
    assert (first.key, first.field, second.value) == ("data.f.[0]", "data.f[0]", "2.5")
    (secret,) = file("a.yaml", "password: hunter2\n").values()
    assert secret.raw == hidden("hunter2", KEY)
    (quoted,) = file("a.yaml", "a.b: 1\n").values()
    assert (quoted.key, quoted.field, quoted.name) == ('data.f.["a.b"]', 'data.f["a.b"]', ".a.b")


def test_a_value_that_is_handed_in_is_taken_for_the_text() -> None:
    leaves = Leaves(KEY)
    leaves.file(JOB, "data.f", "notes.txt", "text", value={"a": 1})
    assert [(each.name, each.value) for each in leaves.found.values()] == [("a", "1")]


@pytest.mark.parametrize(
    ("name", "text", "leaf"),
    [
        ("mode", " FAST \n", Leaf(JOB, "data.f", "mode", "FAST", "data.f", " FAST \n", False, "mode")),
        ("workers", "4.0", Leaf(JOB, "data.f", "workers", "4.0", "data.f", "4.0", False, "workers")),
        ("flag", "True", Leaf(JOB, "data.f", "flag", "true", "data.f", "True", False, "flag")),
        ("notes.txt", "a\nb\n", Leaf(JOB, "data.f", "text", "a\nb", "data.f", "a\nb\n", True, "notes.txt")),
        ("password", "hunter2", Leaf(JOB, "data.f", "password", "hunter2", "data.f", hidden("hunter2", KEY), False,
                                     "password")),
        ("t.py", "a = (", Leaf(JOB, "data.f", "text", "a = (", "data.f", "a = (", True, "t.py")),
    ],
)  # fmt: skip
def test_any_other_file_is_one_value(name: str, text: str, leaf: Leaf) -> None:
    assert file(name, text) == {"data.f": leaf}


def test_a_program_is_its_constants_and_the_rest() -> None:
    text = "workers = 4\nf(workers=8)\n"
    found = file("t.py", text)
    assert {key: (each.name, each.value, each.text) for key, each in found.items() if key != "data.f program"} == {
        "data.f workers": ("workers", "4", False),
        "data.f workers#1": ("workers", "8", False),
    }
    rest = found["data.f program"]
    assert (rest.name, rest.text, rest.file, rest.raw, rest.field) == ("text", True, "t.py", text, "data.f")
    assert {(each.file, each.raw, each.field) for each in found.values()} == {("t.py", text, "data.f")}


@pytest.mark.parametrize("name", ["run.sh", "run.bash", "entry"])
def test_a_script_is_what_its_command_lines_say(name: str) -> None:
    text = "#!/bin/sh\npython t.py --workers 4\ncat > a.yaml <<EOF\nseed: 1\nEOF\n"
    found = file(name, text)
    assert {key: (each.name, each.value) for key, each in found.items()} == {
        "data.f --workers": ("workers", "4"),
        "data.f word 0": ("words", "python"),
        "data.f word 1": ("words", "t.py"),
        "data.f cat word 0": ("words", "cat"),
        "data.f cat word 1": ("words", ">"),
        "data.f cat word 2": ("words", "a.yaml"),
        "data.f <a.yaml .seed": ("seed", "1"),
    }
    workers = found["data.f --workers"]
    assert (workers.file, workers.raw, workers.field, workers.text) == (name, text, "data.f", False)
    assert found["data.f word 0"].text


def test_a_text_that_only_begins_like_a_script_is_a_text() -> None:
    assert set(file("entry", "#!/usr/bin/python\nprint(1)\n")) == {"data.f"}
    assert set(file("entry", "run the shell\nof sh\n")) == {"data.f"}
    assert set(file("entry", "#!/usr/bin/python\n" + "#" * 40 + " sh\n")) == {"data.f"}


@pytest.mark.parametrize(
    ("first", "shell_script"),
    [
        ("#!/bin/sh", True),
        ("#! /bin/bash -e", True),
        ("#!/usr/bin/env bash", True),
        ("#!/usr/bin/env -S OMP_NUM_THREADS=1 zsh -e", True),
        ("#!/usr/local/bin/ksh", True),
        ("#!/bin/dash\r", True),
        ("\n#!/bin/sh", True),
        ("#!/usr/bin/python  # sh", False),
        ("#!/usr/bin/python\nimport sh", False),
        ("#!/opt/shared/bin/python3", False),
        ("#!/usr/bin/env python3 sh", False),
        ("#!/usr/bin/env fish", False),
        ("#!/usr/bin/env", False),
        ("#!", False),
        ("#!\n/bin/sh", False),
    ],
)
def test_a_file_without_an_extension_is_a_script_where_its_interpreter_is_a_shell(
    first: str, shell_script: bool
) -> None:
    assert ("data.f --workers" in file("entry", f"{first}\npython t.py --workers 4\n")) is shell_script


def test_a_script_beyond_the_bound_is_a_text_besides(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "python t.py --workers 4"
    monkeypatch.setattr(shell, "MAX_CHARACTERS", len(text) + 1)
    assert "data.f" not in file("run.sh", text)
    monkeypatch.setattr(shell, "MAX_CHARACTERS", len(text))
    assert "data.f" not in file("run.sh", text)
    monkeypatch.setattr(shell, "MAX_CHARACTERS", len(text) + 1)
    long = file("run.sh", f"{text}\n\n")
    assert long["data.f"] == Leaf(JOB, "data.f", "text", f"{text}\n\n", "data.f", f"{text}\n\n", True, "run.sh")
    assert "data.f --workers" in long


def entries(body: dict[str, Any], keys: set[str] | None = None) -> dict[str, Leaf]:
    leaves = Leaves(KEY)
    leaves.config_map("ConfigMap/c", body, keys)
    return {key: each for (_, key), each in leaves.found.items()}


def test_a_config_map_is_the_entries_that_are_used() -> None:
    body = {"data": {"a": "1", "b.yaml": "x: 1\n", "gone": None}, "binaryData": {"c": "AAAA", "d": "BBBB"}, "kind": "x"}
    found = entries(body)
    assert set(found) == {"data.a", 'data["b.yaml"].x', "binaryData.c", "binaryData.d"}
    assert found["binaryData.c"] == Leaf(
        "ConfigMap/c", "binaryData.c", "text", "AAAA", "binaryData.c", hidden("AAAA", KEY), True, "c"
    )
    assert set(entries(body, {"a", "d"})) == {"data.a", "binaryData.d"}
    assert entries({"data": "odd"}) == entries({}) == entries(body, set()) == {}


def test_a_secret_is_hashes_of_what_its_entries_hold() -> None:
    leaves = Leaves(KEY)
    body = {"data": {"a": "aHVudGVyMg==", "b": "AAAA"}, "stringData": {"b": "hunter2", "c": 3}}
    leaves.secret("Secret/s", body, None)
    same = hidden("hunter2", KEY)
    assert {key: (each.name, each.value, each.raw, each.field) for (_, key), each in leaves.found.items()} == {
        "data.a": ("secret.a", same, same, "data.a"),
        "data.b": ("secret.b", same, same, "data.b"),
        "data.c": ("secret.c", hidden("3", KEY), hidden("3", KEY), "data.c"),
    }
    picked = Leaves(KEY)
    picked.secret("Secret/s", body, {"b"})
    assert [key for _, key in picked.found] == ["data.b"]


def test_variables_of_one_object_get_a_prefix() -> None:
    leaves = Leaves(KEY)
    leaves.config_map("ConfigMap/c", {"data": {"A": "1"}}, None)
    leaves.config_map("ConfigMap/d", {"data": {"A": "1"}}, None)
    leaves.plain("ConfigMap/e", {"data": {"A": 1}})
    for name in ("c", "e"):
        leaves.rename(f"ConfigMap/{name}", "P_")
    assert [each.name for each in leaves.found.values()] == ["P_A", "A", "P_A"]


def test_the_last_of_a_key_holds_and_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plain({"command": ["python", "t.py", "--a=1", "--a=2"]}, "spec")["spec.command --a"].value == "2"
    monkeypatch.setattr(fields, "MAX_LEAVES", 2)
    assert len(values({"a": 1, "b": 2})) == 2
    with pytest.raises(TooManyLeaves, match="Job/gpt and what it refers to hold more than 2 values"):
        values({"a": 1, "b": 2, "c": 3})


@pytest.mark.parametrize(
    ("name", "bare"), [("c-bcdfghkmt2", "c"), ("c-bcdfghkmt", "c-bcdfghkmt"), ("c-aaaaaaaaaa", "c-aaaaaaaaaa")]
)
def test_the_hash_of_a_generator_is_ten_of_its_own_letters(name: str, bare: str) -> None:
    assert without_hash(name) == bare
