"""Everything that the renderings will read, fetched in one batch for each repository: a server is asked once."""

import posixpath
import re
from collections.abc import Iterator, Sequence

from mfu_operator.gitops.sources.plan import Plan
from mfu_operator.gitops.sources.tree import SUBMODULE, Tree
from mfu_operator.investigate.sources import Opened

_CONFIGURATION = re.compile(r"\.(?:ya?ml|json|toml|env|properties|ini|cfg|conf|tpl)\Z", re.IGNORECASE)
_HEAVY = re.compile(
    r"\.(?:pt|pth|bin|safetensors|ckpt|onnx|npy|npz|parquet|arrow|png|jpe?g|gif|svg|pdf|zip|t?gz|tar|whl|so|jar|mp4|"
    r"ipynb|csv)\Z",
    re.IGNORECASE,
)


def fetch(opened: Sequence[Opened], plan: Plan) -> None:
    """Read the changed files of every window, and what may be rendered of both its ends."""
    for number, each in enumerate(opened):
        if each.store:
            paths = [part.path for part in plan.parts if part.source == number]
            changed = (
                entry.oid
                for step in each.steps
                for side in (step.before, step.changed)
                for path, entry in side.items()
                if entry is not None and entry.mode != SUBMODULE and not _HEAVY.search(path)
            )
            wanted = set(changed)
            each.store.obtain(wanted.union(*(read_of(tree, paths) for tree in each.trees)))
            each.store.fetch(wanted)


def read_of(tree: Tree, folders: Sequence[str]) -> Iterator[str]:
    """The files that a rendering of some folders, or of another one beside them, is likely to read."""
    for path, entry in tree.items():
        if entry.mode == SUBMODULE or _HEAVY.search(path):
            continue
        if _CONFIGURATION.search(path) or _inside(path, folders) or posixpath.basename(path) == "Kustomization":
            yield entry.oid


def _inside(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders if folder)
