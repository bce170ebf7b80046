"""What a change of files does to other workloads of the same repository."""

import posixpath
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from mfu_operator.adapters.render.renderer import Renderer
from mfu_operator.gitops.rendered.difference import Difference, differences
from mfu_operator.gitops.rendered.objects import Thing
from mfu_operator.gitops.rendered.workload import find, has_pods
from mfu_operator.gitops.sources.plan import Engine, Part, Plan
from mfu_operator.gitops.sources.reach import KUSTOMIZATIONS
from mfu_operator.gitops.sources.tree import NotRenderable, Tree
from mfu_operator.investigate.compare import Comparison, Trees

MAX_ROOTS = 60
"""Other folders of the repository that are rendered at most."""


@dataclass(frozen=True, slots=True)
class Others:
    """What a change of files does to other workloads.

    Attributes:
        changed: the folder that it is rendered from, and the difference.
        unknown: folders that read a changed file and could not be rendered.
    """

    changed: tuple[tuple[str, Difference], ...] = ()
    unknown: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.unknown)


def also_changed(comparison: Comparison, number: int, head: Trees, after: Trees) -> Others:
    """Fields of other workloads that are others in `after` than in `head`.

    Args:
        comparison: of the workload that is asked about.
        number: the source in which files changed.
        head: the sources' trees before.
        after: the same after.
    """
    own = [part.path for part in comparison.renderer.parts(head) if part.source == number]
    wanted = find(comparison.things(head), comparison.request.wanted)
    ours = str(wanted) if wanted is not None else ""
    found = [("", each) for each in _between(comparison, comparison.things(head), comparison.things(after), ours)]
    changed = {path for path in head[number].keys() | after[number].keys()
               if head[number].get(path) != after[number].get(path)}  # fmt: skip
    unknown = []
    for part in _roots(comparison, number, head, after, changed, own):
        renderer = Renderer(Plan(parts=(part,)), [comparison.opened[number].blob], mounts=comparison.renderer.mounts)
        try:
            sides = [renderer.render((trees[number],)) for trees in (head, after)]
        except NotRenderable:
            unknown.append(part.path or ".")
            continue
        found.extend((part.path, each) for each in _between(comparison, sides[0], sides[1], ""))
    return Others(tuple(found), tuple(unknown))


def _between(
    comparison: Comparison, before: Sequence[Thing], after: Sequence[Thing], ours: str
) -> Iterator[Difference]:
    later = {str(thing): thing for thing in after}
    for thing in before:
        other = later.get(str(thing))
        if str(thing) == ours or other is None or not has_pods(thing):
            continue
        try:
            yield from differences(comparison.of(thing, before), comparison.of(other, after))
        except NotRenderable:
            continue


def _roots(
    comparison: Comparison, number: int, head: Trees, after: Trees, changed: Collection[str], own: Sequence[str]
) -> Iterator[Part]:
    """Kustomizations that no other one reads and that read a changed file, and folders of changed plain manifests."""
    tree = head[number]
    folders = sorted({posixpath.dirname(path) for path in tree if posixpath.basename(path) in KUSTOMIZATIONS})
    reached = {folder: _reached(comparison, number, folder, tree) for folder in folders[: 4 * MAX_ROOTS]}
    inner = {other for folder, files in reached.items() for other in folders
             if other != folder and any(posixpath.join(other, name) in files for name in KUSTOMIZATIONS)}  # fmt: skip
    taken = 0
    for folder, files in reached.items():
        if folder not in inner and folder not in own and files & set(changed) and taken < MAX_ROOTS:
            taken += 1
            yield Part(path=folder, engine=Engine.KUSTOMIZE)
    ours = [part for part in comparison.renderer.parts(head) if part.source == number]
    read = frozenset[str]().union(
        *reached.values(), *(comparison.renderer.files(part, trees) for part in ours for trees in (head, after))
    )
    rest = {path for path in changed if path.endswith((".yaml", ".yml")) and path not in read}
    for folder in sorted({posixpath.dirname(path) for path in rest})[:MAX_ROOTS]:
        yield Part(path=folder, engine=Engine.PLAIN, recurse=False)


def _reached(comparison: Comparison, number: int, folder: str, tree: Tree) -> frozenset[str]:
    renderer = Renderer(
        Plan(parts=(Part(path=folder, engine=Engine.KUSTOMIZE),)),
        [comparison.opened[number].blob],
        mounts=comparison.renderer.mounts,
    )
    try:
        return renderer.files(renderer.plan.parts[0], (tree,))
    except NotRenderable:
        return frozenset()
