"""Image references in their parts, and whether one was rebuilt under its name."""

import pytest

from mfu_operator.gitops.images import Image, parse, rebuilt

ONE, TWO = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"


@pytest.mark.parametrize(
    ("reference", "image"),
    [
        ("gpt", Image("gpt")),
        ("gpt:v1", Image("gpt", "v1")),
        ("reg:5000/team/gpt", Image("reg:5000/team/gpt")),
        (f"reg:5000/team/gpt:v1@{ONE}", Image("reg:5000/team/gpt", "v1", ONE)),
        (f"docker-pullable://reg/gpt@{ONE}", Image("reg/gpt", None, ONE)),
        ("reg/gpt@sha256:short", Image("reg/gpt")),
    ],
)
def test_a_reference_has_a_name_a_tag_and_a_digest(reference: str, image: Image) -> None:
    assert parse(reference) == image


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("gpt", "docker.io/library/gpt"),
        ("team/gpt", "docker.io/team/gpt"),
        ("reg.example/gpt", "reg.example/gpt"),
        ("reg:5000/gpt", "reg:5000/gpt"),
        ("localhost/gpt", "localhost/gpt"),
    ],
)
def test_a_short_name_leaves_out_its_registry(name: str, full: str) -> None:
    assert Image(name).full_name == full


@pytest.mark.parametrize(
    ("before", "after", "was"),
    [
        ([f"a@{ONE}"], [f"a@{TWO}"], True),
        ([f"a@{ONE}"], [f"a@{ONE}"], False),
        ([f"a@{ONE}"], [f"docker.io/library/a@{TWO}"], True),
        ([f"a@{ONE}"], [f"b@{TWO}"], False),
        ([f"a@{ONE}"], ["a:v1"], False),
        (["a:v1"], [f"a@{ONE}"], False),
        ([f"a@{ONE}", f"b@{ONE}"], [f"b@{ONE}", f"a@{TWO}"], True),
        ([f"a@{ONE}", f"a@{TWO}"], [f"a@{TWO}"], False),
        ([], [f"a@{ONE}"], False),
    ],
)
def test_an_image_was_rebuilt_where_its_name_ran_as_another_digest(
    before: list[str], after: list[str], was: bool
) -> None:
    assert rebuilt(before, after) is was
