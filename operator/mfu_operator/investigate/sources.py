"""The sources of an application, opened: each with its history between good and bad."""

import os
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mfu_operator.adapters.git.store import Step, Store
from mfu_operator.errors import Unreadable
from mfu_operator.gitops.sources.addresses import host_and_path
from mfu_operator.gitops.sources.plan import Plan, Source
from mfu_operator.gitops.sources.tree import CHART, Entry, NotRenderable, Tree
from mfu_operator.gitops.sources.versions import highest
from mfu_operator.investigate.request import Request

MAX_COMMITS = 1000
"""A window of more commits is for a person to narrow."""


@dataclass(slots=True)
class Opened:
    """One source.

    Attributes:
        store: None for a chart repository.
        good: the revision (or version) where the workload was fast, `bad` where it is slow.
        steps: the commits between, newest first.
        trees: (good, bad).
    """

    source: Source
    name: str
    store: Store | None
    good: str
    bad: str
    steps: list[Step]
    trees: tuple[Tree, Tree]
    main: bool = False
    why_not: str = ""

    def blob(self, oid: str) -> bytes | None:
        """A file's content."""
        return self.store.blob(oid) if self.store else None

    def at(self, seconds: float) -> str:
        """The revision recorded for a time; the good one where none is."""
        past = [revision for revision, when in self.source.deployed if when <= seconds]
        known = [revision for revision in past if self.store is None or revision in self._revisions()]
        return known[-1] if known else self.good

    def _revisions(self) -> set[str]:
        return {self.good, self.bad, *(step.commit.sha for step in self.steps)}

    def tree_at(self, revision: str) -> Tree:
        """The files of a revision."""
        if revision in (self.good, self.bad):
            return self.trees[revision == self.bad and self.good != self.bad]
        return self.store.tree(revision) if self.store else {CHART: Entry("chart", revision)}


def stores(request: Request, folder: Path) -> Callable[[str], Store]:
    """Opens repositories by their address, each once."""
    known: dict[str, Store] = {}

    def store(address: str) -> Store:
        if address not in known:
            inner = folder / f"source-{len(known)}"
            inner.mkdir()
            known[address] = Store(address, inner, request.env)
        return known[address]

    return store


def open_all(request: Request, plan: Plan, store: Callable[[str], Store]) -> list[Opened]:
    """The plan's sources; the first is the one that is asked about.

    Raises:
        Unreadable: a repository or revision cannot be read.
        NotRenderable: a source was not given.
    """
    main = _main(request, plan, store(request.repository))
    return [_open(request, plan, index, main, store) for index in range(len(plan.sources))]


def _main(request: Request, plan: Plan, store: Store) -> int:
    """Which source the repository that is asked about is."""
    git = [index for index, source in enumerate(plan.sources) if not source.chart]
    ours = {same_address(request.repository), same_address(store.address() or "")}
    exact = [index for index in git if same_address(plan.sources[index].repository) in ours]
    free = [index for index in git if clone_of(request, plan.sources[index].repository) is None]
    found = exact or free or git
    if not found:
        raise NotRenderable("the application has no Git source: there is no commit to find")
    return found[0]


def clone_of(request: Request, repository: str) -> str | None:
    """The clone that was given for a repository."""
    wanted = same_address(repository)
    return next((clone for address, clone in request.clones.items() if same_address(address) == wanted), None)


def _others(request: Request, source: Source) -> tuple[str | None, str | None]:
    names = {same_address(source.repository), same_address(f"{source.repository}/{source.chart}"), source.ref}
    for name, revisions in request.others.items():
        if same_address(name) in names or name in names:
            return revisions
    return None, None


def _open(request: Request, plan: Plan, index: int, main: int, store: Callable[[str], Store]) -> Opened:
    source = plan.sources[index]
    given = _others(request, source)
    if source.chart:
        return _chart(request, plan, source, given)
    address = _address(request, plan, index, main, store)
    opened = store(address)
    first = address == request.repository
    good, bad = (request.good, request.bad) if first else (given[0], given[1])
    good = good or _recorded(plan, source, request.good, request.good_s) or _target(opened, source)
    bad = bad or _recorded(plan, source, request.bad, request.bad_s) or _target(opened, source)
    shas = _dry(opened, opened.resolve(good), source), _dry(opened, opened.resolve(bad), source)
    steps = opened.window(*shas, MAX_COMMITS + 1)
    why_not = ""
    if len(steps) > MAX_COMMITS:
        steps, why_not = [], f"more than {MAX_COMMITS} commits lie between good and bad: narrow the window"
    elif not opened.is_ancestor(*shas):
        why_not = (
            f"bad {shas[1][:12]} does not descend from good {shas[0][:12]}: an older revision or another branch was "
            "deployed, or history was rewritten"
        )
    trees = opened.tree(shas[0]), opened.tree(shas[1])
    name = source.repository or opened.address() or request.repository
    return Opened(source, name, opened, *shas, steps, trees, index == main, why_not)


