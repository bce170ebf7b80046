"""Which commit of the window did it: judged by what each one changed of what the workload gets.

A commit that gives the workload the same is innocent, exactly. One is suspected only for what differs between good and
bad as well, that no later commit of the window set back, and that can cause the cause. It is chosen when it alone
stands out. What could not be rendered is nobody's guilt and nobody's innocence.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mfu_operator.gitops.blame import scores
from mfu_operator.gitops.blame.cleared import in_vain, still_moved, without_cleared
from mfu_operator.gitops.blame.composed import unread
from mfu_operator.gitops.blame.model import Blame, Judged, Step, Verdict, Window
from mfu_operator.gitops.blame.scores import MARGIN, PLAUSIBLE
from mfu_operator.gitops.fingerprints import of_evaluation, table
from mfu_operator.gitops.rendered.difference import Difference, rows
from mfu_operator.gitops.rendered.workload import Delivered

SHOWN = 20
"""Reasons of one commit that are told at most."""

_DEFAULTS = ("defaults", "default", "anchors", "templates", "template", "base", "common", "shared")
_ELSEWHERE = 0.2
_OTHER_FILE = 0.4
_IMAGE = 0.6
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Reason:
    score: float
    text: str
    difference: Difference


def judge(window: Window, workload: str, cause: str | None, exonerated: Collection[str] = ()) -> Blame:
    """The commits with their verdicts, newest first, and the one that did it, if one stands out.

    Args:
        window: what was rendered and compared.
        workload: as it is told, `Kind/name`.
        cause: the diagnosed cause or bottleneck; None: no diagnosis.
        exonerated: commits and pins whose undoing brought nothing back.
    """
    standing = _standing(window)
    judged = tuple(
        _cleared(step) if step.commit.sha in exonerated else _judged(step, window, cause, standing)
        for step in window.steps
    )
    window = without_cleared(window, [each for _, each in _unchanged(window, cause, standing)], exonerated)
    chosen, because = _conclude(judged, window, workload, cause, standing)
    outside = () if chosen else tuple(each for _, each in _unchanged(window, cause, standing))
    alone = not outside and all(each.score < PLAUSIBLE for each in judged)
    rebuilt = still_moved(window) if alone and window.good and not window.why_not and _moved(window, cause) else ()
    return Blame(judged, chosen, " ".join([because, *_caveats(window)]), outside, rebuilt)


def _standing(window: Window) -> Mapping[Place, frozenset[str]]:
    """By place that differs between good and bad, the commits after which the good value never came back."""
    wanted = {difference.place: difference for difference in window.changed}
    found: dict[Place, set[str]] = {place: set() for place in wanted}
    for step in reversed(window.steps):
        for difference in step.changed or ():
            place = place_among(difference, wanted)
            if place is None:
                continue
            whole = wanted[place]
            if (difference.is_there, difference.new) == (whole.was_there, whole.old):
                found[place].clear()
            else:
                found[place].add(_id(step))
    return {place: frozenset(shas) for place, shas in found.items()}


def _id(step: Step) -> str:
    return f"{step.source} {step.commit.sha}"


def place_among(difference: Difference, wanted: Mapping[Place, Difference]) -> Place | None:
    """The place among those good → bad; an object that is renamed within the window is found by its kind."""
    if difference.place in wanted:
        return difference.place
    kind = difference.identity.partition("/")[0]
    if kind not in ("ConfigMap", "Secret"):
        return None
    others = [place for place in wanted if place[1] == difference.key and place[0].partition("/")[0] == kind]
    return others[0] if len(others) == 1 else None


def _judged(step: Step, window: Window, cause: str | None, standing: Mapping[Place, frozenset[str]]) -> Judged:
    merge = ["a merge: compared with, and reverted to, its first parent"] if len(step.commit.parents) > 1 else []
    if step.changed is None or window.good is None or window.bad is None:
        why = step.why_not or window.why_not
        told = rows(step.changed or ())
        return Judged(step, Verdict.UNKNOWN, 0.0, told, (f"not compared: {why}", *merge))
    if not step.changed:
        return Judged(step, Verdict.INNOCENT, 0.0, (), ("gives the workload the same as its first parent", *merge))
    reasons = sorted(
        (_reason(difference, step, window, cause, standing) for difference in step.changed),
        key=lambda reason: (-reason.score, reason.difference.place),
    )
    score = reasons[0].score
    texts = [reason.text for reason in reasons[:SHOWN]]
    if len(reasons) > SHOWN:
        texts.append(f"and {len(reasons) - SHOWN} more changes, none of them more suspicious")
    verdict = Verdict.SUSPECTED if score >= PLAUSIBLE else Verdict.UNKNOWN
    guilty = tuple(reason.difference for reason in reasons if reason.score >= PLAUSIBLE)
    return Judged(step, verdict, score, rows(step.changed), (*texts, *merge), guilty)


def _cleared(step: Step) -> Judged:
    return Judged(step, Verdict.UNKNOWN, 0.0, rows(step.changed or ()), ("undoing it brought nothing back",))


def _reason(
    difference: Difference, step: Step, window: Window, cause: str | None, standing: Mapping[Place, frozenset[str]]
) -> _Reason:
    assert window.good is not None and window.bad is not None
    place = place_among(difference, {each.place: each for each in window.changed})
    if place is None:
        return _Reason(0.0, f"{difference}: the same at good and at bad", difference)
    if _id(step) not in standing[place]:
        return _Reason(0.0, f"{difference}: the known good value is back later in the window", difference)
    score, why = _scored(difference, cause)
    if (str(difference.old), str(difference.new)) in window.alike:
        return _Reason(0.0, f"{difference}: the same digest ran under both names", difference)
    gone = _not_rendered(difference, window)
    if gone:
        score, why = (
            min(score, scores.UNREAD),
            f"{gone} is referred to and not rendered, so that its values are not known",
        )
    used = _used_instead(difference, window)
    if used:
        score, why = min(score, scores.UNREAD), f"{why}, but it is a default, and {used} has the value that it had"
    if difference.container and window.bad.containers.get(difference.container) is False:
        score, why = score * _ELSEWHERE, f"{why}, but container {difference.container} does not train"
    if difference.beside:
        score, why = score * _ELSEWHERE, f"{why}, but {difference.beside} is not the program that trains"
    instead = unread(difference, window.good, window.bad)
    if instead:
        score, why = min(score, scores.UNREAD), f"{why}, but {instead}"
    other = _other_file(difference, window.bad)
    if other:
        score, why = score * _OTHER_FILE, f"{why}, but the command names {other} and not {difference.file}"
    return _Reason(score, f"{difference}: {why}", difference)


def _not_rendered(difference: Difference, window: Window) -> str:
    """The object that may hold a value which is absent on one side, where that side refers to it unrendered.

    It is the object of the value itself, or one that is referred to on that side only: in place of the object of the
    value, or among the environment that the value was part of.
    """
    assert window.good is not None and window.bad is not None
    if difference.was_there == difference.is_there:
        return ""
    side, other = (window.bad, window.good) if difference.was_there else (window.good, window.bad)
    if difference.identity in side.missing:
        return difference.identity
    replaced = difference.identity in other.objects and difference.identity not in side.objects
    instead = (each for each in side.missing if each not in other.missing and each not in other.objects)
    return next((each for each in instead if replaced or _both_environment(difference, each, side)), "")


def _both_environment(difference: Difference, missing: str, side: Delivered) -> bool:
    name = missing.partition("/")[2]
    return ".env[" in difference.field and any(
        leaf.name == "reference" and str(leaf.value) == name and ".env" in leaf.field for leaf in side.leaves.values()
    )


def _used_instead(difference: Difference, window: Window) -> str:
    """The key of the same file and name that holds its value, where this one only serves as a default for others."""
    head, last = difference.name.removeprefix(".").partition(".")[0], difference.name.rpartition(".")[2]
    hidden = head in ("", *_DEFAULTS) or head.startswith(("x-", "_"))
    if not difference.file or not hidden:
        return ""
    assert window.good is not None and window.bad is not None
    for place, leaf in window.bad.leaves.items():
        same = leaf.file == difference.file and leaf.object == difference.identity and leaf.name != difference.name
        if same and leaf.name.rpartition(".")[2] == last and not of_evaluation(leaf.name):
            then = window.good.leaves.get(place)
            if then is not None and then.value == leaf.value:
                return leaf.name
    return ""


def _scored(difference: Difference, cause: str | None) -> tuple[float, str]:
    if cause in table().no_commit:
        return 0.0, f"{cause} lies in a machine, not in a commit"
    if difference.text:
        return scores.of_text(difference.before, difference.after, cause)
    return scores.of_change(difference, cause)


def _other_file(difference: Difference, side: Delivered) -> str | None:
    """A file of the same ConfigMap that the workload's commands name, where they name this one nowhere."""
    if not difference.file or not difference.identity.startswith("ConfigMap/"):
        return None
    siblings = {leaf.file for leaf in side.leaves.values() if leaf.object == difference.identity and leaf.file}
    said = " ".join(_commands(side))
    if len(siblings) < 2 or _names(said, difference.file, _stem(difference.file)):
        return None
    named = sorted(file for file in siblings if _names(said, file))
    inside = " ".join(str(leaf.raw) for leaf in side.leaves.values() if leaf.file in named)
    return named[0] if named and not _names(inside, difference.file, _stem(difference.file)) else None


