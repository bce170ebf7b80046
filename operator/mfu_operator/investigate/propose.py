"""The proposal that undoes a commit, rendered before it is told.

A revert where it is clean and touches nobody else; else the smallest pieces of the commit whose undoing brings the
known good value back; a pin of the digest that ran, where only an image changed and its digest is known.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mfu_operator.adapters.git.store import Step as History
from mfu_operator.adapters.git.store import Store
from mfu_operator.errors import AskPerson, Unreadable
from mfu_operator.gitops.blame import hunks
from mfu_operator.gitops.blame.model import Blame, Judged, Window
from mfu_operator.gitops.blame.verdicts import named
from mfu_operator.gitops.images import parse
from mfu_operator.gitops.pin import pin, pin_tag
from mfu_operator.gitops.propose import is_rollback
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
_DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".png", ".svg")


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

    def tried(self, kind: str, files: Files, guilty: Sequence[Place]) -> Candidate | None:
        """A candidate from changed files; None where it changes nothing or cannot be rendered."""
        store = self.store
        if not files:
            return None
        tree = store.write(self.trees[self.number], files)
        if tree == store.resolve_tree(self.head):
            return None
        after = (*self.trees[: self.number], store.tree(tree), *self.trees[self.number + 1 :])
        try:
            rest = differences(self.good, self.comparison.delivered(after))
            others = also_changed(self.comparison, self.number, self.trees, after)
        except NotRenderable:
            return None
        restored = not {each.place for each in rest} & set(guilty)
        charts = tuple(sorted({folder for path in files if (folder := self._chart_of(path)) is not None}))
        return Candidate(kind, files, tree, restored, rest, others, self._beside(files), charts)

    def _chart_of(self, path: str) -> str | None:
        """The chart that a file is of, which other releases may use: one that the repository holds."""
        folder = posixpath.dirname(path)
        while folder:
            if posixpath.join(folder, "Chart.yaml") in self.trees[self.number]:
                return folder
            folder = posixpath.dirname(folder)
        return None

    def _beside(self, files: Files) -> tuple[str, ...]:
        """Configuration that the workload does not read, and that the proposal changes."""
        parts = self.comparison.renderer.parts(self.trees)
        read = {path for part in parts if part.source == self.number
                for path in self.comparison.renderer.files(part, self.trees)}  # fmt: skip
        read |= {path for part in parts for path in self._lent(part.helm.value_files)}
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


def propose(comparison: Comparison, window: Window, blame: Blame) -> Offer | AskPerson | None:
    """The proposal, or why a commit that is chosen needs a person; None where there is nothing to undo."""
    if window.good is None or window.bad is None:
        return None
    if blame.chosen is None:
        return _moved(comparison, window, blame)
    chosen, commit = blame.chosen, blame.chosen.step.commit
    if any(commit.sha.startswith(sha) for sha in comparison.request.refused if sha):
        return AskPerson(
            "PullRequestClosed", f"The revert of {commit.sha[:7]} was refused before: nothing is proposed."
        )
    if is_rollback(commit):
        return AskPerson(
            "RollbackOfRollback",
            f"{commit.sha[:7]} is itself a rollback: undoing it would bring back what somebody took out. Decide "
            "between the two by hand.",
        )
    number = next(index for index, each in enumerate(comparison.opened) if each.name == chosen.step.source)
    desk = _desk(comparison, number, window.good)
    history = next(each for each in desk.one.steps if each.commit.sha == commit.sha)
    try:
        return _of_commit(desk, chosen, history, window)
    except Unreadable as error:
        return AskPerson("RevertConflict", f"No proposal could be made: {error.message}")


def _of_commit(desk: Desk, chosen: Judged, history: History, window: Window) -> Offer | AskPerson:
    guilty = [each.place for each in window.changed if each.place in {one.place for one in chosen.guilty}]
    now = desk.comparison.delivered(desk.trees)
    if guilty and not {each.place for each in differences(desk.good, now)} & set(guilty):
        return AskPerson(
            "NothingToRevert",
            f"{desk.branch or 'the branch'} does not hold the change of {named(chosen)} any more: nothing is left to "
            "undo.",
        )
    conflicts: tuple[str, ...] = ()
    whole: Candidate | None = None
    pinned = _pinned(desk, chosen.guilty, guilty)
    if pinned is not None:
        return Offer(desk, pinned, remark=_remark(pinned))
    if history.commit.parents:
        tree, conflicts = desk.store.reverted(history.commit.sha, desk.head)
        whole = None if conflicts else desk.tried("Revert", _files(desk, tree), guilty)
    if whole is not None and whole.restored and not whole.others and not whole.beside and not whole.charts:
        return Offer(desk, whole, remark=_followed(desk))
    small = _minimal(desk, history, guilty)
    best = small if small is not None and small.restored else whole if whole is not None and whole.restored else None
    if best is None:
        listed = ", ".join(conflicts[:3])
        why = f"{listed} changed since" if conflicts else "no revert of it brings back what was known good"
        by_hand = f"{named(chosen)} has to be undone by hand: {why}."
        return AskPerson("RevertConflict", by_hand) if conflicts else AskPerson("RevertInsufficient", by_hand)
    return Offer(desk, best, conflicts, " ".join(filter(None, [_remark(best), _followed(desk)])))


def _followed(desk: Desk) -> str:
    """What to do where the delivery tool follows no branch, so that a merge alone deploys nothing."""
    target = desk.one.source.target.removeprefix("refs/heads/")
    if target in ("", "HEAD") or target in desk.store.branches():
        return ""
    return f"The application follows {target}, which is no branch: after the merge, let it follow the merged commit."


def _remark(candidate: Candidate) -> str:
    folders = sorted({folder for folder, _ in candidate.others.changed if folder})
    told = []
    if folders:
        told.append(f"The proposal also changes what is deployed from {', '.join(folders[:5])}.")
    if candidate.others.unknown:
        told.append(
            f"What is deployed from {', '.join(candidate.others.unknown[:5])} reads a file that it changes, and could "
            "not be rendered: what it gets is not known."
        )
    if candidate.charts:
        told.append(f"It changes chart {', '.join(candidate.charts[:5])}, which other releases may use.")
    if candidate.beside:
        told.append(f"It also changes {', '.join(candidate.beside[:5])}, which this workload does not read.")
    return " ".join(told)


def _desk(comparison: Comparison, number: int, good: Delivered) -> Desk:
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


def _files(desk: Desk, tree: str) -> Files:
    store = desk.store
    old, new = desk.trees[desk.number], store.tree(tree)
    return {path: store.blob(new[path].oid) if path in new else None
            for path in sorted(old.keys() | new.keys()) if old.get(path) != new.get(path)}  # fmt: skip


def _minimal(desk: Desk, history: History, guilty: Sequence[Place]) -> Candidate | None:
    """The pieces of the commit that bring what is guilty back, and no other one."""
    chosen: dict[str, list[hunks.Hunk]] = {}
    whole: dict[str, bytes | None] = {}
    for path in sorted(history.changed):
        before, after, head = (_text(desk, side.get(path)) for side in
                               (history.before, history.changed, desk.trees[desk.number]))  # fmt: skip
        if before is None or after is None or head is None:
            if after == head and _helps(desk, {path: before.encode() if before is not None else None}, guilty):
                whole[path] = before.encode() if before is not None else None
            continue
        for hunk in hunks.hunks(before, after):
            text = hunks.undone(after, head, [hunk])
            if text is not None and _helps(desk, {path: text.encode()}, guilty):
                chosen.setdefault(path, []).append(hunk)
    files: dict[str, bytes | None] = dict(whole)
    for path, taken in chosen.items():
        text = hunks.undone(
            _text(desk, history.changed[path]) or "", _text(desk, desk.trees[desk.number][path]) or "", taken
        )
        if text is not None:
            files[path] = text.encode()
    return desk.tried("MinimalRevert", files, guilty)


def _helps(desk: Desk, files: Files, guilty: Sequence[Place]) -> bool:
    """Whether a piece gives the workload one of the guilty values as it was known good."""
    store = desk.store
    after = (*desk.trees[: desk.number], store.tree(store.write(desk.trees[desk.number], files)),
             *desk.trees[desk.number + 1 :])  # fmt: skip
    try:
        now, then = desk.comparison.delivered(desk.trees), desk.comparison.delivered(after)
    except NotRenderable:
        return False
    still = {each.place for each in differences(desk.good, then)}
    return any(each.place in guilty and each.place not in still for each in differences(now, then)) or any(
        place not in still and place in {each.place for each in differences(desk.good, now)} for place in guilty
    )


def _text(desk: Desk, entry: object) -> str | None:
    data = desk.one.blob(entry.oid) if entry is not None and hasattr(entry, "oid") else None
    return data.decode("utf-8", "surrogateescape") if data is not None else None


def _pinned(desk: Desk, guilty: Sequence[Difference], places: Sequence[Place]) -> Candidate | None:
    """The good digest of an image, where only images are guilty and what ran is known."""
    digest_of = desk.comparison.request.good_digest
    if not guilty or any(each.name != "image" for each in guilty):
        return None
    if any("@" in str(each.old) for each in guilty):
        return None
    wanted = {parse(str(each.old)).name: digest for each in guilty if (digest := digest_of(str(each.old)))}
    return _with_digests(desk, wanted)


def _with_digests(desk: Desk, wanted: Mapping[str, str]) -> Candidate | None:
    """Files in which images are set to digests; None where no file takes all of them."""
    if not wanted:
        return None
    files: dict[str, bytes | None] = {}
    tree = desk.trees[desk.number]
    for part in desk.comparison.renderer.parts(desk.trees):
        if part.source != desk.number:
            continue
        for path in sorted(desk.comparison.renderer.files(part, desk.trees)):
            text = _text(desk, tree.get(path))
            for image, digest in wanted.items():
                for way in (pin, pin_tag):
                    new = _pin(way, text, image, digest)
                    if text is not None and new is not None and _shows(desk, {path: new.encode()}, image, digest):
                        files[path] = new.encode()
                        text = new
                        break
    candidate = desk.tried("PinDigest", files, [])
    return candidate if candidate and all(_shows(desk, files, *pair) for pair in wanted.items()) else None


def _pin(way: object, text: str | None, image: str, digest: str) -> str | None:
    assert callable(way)
    try:
        pinned: str | None = way(text, image, digest) if text is not None else None
    except AskPerson:
        return None
    return pinned


def _shows(desk: Desk, files: Files, image: str, digest: str) -> bool:
    """Whether the workload's image has the digest once the files are changed."""
    store = desk.store
    after = (*desk.trees[: desk.number], store.tree(store.write(desk.trees[desk.number], files)),
             *desk.trees[desk.number + 1 :])  # fmt: skip
    try:
        leaves = desk.comparison.delivered(after).leaves.values()
    except NotRenderable:
        return False
    found = [parse(str(leaf.value)) for leaf in leaves if leaf.name == "image"]
    return any(each.digest == digest and each.full_name == parse(image).full_name for each in found)


def _moved(comparison: Comparison, window: Window, blame: Blame) -> Offer | None:
    """The pin of the known good digest, where an image was rebuilt under its tag and no commit is suspected."""
    if not window.moved or window.good is None or any(each.verdict == "suspected" for each in blame.suspects):
        return None
    main = next(index for index, each in enumerate(comparison.opened) if each.main)
    desk = _desk(comparison, main, window.good)
    wanted = {parse(each.reference).name: each.good for each in window.moved}
    candidate = _with_digests(desk, wanted)
    return Offer(desk, candidate) if candidate is not None else None
