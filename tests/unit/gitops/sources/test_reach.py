"""Which files of a tree a rendering reads."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.gitops.sources import reach as reaching
from mfu_operator.gitops.sources.plan import Engine, HelmOptions, Part
from mfu_operator.gitops.sources.reach import engine_of, kustomize, plain, reach
from mfu_operator.gitops.sources.tree import REGULAR, SUBMODULE, SYMLINK, Entry, NotRenderable, Tree


def tree_of(*paths: str, links: tuple[str, ...] = ()) -> Tree:
    regular = {path: Entry(REGULAR[0], path) for path in paths}
    return {**regular, **{path: Entry(SYMLINK, path) for path in links}}


def reached(texts: Mapping[str, str | None], part: Part, links: tuple[str, ...] = (), **beside: str) -> set[str]:
    return set(reach(part, tree_of(*texts, links=links), texts.get, beside))


@pytest.mark.parametrize(
    ("part", "paths", "engine"),
    [
        (Part(path="a"), ["a/x.yaml"], Engine.PLAIN),
        (Part(path="a"), ["a/kustomization.yaml"], Engine.KUSTOMIZE),
        (Part(path="a"), ["a/kustomization.yml"], Engine.KUSTOMIZE),
        (Part(path="a"), ["a/Kustomization"], Engine.KUSTOMIZE),
        (Part(path="a"), ["kustomization.yaml", "Chart.yaml"], Engine.PLAIN),
        (Part(path="a"), ["a/Chart.yaml", "a/kustomization.yaml"], Engine.HELM),
        (Part(chart="gpt"), ["kustomization.yaml"], Engine.HELM),
        (Part(path="a", engine=Engine.PLAIN), ["a/Chart.yaml"], Engine.PLAIN),
        (Part(engine=Engine.KUSTOMIZE, chart="gpt"), [], Engine.KUSTOMIZE),
    ],
)
def test_the_engine_is_the_one_that_was_asked_for_else_what_lies_in_the_folder(
    part: Part, paths: list[str], engine: Engine
) -> None:
    assert engine_of(part, tree_of(*paths)) is engine


LAYOUT = ("a/x.yaml", "a/y.yml", "a/z.json", "a/notes.md", "a/below/x.yaml", "b/x.yaml")


@pytest.mark.parametrize(
    ("part", "more", "files"),
    [
        (Part(path="a", recurse=False), (), {"a/x.yaml", "a/y.yml", "a/z.json"}),
        (Part(path="a"), (), {"a/x.yaml", "a/y.yml", "a/z.json", "a/below/x.yaml"}),
        (Part(path="a"), ("a/below/kustomization.yaml",), {"a/x.yaml", "a/y.yml", "a/z.json"}),
        (Part(path="a"), ("a/below/Chart.yaml",), {"a/x.yaml", "a/y.yml", "a/z.json"}),
        (Part(path="a"), ("a/below/Kustomization",), {"a/x.yaml", "a/y.yml", "a/z.json"}),
        (
            Part(path="a", recurse=True),
            ("a/below/kustomization.yaml",),
            {"a/x.yaml", "a/y.yml", "a/z.json", "a/below/x.yaml", "a/below/kustomization.yaml"},
        ),
        (Part(path="a/x.yaml", recurse=False), (), {"a/x.yaml"}),
        (Part(recurse=False), ("top.yaml",), {"top.yaml"}),
    ],
)
def test_plain_manifests_are_those_of_the_folder_and_of_folders_below_that_are_nothing_else(
    part: Part, more: tuple[str, ...], files: set[str]
) -> None:
    assert set(plain(part, tree_of(*LAYOUT, *more))) == files | {
        path for path in more if path.endswith("a/below/kustomization.yaml") and part.recurse
    }


@pytest.mark.parametrize(
    ("part", "files"),
    [
        (
            Part(path="a", engine=Engine.PLAIN, name="gpt"),
            {"a/x.yaml", "a/.argocd-source.yaml", "a/.argocd-source-gpt.yaml", "a/.argocd-source-b.yaml"},
        ),
        (
            Part(path="a", engine=Engine.NONE, name="gpt", recurse=False),
            {"a/x.yaml", "a/.argocd-source.yaml", "a/.argocd-source-gpt.yaml", "a/.argocd-source-b.yaml"},
        ),
        (Part(path="a", chart="gpt", name="gpt"), {"a/.argocd-source.yaml", "a/.argocd-source-gpt.yaml"}),
        (Part(path="b", chart="gpt", name="gpt"), set()),
    ],
)
def test_files_that_override_an_application_are_read_with_it(part: Part, files: set[str]) -> None:
    texts = dict.fromkeys(["a/x.yaml", "a/.argocd-source.yaml", "a/.argocd-source-gpt.yaml", "a/.argocd-source-b.yaml"])
    assert reached(texts, part) == files


CHART = {
    "gpt/Chart.yaml": "name: gpt",
    "gpt/templates/job.yaml": "",
    "lib/Chart.yaml": "",
    "env/a.yaml": "",
    "gpt/b.yaml": "",
}
OWN = {"gpt/Chart.yaml", "gpt/templates/job.yaml", "gpt/b.yaml"}


@pytest.mark.parametrize(
    ("chart", "value_files", "files"),
    [
        ("name: gpt", (), OWN),
        ("", (), OWN),
        ("[]", (), OWN),
        ("dependencies: [{repository: 'file://../lib'}]", (), OWN | {"lib/Chart.yaml"}),
        ("dependencies: [{repository: 'https://x'}, text, {}]", (), OWN),
        ("name: gpt", ("/env/a.yaml",), OWN | {"env/a.yaml"}),
        ("name: gpt", ("../env/a.yaml",), OWN | {"env/a.yaml"}),
        ("name: gpt", ("b.yaml", "gone.yaml", "$other/env/a.yaml"), OWN),
    ],
)
def test_a_chart_reads_its_folder_the_charts_beside_it_and_its_value_files(
    chart: str, value_files: tuple[str, ...], files: set[str]
) -> None:
    part = Part(path="gpt", helm=HelmOptions(value_files=value_files))
    assert reached({**CHART, "gpt/Chart.yaml": chart}, part) == files


def test_a_kustomization_is_followed_where_it_is_the_engine() -> None:
    texts = {
        "a/kustomization.yaml": "resources: [../b, 'base?ref=v1']",
        "a/x.yaml": "",
        "b/y.yaml": "",
        "here/z.yaml": "",
    }
    found = reach(Part(path="a"), tree_of(*texts), texts.get, {"base?ref=v1": "here"})
    assert found == {"a/kustomization.yaml", "b/y.yaml", "here/z.yaml"}
    with pytest.raises(NotRenderable, match="which is remote"):
        reach(Part(path="a"), tree_of(*texts), texts.get)


LINKS = {"a/x": "../b/y", "b/y": "../c/z", "c/z": "", "a/gone": "../gone", "a/round": "round", "a/out": "../../x"}


@pytest.mark.parametrize(("path", "target"), [("c/z", "c/z"), ("b/y", "c/z"), ("a/x", "c/z")])
def test_a_link_leads_to_the_file_at_its_end(path: str, target: str) -> None:
    tree = tree_of("c/z", links=tuple(LINKS.keys() - {"c/z"}))
    assert reaching.followed(path, tree, LINKS.get) == target


@pytest.mark.parametrize("path", ["nowhere", "a/gone", "a/round", "a/out", "a/empty"])
def test_a_link_that_leads_to_no_file_is_told(path: str) -> None:
    tree = tree_of("c/z", links=("a/gone", "a/round", "a/out", "a/empty"))
    with pytest.raises(NotRenderable, match=r"leads to no file of the repository|leads out of the repository"):
        reaching.followed(path, tree, LINKS.get)


def submodules(*paths: str) -> Tree:
    return {path: Entry(SUBMODULE, path) for path in paths}


@pytest.mark.parametrize(
    ("part", "path", "found"),
    [
        (Part(), "x", True),
        (Part(path="a"), "a/x", True),
        (Part(path="a"), "a", True),
        (Part(path="a/b"), "a", True),
        (Part(path="ab"), "a", False),
        (Part(path="a"), "ab", False),
        (Part(path="a"), "b", False),
        (Part(path="a", recurse=True), "a/x", True),
        (Part(path="a", recurse=False), "a/x", False),
        (Part(chart="gpt"), "x", False),
    ],
)
def test_a_submodule_that_a_part_lies_in_or_holds_is_not_read(part: Part, path: str, found: bool) -> None:
    tree = {**tree_of("a/x.yaml"), **submodules(path)}
    assert set(reaching.unread(part, tree)) == ({path} if found else set())


JSONNET = ("a/main.jsonnet", "lib/k.libsonnet")


@pytest.mark.parametrize(
    ("part", "paths", "found"),
    [
        (Part(path="a", recurse=False), JSONNET, JSONNET),
        (Part(path="a"), JSONNET, JSONNET),
        (Part(path="a"), ("a/deep/main.jsonnet", "lib/k.libsonnet"), ()),
        (
            Part(path="a", recurse=True),
            ("a/deep/main.jsonnet", "lib/k.libsonnet"),
            ("a/deep/main.jsonnet", "lib/k.libsonnet"),
        ),
        (Part(path="a"), ("a/deep/x.jsonnet", "a/main.jsonnet"), ("a/deep/x.jsonnet", "a/main.jsonnet")),
        (Part(path="a"), ("a/k.libsonnet",), ()),
        (Part(path="b"), JSONNET, ()),
        (Part(path="a"), (*JSONNET, "a/kustomization.yaml"), ()),
    ],
)
def test_jsonnet_is_not_read_with_its_libraries_where_plain_manifests_are(
    part: Part, paths: tuple[str, ...], found: tuple[str, ...]
) -> None:
    assert set(reaching.unread(part, tree_of("a/x.yaml", *paths))) == set(found)


@pytest.mark.parametrize(
    ("path", "mode", "maybe"),
    [
        ("x", SUBMODULE, True),
        ("x.jsonnet", REGULAR[0], True),
        ("x.libsonnet", REGULAR[0], True),
        ("x", REGULAR[0], False),
    ],
)
def test_a_submodule_and_jsonnet_may_not_be_read(path: str, mode: str, maybe: bool) -> None:
    assert reaching.may_be_unread(path, Entry(mode, path)) is maybe


def test_links_to_links_are_followed_and_those_in_a_circle_once() -> None:
    texts: dict[str, str | None] = {"a/x.yaml": "../b/y", "b/y": "../c", "c/z": "../a", "d/w.yaml": ""}
    found = reached(texts, Part(path="a", engine=Engine.PLAIN), links=("a/x.yaml", "b/y", "c/z"))
    assert found == {"a/x.yaml", "b/y", "c/z"}
    texts = {"a/k.yaml": "../d/w.yaml", "a/l.yaml": "", "d/w.yaml": None, "a/m.yaml": "../e.yaml", "e.yaml": ""}
    assert reached(texts, Part(path="a", engine=Engine.PLAIN), links=("a/k.yaml", "a/m.yaml")) == set(texts)


def test_a_link_is_read_with_what_it_points_to() -> None:
    texts = {"a/x.yaml": "../b", "b/y.yaml": "", "c/z.yaml": ""}
    assert reached(texts, Part(path="a", engine=Engine.PLAIN)) == {"a/x.yaml"}
    assert reached(texts, Part(path="a", engine=Engine.PLAIN), links=("a/x.yaml",)) == {"a/x.yaml", "b/y.yaml"}


@pytest.mark.parametrize(("bound", "told"), [(2, False), (1, True)])
def test_more_files_than_the_bound_are_told(bound: int, told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "MAX_FILES", bound)
    texts = {"a/x.yaml": "", "a/y.yaml": ""}
    if told:
        with pytest.raises(NotRenderable, match="a reads 2 files, of at most 1"):
            reached(texts, Part(path="a"))
        with pytest.raises(NotRenderable, match="the repository reads 2 files, of at most 1"):
            reached(texts, Part())
    else:
        assert len(reached(texts, Part(path="a"))) == 2


def built(
    document: str, *paths: str, texts: Mapping[str, str] | None = None, beside: Mapping[str, str] | None = None
) -> set[str]:
    """What the kustomization in `a` reads of these paths, itself left out."""
    known = {"a/kustomization.yaml": document, **dict.fromkeys(paths, ""), **(texts or {})}
    return kustomize("./a", tree_of(*known), known.get, beside or {}) - {"a/kustomization.yaml"}


@pytest.mark.parametrize(
    ("document", "paths", "read"),
    [
        ("", ["a/x.yaml"], set()),
        ("[]", ["a/x.yaml"], set()),
        ("resources: [x.yaml]", ["a/x.yaml", "a/y.yaml"], {"a/x.yaml"}),
        ("resources: [./x.yaml]", ["a/x.yaml"], {"a/x.yaml"}),
        ("resources: [../b]", ["b/x.yaml", "b/deep/y.txt"], {"b/x.yaml", "b/deep/y.txt"}),
        ("resources: [../b]", ["b/kustomization.yaml", "b/x.yaml"], {"b/kustomization.yaml"}),
        ("resources: [../b]", ["b/kustomization.yml", "b/Kustomization"], {"b/kustomization.yml"}),
        ("resources: [gone.yaml]", ["a/x.yaml"], set()),
        ("bases: [../b]\ncomponents: [../c]", ["b/x.yaml", "c/x.yaml"], {"b/x.yaml", "c/x.yaml"}),
        (
            "configMapGenerator: [{name: x, files: [key=x.txt, y.txt]}]",
            ["a/x.txt", "a/y.txt", "a/z.txt"],
            {"a/x.txt", "a/y.txt"},
        ),
        ("patches: [{path: p.yaml}]", ["a/p.yaml"], {"a/p.yaml"}),
        ("patchesStrategicMerge: ['a: 1\n\nb: 2']", ["a/p.yaml"], set()),
        ("resources: ['./']", ["x.yaml"], set()),
        ("x: [., ./]", ["a/x.yaml", "a/kustomize.txt"], set()),
        ("resources: [1, {a: b}]", ["a/x.yaml"], set()),
        ("resources: ['x: https://x/y/z\n']", ["a/x.yaml"], set()),
        ("configMapGenerator: [{files: ['=x.txt', 'gone=y.txt']}]", ["a/x.txt", "a/y.txt"], {"a/x.txt", "a/y.txt"}),
        ("resources: [../b, ../c]", ["b/kustomization.yaml", "c/x.yaml"], {"b/kustomization.yaml", "c/x.yaml"}),
        ("resources: [../b, ../b/, ../c]", ["b/x.yaml", "c/x.yaml"], {"b/x.yaml", "c/x.yaml"}),
        (
            "helmCharts: [{name: gpt}]",
            ["a/charts/gpt/Chart.yaml", "a/charts/other/Chart.yaml"],
            {"a/charts/gpt/Chart.yaml"},
        ),
        (
            "helmGlobals: {chartHome: ../lib}\nhelmCharts: [{name: gpt}, text]",
            ["lib/gpt/Chart.yaml", "a/charts/gpt/Chart.yaml"],
            {"lib/gpt/Chart.yaml"},
        ),
        ("helmCharts: [{name: gpt, valuesFile: v.yaml}]", ["a/v.yaml"], {"a/v.yaml"}),
    ],
)
def test_a_kustomization_reads_what_it_names(document: str, paths: list[str], read: set[str]) -> None:
    assert built(document, *paths) == read


def test_bases_that_name_each_other_are_read_once() -> None:
    texts = {"b/kustomization.yaml": "resources: [../a, ../c]", "c/x.yaml": ""}
    assert built("resources: [../b]", texts=texts) == set(texts)


def test_a_long_text_names_no_file() -> None:
    long = "x" * 501
    assert built(f"resources: [{long}]", f"a/{long}") == set()
    assert built(f"resources: [{long[:500]}]", f"a/{long[:500]}") == {f"a/{long[:500]}"}


@pytest.mark.parametrize(
    ("path", "text", "nested"),
    [
        ("a/gen.yaml", "kind: HelmChartInflationGenerator\nchart: ../v.yaml\nvalues: v.yaml", False),
        ("a/gen.yaml", "apiVersion: builtin\nvalues: v.yaml", True),
        ("a/gen.yaml", "kind: Generator\nlist: [{deep: v.yaml}]", True),
        ("a/gen.yaml", "kind: Transformer\nvalues: v.yaml", True),
        ("a/gen.yaml", "kind: ConfigMap\nvalues: v.yaml", False),
        ("a/gen.txt", "apiVersion: builtin\nvalues: v.yaml", False),
    ],
)
def test_files_that_a_generators_own_file_names_are_read(path: str, text: str, nested: bool) -> None:
    found = built(f"resources: [{path.removeprefix('a/')}]", "a/v.yaml", texts={path: text})
    assert found == {path, *(["a/v.yaml"] if nested else [])}


def test_a_remote_base_that_was_given_is_read_from_where_it_lies() -> None:
    address = "https://git.example/base?ref=v1"
    assert built(f"resources: ['{address}']", "here/x.yaml", beside={address: "here"}) == {"here/x.yaml"}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (
            "resources: [https://git.example/base]",
            "a/kustomization.yaml reads https://git.example/base, which is remote",
        ),
        ("resources: ['git@git.example:base']", "which is remote"),
        ("resources: [github.com/org/base]", "which is remote"),
        ("resources: ['base?ref=v1']", "which is remote"),
        ("resources: [../../x]", "leads out of the repository"),
        ("resources: [/etc/x]", "is an absolute path"),
        ("helmCharts: [{name: ../../../x}]", "leads out of the repository"),
        ("resources: [", "a/kustomization.yaml cannot be read: not YAML"),
    ],
)
def test_what_cannot_be_read_is_told(document: str, why: str) -> None:
    with pytest.raises(NotRenderable, match=why.replace("?", r"\?")):
        built(document)


def test_a_file_that_cannot_be_read_as_text_is_empty() -> None:
    found = kustomize("a", tree_of("a/kustomization.yaml", "a/x.yaml"), lambda path: None, {})
    assert found == {"a/kustomization.yaml"}


@pytest.mark.parametrize(
    ("value", "found"),
    [("x", ["x"]), ({"a": "x", "b": ["y", {"c": "z"}], "d": 1}, ["x", "y", "z"]), (None, []), (3, [])],
)
def test_the_texts_of_a_value_are_found_at_any_depth(value: Any, found: list[str]) -> None:
    assert list(reaching._strings(value)) == found


def test_folders_are_all_that_hold_files() -> None:
    assert reaching._folders(tree_of("a/b/c/x", "a/d/x", "y")) == {"a", "a/b", "a/b/c", "a/d"}
