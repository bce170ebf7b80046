"""Setting a digest in a person's file, as golden files: every other byte stays."""

from pathlib import Path

import pytest

from mfu_operator.errors import AskPerson
from mfu_operator.gitops.images import Image, parse
from mfu_operator.gitops.pin import pin

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
