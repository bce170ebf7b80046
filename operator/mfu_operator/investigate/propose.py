"""The proposal that undoes a commit, rendered before it is told.

A revert where it is clean and touches nobody else; else the smallest pieces of the commit whose undoing brings the
known good value back; a pin of what ran, where that alone changed or came with no commit.
"""

from collections.abc import Sequence

from mfu_operator.adapters.git.store import Step as History
from mfu_operator.errors import AskPerson, Unreadable
from mfu_operator.gitops.blame import hunks
from mfu_operator.gitops.blame.model import Blame, Judged, Window
from mfu_operator.gitops.blame.verdicts import named, place_among
from mfu_operator.gitops.propose import is_rollback
from mfu_operator.gitops.sources.tree import Entry, NotRenderable
from mfu_operator.investigate import pins
from mfu_operator.investigate.compare import Comparison
from mfu_operator.investigate.desk import Candidate, Desk, Files, Offer, Place, decoded, encoded
from mfu_operator.investigate.desk import desk as desk_of


def propose(comparison: Comparison, window: Window, blame: Blame) -> Offer | AskPerson | None:
    """The proposal, or why a commit that is chosen needs a person; None where there is nothing to undo."""
    if window.good is None or window.bad is None:
        return None
    if blame.chosen is None:
        return pins.moved(comparison, window, blame) or pins.outside(comparison, window, blame)
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
    desk = desk_of(comparison, number, window.good)
    history = next(each for each in desk.one.steps if each.commit.sha == commit.sha)
    try:
        return _of_commit(desk, chosen, history, window)
    except Unreadable as error:
        return AskPerson("RevertConflict", f"No proposal could be made: {error.message}")


def _of_commit(desk: Desk, chosen: Judged, history: History, window: Window) -> Offer | AskPerson:
    whole_window = {each.place: each for each in window.changed}
    found = {place_among(one, whole_window) for one in chosen.guilty}
    guilty = [place for place in whole_window if place in found]
    now = desk.comparison.delivered(desk.trees)
    if not desk.still(now, guilty):
        return AskPerson(
            "NothingToRevert",
            f"{desk.branch or 'the branch'} does not hold the change of {named(chosen)} any more: nothing is left to "
            f"undo.{_behind(desk)}",
        )
    conflicts: tuple[str, ...] = ()
    whole: Candidate | None = None
    pinned = pins.pinned(desk, chosen.guilty)
    if pinned is not None:
        return Offer(desk, pinned, remark=_remark(pinned))
    if history.commit.parents:
        tree, conflicts = desk.store.reverted(history.commit.sha, desk.head)
        whole = None if conflicts else desk.tried("Revert", _files(desk, tree), guilty, tree)
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
    return f"The application follows {target}, which is not a branch: after the merge, let it follow the merged commit."


def _behind(desk: Desk) -> str:
    followed = desk.one.source.target.removeprefix("refs/heads/")
    return f" The application follows {followed}: let it follow what came after." if _followed(desk) else ""


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


def _files(desk: Desk, tree: str) -> Files:
    store = desk.store
    old, new = desk.trees[desk.number], store.tree(tree)
    return {path: store.blob(new[path].oid) if path in new else None
            for path in sorted(old.keys() | new.keys()) if old.get(path) != new.get(path)}  # fmt: skip


def _minimal(desk: Desk, history: History, guilty: Sequence[Place]) -> Candidate | None:
    """The pieces of the commit that bring what is guilty back, and no other one."""
    files: dict[str, bytes | None] = {}
    for path in sorted(history.changed):
        before, after, head = (_text(desk, side.get(path)) for side in
                               (history.before, history.changed, desk.trees[desk.number]))  # fmt: skip
        if before is None or after is None or head is None:
            back = {path: encoded(before) if before is not None else None}
            if after == head and _helps(desk, back, guilty):
                files |= back
            continue
        chosen = []
        for hunk in hunks.hunks(before, after):
            text = hunks.undone(after, head, [hunk])
            if text is not None and _helps(desk, {path: encoded(text)}, guilty):
                chosen.append(hunk)
        text = hunks.undone(after, head, chosen) if chosen else None
        if text is not None:
            files[path] = encoded(text)
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
    return bool(desk.still(now, guilty) - desk.still(then, guilty))


def _text(desk: Desk, entry: Entry | None) -> str | None:
    data = desk.one.blob(entry.oid) if entry is not None else None
    return decoded(data) if data is not None else None
