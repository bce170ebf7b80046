"""An Argo CD Application, field by field, as what is rendered."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.gitops.sources import argocd
from mfu_operator.gitops.sources.plan import Engine, HelmOptions, KustomizeOptions, Part, Plan, Source
from mfu_operator.gitops.sources.tree import NotRenderable

REPOSITORY = "https://git.example/one"
FOLDER = {"repoURL": REPOSITORY, "path": "gpt", "targetRevision": "main"}
CHARTED = {"repoURL": "https://charts.example", "chart": "gpt", "targetRevision": "1.2.3"}
PART = Part(path="gpt", name="app", held="Application/app", helm=HelmOptions(release="app"), recurse=False)


def application(status: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"kind": "Application", "metadata": {"name": "app"}, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (FOLDER, Source(REPOSITORY, "main")),
        ({"repoURL": REPOSITORY, "path": "gpt"}, Source(REPOSITORY, "HEAD")),
        ({**FOLDER, "targetRevision": 12}, Source(REPOSITORY, "12")),
        ({**FOLDER, "ref": "values"}, Source(REPOSITORY, "main", ref="values")),
        (CHARTED, Source("https://charts.example", "1.2.3", chart="gpt")),
        ({**CHARTED, "targetRevision": None}, Source("https://charts.example", "*", chart="gpt")),
    ],
)
def test_a_source_is_its_repository_and_the_revision_that_it_follows(
    source: Mapping[str, Any], expected: Source
) -> None:
    assert argocd.plan(application(source=source)).sources == (expected,)


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ({}, {}),
        ({"path": None, "chart": "gpt"}, {"path": "", "chart": "gpt", "version": "main"}),
        ({"path": "./gpt/"}, {}),
        ({"directory": {}}, {"engine": Engine.PLAIN}),
        ({"directory": {"recurse": True}}, {"engine": Engine.PLAIN, "recurse": True}),
        (
            {"directory": {"include": "*.yaml", "exclude": "x"}},
            {"engine": Engine.PLAIN, "include": "*.yaml", "exclude": "x"},
        ),
        ({"helm": {"releaseName": "gpt"}}, {"helm": HelmOptions(release="gpt")}),
        ({"helm": {"namespace": "ml"}}, {"namespace": "ml"}),
        ({"helm": {"valueFiles": ["a.yaml", "$ref/b.yaml"]}}, {"helm": HelmOptions("app", ("a.yaml", "$ref/b.yaml"))}),
        ({"helm": {"skipCrds": True}}, {"helm": HelmOptions("app", skip_crds=True)}),
        ({"helm": {"ignoreMissingValueFiles": True}}, {"helm": HelmOptions("app", ignore_missing=True)}),
        (
            {"helm": {"kubeVersion": "1.30", "apiVersions": ["v1", 2]}},
            {"helm": HelmOptions("app", kube_version="1.30", api_versions=("v1", "2"))},
        ),
        ({"kustomize": {"namePrefix": "a-"}}, {"kustomize": KustomizeOptions({"namePrefix": "a-"})}),
        ({"kustomize": {"version": "v5"}}, {}),
    ],
)
def test_a_part_is_what_its_source_asks_for(source: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    (part,) = argocd.plan(application(source={**FOLDER, **source})).parts
    assert replace(part, assumed=()) == replace(PART, **changes)


@pytest.mark.parametrize(
    ("source", "assumed"),
    [
        ({}, False),
        ({"helm": {"releaseName": "gpt", "valueFiles": ["a.yaml"]}}, False),
        ({"helm": {"parameters": [{"name": "a", "value": "1"}]}}, True),
        ({"helm": {"parameters": []}}, False),
        ({"helm": {"values": "a: 1"}}, True),
        ({"helm": {"valuesObject": {"a": 1}}}, True),
        ({"kustomize": {"namePrefix": "a-"}}, True),
        ({"kustomize": {"version": "v5"}}, False),
    ],
)
def test_settings_that_the_application_itself_holds_are_taken_as_they_are_now(
    source: Mapping[str, Any], assumed: bool
) -> None:
    (part,) = argocd.plan(application(source={**FOLDER, **source})).parts
    assert part.assumed == (("what Application app itself sets",) if assumed else ())


def test_what_is_rendered_goes_to_the_namespace_of_its_destination() -> None:
    (part,) = argocd.plan(application(source=FOLDER, destination={"namespace": "ml"})).parts
    assert part == replace(PART, namespace="ml")


@pytest.mark.parametrize(
    ("helm", "options"),
    [
        ({"values": "a: 1"}, {"values": ({"a": 1},)}),
        ({"values": ""}, {}),
        ({"values": "# nothing"}, {}),
        ({"values": "text"}, {}),
        ({"valuesObject": {"b": 2}, "values": "a: 1"}, {"values": ({"b": 2},)}),
        ({"valuesObject": {}, "values": "a: 1"}, {"values": ({"a": 1},)}),
        ({"valuesObject": {"b": 2}, "values": "a: ["}, {"values": ({"b": 2},)}),
        ({"parameters": [{"name": "a", "value": 1}]}, {"parameters": (("a", "1", False),)}),
        ({"parameters": [{"name": "a"}]}, {"parameters": (("a", "", False),)}),
        ({"parameters": [{"name": "a", "value": "1", "forceString": True}]}, {"parameters": (("a", "1", True),)}),
        (
            {"parameters": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}, {"name": "a", "value": "3"}]},
            {"parameters": (("a", "3", False), ("b", "2", False))},
        ),
    ],
)
def test_helm_gets_inline_values_and_the_last_of_each_parameter(
    helm: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    (part,) = argocd.plan(application(source={**FOLDER, "helm": {"releaseName": "app", **helm}})).parts
    assert part.helm == HelmOptions("app", **options)


@pytest.mark.parametrize(
    ("kustomize", "settings"),
    [
        ({"nameSuffix": "-a", "namespace": "ml"}, {"nameSuffix": "-a", "namespace": "ml"}),
        ({"patches": [{"path": "p"}], "components": ["c"]}, {"patches": [{"path": "p"}], "components": ["c"]}),
        ({"patches": [], "namePrefix": ""}, {}),
        ({"replicas": [{"name": "gpt", "count": "3"}]}, {"replicas": [{"name": "gpt", "count": 3}]}),
        ({"commonLabels": {"a": 1}}, {"commonLabels": {"a": "1"}}),
        ({"commonAnnotations": {"a": True}}, {"commonAnnotations": {"a": "True"}}),
        ({"images": ["r.example/gpt:2"]}, {"images": [{"name": "r.example/gpt", "newTag": "2"}]}),
    ],
)
def test_kustomize_gets_the_settings_that_are_rendered(
    kustomize: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    (part,) = argocd.plan(application(source={**FOLDER, "kustomize": kustomize})).parts
    assert part.kustomize == KustomizeOptions(settings)


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("gpt", {"name": "gpt"}),
        ("gpt:2", {"name": "gpt", "newTag": "2"}),
        ("localhost:5000/ml/gpt", {"name": "localhost:5000/ml/gpt"}),
        ("localhost:5000/ml/gpt:2", {"name": "localhost:5000/ml/gpt", "newTag": "2"}),
        ("gpt@sha256:ab", {"name": "gpt", "digest": "sha256:ab"}),
        ("gpt:2@sha256:ab", {"name": "gpt", "digest": "sha256:ab"}),
        ("old=new", {"name": "old", "newName": "new"}),
        ("old=r.example/new:2", {"name": "old", "newName": "r.example/new", "newTag": "2"}),
        ("old=new@sha256:ab", {"name": "old", "newName": "new", "digest": "sha256:ab"}),
    ],
)
def test_an_image_is_an_entry_of_kustomizes(text: str, image: Mapping[str, str]) -> None:
    assert argocd._image(text) == image


def test_of_several_sources_those_with_a_path_or_a_chart_are_rendered_each_from_its_own() -> None:
    values = {"repoURL": "https://git.example/values", "ref": "values"}
    found = argocd.plan(application(sources=[values, "junk", CHARTED, FOLDER]))
    assert [source.repository for source in found.sources] == [values["repoURL"], CHARTED["repoURL"], REPOSITORY]
    assert [(part.source, part.chart, part.path) for part in found.parts] == [(1, "gpt", ""), (2, None, "gpt")]
    nameless = argocd.plan(application(sources=[{"path": "here"}, FOLDER]))
    assert nameless.sources == (Source("", "HEAD"), Source(REPOSITORY, "main"))


def test_a_chart_without_a_revision_is_asked_for_in_any_version() -> None:
    (part,) = argocd.plan(application(source={"repoURL": "https://charts.example", "chart": "gpt"})).parts
    assert part.version == "*"


def test_an_application_without_a_name_has_none() -> None:
    (part,) = argocd.plan({"spec": {"source": FOLDER}}).parts
    assert (part.name, part.helm.release) == ("", "")


def test_a_hydrators_dry_source_is_rendered_and_its_synced_folder_kept() -> None:
    dry = {"repoURL": REPOSITORY, "path": "gpt", "targetRevision": "main"}
    for synced, folder in (({"path": "env"}, "env"), ({"targetBranch": "b"}, ".")):
        found = argocd.plan(application(sourceHydrator={"drySource": dry, "syncSource": synced}, source=CHARTED))
        assert found.sources == (Source(REPOSITORY, "main", hydrated=folder),)
        assert found.parts == (PART,)
    assert argocd.plan(application(sourceHydrator={"drySource": dry})).sources == (Source(REPOSITORY, "main"),)


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        (application(), "Application app has no source"),
        (application(source={"path": "gpt"}), "has no source"),
        (application(sources=[]), "has no source"),
        ({}, "Application None has no source"),
        ({"metadata": "x", "spec": "y"}, "has no source"),
        (application(source={"repoURL": REPOSITORY}), "Application app renders nothing"),
        (application(source={**FOLDER, "plugin": {}}), "Application app is rendered by a plugin"),
        (application(source={**FOLDER, "helm": {"values": "a: ["}}), "helm.values cannot be read: not YAML"),
        (application(source={**FOLDER, "helm": {"fileParameters": [{"name": "a"}]}}), "helm.fileParameters"),
    ],
)
def test_what_is_not_rendered_is_told(manifest: Mapping[str, Any], why: str) -> None:
    with pytest.raises(NotRenderable, match=why):
        argocd.plan(manifest)


NOON = "2026-01-01T12:00:00Z"
ONE = "2026-01-01T13:00:00Z"
AT_NOON, AT_ONE = 1767268800.0, 1767272400.0


@pytest.mark.parametrize(
    ("history", "deployed"),
    [
        ([{"revision": "a", "deployedAt": NOON}], (("a", AT_NOON),)),
        (
            [{"revision": "b", "deployedAt": ONE}, {"revision": "a", "deployedAt": NOON}],
            (("a", AT_NOON), ("b", AT_ONE)),
        ),
        ([{"revision": "a", "deployedAt": "soon"}], ()),
        ([{"revision": "a"}], ()),
        ([{"deployedAt": NOON}], ()),
        ([{"revision": 12, "deployedAt": NOON}], (("12", AT_NOON),)),
        (["junk"], ()),
        (None, ()),
    ],
)
def test_what_was_deployed_is_told_by_time(history: Any, deployed: tuple[tuple[str, float], ...]) -> None:
    (source,) = argocd.plan(application({"history": history}, source=FOLDER)).sources
    assert source.deployed == deployed


def test_of_several_sources_each_has_its_own_revisions() -> None:
    history = [
        {"revisions": ["a", "b"], "deployedAt": NOON},
        {"revisions": ["c"], "deployedAt": ONE},
        {"revision": "d", "deployedAt": ONE},
    ]
    found = argocd.plan(application({"history": history}, sources=[FOLDER, {**FOLDER, "path": "b"}]))
    assert [source.deployed for source in found.sources] == [(("a", AT_NOON), ("c", AT_ONE)), (("b", AT_NOON),)]
    alone = argocd.plan(application({"history": history}, source=FOLDER))
    assert alone.sources[0].deployed == (("d", AT_ONE),)


def test_settings_that_were_recorded_for_the_sources_of_now_are_kept_and_assume_nothing() -> None:
    was = {**FOLDER, "path": "old", "helm": {"values": "a: 1"}}
    part = replace(PART, path="old", helm=HelmOptions("app", values=({"a": 1},)))
    history = [
        {"revision": "a", "source": was},
        {"revision": "b", "source": {**was, "repoURL": "https://git.example/other"}},
        {"revision": "c"},
        {"revision": "d", "source": {**was, "plugin": {}}},
        {"revisions": ["e", 6], "sources": [was, "junk"]},
        {"source": was},
        {"revision": "f", "source": was, "sources": [{**was, "repoURL": "https://git.example/other"}]},
    ]
    found = argocd.plan(application({"history": history}, source=FOLDER, destination={}))
    assert found.recorded == ((("a",), (part,)), (("e", "6"), (part,)), (("",), (part,)))


def test_the_whole_of_the_smallest_application() -> None:
    expected = Plan((Source(REPOSITORY, "main"),), (PART,))
    assert argocd.plan(application(source=FOLDER)) == expected


OVERRIDE = """
helm:
  releaseName: other
  parameters: [{name: b, value: "2"}]
