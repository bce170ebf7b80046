"""A repository's objects, read in batches: whole windows of history in a handful of git processes.

Nothing is checked out, and no configuration of the repository is read: a bare store of our own borrows its objects, so
that no hook, filter, attribute or external diff of it can run. What is written (the trees of a proposal) goes to that
store and vanishes with it.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mfu_operator.adapters.git.environment import environment
from mfu_operator.errors import Unreadable
from mfu_operator.gitops.sources.tree import Entry, Tree
from mfu_operator.model.commit import Commit

MAX_BLOB_BYTES = 4 * 1024 * 1024
"""A larger file is not configuration that a person wrote; its content is not read."""

DEADLINE_S = 300.0
_FORMAT = "%H%x00%P%x00%an%x00%ct%x00%B%x00%x01"


@dataclass(frozen=True, slots=True)
class Step:
    """A commit with what it changed against its first parent: by path, the file afterwards (None: gone)."""

    commit: Commit
    changed: Mapping[str, Entry | None]
    before: Mapping[str, Entry | None]


class Store:
    """The objects of one repository.

    Args:
        repository: a folder (bare or not), or an address that git clones.
        folder: empty, of the caller's, removed by the caller.
        env: all of git's environment; None: one that holds no credentials.

    Raises:
        Unreadable(RepositoryUnreadable): there is no repository, or it does not answer.
    """

    def __init__(self, repository: str, folder: Path, env: Mapping[str, str] | None = None) -> None:
        self._blobs: dict[str, bytes | None] = {}
        self._obtained: set[str] = set()
        local = Path(repository.removeprefix("file://")).absolute()  # git runs in another folder
        self._env = dict(env or environment({}, str(folder), ("https", "http", "ssh", "git", "file")))
        self._env["GIT_NO_LAZY_FETCH"] = "1"
        self._bare = folder / "store.git"
        if local.exists():
            self._borrow(local)
        elif re.match(r"[a-z+]+://|[\w.-]+@[\w.-]+:", repository):
            origin = folder / "origin.git"
            self._run("clone", "--quiet", "--bare", "--filter=blob:none", "--", repository, str(origin))
            self._borrow(origin)
        else:
            raise Unreadable("RepositoryUnreadable", f"{repository} is neither a folder nor an address")

    def _borrow(self, local: Path) -> None:
        common = self._run("-C", str(local), "rev-parse", "--path-format=absolute", "--git-common-dir").strip()
        self._origin = Path(common)
        self._run("init", "--quiet", "--bare", str(self._bare))
        objects = self._bare / "objects" / "info" / "alternates"
        objects.write_text(f"{self._origin / 'objects'}\n")
        if (self._origin / "shallow").exists():
            shutil.copyfile(self._origin / "shallow", self._bare / "shallow")
        format_ = self._run("-C", str(local), "rev-parse", "--show-object-format").strip()
        if format_ == "sha256":
            raise Unreadable("RepositoryUnreadable", f"{local} names its objects by SHA-256, which is not read yet")
        self._partial = (
            self._try("--git-dir", str(self._origin), "config", "--get", "remote.origin.promisor") is not None
        )

    def resolve(self, revision: str) -> str:
        """The commit that a branch, tag, sha or expression names."""
        if revision.startswith("-"):
            raise Unreadable("RevisionUnknown", f"{revision} is not a revision")
        for text in (revision, f"origin/{revision}"):
            found = self._try("--git-dir", str(self._origin), "rev-parse", "--verify", "--quiet", "--end-of-options",
                              f"{text}^{{commit}}")  # fmt: skip
            if found:
                return found.strip()
        raise Unreadable(
            "RevisionUnknown", f"{revision} is not a commit of the repository: fetch it, or check its name"
        )

    def branches(self) -> Mapping[str, str]:
        """The heads by branch; remote-tracking ones by their branch's name where no local one has it."""
        listed = self._run("--git-dir", str(self._origin), "for-each-ref", "--format=%(objectname) %(refname)",
                           "refs/remotes", "refs/heads")  # fmt: skip
        found: dict[str, str] = {}
        for line in listed.splitlines():
            sha, _, ref = line.partition(" ")
            parts = ref.split("/", 3)
            name = ref.removeprefix("refs/heads/") if parts[1] == "heads" else parts[3] if len(parts) > 3 else ""
            if name and name != "HEAD":
                found[name] = sha
        return found

    def tags(self) -> Mapping[str, str]:
        """The commits by tag."""
        listed = self._run("--git-dir", str(self._origin), "for-each-ref", "--format=%(objectname) %(*objectname) "
                           "%(refname:strip=2)", "refs/tags")  # fmt: skip
        found = {}
        for line in listed.splitlines():
            sha, peeled, name = line.split(" ", 2)
            found[name] = peeled or sha
        return found

    def current_branch(self) -> str | None:
        """The branch that the repository has checked out."""
        found = self._try("--git-dir", str(self._origin), "symbolic-ref", "--quiet", "--short", "HEAD")
        return found.strip() or None if found else None

    def address(self) -> str | None:
        """The address of its remote, without credentials."""
        found = self._try("--git-dir", str(self._origin), "config", "--get", "remote.origin.url")
        return re.sub(r"://[^/@\s]+@", "://", found.strip()) if found else None

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `old` is in the history of `new`."""
        return self._try("merge-base", "--is-ancestor", old, new) is not None

    def window(self, good: str, bad: str, most: int) -> list[Step]:
        """The commits of bad's first-parent line that good does not hold, newest first, at most `most` of them."""
        told = self._run("log", "--first-parent", "-m", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-color",
                         "--root", f"--max-count={most}", f"--format=%x02{_FORMAT}", f"{good}..{bad}")  # fmt: skip
        return [_step(record) for record in told.split("\x02")[1:]]

    def resolve_tree(self, revision: str) -> str:
        """The tree of a commit."""
        return self._run("rev-parse", "--verify", f"{revision}^{{tree}}").strip()

    def commit(self, sha: str) -> Commit:
        """One commit's own words."""
        told = self._run("log", "-1", "--no-color", f"--format={_FORMAT}", sha)
        return _commit(told.split("\x01")[0])

    def tree(self, revision: str) -> Tree:
        """All files of a revision."""
        told = self._run("ls-tree", "-r", "-z", "--full-tree", revision)
        found = {}
        for line in told.split("\0"):
            if line:
                head, _, path = line.partition("\t")
                mode, _, oid = head.split(" ")
                found[path] = Entry(mode, oid)
        return found

    def obtain(self, oids: Iterable[str]) -> None:
        """Let the repository's server send, at once, those of the blobs that a clone without blobs lacks."""
        wanted = sorted(set(oids) - self._blobs.keys() - self._obtained)
        if not wanted or not self._partial:
            return
        self._obtained.update(wanted)
        told = self._bytes("cat-file", "--batch-check", given="".join(f"{oid}\n" for oid in wanted).encode())
        lacking = [line.removesuffix(b" missing") for line in told.splitlines() if line.endswith(b" missing")]
        if lacking:
            options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none")
            self._bytes(
                *("--git-dir", str(self._origin), "-c", "fetch.negotiationAlgorithm=noop"),
                *("fetch", *options, "--stdin", "origin"),
                given=b"\n".join(lacking) + b"\n",
            )

    def fetch(self, oids: Iterable[str]) -> None:
        """Read blobs in one batch, for `blob` to give."""
        wanted = sorted({oid for oid in oids if oid not in self._blobs})
        if not wanted:
            return
        self.obtain(wanted)
        sizes = self._bytes("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)",
                            given="".join(f"{oid}\n" for oid in wanted).encode())  # fmt: skip
        small = []
        for line in sizes.decode().splitlines():
            words = line.split(" ")
            if len(words) == 3 and words[1] == "blob" and int(words[2]) <= MAX_BLOB_BYTES:
                small.append(words[0])
            else:
                self._blobs[words[0]] = None
        data = self._bytes("cat-file", "--batch", given="".join(f"{oid}\n" for oid in small).encode())
        at = 0
        for oid in small:
            end = data.index(b"\n", at)
            size = int(data[at:end].split(b" ")[2])
            self._blobs[oid] = data[end + 1 : end + 1 + size]
            at = end + 1 + size + 1

    def blob(self, oid: str) -> bytes | None:
        """A blob's content; None where it is too large or not there."""
        self.fetch([oid])
        return self._blobs.get(oid)

    def write(self, tree: Tree, changed: Mapping[str, bytes | None]) -> str:
        """A tree like `tree` with other contents (None: without the file); its id."""
        index = {"GIT_INDEX_FILE": str(self._bare / "mfu-index")}
        Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)
        lines = [f"{entry.mode} {entry.oid}\t{path}" for path, entry in tree.items() if path not in changed]
        for path, data in changed.items():
            if data is not None:
                oid = self._bytes("hash-object", "-w", "--stdin", "--no-filters", given=data).decode().strip()
                mode = tree[path].mode if path in tree else "100644"
                lines.append(f"{mode} {oid}\t{path}")
        self._bytes(
            "update-index", "-z", "--index-info", given="".join(f"{line}\0" for line in lines).encode(), env=index
        )
        return self._bytes("write-tree", "--missing-ok", env=index).decode().strip()

    def reverted(self, sha: str, head: str) -> tuple[str, tuple[str, ...]]:
        """The tree of `head` with a commit taken out (a merge: against its first parent), and the conflicting paths."""
        parent = self._run("rev-parse", "--verify", f"{sha}^1").strip()
        self.obtain(oid for side in (parent, head) for oid in self._differing(sha, side))
        ancestor = self._commit_tree(f"{sha}^{{tree}}")
        ours, theirs = (self._commit_tree(f"{side}^{{tree}}", ancestor) for side in (head, parent))
        done = self._process(["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs])
        if done.returncode not in (0, 1):
            raise Unreadable("RepositoryUnreadable", f"git merge-tree: {_said(done.stderr)}")
        tree, *conflicts = done.stdout.decode().rstrip("\0").split("\0")
        return tree, tuple(sorted({path for path in conflicts if path}))

    def _differing(self, one: str, other: str) -> Iterator[str]:
        """The blobs that two trees have otherwise, of both."""
        told = self._run("diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", one, other)
        for meta in told.split("\0")[::2]:
            if meta.startswith(":"):
                old_mode, new_mode, old, new, _ = meta.lstrip(":").split(" ")
                yield from (oid for mode, oid in ((old_mode, old), (new_mode, new)) if mode not in ("000000", "160000"))

    def diff(self, old: str, new: str) -> str:
        """The unified diff between two trees, as `git apply` takes it."""
        return self._bytes(
            "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--binary", old, new
        ).decode(errors="surrogateescape")

    def _commit_tree(self, tree: str, *parents: str) -> str:
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER")
               for key, value in (("NAME", "mfu"), ("EMAIL", "mfu@invalid"), ("DATE", "1700000000 +0000"))}  # fmt: skip
        arguments = [word for parent in parents for word in ("-p", parent)]
        return self._bytes("commit-tree", tree, *arguments, given=b"mfu", env=who).decode().strip()

    def _run(self, *arguments: str) -> str:
        return self._bytes(*arguments).decode("utf-8", "surrogateescape")

    def _try(self, *arguments: str) -> str | None:
        done = self._process(list(arguments))
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None

    def _bytes(self, *arguments: str, given: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        done = self._process(list(arguments), given, env)
        if done.returncode != 0:
            raise Unreadable("RepositoryUnreadable", f"git {_verb(arguments)}: {_said(done.stderr)}")
        return done.stdout

    def _process(
        self, arguments: Sequence[str], given: bytes = b"", env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        own = () if arguments[0] in ("clone", "init", "-C", "--git-dir") else ("--git-dir", str(self._bare))
        try:
            return subprocess.run(
                ["git", *own, *arguments], input=given, capture_output=True, timeout=DEADLINE_S, check=False,  # noqa: S607 - found on our own PATH
                env=self._env | dict(env or {}), cwd=os.sep,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise Unreadable("RepositoryUnreadable", f"git {_verb(arguments)} took over {DEADLINE_S:.0f} s") from error


def _verb(arguments: Sequence[str]) -> str:
    return next((word for word in arguments if re.fullmatch(r"[a-z-]+", word) and not word.startswith("-")), "")


def _said(stderr: bytes) -> str:
    text = re.sub(r"://[^/@\s]+@", "://***@", " ".join(stderr.decode(errors="replace").split()))
    return text[:300] or "no word"


def _commit(record: str) -> Commit:
    sha, parents, author, seconds, message, *_ = record.split("\0")
    subject, _, body = message.strip("\n").partition("\n")
    return Commit(sha, tuple(parents.split()), author, float(seconds), subject.strip(), (), body.strip())


def _step(record: str) -> Step:
    head, _, raw = record.partition("\x01")
    changed: dict[str, Entry | None] = {}
    before: dict[str, Entry | None] = {}
    fields = [field for field in raw.lstrip("\0\n").split("\0") if field]
    for meta, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = meta.strip().lstrip(":").split(" ")
        changed[path] = None if new_mode == "000000" else Entry(new_mode, new)
        before[path] = None if old_mode == "000000" else Entry(old_mode, old)
    return Step(_commit(head), changed, before)
