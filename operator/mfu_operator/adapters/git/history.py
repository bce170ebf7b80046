"""The window's commits, with what each changed of what is deployed."""

from collections.abc import Callable, Iterator

import git
import msgspec

from mfu_operator.adapters.git.clone import Clone, text_of
from mfu_operator.adapters.git.protocol import Answer, Request
from mfu_operator.errors import AskPerson
from mfu_operator.gitops.changes import under
from mfu_operator.gitops.kustomize import outside
from mfu_operator.model.commit import Commit, FileChange

MAX_COMMITS = 1000
"""A window of more commits is for a person to narrow."""


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
        before, after = (text_of(blob) if blob else None for blob in (diff.a_blob, diff.b_blob))
        binary = (diff.a_blob is not None and before is None) or (diff.b_blob is not None and after is None)
        yield FileChange(file, before, after, reached, binary)
