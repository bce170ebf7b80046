"""An ApplicationSet's generators and template as the Applications that they make."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mfu_operator.gitops.sources import applicationset
from mfu_operator.gitops.sources.applicationset import MAX_APPLICATIONS, applications
from mfu_operator.gitops.sources.tree import NotRenderable

FILES = {
    "apps/a/config.yaml": "name: one\nreplicas: 2\non: true\n",
    "apps/a/deep/config.yaml": "- name: two\n- name: three\n",
    "apps/b/values.yaml": "name: four\n---\nname: five\n",
    "apps/b/empty.yaml": "",
    "README.md": "",
    "None": "name: none",
    "own.yaml": "values: {cluster: west}",
}
ASKED: list[tuple[str, str]] = []


def files(address: str, revision: str) -> Mapping[str, Callable[[], str | None]]:
    ASKED.append((address, revision))
    return {path: lambda text=text: text for path, text in FILES.items()}  # type: ignore[misc]


def made(template: Any, *generators: Any, **spec: Any) -> list[Mapping[str, Any]]:
    return applications({"spec": {"template": template, "generators": list(generators), **spec}}, files)


def names(*generators: Any, template: str = "{{name}}") -> list[str]:
    return [each["metadata"] for each in made({"metadata": template}, *generators)]


def git(**of: Any) -> dict[str, Any]:
    return {"git": of}


HEAD = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}


def test_each_element_of_a_list_makes_one_application() -> None:
    elements = [{"name": "a"}, "junk", {"name": "b"}]
    template = {"metadata": {"name": "x-{{name}}", "labels": ["{{ name }}", 1, None]}}
    assert made(template, {"list": {"elements": elements}}) == [
        {**HEAD, "metadata": {"name": "x-a", "labels": ["a", 1, None]}},
        {**HEAD, "metadata": {"name": "x-b", "labels": ["b", 1, None]}},
    ]
    assert made(template, {"list": {}}) == made(template) == applications({}, files) == []


def test_generators_follow_one_another() -> None:
    assert names({"list": {"elements": [{"name": "a"}]}}, {"list": {"elements": [{"name": "b"}]}}) == ["a", "b"]


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        ([{"path": "apps/a/config.yaml"}], ["one"]),
        ([{"path": "apps/*/config.yaml"}], ["one"]),
        ([{"path": "apps/**/config.yaml"}], ["one", "two", "three"]),
        ([{"path": "apps/b/values.yaml"}], ["four"]),
        ([{"path": "apps/b/empty.yaml"}], []),
        ([{"path": "apps/*/*.yaml"}, {"path": "apps/b/*", "exclude": True}], ["one"]),
        ([{"path": "apps/a/config.yaml", "exclude": True}], []),
        ([{"path": "apps/a/config.yaml"}, "junk"], ["one"]),
        ([{}], []),
        ([], []),
        (None, []),
    ],
)
def test_each_document_of_a_file_that_matches_makes_one_application(patterns: Any, found: list[str]) -> None:
    assert names(git(repoURL="https://git.example/one", files=patterns)) == found


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        ([{"path": "apps"}], ["apps"]),
        ([{"path": "*"}], ["apps"]),
        ([{"path": "apps/*"}], ["apps/a", "apps/b"]),
        ([{"path": "apps/**"}], ["apps/a", "apps/a/deep", "apps/b"]),
        ([{"path": "apps/*"}, {"path": "apps/b", "exclude": True}], ["apps/a"]),
        ([], []),
        (None, []),
    ],
)
def test_each_folder_that_matches_makes_one_application(patterns: Any, found: list[str]) -> None:
    assert names(git(directories=patterns), template="{{path}}") == found


def test_fields_of_a_files_place_are_given() -> None:
    FILES["apps/My_App/x.yaml"] = "path: own"
    try:
        template = "{{path}}|{{.path.path}}|{{path.basename}}|{{path.basenameNormalized}}|{{path.filename}}"
        found = names(git(files=[{"path": "apps/My_App/*"}]), template=template)
    finally:
        del FILES["apps/My_App/x.yaml"]
    assert found == ["apps/My_App|apps/My_App|My_App|my-app|x.yaml"]


def test_a_folder_has_no_file_name() -> None:
    with pytest.raises(NotRenderable, match=r"names path\.filename, which its generator does not give"):
        names(git(directories=[{"path": "apps/a"}]), template="{{path.filename}}")


def test_a_repository_is_asked_for_at_its_revision() -> None:
    ASKED.clear()
    names(git(repoURL="https://git.example/one", revision="v1"), git(repoURL="https://git.example/one"), git())
    assert ASKED == [("https://git.example/one", "v1"), ("https://git.example/one", "HEAD"), ("", "HEAD")]


def test_values_of_the_generator_stand_beside_what_it_finds() -> None:
    found = names(
        git(files=[{"path": "apps/a/config.yaml"}], values={"cluster": "east"}), template="{{name}}-{{values.cluster}}"
    )
    assert found == ["one-east"]
    assert names(git(files=[{"path": "own.yaml"}]), template="{{values.cluster}}") == ["west"]
    with pytest.raises(NotRenderable, match=r"names values\.cluster"):
        names(git(files=[{"path": "apps/a/config.yaml"}]), template="{{values.cluster}}")


@pytest.mark.parametrize(
    ("text", "go", "filled"),
    [
        ("plain", False, "plain"),
        ("{{name}}", False, "one"),
        ("{{ .name }}", True, "one"),
        ("{{- .name -}}", True, "one"),
        ("{{on}}/{{replicas}}", False, "true/2"),
        ("{{path}}", False, "apps/a"),
        ("{{.path}}", False, "apps/a"),
        ("{{.path.path}}", True, "apps/a"),
    ],
)
def test_a_templates_fields_are_filled_in(text: str, go: bool, filled: str) -> None:
    (found,) = made({"x": text}, git(files=[{"path": "apps/a/config.yaml"}]), goTemplate=go)
    assert found["x"] == filled


def test_a_path_that_a_list_gives_is_its_own() -> None:
    assert names({"list": {"elements": [{"path": "here"}]}}, template="{{path}}") == ["here"]


@pytest.mark.parametrize(
    ("template", "generator", "spec", "why"),
    [
        ({}, {"list": {"elements": []}}, {"templatePatch": "x"}, "its templatePatch is not rendered"),
        ({}, {"list": {"elementsYaml": "x"}}, {}, "its generator list is not evaluated"),
        ({}, {"list": {}, "selector": {}}, {}, "its generator list, selector is not evaluated"),
        ({}, {"git": {"pathParamPrefix": "x"}}, {}, "its generator git is not evaluated"),
        ({}, {"git": {}, "selector": {}}, {}, "its generator git, selector is not evaluated"),
        ({}, {"clusters": {}}, {}, "its generator clusters is not evaluated"),
        ({}, {}, {}, r"its generator \(none\) is not evaluated"),
        ({}, "junk", {}, r"its generator \(none\) is not evaluated"),
        ({}, {"git": {"values": {"a": "{{x}}"}}}, {}, "its generator's values hold templates"),
        ({"x": "{{gone}}"}, {"list": {"elements": [{}]}}, {}, "its template names gone"),
        ({"x": "{{a.b}}"}, {"list": {"elements": [{"a": "text"}]}}, {}, "its template names a.b"),
        ({"x": "{{a}}"}, {"list": {"elements": [{"a": {}}]}}, {}, "its template names a"),
        ({"x": "{{a}}"}, {"list": {"elements": [{"a": []}]}}, {}, "its template names a"),
        (
            {"x": "{{.path}}"},
            {"git": {"files": [{"path": "apps/a/*"}]}},
            {"goTemplate": True},
            "its template names .path",
        ),
        ({"x": "{{ upper .a }}"}, {"list": {"elements": [{"a": "b"}]}}, {}, "its template's {{ upper .a }} is more"),
        ({}, {"list": {"elements": [{}] * (MAX_APPLICATIONS + 1)}}, {}, "it makes over 200 Applications"),
    ],
)
def test_what_is_not_evaluated_is_told(template: Any, generator: Any, spec: Any, why: str) -> None:
    with pytest.raises(NotRenderable, match=why):
        made(template, generator, **spec)


def test_as_many_as_the_bound_are_made() -> None:
    assert len(made({}, {"list": {"elements": [{}] * MAX_APPLICATIONS}})) == MAX_APPLICATIONS


def test_a_file_that_cannot_be_read_is_told() -> None:
    FILES["bad.yaml"] = "a: ["
    try:
        with pytest.raises(NotRenderable, match=r"^bad.yaml cannot be read: not YAML"):
            names(git(files=[{"path": "bad.yaml"}]))
    finally:
        del FILES["bad.yaml"]


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/*", True),
        ("a/b", "*", False),
        ("a/b", "a/*/c", False),
        ("a/b", "*/c", False),
        ("a/b/c", "a/**", True),
        ("a/c", "a/**/c", True),
        ("a/b/c", "a/**/c", True),
        ("x/b/c", "a/**/c", False),
        ("A/b", "a/b", False),
    ],
)
def test_one_star_stays_within_a_folder_and_two_do_not(path: str, pattern: str, matches: bool) -> None:
    assert applicationset._matches(path, pattern) is matches