kustomize:
  nameSuffix: -b
"""


def test_a_file_of_overrides_is_merged_as_json_in_which_lists_take_each_others_place() -> None:
    known = replace(
        PART,
        namespace="ml",
        helm=HelmOptions(
            "app",
            ("a.yaml",),
            ({"a": 1},),
            parameters=(("a", "1", True),),
            skip_crds=True,
            ignore_missing=True,
            kube_version="1.30",
            api_versions=("v1",),
        ),
        kustomize=KustomizeOptions({"namePrefix": "a-", "nameSuffix": "-a"}),
    )
    assert argocd.overridden(known, OVERRIDE, ".argocd-source.yaml") == replace(
        known,
        helm=replace(known.helm, release="other", parameters=(("b", "2", False),)),
        kustomize=KustomizeOptions({"namePrefix": "a-", "nameSuffix": "-b"}),
    )
    added = argocd.overridden(known, "helm: {valueFiles: [b.yaml], valuesObject: {b: 2}, kubeVersion: '1.31'}", "")
    assert added.helm == replace(known.helm, value_files=("b.yaml",), values=({"a": 1}, {"b": 2}), kube_version="1.31")
    less = argocd.overridden(
        known, "helm: {valueFiles: null, parameters: [], skipCrds: false, ignoreMissingValueFiles: false}", ""
    )
    assert less.helm == replace(known.helm, value_files=(), parameters=(), skip_crds=False, ignore_missing=False)
    for nothing in ("", "# nothing", "text", "{}", "helm: {}"):
        assert argocd.overridden(known, nothing, "") == known


def test_a_file_of_overrides_that_cannot_be_read_is_told_by_its_name() -> None:
    with pytest.raises(NotRenderable, match=r"^gpt/.argocd-source.yaml cannot be read: not YAML"):
        argocd.overridden(PART, "helm: [", "gpt/.argocd-source.yaml")
