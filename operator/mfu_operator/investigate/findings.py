"""The operator's question put to a clone, and what was found as the operator keeps it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from mfu_operator.adapters.egress import Egress
from mfu_operator.adapters.git.store import Step as History
from mfu_operator.errors import AskPerson, Retry, Unreadable
from mfu_operator.gitops.blame.answer import TextRow, shortened
from mfu_operator.gitops.blame.model import Judged
from mfu_operator.gitops.rendered.workload import Wanted
from mfu_operator.investigate.answer import Investigated, investigated
from mfu_operator.investigate.request import Request
from mfu_operator.investigate.texts import texts
from mfu_operator.investigate.told import undoing
from mfu_operator.model.commit import Ranking, Suspect
from mfu_operator.model.investigation import Findings, Question, Undoing
from mfu_operator.ports import Credentials

SHOWN = 20
"""Changes and reasons of one commit that the operator is told."""

_ROBOTS = re.compile(r"\[bot\]|^fluxcdbot|image-updater|renovate|dependabot", re.IGNORECASE)


def findings(
    question: Question,
    clone: Path,
    good: str,
    bad: str,
    env: Mapping[str, str],
    others: Sequence[str] = (),
    egress: Egress | None = None,
    turn: AbstractContextManager[object] | None = None,
    credentials: Credentials | None = None,
) -> Findings:
    """What the window's commits changed of what the workload gets, and what undoes the one that did it.

    Args:
        question: what is asked.
        clone: of the question's repository.
        good: the commit of the source's own branch that stands for the question's good revision.
        bad: that of the bad one.
        env: of git.
        others: addresses of the application's other repositories that may be fetched.
        egress: where charts may be fetched from; None: nowhere.
        credentials: what charts may be fetched with; None: nothing.
        turn: entered once everything is fetched, for as long as anything is rendered.

    Raises:
        Unreadable: the repository cannot be read.
        Retry(InvestigationTimedOut): something was not rendered in time, and nothing can be blamed without it.
    """
    source, workload = question.source, question.workload
    request = Request(
        repository=str(clone),
        good=good,
        bad=bad,
        wanted=Wanted(workload.kind, workload.name, workload.namespace),
        cause=question.cause,
        applications=source.objects,
        path=source.path,
        clones={address: address for address in others},
        branch=source.branch,
        good_ran=question.good_images,
        bad_ran=question.bad_images,
        exonerated=question.exonerated,
        good_s=question.good_s,
        bad_s=question.bad_s,
        egress=egress,
        credentials=credentials,
        env=env,
    )
    with investigated(request, turn) as found:
        return _findings(found)


def _findings(found: Investigated) -> Findings:
    rows = texts(found.comparison, found.blame)
    suspects = {judged.step.commit.sha: _suspect(found, judged, rows.get(judged.step.commit.sha, ()))
                for judged in found.blame.suspects}  # fmt: skip
    chosen = suspects[found.blame.chosen.step.commit.sha] if found.blame.chosen else None
    ordered = tuple(sorted(suspects.values(), key=lambda suspect: -suspect.score))
    ranking = Ranking(ordered, chosen, found.blame.because)
    missed = found.window.passing or any(each.passing for each in found.window.steps)
    if chosen is None and missed:
        raise Retry("InvestigationTimedOut", f"{found.blame.because} It is tried again.")
    unseen = found.window.good is None or found.window.bad is None
    offer, declined = _offer(found)
    return Findings(ranking, offer, declined, found.window.why_not if unseen else "")


def _offer(found: Investigated) -> tuple[Undoing | None, tuple[str, str] | None]:
    if found.offer is None:
        return None, None
    if isinstance(found.offer, AskPerson):
        return None, (found.offer.reason, found.offer.message)
    try:
        return undoing(found.offer), None
    except Unreadable as error:
        return None, ("RevertConflict", error.message)


def _suspect(found: Investigated, judged: Judged, rows: Sequence[TextRow]) -> Suspect:
    guilty = [str(each) for each in judged.guilty]
    rest = [text for each in judged.step.changed or () if (text := str(each)) not in guilty]
    return Suspect(
        commit=judged.step.commit,
        score=judged.score,
        changed=tuple(dict.fromkeys([*guilty, *rest]))[:SHOWN],
        because=judged.because[:SHOWN],
        text=tuple(f"{row.path} {row.key}: {_told(row.before)} → {_told(row.after)}" for row in rows[:SHOWN]),
        updaters=tuple(_updaters(found, judged)),
    )


def _told(value: object) -> str:
    if value is None:
        return "(absent)"
    return " ".join(str(shortened(str(value))).split())[:60]


def _updaters(found: Investigated, judged: Judged) -> Iterator[str]:
    """Tools that leave their mark on the commit itself."""
    one = next(each for each in found.comparison.opened if each.name == judged.step.source)
    history = next((each for each in one.steps if each.commit.sha == judged.step.commit.sha), None)
    if (
        history is not None
        and judged.step.changed
        and any(b"$imagepolicy" in text for text in _texts(one.blob, history))
    ):
        yield "Flux image automation"
    if _ROBOTS.search(judged.step.commit.author):
        yield judged.step.commit.author


def _texts(blob: object, history: History) -> Iterator[bytes]:
    assert callable(blob)
    for entry in history.changed.values():
        data = blob(entry.oid) if entry is not None and entry.mode != "160000" else None
        if data is not None:
            yield data
