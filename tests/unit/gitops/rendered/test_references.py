"""What a workload refers to, and which entries of a ConfigMap or Secret it gets."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.gitops.rendered.references import References, of

CONFIG, SECRET = ("ConfigMap", "c"), ("Secret", "s")
ONLY_A, ALL = frozenset({"a"}), None


def pod(volumes: list[Any], *mounts: Any, part: str = "containers") -> dict[str, Any]:
    """A pod with volumes, and mounts of one container in this part of it."""
    pod: dict[str, Any] = {"containers": [{"name": "t"}], "volumes": volumes}
    pod[part] = [{"name": "t", "volumeMounts": list(mounts)}]
    return {"spec": pod}


def config(**more: Any) -> dict[str, Any]:
    return {"name": "v", "configMap": {"name": "c", **more}}


ITEMS = [{"key": "a", "path": "x/a.yaml"}, {"key": "b", "path": "b.yaml"}, "odd"]


@pytest.mark.parametrize(
    ("body", "maps"),
    [
        ({"env": [{"valueFrom": {"configMapKeyRef": {"name": "c", "key": "a"}}}]}, {CONFIG: ONLY_A}),
        ({"env": [{"valueFrom": {"secretKeyRef": {"name": "s", "key": "a"}}}]}, {SECRET: ONLY_A}),
        ({"x": {"configMapKeyRef": {"name": "c"}}}, {CONFIG: ALL}),
        ({"x": {"configMapKeyRef": {"key": "a"}}}, {}),
        ({"x": {"configMapKeyRef": {"name": "", "key": "a"}}}, {}),
        ({"x": {"configMapKeyRef": "c"}}, {}),
        ({"x": {"configMapKeyRef": {"name": 7, "key": "a"}}}, {}),
        ({"containers": ["odd", {"volumeMounts": [{"name": "v", "subPath": "a"}]}], "volumes": [config()]},
         {CONFIG: ONLY_A}),
        (pod([config()]), {CONFIG: ALL}),
        (pod([{"name": "v", "secret": {"secretName": "s"}}]), {SECRET: ALL}),
        (pod([{"name": "v", "secret": {"name": "s"}}]), {SECRET: ALL}),
        (pod([config(items=ITEMS[:1])]), {CONFIG: ONLY_A}),
        (pod([config(items=ITEMS)]), {CONFIG: frozenset({"a", "b"})}),
        (pod([config(items="odd")]), {CONFIG: ALL}),
        (pod([config()], {"name": "v", "subPath": "a"}), {CONFIG: ONLY_A}),
        (pod([config()], {"name": "v", "subPath": "a/deep"}), {CONFIG: ONLY_A}),
        (pod([config()], {"name": "v", "subPath": "a"}, {"name": "v"}), {CONFIG: ALL}),
        (pod([config()], {"name": "v", "subPath": "a"}, {"name": "v", "subPath": "b"}), {CONFIG: frozenset("ab")}),
        (pod([config()], {"name": "other", "subPath": "a"}), {CONFIG: ALL}),
        (pod([config()], "odd", {"name": "v", "subPath": "a"}), {CONFIG: ONLY_A}),
        (pod([config()], {"name": "v", "subPath": "a"}, part="initContainers"), {CONFIG: ONLY_A}),
        (pod([config()], {"name": "v", "subPath": "a"}, part="ephemeralContainers"), {CONFIG: ONLY_A}),
        (pod([config(items=ITEMS)], {"name": "v", "subPath": "x"}), {CONFIG: ONLY_A}),
        (pod([config(items=ITEMS)], {"name": "v", "subPath": "x"}, {"name": "v"}), {CONFIG: frozenset("ab")}),
        (pod(["odd", config()]), {CONFIG: ALL}),
        (pod([{"name": "v", "projected": {"sources": [config(items=ITEMS[:1]), "odd"]}}]), {CONFIG: ONLY_A}),
        (pod([{"name": "v", "projected": {"sources": None}}, config()]), {CONFIG: ALL}),
        (pod([{"name": "v", "projected": "odd"}, config()]), {CONFIG: ALL}),
        ({"spec": {"containers": "odd", "volumes": [config()]}}, {}),
        ({"jobs": [{"template": pod([config()])}]}, {CONFIG: ALL}),
        ({"containers": ["odd", {"volumeMounts": None}], "volumes": None}, {}),
    ],
)  # fmt: skip
def test_entries_are_those_that_are_mounted_or_named(body: Mapping[str, Any], maps: Mapping[Any, Any]) -> None:
    found = of(body)
    assert (found.maps, found.beside) == (maps, maps)


@pytest.mark.parametrize(
    "body",
    [
        pod([{"name": "v", "flexVolume": {"secretRef": {"name": "s"}}}]),
        {"volumes": [{"configMap": {"name": "c"}, "secretRef": {"name": "s"}}]},
    ],
)
def test_other_kinds_of_volumes_may_refer_to_a_secret(body: Mapping[str, Any]) -> None:
    assert of(body).maps == {SECRET: ALL}


def test_what_is_read_into_all_variables_is_not_read_by_another_way() -> None:
    both = {"containers": [{"envFrom": [{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "s", "key": "x"}}]}]}
    found = of(both)
    assert (found.maps, found.beside) == ({CONFIG: ALL, SECRET: ALL}, {})
    assert not found.reads("ConfigMap", "c", "a")
    assert of({"configMapRef": {"name": "c"}, "secretRef": {"name": "s"}}).maps == found.maps
    assert of({"configMapRef": {"name": 7}}).maps == {}


def test_entries_of_several_uses_come_together() -> None:
    found = References()
    found.use("ConfigMap", "c", frozenset({"a"}))
    found.use("ConfigMap", "c", frozenset({"b"}))
    assert found.maps == found.beside == {CONFIG: frozenset({"a", "b"})}
    assert [found.reads("ConfigMap", "c", entry) for entry in "abc"] == [True, True, False]
    found.use("ConfigMap", "c", None)
    found.use("ConfigMap", "c", frozenset({"a"}))
    assert found.maps == found.beside == {CONFIG: None}
    assert found.reads("ConfigMap", "c", "z")
    found.use_as_environment("ConfigMap", "d")
    assert found.maps["ConfigMap", "d"] is None
    found.use_as_environment("ConfigMap", None)
    found.use("ConfigMap", "", None)
    assert len(found.maps) == 2


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"claimName": "p"}, [("PersistentVolumeClaim", "p")]),
        ({"a": [{"storageClassName": "fast"}]}, [("StorageClass", "fast")]),
        ({"priorityClassName": "p"}, [("PriorityClass", "p"), ("WorkloadPriorityClass", "p")]),
        ({"priorityClassName": None}, []),
        ({"runtimeRef": {"name": "r"}}, [("ClusterTrainingRuntime", "r"), ("TrainingRuntime", "r")]),
        ({"runtimeRef": "r"}, []),
        (pod([{"name": "v", "persistentVolumeClaim": {"claimName": "p"}}]), [("PersistentVolumeClaim", "p")]),
        ({"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "p"}}]}}, [("PersistentVolumeClaim", "p")]),
    ],
)
def test_other_objects_are_named_by_their_fields(body: Mapping[str, Any], named: list[tuple[str, str]]) -> None:
    assert list(of(body).named) == named


@pytest.mark.parametrize(
    ("body", "labels"),
    [
        ({"template": {"metadata": {"labels": {"app": "gpt", "n": 1}}, "spec": {}}}, [{"app": "gpt", "n": "1"}]),
        ({"template": {"metadata": {"labels": {"app": "gpt"}}}}, []),
        ({"template": {"metadata": {"labels": "odd"}, "spec": {}}}, []),
        ({"template": {"metadata": "odd", "spec": {}}}, []),
    ],
)
def test_labels_are_those_of_pod_templates(body: Mapping[str, Any], labels: list[Mapping[str, str]]) -> None:
    assert of(body).labels == labels
