"""The branch of a proposal: one commit on the base, whose tree is a merge of trees or the base's with edited files.

The commit's sha depends on the base's commit and the proposal alone, so a branch that is there already is the
proposal's exactly where making the commit once more gives the same sha.
"""

import re
from pathlib import Path

import git

from mfu_operator.adapters.git.clone import Clone
from mfu_operator.adapters.git.protocol import Answer, Identity, Request
from mfu_operator.adapters.git.signing import signed
from mfu_operator.errors import AskPerson, MfuError
from mfu_operator.gitops.propose import BRANCH_PREFIX
from mfu_operator.model.proposal import Edit, Proposal, ProposalKind

_RACED = re.compile(
    r"stale info|non-fast-forward|fetch first|already exists|cannot lock ref|reference already", re.IGNORECASE
)


def preview(clone: Clone, request: Request) -> Answer:
    """The diff of what would be pushed."""
    proposal = _proposal(request)
    base = _base(clone, proposal)
    return Answer(text=clone.repo.git.diff(base.hexsha, _tree(clone, proposal, base), no_color=True, no_ext_diff=True))


def _base(clone: Clone, proposal: Proposal) -> git.Commit:
    """The commit that the proposal was rendered on."""
    return clone.commit(proposal.base_sha) if proposal.base_sha else clone.head


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
    _as_proposed(clone, proposal, existing)
    return Answer(text=existing.hexsha)


def remove_branch(clone: Clone, request: Request) -> Answer:
    """The branch gone from the remote, unless it is at another commit than the operator's: that is somebody's work."""
    if request.branch is None or not request.branch[0].startswith(BRANCH_PREFIX):
        raise ValueError(f"{request.action} needs a branch of the operator's")
    branch, head = request.branch
    existing = clone.fetch(branch)
    if existing is None or existing.hexsha != head:
        return Answer()
    ref = f"refs/heads/{branch}"
    try:
        clone.run("push", f"--force-with-lease={ref}:{head}", "--end-of-options", "origin", f":{ref}")
    except git.GitCommandError as error:
        if not _RACED.search(str(error.stderr)) and "remote ref does not exist" not in str(error.stderr):
            raise
    return Answer()


def _proposal(request: Request) -> Proposal:
    if request.proposal is None:
        raise ValueError(f"{request.action} needs a proposal")
    return request.proposal


def _tree(clone: Clone, proposal: Proposal, base: git.Commit) -> str:
    """The tree that the proposal makes of a commit of the base branch."""
    made = (
        _reverted(clone, proposal.revert_sha or "", base)
        if proposal.kind is ProposalKind.REVERT
        else _edited(clone, proposal, base)
    )
    if made == base.tree.hexsha:
        raise AskPerson(
            "NothingToRevert", f"{clone.source.branch} does not hold the change any more; nothing is left to undo."
        )
    return made


def _reverted(clone: Clone, sha: str, base: git.Commit) -> str:
    """The base with a commit taken out: a three-way merge of trees with the commit as the common ancestor.

    What `git revert` does (`-m 1` for a merge), without a working tree.
    """
    commit = clone.commit(sha)
    if not commit.parents:
        raise AskPerson("RevertConflict", f"{sha[:12]} is the repository's first commit and cannot be reverted.")
    ancestor = _commit_tree(clone, base, commit.tree.hexsha, "ancestor")
    ours = _commit_tree(clone, base, base.tree.hexsha, "base", ancestor)
    theirs = _commit_tree(clone, base, commit.parents[0].tree.hexsha, "parent", ancestor)
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


