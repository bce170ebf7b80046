"""Which deployed revisions bracket a loss.

A commit is deployed, the pods are replaced, they warm up, and only then the first slow reading arrives. What is known
to be good is a revision whose own pods were read (`reconcile/known_good.py`), and a revision that was deployed shortly
after the estimated onset may still have caused it (ONSET_UNCERTAINTY_S). The margin widens the window: a harmless
commit too many costs a look, the culprit left out would blame another one.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from mfu_operator.errors import AskPerson, Wait
from mfu_operator.model.commit import Deployed, Source
from mfu_operator.model.incident import KnownGood

ONSET_UNCERTAINTY_S = 60.0
"""Seconds by which the estimated onset may be earlier than the first slow step."""


def window(
    source: Source,
    known_good: KnownGood,
    onset_s: float,
    uncertainty_s: float = ONSET_UNCERTAINTY_S,
) -> tuple[str, str]:
    """(good, bad): the revisions between which the loss began. Commits after `good` up to `bad` are its suspects.

    Revisions that were deployed later than the onset and its uncertainty are exonerated. Commits that were pushed
    between two polls never appear as deployed; they lie inside the window all the same.

    Args:
        source: the deployments, in any order.
        known_good: the last revision under which readings held the baseline.
        onset_s: the estimated beginning of the loss, Unix seconds.
        uncertainty_s: how much earlier than the truth the onset may be.

    Raises:
        Wait(NothingDeployed): the application has not deployed anything that it tells of.
        AskPerson(KnownGoodUnknown): no revision is known that held the baseline.
        AskPerson(NoRevisionChanged): nothing was deployed between the last good reading and the onset.
    """
    history = runs(source.deployed)
    good_until_s = min(known_good.time_s, onset_s)
    if not history:
        return _without_history(source, known_good)
    good = _good(history, known_good, good_until_s)
    later = history[history.index(good) + 1 :] if good in history else history
    suspected = [entry for entry in later if _began(entry) <= onset_s + uncertainty_s]
    if not suspected or suspected[-1].revision == good.revision:
        raise AskPerson("NoRevisionChanged", _nothing_changed(good.revision, later, onset_s))
    return good.revision, suspected[-1].revision


def times(known_good: KnownGood, onset_s: float, uncertainty_s: float = ONSET_UNCERTAINTY_S) -> tuple[float, float]:
    """(good, bad), Unix seconds: what was deployed last before each is what was fast, and what is slow."""
    return min(known_good.time_s, onset_s), onset_s + uncertainty_s


def moved_beside(source: Source, known_good: KnownGood, onset_s: float) -> bool:
    """Whether another source of the application changed between the last good reading and the onset."""
    good_s, bad_s = times(known_good, onset_s)
    return any(good_s < entry.time_s and _began(entry) <= bad_s for entry in source.beside)


def runs(deployed: Sequence[Deployed]) -> list[Deployed]:
    """The deployments oldest first, each revision once for as long as it stayed (one revision can be synced twice)."""
    ordered: list[Deployed] = []
    for entry in sorted(deployed, key=lambda entry: entry.time_s):
        if not ordered or ordered[-1].revision != entry.revision:
            ordered.append(entry)
    return ordered


def _began(entry: Deployed) -> float:
    return entry.time_s if entry.started_s is None else min(entry.started_s, entry.time_s)


def _good(history: Sequence[Deployed], known_good: KnownGood, until_s: float) -> Deployed:
    settled = [entry for entry in history if entry.time_s <= until_s]
    named = [entry for entry in settled if entry.revision == known_good.revision]
    if named:
        return named[-1]
    if known_good.revision is not None and all(entry.revision != known_good.revision for entry in history):
        return Deployed(known_good.revision, until_s)
    if settled:
        return settled[-1]
    raise AskPerson(
        "KnownGoodUnknown",
        "no revision is known under which readings held the baseline: the oldest deployment that the application "
        "remembers is too young for the last good reading to speak for it. Find the commit by hand.",
    )


def _without_history(source: Source, known_good: KnownGood) -> tuple[str, str]:
    if source.synced_revision is None:
        raise Wait(
            "NothingDeployed", f"{source.tool} has not deployed any revision of {source.path or 'the repository'}."
        )
    if known_good.revision is None:
        raise AskPerson(
            "KnownGoodUnknown",
            f"no revision is known under which readings held the baseline, and {source.tool} keeps no history. "
            "Find the commit by hand.",
        )
    if source.synced_revision == known_good.revision:
        raise AskPerson("NoRevisionChanged", _nothing_changed(known_good.revision, (), None))
    return known_good.revision, source.synced_revision


def _nothing_changed(good: str, later: Sequence[Deployed], onset_s: float | None) -> str:
    message = (
        f"no revision was deployed between the last good reading (revision {good[:12]}) and the onset, so no commit "
        "did it, unless one was deployed earlier and took effect only when the pods restarted. Look at the node, the "
        "data and images behind moving tags."
    )
    if later and onset_s is not None:
        first = later[0]
        at = datetime.fromtimestamp(first.time_s, UTC).strftime("%H:%M:%SZ")
        message += f" {first.revision[:12]} was deployed at {at}, {first.time_s - onset_s:.0f} s after the onset."
    return message