def _names(text: str, *names: str) -> bool:
    """Whether one of the names stands in the text as a whole word or component of a path."""
    return any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text) for name in names)


def _stem(file: str) -> str:
    return file.rpartition(".")[0] or file


def _commands(side: Delivered) -> Iterator[str]:
    for leaf in side.leaves.values():
        if ".command" in leaf.field or ".args" in leaf.field or ".env[" in leaf.field or "entrypoint" in leaf.field:
            yield str(leaf.raw)


def _conclude(
    judged: Sequence[Judged], window: Window, workload: str, cause: str | None, standing: Mapping[Place, frozenset[str]]
) -> tuple[Judged | None, str]:
    what = cause or "the loss"
    if window.good is None or window.bad is None:
        return None, f"Nothing is blamed, because nothing was compared: {window.why_not}."
    if window.why_not:
        return None, f"Nothing is blamed: {window.why_not}."
    if cause in table().no_commit:
        return None, f"{cause} lies in a machine and not in a commit: nothing is blamed."
    if cause == "Inconclusive":
        return None, "The diagnosis is inconclusive: nothing is blamed."
    if not window.changed and not _moved(window, cause):
        return None, _nothing_changed(judged, workload, window)
    ranked = sorted(judged, key=lambda each: -each.score)
    moved = _moved(window, cause)
    if moved and (not ranked or ranked[0].score < PLAUSIBLE):
        return None, f"No commit is blamed: {moved}, and no commit of the window can have caused {what}."
    if moved and ranked[0].score - MARGIN < _IMAGE:
        return None, f"{named(ranked[0])} can have caused {what}, and so can something other than a commit: {moved}."
    if not ranked or ranked[0].score < PLAUSIBLE:
        hidden = _unexplained(judged, window, cause, standing, 0.0)
        return None, hidden or _implausible(ranked, window, workload, what)
    first = ranked[0]
    hidden = _unexplained(judged, window, cause, standing, first.score)
    if hidden:
        return None, hidden
    rivals = [other for other in ranked[1:] if other.score > first.score - MARGIN and other.score >= PLAUSIBLE]
    close = [other for other in ranked[1:] if first.score - MARGIN < other.score < PLAUSIBLE]
    if rivals or (close and first.score < 0.65):
        names = ", ".join(named(each) for each in (first, *rivals, *close))
        return None, (
            f"{1 + len(rivals) + len(close)} commits can have caused {what} by what they changed of {workload}: "
            f"{names}. None stands out, and none is blamed."
        )
    return first, (
        f"{named(first)} stands out among {_count(judged)} of the window, compared by what each gives {workload}: "
        f"{first.because[0]}.{f' Besides, {moved}.' if moved else ''}"
    )


