"""No image that people install stands on a base that somebody can move."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "operator" / "Dockerfile").read_text()
DIGEST = "debian@sha256:" + "1" * 64


def test_no_base_stands_in_the_dockerfile() -> None:
    assert re.findall(r"^ARG BASE.*$", DOCKERFILE, re.MULTILINE) == ["ARG BASE", "ARG BASE"]
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"${BASE}"}


@pytest.mark.parametrize(
    ("base", "unpinned", "built"),
    [
        (DIGEST, "no", True),
        ("debian:bookworm-slim", "no", False),
        ("localhost/base:1", "no", False),
        ("", "no", False),
        ("localhost/base:1", "yes", True),
    ],
)
def test_the_build_ends_on_a_tag_unless_a_laboratory_says_so(base: str, unpinned: str, built: bool) -> None:
    [check] = re.findall(r"^RUN (case .*)$", DOCKERFILE, re.MULTILINE)
    done = subprocess.run(["sh", "-c", check], env={"BASE": base, "UNPINNED": unpinned}, capture_output=True, text=True)
    assert (done.returncode == 0) is built
    assert built or "name it by its digest" in done.stderr


@pytest.mark.parametrize("base", ["", "debian:bookworm-slim"])
def test_make_images_begins_nothing_without_a_digest(base: str) -> None:
    recipe = re.search(r"^images: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    first = recipe[1].splitlines()[0].strip().removeprefix("@").replace("$(BASE)", base)
    done = subprocess.run(["sh", "-c", first], capture_output=True, text=True)
    assert done.returncode == 1 and "BASE=debian@sha256:" in done.stdout
