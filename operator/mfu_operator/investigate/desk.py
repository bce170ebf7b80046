"""The desk on which proposals are tried: the head of the branch that takes them, and what they give the workload."""

import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mfu_operator.adapters.git.store import Store
from mfu_operator.gitops.images import parse
from mfu_operator.gitops.rendered.difference import Difference, differences
from mfu_operator.gitops.rendered.workload import Delivered
from mfu_operator.gitops.sources.tree import NotRenderable
from mfu_operator.investigate.compare import Comparison, Trees
from mfu_operator.investigate.fetching import read_of
from mfu_operator.investigate.others import Others, also_changed
from mfu_operator.investigate.request import Request
from mfu_operator.investigate.sources import Opened

Files = Mapping[str, bytes | None]
Place = tuple[str, str]
_RENAMED = ("ConfigMap", "Secret")
_DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".png", ".svg")


def decoded(data: bytes) -> str:
    """A file as a text, whatever its encoding; `encoded` gives every byte back."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes of a text from `decoded`."""
    return text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposal that was rendered. `restored` says that what is guilty is as it was known good."""

    kind: str
    files: Files
    tree: str
    restored: bool
    remaining: tuple[Difference, ...]
    others: Others
    beside: tuple[str, ...] = ()
    charts: tuple[str, ...] = ()


@dataclass(slots=True)
class Desk:
    """What every candidate is tried on: the head of the branch that takes the proposal."""

    comparison: Comparison
    number: int
    good: Delivered
    branch: str | None
    head: str
    trees: Trees

    @property
    def one(self) -> Opened:
        """The source that takes it."""
        return self.comparison.opened[self.number]

    @property
    def store(self) -> Store:
        """The objects of its repository."""
        assert self.one.store is not None
        return self.one.store

    def text(self, path: str) -> str | None:
        """A file of the branch; None where it is none, or not text."""
        entry = self.trees[self.number].get(path)
        data = self.one.blob(entry.oid) if entry is not None else None
        return decoded(data) if data is not None else None

    def rest(self, delivered: Delivered) -> tuple[Difference, ...]:
        """What differs from the known good."""
        found = differences(self.good, delivered)
        return tuple(each for each in found if not self._same_image(each))

    def still(self, delivered: Delivered, guilty: Collection[Place]) -> set[Place]:
        """Those of the guilty places that differ from the known good.

        A ConfigMap or Secret that is not there under its name is looked for under another one, as renaming does.
        """
        rest = {each.place for each in self.rest(delivered)}
        moved = {(kind, key) for (name, key) in rest if (kind := name.partition("/")[0]) in _RENAMED}
        return {(name, key) for name, key in guilty
                if (name, key) in rest
                or (name not in delivered.objects and (name.partition("/")[0], key) in moved)}  # fmt: skip

    def _same_image(self, each: Difference) -> bool:
        """Whether an image is another reference to the digest that ran at good."""
        pinned = parse(str(each.new)).digest if each.name == "image" and each.is_there and each.was_there else None
        return pinned is not None and pinned == self.comparison.request.good_digest(str(each.old))

    def tried(self, kind: str, files: Files, guilty: Sequence[Place], tree: str = "") -> Candidate | None:
        """A candidate from changed files; None where it changes nothing or cannot be rendered.

        Args:
            kind: of the proposal.
            files: that it changes.
            guilty: what it is to bring back.
            tree: the whole of it, where files alone do not say it (modes, submodules, what is too large to be read).
        """
        store = self.store
        tree = tree or store.write(self.trees[self.number], files)
        if tree == store.resolve_tree(self.head):
            return None
        after = (*self.trees[: self.number], store.tree(tree), *self.trees[self.number + 1 :])
        try:
            delivered = self.comparison.delivered(after)
            others = also_changed(self.comparison, self.number, self.trees, after)
        except NotRenderable:
            return None
        rest, restored = self.rest(delivered), not self.still(delivered, guilty)
        charts = tuple(sorted({folder for path in files if (folder := self._chart_of(path)) is not None}))
        return Candidate(kind, files, tree, restored, rest, others, self._beside(files, after), charts)

    def _chart_of(self, path: str) -> str | None:
        """The chart that a file is of, which other releases may use: one that the repository holds."""
        folder = posixpath.dirname(path) if not posixpath.basename(path).startswith(".argocd-source-") else ""
        while folder:
            if posixpath.join(folder, "Chart.yaml") in self.trees[self.number]:
                return folder
            folder = posixpath.dirname(folder)
        return None

    def _beside(self, files: Files, after: Trees) -> tuple[str, ...]:
        """Configuration that the workload reads neither before nor after, and that the proposal changes."""
        read = set[str]()
        for trees in (self.trees, after):
            for part in self.comparison.renderer.parts(trees):
                read.update(self.comparison.renderer.files(part, trees) if part.source == self.number else ())
                read.update(self._lent(part.helm.value_files))
        read |= {path for source, path in self.comparison.renderer.consulted if source == self.number}
        return tuple(path for path in files if path not in read and not path.endswith(_DOCUMENTS)
                     and not path.startswith("."))  # fmt: skip

    def _lent(self, value_files: Sequence[str]) -> Iterator[str]:
        for prefix in (f"${self.one.source.ref}/", f"${self.number}/"):
            yield from (
                posixpath.normpath(file.removeprefix(prefix)) for file in value_files if file.startswith(prefix)
            )


@dataclass(frozen=True, slots=True)
class Offer:
    """A proposal on the head of a branch. `conflicts` are paths that a plain revert could not merge."""

    desk: Desk
    candidate: Candidate
    conflicts: tuple[str, ...] = ()
    remark: str = ""
    pins: tuple[str, ...] = ()
    """What it sets back that came with no commit, as sentences."""
    pin: str = ""
    """What stands for the commit then."""


def desk(comparison: Comparison, number: int, good: Delivered) -> Desk:
    """The desk for a source's branch."""
    one = comparison.opened[number]
    assert one.store is not None
    branch, head = _branch(comparison.request, one)
    trees = tuple(one.store.tree(head) if index == number else each.trees[1]
                  for index, each in enumerate(comparison.opened))  # fmt: skip
    paths = [part.path for part in comparison.renderer.plan.parts if part.source == number]
    one.store.obtain(set(read_of(trees[number], paths)))
    return Desk(comparison, number, good, branch, head, trees)


def _branch(request: Request, one: Opened) -> tuple[str | None, str]:
    """The branch that takes the proposal, and its head: the one that is followed, else one that holds the revision."""
    assert one.store is not None
    branches = one.store.branches()
    wanted = (request.branch if one.main else "") or one.source.target.removeprefix("refs/heads/")
    for name in (wanted, one.store.current_branch() or "", *sorted(branches)):
        if name in branches and one.store.is_ancestor(one.bad, branches[name]):
            return name, branches[name]
    return None, one.bad
