"""The short-lived Git process: one request on standard input, one answer on standard output.

It clones bare and without blobs (the server sends those that are looked at), so nothing is ever checked out: no hook,
filter or attribute of the repository runs. A revert is a merge of trees.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import git
import msgspec

from mfu_operator.adapters.git_protocol import Action, Answer, Failure, Identity, Request, decode_request, encode
from mfu_operator.errors import AskPerson, MfuError, Retry, Stall
from mfu_operator.gitops.changes import under
from mfu_operator.gitops.kustomize import outside
from mfu_operator.gitops.pin import pin
from mfu_operator.model.commit import Commit, FileChange
from mfu_operator.model.proposal import Proposal, ProposalKind

MAX_COMMITS = 1000
MAX_TEXT = 512 * 1024
"""Bytes above which a file is no configuration that a person wrote."""

_NEEDED_GIT = (2, 38, 0)
_DENIED = re.compile(
    r"authentication failed|could not read (?:username|password)|invalid credentials|terminal prompts disabled|"
    r"permission|access denied|unauthorized|forbidden|error: 40[13]|repository .*not found|not appear to be a git repo",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"hook declined|protected branch|remote rejected|not allowed to push", re.IGNORECASE)
_RACED = re.compile(
    r"stale info|non-fast-forward|fetch first|already exists|cannot lock ref|reference already", re.IGNORECASE
)


class Clone:
    """A repository of one branch, bare and without blobs, in a folder of the caller's."""

    def __init__(self, request: Request) -> None:
        self.url = request.url
        self.source = request.source
        self.identity = request.identity
        _check_git()
        name = request.source.branch
        branch = [] if name in ("", "HEAD") else [f"--branch={name}"]
        self.repo = git.Repo.clone_from(
            request.url,
            Path(request.folder) / "clone.git",
            multi_options=["--bare", "--single-branch", "--filter=blob:none", *branch],
        )
        self.head = self.repo.head.commit

    def commit(self, revision: str) -> git.Commit:
        """A commit of the branch by its sha. AskPerson(HistoryRewritten) where the branch does not hold it."""
        try:
            found = self.repo.commit(revision)
        except (ValueError, git.BadName, git.GitCommandError) as error:
            raise self._rewritten(revision) from error
        if not self.repo.is_ancestor(found, self.head):
            raise self._rewritten(revision)
        return found

    def fetch(self, branch: str) -> git.Commit | None:
        """The head of another branch; None where there is none."""
        ref = f"refs/heads/{branch}"
        if not self.repo.git.ls_remote("origin", ref):
            return None
        self.repo.git.fetch("origin", f"+{ref}:refs/fetched/{branch}", no_tags=True)
        return self.repo.commit(f"refs/fetched/{branch}")

    def text(self, commit: git.Commit, path: str) -> str | None:
        """A file's text at a commit; None where it is none."""
        try:
            return _text(commit.tree / path)
        except KeyError:
            return None

    def _rewritten(self, revision: str) -> AskPerson:
        return AskPerson(
            "HistoryRewritten",
            f"revision {revision[:12]} is not on branch {self.source.branch} any more: its history was rewritten, or "
            "the branch is another one than was deployed. Find the commit by hand.",
        )


def commits(clone: Clone, request: Request) -> Answer:
    """The window's commits, newest first."""
    good, bad = (clone.commit(_dry(clone, revision)) for revision in (request.good, request.bad))
    if not clone.repo.is_ancestor(good, bad):
        raise AskPerson(
            "HistoryRewritten",
            f"the last known good revision {good.hexsha[:12]} is no ancestor of {bad.hexsha[:12]}: an older revision "
            "was deployed, or history was rewritten. Find the commit by hand.",
        )
    line = list(clone.repo.iter_commits(f"{good.hexsha}..{bad.hexsha}", first_parent=True, max_count=MAX_COMMITS + 1))
    if len(line) > MAX_COMMITS:
        raise AskPerson(
            "WindowTooWide", f"more than {MAX_COMMITS} commits lie between the last good revision and the loss."
        )
    source = request.source
    read = frozenset[str]().union(*(outside(source.path, source.also, _reader(clone, end)) for end in (good, bad)))
    return Answer(commits=tuple(_commit(found, source.path, read) for found in line))


def preview(clone: Clone, request: Request) -> Answer:
    """The diff of what would be pushed."""
    return Answer(
        text=clone.repo.git.diff(clone.head.hexsha, _tree(clone, _proposal(request)), no_color=True, no_ext_diff=True)
    )


