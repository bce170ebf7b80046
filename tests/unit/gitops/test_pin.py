"""Setting a digest in a person's file, as golden files: every other byte stays."""

from pathlib import Path

import pytest

from mfu_operator.errors import AskPerson
from mfu_operator.gitops.images import Image, parse
from mfu_operator.gitops.pin import pin, pin_chart, pin_tag

IMAGE = "registry.example:5000/team/gpt"
DIGEST = f"sha256:{'a' * 64}"
FOLDERS = sorted((Path(__file__).parents[2] / "data" / "pins").iterdir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_only_the_image_changes(folder: Path) -> None:
    pinned = pin((folder / "before.yaml").read_text(), IMAGE, DIGEST)
    assert pinned == (folder / "expected.yaml").read_text()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_what_is_pinned_already_has_nothing_to_pin(folder: Path) -> None:
    with pytest.raises(AskPerson) as raised:
        pin((folder / "expected.yaml").read_text(), IMAGE, DIGEST)
    assert raised.value.reason == "NothingToPin"


def test_an_entry_without_a_tag_gets_a_digest_of_its_own() -> None:
    assert pin(f"images:\n- name: {IMAGE}\n", IMAGE, DIGEST) == f"images:\n- name: {IMAGE}\n  digest: {DIGEST}\n"


def test_a_tag_that_shares_its_line_stays_and_one_with_a_line_to_itself_goes() -> None:
    shared = f"images:\n- {{name: {IMAGE}, newTag: v1, digest: old}}\n"
    assert pin(shared, IMAGE, DIGEST) == shared.replace("old", DIGEST)
    apart = f"images:\n- name: {IMAGE}\n  digest: old\n  newTag: v1\n"
    assert pin(apart, IMAGE, DIGEST) == f"images:\n- name: {IMAGE}\n  digest: {DIGEST}\n"


@pytest.mark.parametrize("text", ["a: [", "image: elsewhere/gpt:v2\n", "", "just text"])
def test_a_file_that_does_not_name_the_image_needs_a_person(text: str) -> None:
    with pytest.raises(AskPerson) as raised:
        pin(text, IMAGE, DIGEST)
    assert raised.value.reason == "NothingToPin"


def test_short_and_full_names_are_the_same_image() -> None:
    assert pin("image: team/gpt:v2\n", "docker.io/team/gpt", DIGEST) == f"image: team/gpt@{DIGEST}\n"


@pytest.mark.parametrize(
    ("reference", "image"),
    [
        ("gpt", Image("gpt")),
        ("localhost:5000/gpt:v1", Image("localhost:5000/gpt", "v1")),
        (f"docker-pullable://r.example/t/gpt@{DIGEST}", Image("r.example/t/gpt", None, DIGEST)),
        (f"r.example/gpt:v1@{DIGEST}", Image("r.example/gpt", "v1", DIGEST)),
        ("gpt@sha256:short", Image("gpt")),
    ],
)
def test_a_reference_has_a_name_a_tag_and_a_digest(reference: str, image: Image) -> None:
    assert parse(reference) == image


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"image: {IMAGE}:v1", f"image: {IMAGE}@{DIGEST}"),
        (f"a: [{{image: '{IMAGE}'}}]", f"a: [{{image: '{IMAGE}@{DIGEST}'}}]"),
        (f"image: {{name: {IMAGE}, image: {IMAGE}}}", f"image: {{name: {IMAGE}, image: {IMAGE}@{DIGEST}}}"),
        (f"images: {{image: {IMAGE}}}", f"images: {{image: {IMAGE}@{DIGEST}}}"),
        (f"name: {IMAGE}\nimage: {IMAGE}", f"name: {IMAGE}\nimage: {IMAGE}@{DIGEST}"),
        (f"images:\n- {IMAGE}\n- [x]\n- name: {IMAGE}",
         f"images:\n- {IMAGE}\n- [x]\n- name: {IMAGE}\n  digest: {DIGEST}"),
        (f"images:\n- newTag: v1\n- ? [a]\n  : b\n  name: {IMAGE}",
         f"images:\n- newTag: v1\n- ? [a]\n  : b\n  name: {IMAGE}\n  digest: {DIGEST}"),
        (f"images: [{{name: {IMAGE}}}]", f"images: [{{name: {IMAGE}, digest: {DIGEST}}}]"),
        (f"images:\n- name: x\n  newName: {IMAGE}\n  newTag: v1",
         f"images:\n- name: x\n  newName: {IMAGE}\n  digest: {DIGEST}"),
        (f"images:\n- digest: x\n  name: {IMAGE}\n  newTag: v1", f"images:\n- digest: {DIGEST}\n  name: {IMAGE}\n"),
        (f"--- 1\n---\nimage: {IMAGE}\n---\nimage: {IMAGE}:x\n",
         f"--- 1\n---\nimage: {IMAGE}@{DIGEST}\n---\nimage: {IMAGE}@{DIGEST}\n"),
    ],
)  # fmt: skip
def test_an_image_is_pinned_wherever_it_is_named(text: str, expected: str) -> None:
    assert pin(text, IMAGE, DIGEST) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"image: {{repository: {IMAGE}, tag: v1}}", f"image: {{repository: {IMAGE}, tag: v1@{DIGEST}}}"),
        (f"image: {{repository: {IMAGE}, tag: 'v1@old'}}", f"image: {{repository: {IMAGE}, tag: 'v1@{DIGEST}'}}"),
        ("a:\n- repository: team/gpt\n  digest: old\n  tag: v1",
         f"a:\n- repository: team/gpt\n  digest: {DIGEST}\n  tag: v1"),
        ("image: {name: gpt, tag: v1}", f"image: {{name: gpt, tag: v1@{DIGEST}}}"),
        ("image: {tag: v1}", f"image: {{tag: v1@{DIGEST}}}"),
        ("image: {? [a] : b, tag: v1}", f"image: {{? [a] : b, tag: v1@{DIGEST}}}"),
        (f"image: {{repository: {IMAGE}, tag: v1}}\nsidecar: {{tag: v7}}",
         f"image: {{repository: {IMAGE}, tag: v1@{DIGEST}}}\nsidecar: {{tag: v7}}"),
        ("image: {tag: v1}\nsidecar: {repository: busybox, tag: v7}",
         f"image: {{tag: v1@{DIGEST}}}\nsidecar: {{repository: busybox, tag: v7}}"),
        ("image: {tag: v1}\nsidecar: {tag: v7}", None),
        ("image: {repository: other/gpt, tag: v1}", None),
        ("image: {repository: pt, tag: v1}", None),
        ("image: {repository: [gpt], tag: v1}", None),
        (f"image: {{repository: {IMAGE}, tag: [v1]}}", None),
        (f"image: {{repository: {IMAGE}, digest: [v1]}}", None),
        (f"image: {{repository: {IMAGE}}}", None),
        (f"image: {{repository: {IMAGE}, digest: {DIGEST}}}", None),
        ("a: [", None),
        ("- 1", None),
    ],
)  # fmt: skip
def test_a_tag_beside_its_repository_is_pinned(text: str, expected: str | None) -> None:
    if expected is not None:
        assert pin_tag(text, IMAGE, DIGEST) == expected
        return
    with pytest.raises(AskPerson) as raised:
        pin_tag(text, IMAGE, DIGEST)
    assert raised.value.reason == "NothingToPin"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [{chart: gpt, targetRevision: 1.x, y: z}]", "a: [{chart: gpt, targetRevision: 1.2.0, y: z}]"),
        ("chart: gpt\nversion: '1.x'", "chart: gpt\nversion: '1.2.0'"),
        ("chart: gpt\ntargetRevision: 1.x\nversion: 9", "chart: gpt\ntargetRevision: 1.2.0\nversion: 9"),
        ("dependencies:\n- name: gpt\n  repository: r\n  version: 1.x",
         "dependencies:\n- name: gpt\n  repository: r\n  version: 1.2.0"),
        ("x: {? [a] : b, chart: gpt, version: 1.x}", "x: {? [a] : b, chart: gpt, version: 1.2.0}"),
        ("name: gpt\nversion: 1.x", None),
        ("chart: other\nversion: 1.x", None),
        ("chart: gpt\nversion: 2.x", None),
        ("chart: [gpt]\nversion: 1.x", None),
        ("chart: gpt\nversion: [1.x]", None),
        ("chart: gpt", None),
        ("version: 1.x", None),
        ("- gpt", None),
        ("a: [", None),
    ],
)  # fmt: skip
def test_a_chart_is_pinned_where_its_range_is_asked_for(text: str, expected: str | None) -> None:
    if expected is not None:
        assert pin_chart(text, "gpt", "1.x", "1.2.0") == expected
        return
    with pytest.raises(AskPerson) as raised:
        pin_chart(text, "gpt", "1.x", "1.2.0")
    assert raised.value.reason == "NothingToPin"
