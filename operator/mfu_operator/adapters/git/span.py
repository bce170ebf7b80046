"""The window of a question in a clone: both its ends on the source's own branch."""

import git
import msgspec

from mfu_operator.adapters.git.clone import Clone
from mfu_operator.errors import AskPerson

MAX_COMMITS = 1000
"""A window of more commits is for a person to narrow."""


def span(clone: Clone, good: str, bad: str) -> tuple[str, str]:
    """The commits of the source's branch that two deployed revisions stand for.

    Raises:
        AskPerson(HistoryRewritten): the branch lacks one of them, or the good one is not an ancestor of the other.
        AskPerson(WindowTooWide): more than MAX_COMMITS commits lie between them.
    """
    first, last = (clone.commit(_dry(clone, revision)) for revision in (good, bad))
    if not clone.repo.is_ancestor(first, last):
        raise AskPerson(
            "HistoryRewritten",
            f"the last known good revision {first.hexsha[:12]} is not an ancestor of {last.hexsha[:12]}: an older "
            "revision was deployed, or history was rewritten. Find the commit by hand.",
        )
    line = clone.repo.iter_commits(f"{first.hexsha}..{last.hexsha}", first_parent=True, max_count=MAX_COMMITS + 1)
    if sum(1 for _ in line) > MAX_COMMITS:
        raise AskPerson(
            "WindowTooWide", f"more than {MAX_COMMITS} commits lie between the last good revision and the loss."
        )
    return first.hexsha, last.hexsha


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
            try:
                return str(msgspec.json.decode(text, type=_Hydrated).drySha)
            except (msgspec.DecodeError, RecursionError):
                return revision
    return revision


class _Hydrated(msgspec.Struct):
    """What a hydrator notes beside what it rendered."""

    drySha: str  # noqa: N815 - Argo CD's spelling