def ensure_branch(clone: Clone, request: Request) -> Answer:
    """The proposal's branch at the remote, made unless it is there."""
    proposal = _proposal(request)
    existing = clone.fetch(proposal.branch)
    if existing is None:
        try:
            return Answer(text=_push(clone, proposal))
        except git.GitCommandError as error:
            if not _RACED.search(str(error.stderr)):
                raise
            existing = clone.fetch(proposal.branch)
            if existing is None:
                raise
    _untouched(clone, proposal.branch, existing)
    return Answer(text=existing.hexsha)


_ACTIONS: dict[Action, Callable[[Clone, Request], Answer]] = {
    Action.COMMITS: commits,
    Action.PREVIEW: preview,
    Action.ENSURE_BRANCH: ensure_branch,
}


def answer(request: Request) -> Answer:
    """Do what is asked; every failure that can be foreseen is an answer too."""
    try:
        return _ACTIONS[request.action](Clone(request), request)
    except git.GitCommandError as error:
        found = _told(request, str(error.stderr))
    except MfuError as error:
        found = error
    return Answer(failure=Failure(type(found).__name__, found.reason, found.message))


def main() -> None:
    """Serve one request."""
    sys.stdout.buffer.write(encode(answer(decode_request(sys.stdin.buffer.read()))))


def _check_git() -> None:
    version = git.Git().version_info
    if tuple(version) < _NEEDED_GIT:
        raise Stall("GitTooOld", f"git {'.'.join(map(str, version))} is installed; 2.38 or newer is needed.")


def _dry(clone: Clone, revision: str) -> str:
    """The revision on the source's own branch that a deployed one was rendered from."""
    hydrated = clone.source.hydrated
    if hydrated is None or clone.fetch(hydrated.branch) is None:
        return revision
    try:
        rendered = clone.repo.commit(revision)
    except (ValueError, git.BadName, git.GitCommandError):
        return revision
    for path in (f"{hydrated.path.strip('/')}/hydrator.metadata", "hydrator.metadata"):
        text = clone.text(rendered, path)
        if text is not None:
            return str(msgspec.json.decode(text).get("drySha", revision))
    return revision


def _reader(clone: Clone, commit: git.Commit) -> Callable[[str], str | None]:
    return lambda path: clone.text(commit, path)


def _commit(found: git.Commit, path: str, read: frozenset[str]) -> Commit:
    subject, _, body = str(found.message).partition("\n")
    return Commit(
        sha=found.hexsha,
        parents=tuple(parent.hexsha for parent in found.parents),
        author=str(found.author.name),
        time_s=float(found.committed_date),
        subject=subject.strip(),
        changes=tuple(_changes(found, path, read)),
        body=body.strip(),
    )


def _changes(found: git.Commit, path: str, read: frozenset[str]) -> Iterator[FileChange]:
    first = found.parents[0].diff(found, no_renames=True) if found.parents else found.diff(git.NULL_TREE)
    for diff in first:
        file = str(diff.b_path or diff.a_path)
        reached = any(under(file, place) for place in read)
        if not reached and not under(file, path):
            yield FileChange(file, None, None)
            continue
        before, after = (_text(blob) if blob else None for blob in (diff.a_blob, diff.b_blob))
        binary = (diff.a_blob is not None and before is None) or (diff.b_blob is not None and after is None)
        yield FileChange(file, before, after, reached, binary)


def _text(blob: object) -> str | None:
    if not isinstance(blob, git.Blob) or blob.size > MAX_TEXT:
        return None
    data = blob.data_stream.read()
    try:
        return None if b"\0" in data else str(data.decode())
    except UnicodeDecodeError:
        return None


def _proposal(request: Request) -> Proposal:
    if request.proposal is None:
        raise ValueError(f"{request.action} needs a proposal")
    return request.proposal


def _tree(clone: Clone, proposal: Proposal) -> str:
    """The tree that the proposal makes of the branch's head."""
    made = (
        _pinned(clone, proposal) if proposal.kind is ProposalKind.PIN else _reverted(clone, proposal.revert_sha or "")
    )
    if made == clone.head.tree.hexsha:
        raise AskPerson(
            "NothingToRevert", f"{clone.source.branch} does not hold the change any more; nothing is left to undo."
        )
    return made


