"""Other repositories that kustomizations take bases from, opened at the revision that is named."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from mfu_operator.adapters.git.store import Store
from mfu_operator.adapters.render.mounts import Mount
from mfu_operator.errors import Unreadable
from mfu_operator.gitops.rendered.reading import UnreadableText, yaml_documents
from mfu_operator.gitops.sources.reach import KUSTOMIZATIONS, REMOTE
from mfu_operator.gitops.sources.remote import FOLDER, remote
from mfu_operator.gitops.sources.tree import Entry, Tree
from mfu_operator.investigate.fetching import read_of
from mfu_operator.investigate.sources import Opened

MAX_MOUNTS = 50
"""Bases of other repositories, each at one revision."""

_BASES = ("resources", "bases", "components")


def mounts(opened: Sequence[Opened], objects: Callable[[str], Store | None]) -> Mapping[str, Mount]:
    """By address as it is written, the folder of another repository that is at hand.

    Those that are not, or follow a branch, are left out: what reads them cannot be rendered, and says so.

    Args:
        opened: the application's sources.
        objects: those of a repository; None: it was not given, and may not be fetched.
    """
    found: dict[str, Mount] = {}
    waiting = sorted({address for one in opened if one.store for address in _named(one)})
    while waiting and len(found) < MAX_MOUNTS:
        address = waiting.pop(0)
        if address in found:
            continue
        mount = _mount(address, len(found), objects)
        if mount is not None:
            found[address] = mount
            waiting.extend(_addresses(mount.tree, mount.blob))
    return found


def _mount(address: str, number: int, objects: Callable[[str], Store | None]) -> Mount | None:
    meant = remote(address)
    if meant is None or not meant.ref:
        return None
    found = objects(meant.repository)
    if found is None or meant.ref in found.branches():
        return None
    try:
        sha = found.resolve(meant.ref)
    except Unreadable:
        return None
    tree = found.tree(sha)
    wanted = set(read_of(tree, [meant.path]))
    found.obtain(wanted)
    found.fetch(wanted)
    start = f"{FOLDER}/{number}"
    moved = {f"{start}/{path}": entry for path, entry in tree.items()}
    return Mount(posixpath.join(start, meant.path).rstrip("/"), moved, found.blob)


def _named(one: Opened) -> Iterator[str]:
    """The addresses of other repositories in the kustomizations of a window."""
    for tree in one.trees:
        yield from _addresses(tree, one.blob)
    for step in one.steps:
        changed = {path: entry for side in (step.before, step.changed) for path, entry in side.items() if entry}
        yield from _addresses(changed, one.blob)


def _addresses(tree: Tree | Mapping[str, Entry], blob: Callable[[str], bytes | None]) -> Iterator[str]:
    for path, entry in tree.items():
        data = blob(entry.oid) if posixpath.basename(path) in KUSTOMIZATIONS else None
        if data is None or not re.search(rb"://|[?]ref=|git@|\\.[a-z]{2,8}/", data):
            continue
        try:
            documents = yaml_documents(data.decode("utf-8", "replace"))
        except UnreadableText:
            continue
        for document in documents:
            for field in _BASES if isinstance(document, dict) else ():
                yield from (each for each in document.get(field) or [] if isinstance(each, str) and REMOTE.match(each))
