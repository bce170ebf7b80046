"""What a commit changed of what the workload gets, as it stands in the repository's own files."""

from mfu_operator.adapters.git.store import Step as History
from mfu_operator.gitops.blame.answer import TextRow, shortened
from mfu_operator.gitops.blame.model import Blame, Judged
from mfu_operator.gitops.changes import Change, Sort, changes
from mfu_operator.gitops.fingerprints import normal
from mfu_operator.gitops.rendered.leaf import Scalar, comparable, shown
from mfu_operator.gitops.rendered.paths import last_key
from mfu_operator.investigate.compare import Comparison
from mfu_operator.investigate.sources import Opened
from mfu_operator.model.commit import FileChange

MOST = 50
"""Keys of one commit that are told."""

_TEXT_BYTES = 512 * 1024


def texts(comparison: Comparison, blame: Blame) -> dict[str, tuple[TextRow, ...]]:
    """By commit, the keys of files through which it changed what the workload gets, where they can be traced."""
    found = {}
    for judged in blame.suspects:
        one = next((each for each in comparison.opened if each.name == judged.step.source), None)
        step = next((each for each in one.steps if each.commit.sha == judged.step.commit.sha), None) if one else None
        if one is not None and step is not None and judged.rows:
            rows = [_row(path, change, comparison.secret_key(), _of_secret(change, judged))
                    for path, change in traced(one, step, judged)]  # fmt: skip
            found[judged.step.commit.sha] = tuple(rows[:MOST])
    return found


def traced(one: Opened, step: History, judged: Judged) -> list[tuple[str, Change]]:
    """(path, change) of the keys whose values or names are those of what the workload gets otherwise."""
    values = {(comparable(each.old), comparable(each.new)) for each in judged.step.changed or ()}
    values |= {(comparable(each.before), comparable(each.after)) for each in judged.step.changed or ()}
    names = {normal(last_key(each.name)) for each in judged.step.changed or ()}
    found = []
    for path in sorted(step.changed):
        for change in _changes(one, step, path):
            if change.sort is Sort.TEXT:
                found.append((path, change))
                continue
            pair = comparable(change.before), comparable(change.after)
            if pair in values or normal(last_key(change.name)) in names:
                found.append((path, change))
    return found


def _changes(one: Opened, step: History, path: str) -> tuple[Change, ...]:
    before, after = (_text(one, side.get(path)) for side in (step.before, step.changed))
    return changes(FileChange(path, before, after))


def _text(one: Opened, entry: object) -> str | None:
    data = one.blob(entry.oid) if entry is not None and hasattr(entry, "oid") else None
    return data.decode("utf-8", "replace") if data is not None and len(data) <= _TEXT_BYTES else None


def _of_secret(change: Change, judged: Judged) -> bool:
    """Whether a key of a file may be an entry of a Secret: it has the name of one that changed, or stands in one."""
    differences = judged.step.changed or ()
    secrets = [each for each in differences if each.identity.startswith("Secret/")]
    names = {normal(last_key(each.name)) for each in secrets}
    open_values = {(comparable(each.before), comparable(each.after)) for each in differences if each not in secrets}
    pair = comparable(change.before), comparable(change.after)
    return change.place.document.startswith("Secret/") or (
        bool(secrets) and (normal(last_key(change.name)) in names or pair not in open_values)
    )


def _row(path: str, change: Change, key: bytes, secret: bool) -> TextRow:
    if change.sort is Sort.TEXT:
        return TextRow(path=path, key=change.place.leaf, before=None, after=None)
    before, after = (
        _told("password" if secret else change.place.leaf, value, there, key)
        for value, there in ((change.before, change.was_there), (change.after, change.is_there))
    )
    return TextRow(path=path, key=change.place.leaf, before=before, after=after)


def _told(name: str, value: object, there: bool, key: bytes) -> Scalar:
    if not there:
        return None
    return shortened(
        shown(name, value if isinstance(value, str | int | float | bool) or value is None else str(value), key)
    )
