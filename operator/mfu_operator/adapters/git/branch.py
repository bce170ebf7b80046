"""The branch of a proposal: one commit on the head, whose tree is a merge of trees or the head's with pinned images."""

import re
from pathlib import Path, PurePosixPath

import git

from mfu_operator.adapters.git.clone import Clone
from mfu_operator.adapters.git.protocol import Answer, Identity, Request
from mfu_operator.errors import AskPerson
from mfu_operator.gitops.pin import pin
from mfu_operator.model.proposal import Proposal, ProposalKind

_RACED = re.compile(
    r"stale info|non-fast-forward|fetch first|already exists|cannot lock ref|reference already", re.IGNORECASE
)


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
