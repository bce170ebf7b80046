"""Rendered manifests as objects with a name, and which of two namesakes is meant."""

from typing import Any

import pytest

from mfu_operator.gitops.rendered.objects import Thing, doubled, meant, of, things


def body(kind: str = "Job", **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": kind, "metadata": metadata}


def told(document: Any) -> list[str]:
    return [str(each) for each in of(document)]


@pytest.mark.parametrize(
    ("document", "found"),
    [
        (body(name="gpt"), ["Job/gpt"]),
        (body(name="gpt", namespace="ml"), ["Job/ml/gpt"]),
        (body(generateName="gpt-"), ["Job/gpt-"]),
        (body(name="gpt", generateName="x-"), ["Job/gpt"]),
        (body(name=7), ["Job/7"]),
        (body(), []),
        ({**body(), "metadata": "text"}, []),
        ({**body(name="gpt"), "kind": 3}, []),
        ({"kind": "Job", "metadata": {"name": "gpt"}}, []),
        ({"apiVersion": "v1", "metadata": {"name": "gpt"}}, []),
        (["text"], []),
        ("text", []),
        ({"apiVersion": "v1", "kind": "List", "items": [body(name="a"), "x", body(name="b")]}, ["Job/a", "Job/b"]),
        ({"apiVersion": "v1", "kind": "JobList", "items": [body(name="a")], "metadata": {"name": "x"}}, ["Job/a"]),
        ({**body("PriorityList", name="gpt"), "items": "text"}, ["PriorityList/gpt"]),
        ({**body("Job", name="gpt"), "items": [body(name="a")]}, ["Job/gpt"]),
    ],
)
def test_a_document_is_the_objects_that_it_holds(document: Any, found: list[str]) -> None:
    assert told(document) == found


def test_objects_of_a_stream_know_their_file() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\nx: 1\n"
    (found,) = things(text, "a.yaml")
    assert (found.file, found.namespace, found.origin, found.body["kind"]) == ("a.yaml", "", "", "Pod")
    assert things(text)[0].file == ""


@pytest.mark.parametrize(("version", "group"), [("v1", ""), ("batch/v1", "batch"), (None, "")])
def test_a_group_stands_before_the_slash(version: str | None, group: str) -> None:
    assert Thing("Job", "", "a", {} if version is None else {"apiVersion": version}).group == group


def thing(name: str, origin: str = "", replicas: int = 1) -> Thing:
    return Thing("Job", "", name, {"replicas": replicas}, origin=origin)


def test_namesakes_of_other_clusters_are_left_out() -> None:
    ours, theirs, other, plain = thing("a", "App/x"), thing("a", "App/y"), thing("b", "App/y"), thing("c")
    assert meant([ours, theirs, other, plain], {"App/x"}) == [ours, other, plain]
    assert meant([theirs, ours], ()) == [theirs, ours]


def test_an_object_that_stands_there_twice_with_different_content_is_doubled() -> None:
    one, same, another, alone = thing("a"), thing("a"), thing("a", replicas=2), thing("b")
    assert doubled([one, alone, another, another]) == ("Job/a",)
    assert doubled([one, same, alone]) == ()
