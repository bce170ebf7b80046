"""Plans: what several manifests deploy together, with options, and how they were when a revision was deployed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.gitops.sources import applications
from mfu_operator.gitops.sources.plan import Engine, HelmOptions, Part, Plan, Source, settings_changed
from mfu_operator.gitops.sources.substitution import substituted
from mfu_operator.gitops.sources.tree import Entry, NotRenderable, below, clean, joined

URL = "https://git.example/ml/models"
FILE = Entry("100644", "1")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("", ""), (".", ""), ("/", ""), ("./gpt/", "gpt"), ("/gpt", "gpt"), (" gpt ", "gpt"), ("a/../gpt", "gpt"),
     ("..gpt", "..gpt")],
)  # fmt: skip
def test_a_folder_has_one_spelling(path: str, expected: str) -> None:
    assert clean(path) == expected


@pytest.mark.parametrize("path", ["..", "../gpt", "a/../../gpt"])
def test_a_path_stays_in_the_repository(path: str) -> None:
    with pytest.raises(NotRenderable, match="leads out"):
        clean(path)
    with pytest.raises(NotRenderable):
        joined("", path)


def test_a_path_is_read_from_the_folder_of_the_file_that_names_it() -> None:
    assert [joined("a/b", path) for path in ("c", "../c", "../..")] == ["a/b/c", "a/c", ""]
    with pytest.raises(NotRenderable, match="absolute"):
        joined("a", "/etc/passwd")


def test_the_files_of_a_folder_are_below_it() -> None:
    tree = dict.fromkeys(("gpt/a", "gpt/b/c", "gpt2/a", "b"), FILE)
    assert [below(tree, folder) for folder in ("", "gpt", "b", "c")] == [list(tree), ["gpt/a", "gpt/b/c"], ["b"], []]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A}", "1"), ("${B}", ""), ("${C}", ""), ("$${A}", "${A}"), ("$A", "$A"), ("${1}", "${1}"),
        ("${A:-2}", "1"), ("${B:-2}", "2"), ("${C:-2}", "2"), ("${C:=2}", "2"), ("${C-2}", "2"), ("${C:-}", ""),
        ("a ${A} b ${A}", "a 1 b 1"),
    ],
)  # fmt: skip
def test_variables_are_filled_in_as_flux_does(text: str, expected: str) -> None:
    assert substituted(text, {"A": "1", "B": ""}) == expected


def with_parameters(**values: str) -> Part:
    return Part(helm=HelmOptions(parameters=tuple((name, value, False) for name, value in values.items())))


PARAMETER = "the application's parameter"
OWN = "the application's own settings (values, images, path or patches)"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Part(), Part(), ()),
        (with_parameters(a="1", b="1"), with_parameters(a="2", b="1"), ("the application's parameter a: 1 → 2",)),
        (with_parameters(), with_parameters(a="2"), ("the application's parameter a: (absent) → 2",)),
        (with_parameters(a="1"), with_parameters(), ("the application's parameter a: 1 → (absent)",)),
        (with_parameters(token="1"), with_parameters(token="2"), (f"{PARAMETER} token: (hidden) → (hidden)",)),
        (Part(path="a"), Part(path="b"), (OWN,)),
        (Part(version="1", assumed=("x",)), Part(version="2"), ()),
        (with_parameters(a="1" * 90), with_parameters(a="2"), (f"the application's parameter a: {'1' * 60} → 2",)),
    ],
)  # fmt: skip
def test_settings_of_the_application_that_changed_are_told(
    before: Part, after: Part, expected: tuple[str, ...]
) -> None:
    assert settings_changed((before,), (after,)) == expected
    assert settings_changed((Part(), before), (Part(), after)) == expected


def test_a_plan_is_as_it_was_when_a_revision_was_deployed_last() -> None:
    first, second, other = Part(path="first"), Part(path="second"), Part(path="other")
    recorded = ((("1", "x"), (first,)), (("1",), (second,)), (("2",), (first, other)), (("3",), (other,)))
    plan = Plan(recorded=recorded)
    assert [plan.at(*each).parts for each in (("1",), ("x",), ("y", "3"), ("2",), ("4",), ())] == [
        (second,), (first,), (other,), (Part(),), (Part(),), (Part(),)]  # fmt: skip


def test_the_sets_that_were_given_make_applications() -> None:
    made = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "all"}}
    found = Plan(objects=({**made, "kind": "Application"}, made)).makers()
    assert [str(each) for each in found] == ["ApplicationSet/all"]


def application(name: str, *sources: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "Application", "metadata": {"name": name}, "spec": {"sources": list(sources)}}


def source(path: str = "gpt", **more: Any) -> dict[str, Any]:
    return {"repoURL": URL, "path": path, "targetRevision": "main", **more}


CHART = {"repoURL": "https://charts.example", "chart": "gpt", "targetRevision": "1.x"}
SET = {"kind": "ApplicationSet", "metadata": {"name": "all"}}
RELEASE_ALONE = {"kind": "HelmRepository", "metadata": {"name": "charts"}, "spec": {"url": "https://charts.example"}}


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        ((SET,), "an ApplicationSet makes Applications"),
        ((), "are nothing;"),
        (({"kind": "Job"}, RELEASE_ALONE), "are HelmRepository, Job;"),
    ],
)
def test_manifests_that_deploy_nothing_are_refused(manifests: tuple[Mapping[str, Any], ...], expected: str) -> None:
    with pytest.raises(NotRenderable, match=expected):
        applications.plan(manifests)


def test_one_repository_and_revision_is_one_source() -> None:
    manifests = (
        application("a", source(), source("b", ref="values"), CHART),
        SET,
        application("c", CHART, source("c", repoURL=f"{URL}.git"), source("d", targetRevision="v1")),
    )
    found = applications.plan(manifests)
    charted = Source("https://charts.example", "1.x", chart="gpt")
    assert found.sources == (Source(URL, "main", ref="values"), charted, charted, Source(URL, "v1"))
    assert [(part.name, part.source) for part in found.parts] == [
        ("a", 0), ("a", 0), ("a", 1), ("c", 2), ("c", 0), ("c", 3)]  # fmt: skip
    assert found.objects == manifests


def test_a_source_with_another_name_or_a_hydrator_stays_its_own() -> None:
    names = [source(ref="one"), source("b", ref="two"), source("c", ref="one")]
    assert [each.ref for each in applications.plan([application("a", *names)]).sources] == ["one", "two"]
    hydrated = {"kind": "Application", "metadata": {"name": "h"}, "spec": {"sourceHydrator": {
        "drySource": source(), "syncSource": {"targetBranch": "env", "path": "gpt"}}}}  # fmt: skip
    for order in ((hydrated, application("a", source())), (application("a", source()), hydrated)):
        assert len(applications.plan(order).sources) == 2


def test_options_are_those_that_are_asked_for() -> None:
    parts = (
        Part(),
        Part(chart="gpt", engine=Engine.HELM),
        Part(helm=HelmOptions(kube_version="1.29", api_versions=("a",))),
    )
    found = Plan(parts=parts, recorded=((("1",), parts),))
    assert applications.with_options(found, Engine.AUTO, None, ()) == found
    plain = applications.with_options(found, Engine.PLAIN, "1.30", ["v1"])
    assert [part.engine for part in plain.parts] == [Engine.PLAIN, Engine.HELM, Engine.PLAIN]
    assert {(part.helm.kube_version, part.helm.api_versions) for part in plain.parts} == {("1.30", ("v1",))}
    assert plain.recorded == ((("1",), plain.parts),)
    none = applications.with_options(found, Engine.NONE, None, ())
    assert [part.engine for part in none.parts] == [Engine.NONE] * 3
    assert none.parts[2] == replace(parts[2], engine=Engine.NONE)
