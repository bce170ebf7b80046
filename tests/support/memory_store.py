"""A repository's objects in memory, held to the same contract as git's (tests/contracts/test_store.py)."""

import difflib
import hashlib
from collections.abc import Iterable, Mapping

from mfu_operator.adapters.git.store import Step, Store
from mfu_operator.errors import Unreadable
from mfu_operator.gitops.sources.tree import Entry, Tree
from mfu_operator.model.commit import Commit

_FIRST_S = 1000.0
_APART_S = 100.0


def _id(*texts: str) -> str:
    return hashlib.sha1("\0".join(texts).encode(), usedforsecurity=False).hexdigest()


class MemoryStore(Store):
    """A line of commits on `main`, 100 s apart; `asked` are the blobs that were wanted in batches.

    A file that changed since a commit conflicts with its revert, whatever its lines say.
    """

    def __init__(self, url: str | None = None) -> None:
        self.url = url
        self.contents: dict[str, bytes] = {}
        self.heads: dict[str, str] = {}
        self.tagged: dict[str, str] = {}
        self.checked_out: str | None = "main"
        self.asked: set[str] = set()
        self._trees: dict[str, Tree] = {_id(): {}}
        self._tree_of: dict[str, str] = {}
        self._steps: dict[str, Step] = {}

    def add(
        self,
        subject: str,
        files: Mapping[str, str | bytes | Entry | None],
        *,
        branch: str = "main",
        time_s: float | None = None,
        author: str = "ann",
        onto: str | None = None,
        body: str = "",
    ) -> str:
        """Make a commit of files (None: delete one), onto the branch or another commit ("": none); its sha."""
        parent = self.heads.get(branch) if onto is None else onto
        before: Tree = self.tree(parent) if parent else {}
        changed = {path: data if isinstance(data, Entry) else None if data is None else self._entry(path, data, before)
                   for path, data in files.items()}  # fmt: skip
        after = {path: entry for path, entry in {**before, **changed}.items() if entry is not None}
        when_s = _FIRST_S + _APART_S * len(self._steps) if time_s is None else time_s
        sha = _id(subject, str(len(self._steps)))
        commit = Commit(sha, (parent,) if parent else (), author, when_s, subject, (), body)
        self._steps[sha] = Step(commit, changed, {path: before.get(path) for path in changed})
        self._tree_of[sha] = self._kept(after)
        self.heads[branch] = sha
        return sha

    def _entry(self, path: str, data: str | bytes, before: Tree) -> Entry:
        content = data.encode() if isinstance(data, str) else data
        oid = _id(content.decode("latin-1"))
        self.contents[oid] = content
        return Entry(before[path].mode if path in before else "100644", oid)

    def _kept(self, tree: Tree) -> str:
        name = _id(*(f"{path} {entry.mode} {entry.oid}" for path, entry in sorted(tree.items())))
        self._trees[name] = dict(sorted(tree.items()))
        return name

    def address(self) -> str | None:
        return self.url

    def resolve(self, revision: str) -> str:
        named = self.tagged.get(revision) or self.heads.get(self.checked_out or "" if revision == "HEAD" else revision)
        found = [sha for sha in self._steps if len(revision) >= 4 and sha.startswith(revision)]
        if named is None and len(found) != 1:
            raise Unreadable("RevisionUnknown", f"{revision} is not a commit of the repository")
        return named or found[0]

    def branches(self) -> Mapping[str, str]:
        return self.heads

    def tags(self) -> Mapping[str, str]:
        return self.tagged

    def current_branch(self) -> str | None:
        return self.checked_out

    def is_ancestor(self, old: str, new: str) -> bool:
        return old in self._line(new)

    def _line(self, sha: str) -> list[str]:
        """A commit and those before it, newest first."""
        found = [sha]
        while parents := self._steps[found[-1]].commit.parents:
            found.append(parents[0])
        return found

    def window(self, good: str, bad: str, most: int) -> list[Step]:
        held = self._line(good)
        return [self._steps[sha] for sha in self._line(bad) if sha not in held][:most]

    def resolve_tree(self, revision: str) -> str:
        return self._tree_of.get(revision) or self._tree_of[self.resolve(revision)]

    def tree(self, revision: str) -> Tree:
        return self._trees[revision if revision in self._trees else self.resolve_tree(revision)]

    def obtain(self, oids: Iterable[str]) -> None:
        self.asked |= set(oids)

    def fetch(self, oids: Iterable[str]) -> None:
        self.obtain(oids)

    def blob(self, oid: str) -> bytes | None:
        return self.contents.get(oid)

    def write(self, tree: Tree, changed: Mapping[str, bytes | None]) -> str:
        written = {path: None if data is None else self._entry(path, data, tree) for path, data in changed.items()}
        return self._kept({path: entry for path, entry in {**tree, **written}.items() if entry is not None})

    def reverted(self, sha: str, head: str) -> tuple[str, tuple[str, ...]]:
        step, tree = self._steps[sha], dict(self.tree(head))
        conflicts = []
        for path, was in step.before.items():
            if tree.get(path) == step.changed[path]:
                tree.pop(path, None)
                tree |= {path: was} if was is not None else {}
            elif tree.get(path) != was:
                conflicts.append(path)
        return self._kept(tree), tuple(sorted(conflicts))

    def diff(self, old: str, new: str) -> str:
        one, other = self.tree(old), self.tree(new)
        found: list[str] = []
        for path in sorted(one.keys() | other.keys()):
            was, now = (self.contents[side[path].oid].decode().splitlines(keepends=True) if path in side else []
                        for side in (one, other))  # fmt: skip
            found += difflib.unified_diff(was, now, f"a/{path}", f"b/{path}")
        return "".join(found)
