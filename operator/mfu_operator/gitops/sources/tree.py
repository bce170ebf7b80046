"""A revision's files, as git names them."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

REGULAR = ("100644", "100755", "100664")
SYMLINK = "120000"
SUBMODULE = "160000"
CHART = "(chart)"
"""The one file of a source that is a chart repository: its entry's id is the chart's version."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file: its mode as git writes it, and the id of its content."""

    mode: str
    oid: str


Tree = Mapping[str, Entry]
"""Files by their path in the repository."""


class NotRenderable(Exception):
    """What is to be rendered cannot be; the words say what, and what to give."""


class NotNow(NotRenderable):
    """It could not be rendered this time, for what passes: a machine that was too busy."""


def clean(path: str) -> str:
    """A folder of a repository in one spelling: "" is the root.

    Raises:
        NotRenderable: the path leads out of the repository.
    """
    normal = posixpath.normpath(path.strip().lstrip("/") or ".")
    if normal == ".." or normal.startswith("../"):
        raise NotRenderable(f"path {path} leads out of the repository")
    return "" if normal == "." else normal


def joined(folder: str, path: str) -> str:
    """A path that a file in `folder` names.

    Raises:
        NotRenderable: it is absolute, or leads out of the repository.
    """
    if path.startswith("/"):
        raise NotRenderable(f"{path} is an absolute path; nothing outside the repository is read")
    return clean(posixpath.join(folder, path))


def below(tree: Tree, folder: str) -> list[str]:
    """The files under a folder; the file itself where the path names one."""
    if not folder:
        return list(tree)
    start = f"{folder}/"
    return [path for path in tree if path.startswith(start) or path == folder]
