"""Which commit did it, as a question and as what was found."""

from dataclasses import dataclass

from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.commit import Ranking, Source
from mfu_operator.model.proposal import Edit, ProposalKind


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        source: where the workload's configuration comes from.
        good: the deployed revision under which readings held the baseline.
        bad: the one under which they do not.
        workload: the job that became slow.
        cause: the diagnosed cause, or its bottleneck where the cause is not known; None: no diagnosis.
        good_images: what ran while readings held the baseline (`name@sha256:…`).
        bad_images: what runs now.
        exonerated: commits, and ids of pins, that did not do it: they were undone, and the loss remained.
        good_s: when readings last held the baseline (Unix seconds): of the other sources of the application, what was
            deployed last before it was fast; None: what was deployed with `good`.
        bad_s: the same of what is slow.
    """

    source: Source
    good: str
    bad: str
    workload: WorkloadRef
    cause: str | None
    good_images: tuple[str, ...] = ()
    bad_images: tuple[str, ...] = ()
    exonerated: tuple[str, ...] = ()
    good_s: float | None = None
    bad_s: float | None = None


@dataclass(frozen=True, slots=True)
class Undoing:
    """What undoes the chosen commit, rendered on `base`, a commit of the source's branch.

    Attributes:
        kind: REVERT takes the whole commit back, the others change what `edits` say.
        base: the full id of the commit that it was rendered on.
        edits: the files that it changes; none for a REVERT.
        remaining: what still differs from the known good afterwards, as sentences.
        also: what of other workloads it changes, as sentences.
        remark: what a person has to know besides.
        owners: who owns the changed files by the repository's CODEOWNERS.
        pins: what is set back that came with no commit, as sentences; none where a commit is undone.
        pin: what stands for the commit then, the same whenever the same is set back.
    """

    kind: ProposalKind
    base: str
    edits: tuple[Edit, ...] = ()
    remaining: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    remark: str = ""
    pins: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    pin: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found.

    Attributes:
        ranking: the window's commits, and the one that stands out.
        undoing: what undoes it, or sets back what came with no commit; None where nothing does.
        declined: (reason, message) why nothing is proposed.
        not_rendered: why nothing could be compared; "" where it was.
    """

    ranking: Ranking
    undoing: Undoing | None = None
    declined: tuple[str, str] | None = None
    not_rendered: str = ""