def _address(request: Request, plan: Plan, index: int, main: int, store: Callable[[str], Store]) -> str:
    """Where a source's repository is read. Raises NotRenderable."""
    repository = plan.sources[index].repository
    if index == main or not repository:
        return request.repository
    ours = {same_address(plan.sources[main].repository), same_address(store(request.repository).address() or "")}
    given = clone_of(request, repository)
    if given is None and same_address(repository) not in ours:
        raise NotRenderable(f"source {repository} is another repository: give a clone by --values {repository}=PATH")
    return given or request.repository


def _dry(store: Store, sha: str, source: Source) -> str:
    """The revision of the source that a hydrator rendered a deployed one from."""
    if source.hydrated is None:
        return sha
    tree = store.tree(sha)
    for path in (posixpath.join(source.hydrated, "hydrator.metadata"), "hydrator.metadata"):
        entry = tree.get(posixpath.normpath(path))
        data = store.blob(entry.oid) if entry else None
        if data is not None:
            try:
                return store.resolve(str(msgspec.json.decode(data, type=_Hydrated).drySha))
            except (msgspec.DecodeError, RecursionError) as error:
                raise Unreadable("ManifestUnreadable", f"{path} of {sha[:12]} names no dry commit: {error}") from error
    return sha


class _Hydrated(msgspec.Struct):
    """What a hydrator notes beside what it rendered."""

    drySha: str  # noqa: N815 - Argo CD's spelling


def _chart(request: Request, plan: Plan, source: Source, given: tuple[str | None, str | None]) -> Opened:
    """A chart repository: its versions are given, recorded, or the one that is asked for."""
    good = given[0] or _recorded(plan, source, request.good, request.good_s) or source.target
    bad = given[1] or _recorded(plan, source, request.bad, request.bad_s) or source.target
    trees = tuple({CHART: Entry("chart", version)} for version in (good, bad))
    return Opened(source, f"{source.repository.rstrip('/')}/{source.chart}", None, good, bad, [], (trees[0], trees[1]))


def _recorded(plan: Plan, source: Source, revision: str, until_s: float | None) -> str | None:
    """What the delivery tool recorded for this source when it deployed a revision of another one: with one revision of
    that there may have been several of this, of which the last before `until_s` is meant; None: the first."""
    found = list(_recorded_with(plan, source, revision))
    past = [mine for mine, when in found if until_s is not None and when <= until_s]
    if past:
        return past[-1]
    return found[0][0] if found else None


def _recorded_with(plan: Plan, source: Source, revision: str) -> Iterator[tuple[str, float]]:
    for other in plan.sources:
        if other is source or other.chart or len(revision) < 7:
            continue
        for index, (sha, when) in enumerate(other.deployed):
            same = [mine for mine, at in source.deployed if at == when]
            if sha.startswith(revision) and same:
                yield same[-1], when
            elif sha.startswith(revision) and len(source.deployed) == len(other.deployed):
                yield source.deployed[index][0], when


def _target(store: Store, source: Source) -> str:
    """The revision that a source follows: HEAD, branch, tag, commit, or the highest tag of a version range."""
    target = (source.target or "HEAD").removeprefix("refs/heads/").removeprefix("refs/tags/")
    try:
        return store.resolve(target)
    except Unreadable:
        tags = store.tags()
        found = highest(target, tags)
        if found is None:
            raise
        return tags[found]


def same_address(address: str) -> str:
    """An address in one spelling, of a repository on this machine its folder; "" for none."""
    remote = host_and_path(address)
    if remote and not os.path.exists(address):  # noqa: PTH110 - Path refuses a name that is too long
        return remote
    return os.path.realpath(address.removeprefix("file://")) if address and "\0" not in address else ""
