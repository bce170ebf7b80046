"""How every API server keeps a TrainingBaseline and its status: who read an old version writes nothing."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from mfu_operator.errors import Conflict
from tests.contracts.cluster_arenas import Arena, unique, version_of

NOTHING = {"problem": None}
"""Removes what is not there: the map that holds it comes to be all the same, empty."""


def stored(arena: Arena, name: str) -> Mapping[str, Any]:
    found = arena.cluster.baseline(arena.namespace, name)
    assert found is not None
    return found


def test_a_baseline_that_is_not_there_is_none(arena: Arena) -> None:
    assert arena.cluster.baseline(arena.namespace, "nobody") is None


def test_a_status_that_rests_on_what_is_stored_is_written(arena: Arena) -> None:
    name = unique("gpt")
    read = arena.apply(name)
    answer = arena.cluster.write_status(read, {"incidents": 3})
    assert answer is not None
    assert answer["status"]["incidents"] == 3
    assert answer["metadata"]["resourceVersion"] == stored(arena, name)["metadata"]["resourceVersion"]
    assert int(answer["metadata"]["resourceVersion"]) > int(read.resource_version)


def test_a_status_is_no_change_of_the_spec(arena: Arena) -> None:
    name = unique("gpt")
    read = arena.apply(name)
    before = stored(arena, name)["metadata"]["generation"]
    answer = arena.cluster.write_status(read, {"incidents": 3})
    assert answer is not None
    assert answer["metadata"]["generation"] == before
    arena.suspend(name, False)
    assert stored(arena, name)["metadata"]["generation"] == before + 1


def test_a_status_that_changes_nothing_makes_no_version(arena: Arena) -> None:
    name = unique("gpt")
    first = arena.cluster.write_status(arena.apply(name), {"incidents": 3})
    assert first is not None
    again = arena.cluster.write_status(version_of(first), {"incidents": 3})
    assert again is not None
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


@pytest.mark.parametrize("change", ["status", "spec"])
def test_a_status_that_rests_on_what_somebody_changed_since_is_refused(arena: Arena, change: str) -> None:
    name = unique("gpt")
    read = arena.apply(name)
    if change == "status":
        arena.cluster.write_status(read, {"incidents": 3})
    else:
        arena.suspend(name, False)
    with pytest.raises(Conflict) as raised:
        arena.cluster.write_status(read, {"incidents": 4})
    assert raised.value.reason == "ObjectChanged"
    assert stored(arena, name).get("status", {}).get("incidents") != 4


def test_a_status_of_an_object_that_is_gone_is_not_written(arena: Arena) -> None:
    name = unique("gpt")
    read = arena.apply(name)
    arena.delete(name)
    assert arena.cluster.write_status(read, {"incidents": 3}) is None


def test_a_status_of_an_object_that_was_made_anew_is_refused(arena: Arena) -> None:
    name = unique("gpt")
    read = arena.apply(name)
    arena.delete(name)
    arena.apply(name)
    with pytest.raises(Conflict):
        arena.cluster.write_status(read, {"incidents": 3})
    assert "incidents" not in stored(arena, name).get("status", {})


def test_no_version_comes_twice_so_that_it_alone_decides(arena: Arena) -> None:
    name, uid = unique("gpt"), str(uuid4())
    first = arena.apply(name)
    arena.delete(name)
    second = arena.apply(name)
    assert second.uid != first.uid
    assert int(second.resource_version) > int(first.resource_version)
    assert arena.cluster.write_status(replace(second, uid=uid), {"incidents": 3}) is not None
    with pytest.raises(Conflict):
        arena.cluster.write_status(replace(first, uid=second.uid), {"incidents": 4})


def test_a_status_is_merged_map_by_map_while_lists_are_replaced_and_nulls_remove(arena: Arena) -> None:
    name = unique("gpt")
    begun = {"judgement": {"verdict": "Healthy", "value": 0.4}, "noted": ["a", "b"], "knownGood": {"revision": "x"}}
    first = arena.cluster.write_status(arena.apply(name), begun)
    assert first is not None
    changes = {"judgement": {"verdict": None, "value": 0.5}, "noted": ["c"], "knownGood": None, "recording": NOTHING}
    merged = arena.cluster.write_status(version_of(first), changes)
    assert merged is not None
    status = {key: merged["status"].get(key) for key in changes}
    assert status == {"judgement": {"value": 0.5}, "noted": ["c"], "knownGood": None, "recording": {}}
    assert "knownGood" not in merged["status"]


def test_of_writers_that_read_the_same_version_one_writes(arena: Arena) -> None:
    read = arena.apply(unique("gpt"))

    def writes(number: int) -> bool:
        try:
            return arena.cluster.write_status(read, {"incidents": number}) is not None
        except Conflict:
            return False

    with ThreadPoolExecutor(4) as writers:
        assert sum(writers.map(writes, range(8))) == 1


def test_an_annotation_is_removed_and_no_other(arena: Arena) -> None:
    name = unique("gpt")
    arena.apply(name)
    arena.annotate(name, {"a.example/ask": "x", "note": "mine"})
    arena.cluster.remove_annotation(version_of(stored(arena, name)), "a.example/ask", "x")
    assert annotations(arena, name) == {"note": "mine"}


@pytest.mark.parametrize("changed", ["another value", "another object", "no such annotation"])
def test_an_annotation_that_was_changed_since_stays(arena: Arena, changed: str) -> None:
    name = unique("gpt")
    arena.apply(name)
    arena.annotate(name, {"a.example/ask": "x"})
    read = version_of(stored(arena, name))
    value = "y" if changed == "another value" else "x"
    asked = "a.example/other" if changed == "no such annotation" else "a.example/ask"
    read = replace(read, uid="another") if changed == "another object" else read
    arena.cluster.remove_annotation(read, asked, value)
    assert annotations(arena, name) == {"a.example/ask": "x"}


def test_an_annotation_of_an_object_that_is_gone_is_no_failure(arena: Arena) -> None:
    name = unique("gpt")
    read = arena.apply(name)
    arena.delete(name)
    arena.cluster.remove_annotation(read, "a.example/ask", "x")


def annotations(arena: Arena, name: str) -> dict[str, str]:
    return dict(stored(arena, name)["metadata"].get("annotations") or {})
