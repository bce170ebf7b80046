"""No link of a repository leads a rendering engine to a file that is not the repository's."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from mfu_operator.adapters.render.export import export
from mfu_operator.gitops.sources.tree import SYMLINK, Entry, NotRenderable

HOSTILE: Mapping[str, Mapping[str, str]] = {
    "an absolute one": {"esc": "/etc/passwd"},
    "one that leads out": {"a/esc": "../../secret"},
    "one that leads out by another": {"a/b/up": "../..", "esc": "a/b/up/../secret"},
    "one that leads out by two others": {"a/b/up": "..", "a/c": "b/up", "esc": "a/c/../../secret"},
    "a loop": {"one": "two", "two": "one"},
}


def exported(links: Mapping[str, str], folder: Path) -> None:
    files = {path: Entry(SYMLINK, path) for path in links} | {"a/b/file": Entry("100644", "a/b/file")}
    export(files, files, lambda oid: links.get(oid, "text").encode(), folder)


@pytest.mark.parametrize("links", HOSTILE.values(), ids=HOSTILE)
def test_a_link_that_leads_out_is_refused_however_it_gets_there(links: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a token")
    folder = tmp_path / "revision"
    folder.mkdir()
    with pytest.raises(NotRenderable, match=r"leads out|absolute|loop"):
        exported(links, folder)


def test_a_link_that_led_nowhere_when_it_was_written_leads_nowhere_else_later(tmp_path: Path) -> None:
    folder = tmp_path / "revision"
    exported({"esc": "a/c/up/../secret"}, folder)
    with pytest.raises(NotRenderable, match="esc is a link that leads out"):
        exported({"a/c/up": "../.."}, folder)


def test_nothing_is_written_through_a_link_that_leads_out(tmp_path: Path) -> None:
    folder = tmp_path / "revision"
    links = {"a/b/up": "../..", "esc": "a/b/up/.."}
    files = {path: Entry(SYMLINK, path) for path in links} | {"esc/file": Entry("100644", "file")}
    with pytest.raises(NotRenderable):
        export(files, files, lambda oid: links.get(oid, "text").encode(), folder)
    assert not (tmp_path / "file").exists()


def test_a_link_within_the_repository_is_followed(tmp_path: Path) -> None:
    exported({"here": "a/b/file", "c/up": "../a", "c/again": "up/b/file", "nowhere": "a/none"}, tmp_path)
    assert (tmp_path / "here").read_text() == (tmp_path / "c/again").read_text() == "text"
