"""Folders of other repositories, laid beside the one that is rendered."""

import os
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mfu_operator.adapters.render.export import Blob
from mfu_operator.gitops.sources.tree import Tree

_BASES = ("resources", "bases", "components")


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder of another repository at one revision; `tree` are that one's files by the name that they are given."""

    folder: str
    tree: Tree
    blob: Blob


def with_mounts(tree: Tree, mounts: Mapping[str, Mount]) -> Tree:
    """The files of a revision, and those that are laid beside them."""
    return ChainMap(dict(tree), *(dict(mount.tree) for mount in mounts.values())) if mounts else tree


def reading(own: Blob, mounts: Mapping[str, Mount]) -> Blob:
    """How the content of all of them is read."""
    others = {entry.oid: mount.blob for mount in mounts.values() for entry in mount.tree.values()}

    def blob(oid: str) -> bytes | None:
        return others[oid](oid) if oid in others else own(oid)

    return blob if mounts else own


def localised(content: dict[str, object], file: Path, root: Path, mounts: Mapping[str, Mount]) -> bool:
    """Let a kustomization name the folders beside it in the place of addresses; whether it named any."""
    changed = False
    for field in _BASES:
        listed = content.get(field)
        if isinstance(listed, list) and any(each in mounts for each in listed if isinstance(each, str)):
            changed = True
            content[field] = [
                os.path.relpath(root / mounts[each].folder, file.parent) if isinstance(each, str) and each in mounts
                else each for each in listed
            ]  # fmt: skip
    return changed
