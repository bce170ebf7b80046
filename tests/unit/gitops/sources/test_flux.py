"""Flux' objects, field by field, as what is rendered."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.gitops.sources import flux
from mfu_operator.gitops.sources.plan import Engine, HelmOptions, KustomizeOptions, Part, Plan, Source, Substitution
from mfu_operator.gitops.sources.tree import NotRenderable

GIT = {"kind": "GitRepository", "name": "models"}
REPOSITORY = {"kind": "GitRepository", "metadata": {"name": "models"}, "spec": {"url": "https://git.example/one"}}
SOURCE = Source("https://git.example/one", "HEAD")


def kustomization(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "gpt", "namespace": "flux"},
        "spec": {"sourceRef": GIT, "path": "./gpt", **spec},
    }


def release(chart: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    asked = {"chart": "charts/gpt", "sourceRef": GIT} if chart is None else chart
    return {
        "kind": "HelmRelease",
        "metadata": {"name": "gpt", "namespace": "flux"},
        "spec": {"chart": {"spec": asked}, **spec},
    }


BUILT = Part(
    path="gpt", name="gpt", held="Kustomization/gpt", kustomize=KustomizeOptions({}, unrestricted=True), recurse=True
)
RELEASED = Part(
    path="charts/gpt", engine=Engine.HELM, namespace="flux", name="gpt", helm=HelmOptions("gpt"), held="HelmRelease/gpt"
)


def settings_of(**settings: Any) -> dict[str, Any]:
    return {"engine": Engine.KUSTOMIZE, "kustomize": KustomizeOptions(settings, unrestricted=True)}


@pytest.mark.parametrize(
    ("spec", "changes"),
    [
        ({}, {}),
        ({"path": None}, {"path": ""}),
        ({"path": "/"}, {"path": ""}),
        ({"namePrefix": "a-", "nameSuffix": "-b"}, settings_of(namePrefix="a-", nameSuffix="-b")),
        ({"patches": [{"patch": "p"}], "components": ["c"]}, settings_of(patches=[{"patch": "p"}], components=["c"])),
        ({"patches": [], "targetNamespace": ""}, {}),
        ({"targetNamespace": "ml"}, settings_of(namespace="ml")),
        ({"images": [{"name": "gpt", "newTag": "2"}]}, settings_of(images=[{"name": "gpt", "newTag": "2"}])),
        ({"images": []}, {}),
        ({"commonMetadata": {"labels": {"a": "b"}}}, {}),
        ({"commonMetadata": {"annotations": {"a": "b"}}}, settings_of(commonAnnotations={"a": "b"})),
        ({"commonMetadata": {"annotations": {}}}, {}),
        ({"postBuild": {}}, {}),
        (
            {"postBuild": {"substitute": {"a": True, "b": 2, "c": "x"}}},
            {"substitution": Substitution({"a": "true", "b": "2", "c": "x"}, (), "flux")},
        ),
    ],
)
def test_a_kustomization_is_what_its_spec_asks_for(spec: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    assert flux.plan([kustomization(**spec), REPOSITORY]) == Plan((SOURCE,), (replace(BUILT, **changes),))


def test_variables_come_from_objects_too_and_those_that_were_given_have_values() -> None:
    named = [{"kind": "ConfigMap", "name": "a"}, {"kind": "Secret", "name": "b", "optional": True}]
    held = {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "flux"}, "data": {"x": 1}}
    other = {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "other"}, "data": {"x": 2}}
    found = flux.plan([kustomization(postBuild={"substituteFrom": named}), REPOSITORY, other, held])
    expected = Substitution(
        {}, (("ConfigMap", "a", False), ("Secret", "b", True)), "flux", {("ConfigMap", "a"): {"x": "1"}}
    )
    assert found.parts[0].substitution == expected


def test_what_has_no_name_and_no_namespace_has_none() -> None:
    bare = {**kustomization(postBuild={"substitute": {"a": "b"}}), "metadata": {}}
    (part,) = flux.plan([bare, REPOSITORY]).parts
    assert (part.name, part.substitution) == ("", Substitution({"a": "b"}, (), ""))
    (part,) = flux.plan([{**release(), "metadata": {}}, REPOSITORY]).parts
    assert (part.name, part.namespace) == ("", None)
    (part,) = flux.plan([{**release({"chart": "gpt", "sourceRef": HELM}), "metadata": {}}, CHARTS]).parts
    assert (part.name, part.namespace) == ("", None)


@pytest.mark.parametrize(
    ("chart", "spec", "changes"),
    [
        ({}, {}, {}),
        ({"chart": None}, {}, {"path": ""}),
        ({}, {"releaseName": "other"}, {"helm": HelmOptions("other")}),
        ({}, {"targetNamespace": "ml"}, {"namespace": "ml", "helm": HelmOptions("ml-gpt")}),
        ({}, {"storageNamespace": "store"}, {"namespace": "store"}),
        ({}, {"targetNamespace": "ml", "storageNamespace": "store", "releaseName": "gpt"}, {"namespace": "ml"}),
        ({"valuesFiles": ["./a.yaml", "b.yaml"]}, {}, {"helm": HelmOptions("gpt", ("/a.yaml", "/b.yaml"))}),
        ({"ignoreMissingValuesFiles": True}, {}, {"helm": HelmOptions("gpt", ignore_missing=True)}),
        ({}, {"values": {"a": 1}}, {"helm": HelmOptions("gpt", values=({"a": 1},))}),
        ({}, {"values": "text"}, {}),
    ],
)
def test_a_release_from_git_is_what_its_spec_asks_for(
    chart: Mapping[str, Any], spec: Mapping[str, Any], changes: Mapping[str, Any]
) -> None:
    asked = release({"chart": "charts/gpt", "sourceRef": GIT, **chart}, **spec)
    assert flux.plan([asked, REPOSITORY]) == Plan((SOURCE,), (replace(RELEASED, **changes),))


HELM = {"kind": "HelmRepository", "name": "charts"}
CHARTS = {"kind": "HelmRepository", "metadata": {"name": "charts"}, "spec": {"url": "https://charts.example"}}
CHARTED = replace(RELEASED, path="", chart="gpt", version="*")


@pytest.mark.parametrize(
    ("chart", "objects", "source", "part"),
    [
        ({"chart": "gpt"}, [CHARTS], Source("https://charts.example", "*", None, "gpt"), CHARTED),
        (
            {"chart": "gpt", "version": 1.2},
            [CHARTS],
            Source("https://charts.example", "1.2", None, "gpt"),
            replace(CHARTED, version="1.2"),
        ),
        ({"chart": "gpt"}, [{**CHARTS, "spec": {}}], Source("", "*", None, "gpt"), CHARTED),
    ],
)
def test_a_release_from_a_chart_repository_names_chart_and_version(
    chart: Mapping[str, Any], objects: list[Any], source: Source, part: Part
) -> None:
    assert flux.plan([release({"sourceRef": HELM, **chart}), *objects]) == Plan((source,), (part,))


def test_each_object_has_its_source_and_an_equal_one_is_shared() -> None:
    chart = release({"chart": "gpt", "sourceRef": HELM})
    found = flux.plan([chart, kustomization(), release(), chart, REPOSITORY, CHARTS])
    charts = Source("https://charts.example", "*", None, "gpt")
    assert found.sources == (charts, SOURCE, charts)
    assert [part.source for part in found.parts] == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("ref", "target"),
    [
        ({}, "HEAD"),
        ({"branch": "b"}, "b"),
        ({"branch": "b", "tag": "t"}, "t"),
        ({"branch": "b", "tag": "t", "semver": ">1"}, ">1"),
        ({"branch": "b", "tag": "t", "semver": ">1", "name": "refs/x"}, "refs/x"),
        ({"branch": "b", "tag": "t", "semver": ">1", "name": "refs/x", "commit": "c"}, "c"),
        ({"commit": 12}, "12"),
    ],
)
def test_a_git_repository_follows_the_most_exact_of_what_it_names(ref: Mapping[str, Any], target: str) -> None:
    repository = {**REPOSITORY, "spec": {"url": "https://git.example/one", "ref": ref}}
    assert flux.plan([kustomization(), repository]).sources == (Source("https://git.example/one", target),)


def test_a_repository_that_was_not_given_is_the_one_that_is_asked_about() -> None:
    assert flux.plan([kustomization()]).sources == (Source("", "HEAD"),)


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        ([], "none of the manifests is a Kustomization"),
        ([REPOSITORY], "none of the manifests is a Kustomization"),
        ([{**kustomization(), "kind": "Other"}], "none of the manifests is a Kustomization"),
        ([{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}], "none of the manifests"),
        ([kustomization(sourceRef={"kind": "Bucket", "name": "b"})], "source Bucket/b is not a GitRepository"),
        ([release(postRenderers=[{}])], "HelmRelease gpt has postRenderers"),
        ([release({})], "HelmRelease gpt names its chart by chartRef"),
        ([release({"chart": "gpt", "sourceRef": HELM})], "HelmRepository/charts was not given"),
        ([kustomization(path="../x")], "leads out of the repository"),
    ],
)
def test_what_is_not_rendered_is_told(objects: list[Any], why: str) -> None:
    with pytest.raises(NotRenderable, match=why):
        flux.plan(objects)


def config_map(text: Any, name: str = "values.yaml", **metadata: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": "v", **metadata}, "data": {name: text}}


FROM = {"kind": "ConfigMap", "name": "v"}


@pytest.mark.parametrize(
    ("reference", "holder", "values"),
    [
        (FROM, config_map("a: 1"), ({"a": 1}, {"b": 2})),
        (FROM, config_map("# nothing"), ({"b": 2},)),
        (FROM, config_map("a: 1\n---\na: 2"), ({"a": 1}, {"b": 2})),
        ({**FROM, "valuesKey": "x"}, config_map("a: 1", "x"), ({"a": 1}, {"b": 2})),
        ({**FROM, "optional": True}, {}, ({"b": 2},)),
        ({**FROM, "namespace": "other"}, config_map("a: 1", namespace="flux"), ({"a": 1}, {"b": 2})),
    ],
)
def test_values_of_objects_come_before_inline_ones(
    reference: Mapping[str, Any], holder: Mapping[str, Any], values: tuple[Any, ...]
) -> None:
    (part,) = flux.plan([release(valuesFrom=[reference], values={"b": 2}), REPOSITORY, holder]).parts
    assert part.helm.values == values
    assert part.assumed == ("ConfigMap/v",)


def test_an_optional_object_that_is_not_there_does_not_hide_the_next() -> None:
    references = [{**FROM, "name": "gone", "optional": True}, FROM]
    (part,) = flux.plan([release(valuesFrom=references), REPOSITORY, config_map("a: 1")]).parts
    assert part.helm.values == ({"a": 1},)


def test_of_two_objects_of_a_name_that_of_the_releases_namespace_is_read() -> None:
    other, own = config_map("a: 1", namespace="other"), config_map("a: 2", namespace="flux")
    (part,) = flux.plan([release(valuesFrom=[FROM]), REPOSITORY, other, own]).parts
    assert part.helm.values == ({"a": 2},)
    nowhere = {**release(valuesFrom=[FROM]), "metadata": {"name": "gpt"}}
    (part,) = flux.plan([nowhere, REPOSITORY, config_map("a: 1", namespace="None"), config_map("a: 2")]).parts
    assert part.helm.values == ({"a": 2},)


@pytest.mark.parametrize(
    ("reference", "holder", "why"),
    [
        (FROM, {}, "^ConfigMap/v, which valuesFrom names, was not given"),
        ({**FROM, "targetPath": "a.b"}, config_map("a: 1"), "valuesFrom of v sets a targetPath"),
        (FROM, config_map("a: 1", "x"), "^ConfigMap/v has no values.yaml, which valuesFrom names"),
        (FROM, config_map("a: ["), "the values of v cannot be read: not YAML"),
        (FROM, config_map("[1]"), "values.yaml of ConfigMap/v is not a mapping of values"),
    ],
)
def test_values_that_cannot_be_read_are_told(reference: Mapping[str, Any], holder: Mapping[str, Any], why: str) -> None:
    with pytest.raises(NotRenderable, match=why):
        flux.plan([release(valuesFrom=[reference]), REPOSITORY, holder])


@pytest.mark.parametrize(
    ("spaces", "wanted", "chosen"),
    [
        (["a", "b"], "b", 1),
        (["a", ""], "b", 1),
        (["a", "b"], "c", 0),
        (["a", "b"], None, 0),
        (["a", ""], None, 1),
        (["None", ""], None, 1),
        ([], "a", None),
    ],
)
def test_an_object_is_the_one_of_its_namespace_else_one_without_else_the_first(
    spaces: list[str], wanted: str | None, chosen: int | None
) -> None:
    objects = [{"kind": "Secret", "metadata": {"name": "s", "namespace": space or None}} for space in spaces]
    strangers = [{"kind": "ConfigMap", "metadata": {"name": "s"}}, {"kind": "Secret", "metadata": {"name": "t"}}]
    found = flux._optional("Secret", {"name": "s", "namespace": wanted}, [*strangers, *objects])
    assert found is (None if chosen is None else objects[chosen])


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("holder", "found"),
    [
        ({}, {}),
        ({"kind": "ConfigMap", "data": {"a": True, "b": None, 3: 4}}, {"a": "true", "3": "4"}),
        ({"kind": "ConfigMap", "data": {"a": encoded("x")}}, {"a": encoded("x")}),
        ({"kind": "Secret", "data": {"a": encoded("x")}}, {"a": "x"}),
        ({"kind": "Secret", "data": {"a": encoded("x")}, "stringData": {"a": "y", "b": "z"}}, {"a": "y", "b": "z"}),
        ({"kind": "Secret", "data": "text"}, {}),
    ],
)
def test_entries_are_text_and_those_of_a_secret_decoded(holder: Mapping[str, Any], found: Mapping[str, str]) -> None:
    assert flux.entries(holder) == found