def _reverted(clone: Clone, sha: str) -> str:
    """The head with a commit taken out: a three-way merge of trees with the commit as the common ancestor.

    What `git revert` does (`-m 1` for a merge), without a working tree.
    """
    commit = clone.commit(sha)
    if not commit.parents:
        raise AskPerson("RevertConflict", f"{sha[:12]} is the repository's first commit and cannot be reverted.")
    ancestor = _commit_tree(clone, commit.tree.hexsha, "ancestor")
    ours = _commit_tree(clone, clone.head.tree.hexsha, "head", ancestor)
    theirs = _commit_tree(clone, commit.parents[0].tree.hexsha, "parent", ancestor)
    status, out, err = clone.repo.git.merge_tree(
        "--write-tree",
        "--name-only",
        "--no-messages",
        ours,
        theirs,
        with_extended_output=True,
        with_exceptions=False,
    )
    if status not in (0, 1):
        raise git.GitCommandError("merge-tree", status, err, out)
    tree, *conflicts = out.splitlines()
    if status == 1:
        raise AskPerson(
            "RevertConflict",
            f"{sha[:12]} cannot be reverted cleanly: {', '.join(sorted(set(conflicts))[:5])} changed since. "
            "Revert it by hand.",
        )
    return str(tree)


def _pinned(clone: Clone, proposal: Proposal) -> str:
    index = {"GIT_INDEX_FILE": str(PurePosixPath(clone.repo.git_dir) / "mfu-index")}
    clone.repo.git.read_tree(clone.head.hexsha, env=index)
    texts: dict[str, str] = {}
    for path, image, digest in proposal.pins:
        text = texts.get(path) or clone.text(clone.head, path)
        if text is None:
            raise AskPerson("NothingToPin", f"{path} is not on branch {clone.source.branch} any more.")
        texts[path] = pin(text, image, digest)
    for path, text in texts.items():
        file = Path(clone.repo.git_dir) / "mfu-blob"
        file.write_bytes(text.encode())
        sha = clone.repo.git.hash_object("-w", "--no-filters", str(file))
        mode = f"{(clone.head.tree / path).mode:o}"
        clone.repo.git.update_index("--cacheinfo", f"{mode},{sha},{path}", env=index)
    return str(clone.repo.git.write_tree("--missing-ok", env=index))


def _push(clone: Clone, proposal: Proposal) -> str:
    """Create the branch with its one commit; its sha depends on nothing but the head and the proposal."""
    sha = _commit_tree(clone, _tree(clone, proposal), proposal.commit_message, clone.head.hexsha)
    ref = f"refs/heads/{proposal.branch}"
    clone.repo.git.push("origin", f"{sha}:{ref}", force_with_lease=f"{ref}:")
    return sha


def _commit_tree(clone: Clone, tree: str, message: str, parent: str | None = None) -> str:
    when = f"{clone.head.committed_date} +0000"
    who: Identity = clone.identity
    env = {
        "GIT_AUTHOR_NAME": who.name,
        "GIT_AUTHOR_EMAIL": who.email,
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_NAME": who.name,
        "GIT_COMMITTER_EMAIL": who.email,
        "GIT_COMMITTER_DATE": when,
    }
    file = Path(clone.repo.git_dir) / "mfu-message"
    file.write_bytes(message.encode())
    parents = ["-p", parent] if parent else []
    return str(clone.repo.git.commit_tree(tree, *parents, "-F", str(file), env=env))


def _untouched(clone: Clone, branch: str, existing: git.Commit) -> None:
    ours = clone.identity.email
    added = list(clone.repo.iter_commits(f"{clone.head.hexsha}..{existing.hexsha}"))
    foreign = [commit for commit in added if {commit.author.email, commit.committer.email} != {ours}]
    if foreign or len(added) > 1:
        last = (foreign or added)[0]
        raise AskPerson(
            "BranchTouched",
            f"{branch} holds {last.hexsha[:12]} by {last.author.name}, which is not the operator's: the branch is "
            "theirs now. Finish it by hand, or delete the branch to let the operator begin again.",
        )


def _told(request: Request, stderr: str) -> MfuError:
    """What git said, as what to do next."""
    told = re.findall(r"^\s*(?:stderr: ')?\s*((?:fatal|error|remote|ERROR): .*)$", stderr, re.MULTILINE) or [stderr]
    said = " ".join(re.sub(r"://[^/@\s]+@", "://***@", " ".join(told)).split()).removesuffix("'")[:300].rstrip(" .")
    secret = os.environ.get("MFU_GIT_PASSWORD")
    said = said.replace(secret, "***") if secret else said
    if re.search(r"remote branch .* not found", stderr, re.IGNORECASE):
        return Stall(
            "BranchMissing", f"{request.url} has no branch {request.source.branch}: set spec.remediation.branch."
        )
    if _REFUSED.search(stderr):
        return Retry("RepositoryRefused", f"{request.url} refused the push: {said}")
    if _DENIED.search(stderr):
        return Retry(
            "RepositoryAccessDenied",
            f"{request.url} refused access: {said}. Check the Secret in spec.remediation.forge.secretRef: its "
            "token must read and write the repository.",
        )
    return Retry("RepositoryUnreachable", f"{request.url} cannot be reached: {said}")


if __name__ == "__main__":
    main()