def _edited(clone: Clone, proposal: Proposal, base: git.Commit) -> str:
    """The base with the proposal's edits; where a file is another one by now, merged."""
    folder = Path(clone.repo.git_dir)
    index = {"GIT_INDEX_FILE": str(folder / "mfu-index")}
    clone.repo.git.read_tree(base.hexsha, env=index)
    lines = []
    for edit in proposal.edits:
        now = clone.text(base, edit.path)
        text = edit.after if now == edit.before else _merged(clone, edit, now)
        if text is None:
            lines.append(f"0 {'0' * 40}\t{edit.path}")
            continue
        (folder / "mfu-blob").write_bytes(text.encode())
        sha = clone.repo.git.hash_object("-w", "--no-filters", str(folder / "mfu-blob"))
        mode = f"{(base.tree / edit.path).mode:o}" if now is not None else "100644"
        lines.append(f"{mode} {sha}\t{edit.path}")
    (folder / "mfu-entries").write_text("".join(f"{line}\0" for line in lines))
    with (folder / "mfu-entries").open("rb") as entries:
        clone.repo.git.update_index("-z", "--index-info", istream=entries, env=index)
    return str(clone.repo.git.write_tree("--missing-ok", env=index))


def _merged(clone: Clone, edit: Edit, now: str | None) -> str:
    """A file that others changed since the edit was made, with the edit in it.

    Raises:
        AskPerson(RevertConflict): they changed the same lines, or the file is gone.
    """
    conflict = AskPerson("RevertConflict", f"{edit.path} changed since: take the change back by hand.")
    if now is None or edit.before is None or edit.after is None:
        raise conflict
    folder = Path(clone.repo.git_dir)
    names = []
    for name, text in (("ours", now), ("before", edit.before), ("after", edit.after)):
        (folder / f"mfu-{name}").write_bytes(text.encode())
        names.append(str(folder / f"mfu-{name}"))
    status, out, _ = clone.repo.git.merge_file(
        "-p", "--quiet", *names, with_extended_output=True, with_exceptions=False, strip_newline_in_stdout=False
    )
    if status != 0:
        raise conflict
    return str(out)


def _push(clone: Clone, proposal: Proposal) -> str:
    """Create the branch with its one commit."""
    sha = _commit(clone, proposal, _base(clone, proposal))
    ref = f"refs/heads/{proposal.branch}"
    clone.run("push", f"--force-with-lease={ref}:", "--end-of-options", "origin", f"{sha}:{ref}")
    return sha


def _commit(clone: Clone, proposal: Proposal, base: git.Commit) -> str:
    """The proposal's commit on a commit of the base branch: its sha depends on nothing but these two and the key that
    signs it."""
    sha = _unsigned(clone, proposal, base)
    return sha if clone.signing_key is None else _signed(clone, sha, clone.signing_key)


def _unsigned(clone: Clone, proposal: Proposal, base: git.Commit) -> str:
    return _commit_tree(clone, base, _tree(clone, proposal, base), proposal.commit_message, base.hexsha)


def _signed(clone: Clone, sha: str, key: str) -> str:
    stored = clone.repo.git.cat_file("commit", sha, strip_newline_in_stdout=False, stdout_as_string=False)
    file = Path(clone.repo.git_dir) / "mfu-signed"
    file.write_bytes(signed(stored, key))
    return str(clone.repo.git.hash_object("-t", "commit", "-w", str(file)))


def _commit_tree(clone: Clone, base: git.Commit, tree: str, message: str, parent: str | None = None) -> str:
    when = f"{base.committed_date} +0000"
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


def _as_proposed(clone: Clone, proposal: Proposal, existing: git.Commit) -> None:
    """Raise AskPerson(BranchTouched) unless the branch's head is the proposal's commit: base, tree, message, author."""
    if _is_proposed(clone, proposal, existing):
        return
    raise AskPerson(
        "BranchTouched",
        f"{proposal.branch} holds {existing.hexsha[:12]} by {existing.author.name}, which is not the commit of this "
        "proposal: the branch is theirs now. Finish it by hand, or delete the branch to let the operator begin again.",
    )


def _is_proposed(clone: Clone, proposal: Proposal, existing: git.Commit) -> bool:
    if len(existing.parents) != 1 or not clone.repo.is_ancestor(existing.parents[0], clone.head):
        return False
    try:
        parent = existing.parents[0]
        return existing.hexsha in (_unsigned(clone, proposal, parent), _commit(clone, proposal, parent))
    except MfuError:
        return False
