"""Which commit of the window did it.

Every commit gets the score of its most suspicious change:

    1.00  a key of the diagnosed cause, in the direction that costs time
    0.80  a key of that cause, direction not to be told
    0.75  a key of another cause of the same bottleneck, in the direction that costs time
    0.60  an image, where the cause may lie in the image
    0.50  a program, script or template whose text is not read by meaning
    0.30  a key of a cause of another bottleneck
    0.25  a key that the table does not know
    0.10  a key of the cause, in the direction that saves time; a change that a later commit of the window undoes
    ×0.2  where it is in a document that the workload does not use
    0     nothing that a training step can see: ruled out

A commit is chosen when it scores at least PLAUSIBLE and stands MARGIN above every other one. Otherwise none is: the
wrong commit blamed costs more than a person's look.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from mfu_operator.gitops.changes import Change, Sort, meaning
from mfu_operator.gitops.fingerprints import Fingerprint, Pace, is_image, pace, table, without_effect
from mfu_operator.gitops.manifests import Place
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.commit import Commit, Ranking, Suspect

PLAUSIBLE = 0.5
"""The least score of a commit that may be held responsible."""

MARGIN = 0.3
"""How far the first must stand above the second."""

SHOWN = 20
"""Changes of one commit that are told at most."""

_WORKLOADS = {
    "Job", "CronJob", "JobSet", "TrainJob", "PyTorchJob", "MPIJob", "TFJob", "XGBoostJob", "RayJob", "RayCluster",
    "ElasticJob", "Deployment", "StatefulSet", "DaemonSet", "Pod",
}  # fmt: skip
_ELSEWHERE = 0.2
"""Times the score, for what the workload is not seen to use: it is told, and alone stays below PLAUSIBLE."""


def rank(
    commits: Sequence[Commit],
    path: str,
    workload: WorkloadRef,
    cause: str | None,
    configmaps: Collection[str] | None = None,
) -> Ranking:
    """The commits by suspicion, and the one that stands out, if one does. The order of `commits` does not matter.

    Args:
        commits: the window's commits on the first-parent line.
        path: the application's folder in the repository.
        workload: the job that became slow.
        cause: the diagnosed cause, or its bottleneck where the cause is not known; None: no diagnosis.
        configmaps: names of the ConfigMaps that the workload uses (`mounted`); None: not known.
    """
    ordered = _newest_first(commits)
    meanings = {commit.sha: meaning(commit, path) for commit in ordered}
    final = _final_values(ordered, {sha: found.changes for sha, found in meanings.items()})
    suspects = []
    for commit in ordered:
        told = [
            (*_score(change, cause, workload, configmaps, final), change)
            for change in meanings[commit.sha].changes
            if not without_effect(change)
        ]
        quiet = [change for change in meanings[commit.sha].changes if without_effect(change)]
        because = [*meanings[commit.sha].without_effect]
        if quiet:
            because.append("changes labels, annotations or names that no step sees: " + _listed(quiet))
        suspects.append(_suspect(commit, told, because))
    suspects.sort(key=lambda suspect: -suspect.score)
    return _conclude(tuple(suspects), cause)


def mounted(template: Mapping[str, Any]) -> frozenset[str]:
    """The names of the ConfigMaps that a pod template refers to (volumes, projected volumes, env, envFrom)."""
    return frozenset(_names(template))


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if (
                key in ("configMap", "configMapRef", "configMapKeyRef")
                and isinstance(inner, Mapping)
                and inner.get("name")
            ):
                yield str(inner["name"])
            yield from _names(inner)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names(item)


def _newest_first(commits: Sequence[Commit]) -> list[Commit]:
    """By ancestry where the commits are a chain; their times break what ancestry leaves open."""
    parents = {commit.sha: commit.parents[0] if commit.parents else None for commit in commits}

    def depth(sha: str | None) -> int:
        steps = 0
        while sha in parents and steps <= len(parents):
            sha, steps = parents[sha], steps + 1
        return steps

    return sorted(commits, key=lambda commit: (-depth(commit.sha), -commit.time_s, commit.sha))


Final = Mapping[Place, tuple[str, Change]]
"""By place, the last commit of the window that changes it, and how."""


def _final_values(ordered: Sequence[Commit], changes: Mapping[str, Sequence[Change]]) -> Final:
    final: dict[Place, tuple[str, Change]] = {}
    for commit in ordered:
        for change in changes[commit.sha]:
            final.setdefault(change.place, (commit.sha, change))
    return final


def _score(
    change: Change, cause: str | None, workload: WorkloadRef, configmaps: Collection[str] | None, final: Final
) -> tuple[float, str]:
    undone_by, last = final[change.place]
    if (
        last is not change
        and change.sort is Sort.VALUE
        and (last.is_there, last.after) == (change.was_there, change.before)
    ):
        return 0.1, f"{change}: undone by {undone_by[:7]}, later in the window"
    score, reason = _by_table(change, cause)
    if not _used(change.place.document, workload, configmaps):
        return (
            score * _ELSEWHERE,
            f"{change}: {reason}, but {workload.kind}/{workload.name} does not use it as far as can be seen",
        )
    return score, f"{change}: {reason}"


def _by_table(change: Change, cause: str | None) -> tuple[float, str]:
    meant, family, others = _fingerprints(cause)
    if change.sort is Sort.TEXT:
        return 0.5, "a text that is not read by meaning; it may do anything"
    if is_image(change):
        fits = cause is None or any(fingerprint.image for fingerprint in meant)
        return (
            (0.6, f"a new image can bring about {cause or 'a loss'}")
            if fits
            else (0.3, f"an image rarely brings about {cause}")
        )
    for fingerprint in meant:
        found = pace(fingerprint, change)
        if found is not None:
            return _of_cause(found, fingerprint.cause)
    for fingerprint in family:
        if pace(fingerprint, change) is Pace.SLOWER:
            return 0.75, f"costs time as {fingerprint.cause}, which shows as the same bottleneck"
    return _of_others(change, (*family, *others), cause)


def _of_cause(found: Pace, cause: str) -> tuple[float, str]:
    return {
        Pace.SLOWER: (1.0, f"a key of {cause}, in the direction that costs time"),
        Pace.UNCLEAR: (0.8, f"a key of {cause}"),
        Pace.FASTER: (0.1, f"a key of {cause}, but in the direction that saves time"),
    }[found]


def _of_others(change: Change, others: Sequence[Fingerprint], cause: str | None) -> tuple[float, str]:
    paces = {fingerprint.cause: pace(fingerprint, change) for fingerprint in others}
    named = [other for other, found in paces.items() if found is not None]
    if not named:
        return 0.25, f"a key that is not known to bring about {cause or 'a loss'}"
    if all(paces[other] is Pace.FASTER for other in named):
        return 0.1, f"a key of {named[0]}, in the direction that saves time"
    if cause is None:
        slower = [other for other in named if paces[other] is Pace.SLOWER]
        return (0.8, f"costs time as {slower[0]}") if slower else (0.6, f"a key of {named[0]}")
    return 0.3, f"a key of {named[0]}, not of {cause}"


def _fingerprints(cause: str | None) -> tuple[list[Fingerprint], list[Fingerprint], list[Fingerprint]]:
    """The table's entries: of the cause (or bottleneck), of the rest of its bottleneck, and all others."""
    every = list(table().causes.values())
    meant = [entry for entry in every if cause in (entry.cause, entry.bottleneck)]
    bottlenecks = {entry.bottleneck for entry in meant}
    family = [entry for entry in every if entry.bottleneck in bottlenecks and entry not in meant]
    return meant, family, [entry for entry in every if entry not in meant and entry not in family]