def _moved(window: Window, cause: str | None) -> str:
    """The images that were rebuilt under their tag, where the cause may lie in an image."""
    entries = table().causes.values()
    if cause is not None and not any(entry.image for entry in entries if cause in (entry.cause, entry.bottleneck)):
        return ""
    return ", ".join(
        f"image {each.reference} ran as {each.good[:19]} at good and as {each.bad[:19]} at bad"
        for each in still_moved(window)
    )


def _nothing_changed(judged: Sequence[Judged], workload: str, window: Window) -> str:
    undone = [each for each in judged if each.verdict is not Verdict.INNOCENT]
    if not judged:
        return f"There is no commit between good and bad, and {workload} gets the same at both."
    if undone:
        return (
            f"{workload} gets the same at good and at bad: what {', '.join(map(named, undone[:3]))} changed is not "
            "there any more at bad, or could not be compared. No commit is blamed."
        )
    seen = ", as far as it was compared" if window.not_compared else ""
    images = ", ".join(each.reference for each in still_moved(window))
    beside = f" Image {images} was rebuilt under its tag, which does not bring that cause about." if images else ""
    return f"{_none(judged)} what {workload} gets{seen}: it is the same at good and at bad.{beside}"


def _implausible(ranked: Sequence[Judged], window: Window, workload: str, what: str) -> str:
    changed = [each for each in ranked if each.verdict is not Verdict.INNOCENT]
    if not changed:
        return (
            f"{_none(ranked)} what {workload} gets, although it differs between good and bad "
            f"({window.changed[0]}): the difference comes from outside these commits{_outside(window)}. "
            "No commit is blamed."
        )
    unknown = [each for each in changed if each.step.changed is None]
    if len(unknown) == len(changed):
        return (
            f"{', '.join(map(named, unknown[:3]))} could not be compared ({unknown[0].because[0]}); every other commit "
            "gives the workload the same. Nothing is blamed on what was not rendered."
        )
    first = max(changed, key=lambda each: each.score)
    return (
        f"No commit is known to cause {what}: {named(first)} changes {workload} most suspiciously "
        f"({first.because[0]}). No commit is blamed."
    )


