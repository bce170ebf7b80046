"""A revision's files in a folder, from git's objects: no checkout, so that nothing of the repository runs."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from mfu_operator.gitops.sources.tree import REGULAR, SUBMODULE, SYMLINK, NotRenderable, Tree, joined

Blob = Callable[[str], bytes | None]
"""A blob's content by its id; None where it is too large to be read."""

MAX_BYTES = 256 * 1024 * 1024


def export(tree: Tree, paths: Iterable[str], blob: Blob, folder: Path) -> None:
    """Write files of a tree below a folder.

    Raises:
        NotRenderable: a link leads out, a submodule would be read, or there is too much of it.
    """
    written, linked = 0, False
    for path in sorted(paths):
        entry = tree[path]
        if entry.mode == SUBMODULE:
            raise NotRenderable(f"{path} is a submodule, which is not followed")
        data = blob(entry.oid)
        if data is None:
            raise NotRenderable(f"{path} is too large to be configuration, or not in the clone")
        written += len(data)
        if written > MAX_BYTES:
            raise NotRenderable(f"over {MAX_BYTES // 2**20} MiB of files would be read")
        target = folder / inside(path)
        if linked:
            _require_inside(target.parent, folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == SYMLINK:
            joined(os.path.dirname(path), data.decode("utf-8", "replace"))  # noqa: PTH120 - a path inside git
            target.symlink_to(data.decode("utf-8", "replace"))
            linked = True
        elif entry.mode in REGULAR:
            target.write_bytes(data)
        else:
            raise NotRenderable(f"{path} is neither a file nor a link")
    for link in folder.rglob("*") if linked else ():
        if link.is_symlink():
            _require_inside(link, folder)


def _require_inside(link: Path, folder: Path) -> None:
    """A link may lead out by way of another one, which no look at their texts shows: where they all lie, it does."""
    told = f"{link.relative_to(folder)} is a link that"
    try:
        there = link.resolve()
    except (OSError, RuntimeError):  # until 3.12 a loop is the latter
        raise NotRenderable(f"{told} leads round in a loop, or nowhere") from None
    if not there.is_relative_to(folder.resolve()):
        raise NotRenderable(f"{told} leads out of the repository")


def inside(path: str) -> str:
    """A path of a tree, which git lets nobody make otherwise, checked once more."""
    parts = path.split("/")
    if path.startswith("/") or any(part in ("", ".", "..", ".git") for part in parts):
        raise NotRenderable(f"{path} leads out of its folder")
    return path
