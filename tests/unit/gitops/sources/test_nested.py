"""Rendered objects of the delivery tool as further parts of a plan."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.gitops.rendered.objects import Thing, of
from mfu_operator.gitops.sources import nested
from mfu_operator.gitops.sources.nested import MAX_PARTS, Held, held, is_holder, without
from mfu_operator.gitops.sources.plan import Engine, HelmOptions, Part, Plan, Source

OWN = Source("https://git.example/own.git", "main")
OTHER = Source("git@git.example:other", "refs/heads/main")
TAGGED = Source("https://git.example/own", "v1")
CHARTS = Source("https://charts.example/own", "main", chart="gpt")
PLAN = Plan((OWN, CHARTS, OTHER, TAGGED), (Part(),))


def thing(kind: str = "Application", version: str = "argoproj.io/v1alpha1", name: str = "app", **spec: Any) -> Thing:
    (found,) = of({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})
    return found


def files(index: int) -> Mapping[str, Callable[[], str | None]]:
    return {f"apps/{index}.yaml": lambda: "name: made"}


@pytest.mark.parametrize(
    ("kind", "version", "holds"),
    [
        ("Application", "argoproj.io/v1alpha1", True),
        ("ApplicationSet", "argoproj.io/v1alpha1", True),
        ("HelmRelease", "helm.toolkit.fluxcd.io/v2", True),
        ("Kustomization", "kustomize.toolkit.fluxcd.io/v1", True),
        ("Kustomization", "kustomize.config.k8s.io/v1beta1", False),
        ("Application", "app.k8s.io/v1beta1", False),
        ("Job", "batch/v1", False),
        ("Service", "v1", False),
    ],
)
def test_an_object_holds_a_deployment_by_kind_and_group(kind: str, version: str, holds: bool) -> None:
    assert is_holder(thing(kind, version)) is holds


def application(name: str = "app", **source: Any) -> Thing:
    given = {"repoURL": OWN.repository, "path": "gpt", "targetRevision": "main", **source}
    return thing(name=name, source=given)


PART = Part(path="gpt", name="app", held="Application/app", helm=HelmOptions("app"), recurse=False)


@pytest.mark.parametrize(
    ("source", "index"),
    [
        ({}, 0),
        ({"repoURL": "ssh://git@git.example/own/"}, 0),
        ({"repoURL": "https://git.example/other", "targetRevision": "main"}, 2),
        ({"targetRevision": "v1"}, 3),
        ({"targetRevision": "refs/heads/main"}, 0),
    ],
)
def test_a_rendered_application_is_a_part_of_the_source_that_it_follows(source: dict[str, Any], index: int) -> None:
    assert held([application(**source)], PLAN, 0, files) == (Held("Application/app", (replace(PART, source=index),)),)


def test_of_equal_sources_the_own_one_comes_first() -> None:
    plan = Plan((OWN, OWN), (Part(),))
    (found,) = held([application()], plan, 1, files)
    assert found.parts == (replace(PART, source=1),)


def test_a_source_without_an_address_is_the_own_one() -> None:
    assert nested._index(Source("", "v9"), PLAN, 2) == 2
    local = Plan((Source("/srv/a", ""), Source("/srv/b", "HEAD")), (Part(),))
    assert nested._index(Source("/srv/b", ""), local, 0) == 1


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            {"targetRevision": "v2"},
            "it deploys revision v2 of https://git.example/own.git, which none of the manifests",
        ),
        ({"repoURL": "https://git.example/third"}, "it deploys revision main of https://git.example/third"),
        ({"repoURL": "https://charts.example/own"}, "it deploys revision main of https://charts.example/own"),
        ({"plugin": {}}, "rendered by a plugin"),
        ({"helm": {"valueFiles": ["$gone/a.yaml"]}}, "value file $gone/a.yaml names source $gone"),
    ],
)
def test_an_application_that_cannot_be_rendered_says_why(source: dict[str, Any], why: str) -> None:
    (found,) = held([application(**source)], PLAN, 0, files)
    assert (found.name, found.parts) == ("Application/app", ())
    assert why in found.why_not


def test_value_files_of_another_source_are_named_by_its_number() -> None:
    sources = [
        {
            "repoURL": OWN.repository,
            "targetRevision": "main",
            "path": "gpt",
            "helm": {"valueFiles": ["$values/a.yaml", "b.yaml"]},
        },
        {"repoURL": "https://git.example/other", "targetRevision": "main", "ref": "values"},
    ]
    (found,) = held([thing(sources=sources)], PLAN, 0, files)
    assert found.parts == (replace(PART, helm=HelmOptions("app", ("$2/a.yaml", "b.yaml"))),)


def test_a_chart_of_a_rendered_object_is_fetched_from_its_repository() -> None:
    chart = {"repoURL": "https://charts.example", "chart": "gpt"}
    (found,) = held([thing(source=chart)], PLAN, 2, files)
    expected = replace(PART, source=2, path="", chart="gpt", version="*", repository="https://charts.example")
    assert found.parts == (expected,)


def test_settings_of_a_rendered_application_are_in_a_revision_and_not_assumed() -> None:
    (found,) = held([application(helm={"parameters": [{"name": "a", "value": "1"}]})], PLAN, 0, files)
    assert found.parts[0].assumed == ()


FLUX = {
    "apiVersion": "v1",
    "kind": "GitRepository",
    "metadata": {"name": "models"},
    "spec": {"url": OWN.repository, "ref": {"branch": "main"}},
}
REFERENCE = {"kind": "GitRepository", "name": "models"}


@pytest.mark.parametrize("given", [False, True])
def test_fluxs_objects_find_their_sources_among_the_rendered_and_the_given(given: bool) -> None:
    built = thing("Kustomization", "kustomize.toolkit.fluxcd.io/v1", "k", sourceRef=REFERENCE, path="gpt")
    released = thing(
        "HelmRelease", "helm.toolkit.fluxcd.io/v2", "h", chart={"spec": {"chart": "c", "sourceRef": REFERENCE}}
    )
    plan = replace(PLAN, objects=(FLUX,)) if given else PLAN
    rendered = [built, released, *(() if given else of(FLUX))]
    found = held(rendered, plan, 2, files)
    assert [(one.name, one.why_not) for one in found] == [("Kustomization/k", ""), ("HelmRelease/h", "")]
    assert [(part.source, part.path, part.engine) for one in found for part in one.parts] == [
        (0, "gpt", Engine.AUTO), (0, "c", Engine.HELM)
    ]  # fmt: skip


@pytest.mark.parametrize("rendered", [False, True])
def test_values_of_an_object_are_assumed_where_it_is_not_rendered(rendered: bool) -> None:
    values = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "v"}, "data": {"values.yaml": "a: 1"}}
    released = thing(
        "HelmRelease",
        "helm.toolkit.fluxcd.io/v2",
        "h",
        chart={"spec": {"chart": "c", "sourceRef": REFERENCE}},
        valuesFrom=[{"kind": "ConfigMap", "name": "v"}],
    )
    plan = replace(PLAN, objects=(FLUX,) if rendered else (FLUX, values))
    (found,) = held([released, *(of(values) if rendered else ())], plan, 0, files)
    assert found.parts[0].assumed == (() if rendered else ("ConfigMap/v",))


def generated(url: str, name: str = "set") -> Thing:
    template = {
        "metadata": {"name": "{{name}}"},
        "spec": {"source": {"repoURL": OWN.repository, "path": "gpt", "targetRevision": "main"}},
    }
    generator = {"git": {"repoURL": url, "revision": "main", "files": [{"path": "apps/2.yaml"}]}}
    return thing("ApplicationSet", name=name, generators=[generator], template=template)


def test_an_applicationset_is_the_applications_that_it_makes_of_its_repositorys_files() -> None:
    (made,) = held([generated("https://git.example/other")], PLAN, 0, files)
    assert (made.name, made.why_not, len(made.parts)) == ("Application/made", "", 1)
    assert held([generated(OWN.repository)], PLAN, 0, files) == ()


def test_an_applicationset_that_cannot_be_evaluated_says_why_and_stops_no_other() -> None:
    failed, found = held(
        [generated("https://git.example/gone"), application(), thing("Job", "batch/v1")], PLAN, 0, files
    )
    assert (failed.name, failed.parts) == ("ApplicationSet/set", ())
    assert "it deploys revision main of https://git.example/gone" in failed.why_not
    assert found == Held("Application/app", (PART,))


def test_an_applicationset_of_another_group_makes_nothing() -> None:
    other = replace(generated("https://git.example/gone"), body={**generated("").body, "apiVersion": "example.com/v1"})
    assert held([other], PLAN, 0, files) == ()


def test_as_many_as_the_bound_are_rendered_in_their_turn() -> None:
    many = [application(name=f"app-{number}") for number in range(MAX_PARTS + 1)]
    found = held(many, PLAN, 0, files)
    assert [one.name for one in found] == [f"Application/app-{number}" for number in range(MAX_PARTS)]


def test_what_rendered_objects_hold_is_left_to_them() -> None:
    own, other = Part(held="Application/a"), Part(held="Application/b")
    plan = Plan((OWN,), (own, other), recorded=((("x",), (other, own)),))
    expected = replace(plan, parts=(other,), recorded=((("x",), (other,)),), nested=True, asked=("Application/a",))
    assert without(plan, ["Application/a"]) == expected