def _unexplained(
    judged: Sequence[Judged], window: Window, cause: str | None, standing: Mapping[Place, frozenset[str]], score: float
) -> str | None:
    """Why nothing is chosen where something that no compared commit changed can have brought the cause about too."""
    unexplained = _unchanged(window, cause, standing)
    if not unexplained:
        return None
    unknown = [each for each in judged if each.step.changed is None]
    if unknown:
        return (
            f"{unexplained[0][1]} differs between good and bad, and only a commit that could not be compared can have "
            f"changed it ({', '.join(map(named, unknown[:3]))}; {unknown[0].because[0]}). No commit is blamed."
        )
    worst = max(unexplained, key=lambda each: each[0])
    if worst[0] <= score - MARGIN:
        return None
    return (
        f"{worst[1]} differs between good and bad{' too' if score else ''}, and no commit of the window changed it: it "
        f"comes from outside these commits{_outside(window)}. No commit is blamed."
    )


def _unchanged(
    window: Window, cause: str | None, standing: Mapping[Place, frozenset[str]]
) -> list[tuple[float, Difference]]:
    """What differs between good and bad, can have brought the cause about, and was changed by no compared commit."""
    if window.why_not:
        return []
    return [
        (found, each)
        for each in window.changed
        if not standing[each.place]
        and each.place not in window.cleared
        and (found := _scored(each, cause)[0]) >= PLAUSIBLE
    ]


def _outside(window: Window) -> str:
    return f" ({', '.join(window.outside)})" if window.outside else ""


def _caveats(window: Window) -> Iterator[str]:
    if window.left_out:
        yield f"Left out, because two renderings of one revision differ in them: {_listed(window.left_out)}."
    if window.not_compared:
        yield f"Not compared: {_listed(window.not_compared)}."
    if window.cleared:
        yield f"Set back before, which brought nothing back: {_listed(tuple(in_vain(window)))}."


def _listed(texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:5])
    return shown if len(texts) <= 5 else f"{shown} and {len(texts) - 5} more"


def _none(judged: Sequence[Judged]) -> str:
    return "The only commit does not change" if len(judged) == 1 else f"None of {len(judged)} commits changes"


def _count(judged: Sequence[Judged]) -> str:
    return "1 commit" if len(judged) == 1 else f"{len(judged)} commits"


def named(judged: Judged) -> str:
    """A commit as a sentence names it."""
    commit = judged.step.commit
    return f"{commit.sha[:7]} ({' '.join(commit.subject.split())[:60]})"
