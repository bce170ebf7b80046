"""Variables that containers do not see, and the prefixes that they see them with."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.gitops.rendered.environment import overridden, prefixes
from mfu_operator.gitops.rendered.objects import Thing

THINGS = (
    Thing("ConfigMap", "", "other", {"data": {"Z": "1"}}),
    Thing("ConfigMap", "", "m", {"data": {"A": "1", "B": "2"}}),
    Thing("Secret", "", "s", {"data": {"A": "1"}, "stringData": {"C": "3"}}),
    Thing("ConfigMap", "", "m", {"data": {"late": "1"}}),
    Thing("ConfigMap", "", "odd", {"data": "text"}),
)
M, S = ("ConfigMap", "m"), ("Secret", "s")


def of(name: str, prefix: str | None = None) -> dict[str, Any]:
    field = "secretRef" if name == "s" else "configMapRef"
    return {field: {"name": name}, **({} if prefix is None else {"prefix": prefix})}


def pod(*containers: Any, initial: tuple[Any, ...] = ()) -> Mapping[str, Any]:
    return {"containers": list(containers), "initContainers": list(initial)}


@pytest.mark.parametrize(
    ("containers", "hidden"),
    [
        ([{}], {}),
        (["junk", {"envFrom": ["junk", {}], "env": ["junk"]}], {}),
        ([{"envFrom": [of("m")]}], {M: set()}),
        ([{"envFrom": [of("m")], "env": [{"name": "A"}]}], {M: {"A"}}),
        ([{"envFrom": [of("m", "P_")], "env": [{"name": "A"}]}], {M: set()}),
        ([{"envFrom": [of("m", "P_")], "env": [{"name": "P_A"}]}], {M: {"A"}}),
        ([{"envFrom": [of("m"), of("s")]}], {M: {"A"}, S: set()}),
        ([{"envFrom": [of("s"), of("m")]}], {M: set(), S: {"A"}}),
        ([{"envFrom": [of("m"), of("s", "P_")]}], {M: set(), S: set()}),
        ([{"envFrom": [of("m", "P_"), of("s", "P_")]}], {M: {"A"}, S: set()}),
        ([{"envFrom": [of("s")], "env": [{"name": "C"}]}], {S: {"C"}}),
        ([{"envFrom": [of("m")], "env": [{"name": "A"}]}, {"envFrom": [of("m")]}], {M: set()}),
        ([{"envFrom": [of("m")]}, {"envFrom": [of("m")], "env": [{"name": "A"}]}], {M: set()}),
        ([{"envFrom": [of("gone")], "env": [{"name": "A"}]}], {("ConfigMap", "gone"): set()}),
        ([{"envFrom": [of("odd")], "env": [{"name": "t"}]}], {("ConfigMap", "odd"): set()}),
    ],
)
def test_entries_that_every_container_gets_from_elsewhere_are_not_seen(
    containers: list[Any], hidden: Mapping[tuple[str, str], set[str]]
) -> None:
    assert overridden([pod(*containers)], THINGS) == hidden


def test_an_initial_container_is_one_and_a_pod_may_have_none() -> None:
    seen = pod({"envFrom": [of("m")], "env": [{"name": "A"}]}, initial=({"envFrom": [of("m")]},))
    assert overridden([seen], THINGS) == {M: set()}
    assert overridden([{}], THINGS) == {}
    assert prefixes([{}]) == {}


@pytest.mark.parametrize(
    ("containers", "found"),
    [
        ([{"envFrom": [of("m", "P_")]}], {M: "P_"}),
        ([{"envFrom": [of("m")]}], {}),
        ([{"envFrom": [of("s", "P_"), of("m", "")]}], {S: "P_"}),
        ([{"envFrom": [of("m", "P_")]}, {"envFrom": [of("m", "P_")]}], {M: "P_"}),
        ([{"envFrom": [of("m", "P_")]}, {"envFrom": [of("m", "Q_")]}], {}),
        ([{"envFrom": [of("m", "P_")]}, {"envFrom": [of("m")]}], {}),
        ([{"envFrom": ["junk", {"configMapRef": "m", "prefix": "P_"}]}], {}),
        ([{}], {}),
    ],
)
def test_a_prefix_counts_where_every_container_has_the_same(
    containers: list[Any], found: Mapping[tuple[str, str], str]
) -> None:
    assert prefixes([pod(*containers)]) == found