def _used(document: str, workload: WorkloadRef, configmaps: Collection[str] | None) -> bool:
    kind, _, name = document.rpartition("#")[2].partition("/")
    if kind in _WORKLOADS and name:
        return name in workload.name or workload.name in name
    if kind == "ConfigMap" and configmaps is not None:
        return any(name in used for used in configmaps)
    return True


def _suspect(commit: Commit, told: list[tuple[float, str, Change]], ruled_out: list[str]) -> Suspect:
    told.sort(key=lambda entry: (-entry[0], str(entry[2])))
    reasons = [reason for _, reason, _ in told]
    if len(commit.parents) > 1:
        ruled_out = [*ruled_out, "a merge: compared with, and reverted to, its first parent"]
    return Suspect(
        commit,
        told[0][0] if told else 0.0,
        tuple(str(change) for _, _, change in told[:SHOWN]),
        (*reasons[:SHOWN], *ruled_out),
    )


def _listed(changes: Sequence[Change]) -> str:
    shown = ", ".join(str(change.place) for change in changes[:3])
    return shown if len(changes) <= 3 else f"{shown} and {len(changes) - 3} more"


def _conclude(suspects: tuple[Suspect, ...], cause: str | None) -> Ranking:
    if not suspects:
        return Ranking((), None, "there is no commit between the last known good revision and the onset")
    first, others = suspects[0], suspects[1:]
    rivals = [other for other in others if other.score > first.score - MARGIN and other.score > 0]
    if first.score == 0:
        return Ranking(suspects, None, f"none of {_count(suspects)} changes anything that a training step can see")
    if first.score < PLAUSIBLE:
        return Ranking(
            suspects,
            None,
            f"no commit is plausible for {cause or 'the loss'}: {_named(first)} comes closest ({first.because[0]})",
        )
    if rivals:
        names = ", ".join(_named(suspect) for suspect in (first, *rivals))
        return Ranking(
            suspects,
            None,
            f"{len(rivals) + 1} commits are plausible: {names}. Running the same steps with one of them reverted at a "
            "time separates them.",
        )
    return Ranking(suspects, first, f"{_named(first)} stands out among {_count(suspects)}: {first.because[0]}")


def _count(suspects: Sequence[Suspect]) -> str:
    return "1 commit" if len(suspects) == 1 else f"{len(suspects)} commits"


def _named(suspect: Suspect) -> str:
    return f"{suspect.commit.sha[:7]} ({' '.join(suspect.commit.subject.split())[:60]})"
