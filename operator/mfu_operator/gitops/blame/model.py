"""What is compared, and what comes of it, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mfu_operator.gitops.rendered.difference import Difference, Row
from mfu_operator.gitops.rendered.workload import Delivered
from mfu_operator.model.commit import Commit


class Verdict(StrEnum):
    """SUSPECTED: it can have caused the cause. INNOCENT: it gives the workload the same. UNKNOWN: neither."""

    SUSPECTED = "suspected"
    INNOCENT = "innocent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Step:
    """One commit of the window and what it alone changed of what the workload gets.

    `changed` None: one of its two sides could not be rendered, and `why_not` says why; `passing`: for what passes.
    """

    commit: Commit
    source: str
    changed: tuple[Difference, ...] | None
    why_not: str = ""
    passing: bool = False


@dataclass(frozen=True, slots=True)
class Moved:
    """An image reference that is the same at good and bad, and ran with two digests."""

    reference: str
    good: str
    bad: str


@dataclass(frozen=True, slots=True)
class Window:
    """Everything that is compared.

    Attributes:
        steps: the commits of all sources, newest first.
        good: what the workload got where it was fast; None: not rendered.
        bad: the same where it was slow.
        changed: good → bad.
        why_not: why a side could not be rendered.
        left_out: fields that two renderings of one revision give differently, as they are told.
        not_compared: what was not compared besides ("ConfigMap/x is not among the rendered objects").
        outside: what of the application is another one at bad and no commit ("chart x 1.2.0 → 1.3.0").
        moved: images that were rebuilt under their tag.
        passing: whether a side could not be rendered for what passes.
        cleared: places of `changed`, and images, that were set back and brought nothing back.
        alike: image references by which the same digest ran at good and at bad, although they differ.
    """

    steps: tuple[Step, ...]
    good: Delivered | None
    bad: Delivered | None
    changed: tuple[Difference, ...]
    why_not: str = ""
    left_out: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()
    alike: frozenset[tuple[str, str]] = frozenset()
    passing: bool = False
    cleared: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Judged:
    """A commit with its verdict. `guilty` are the differences for which it is suspected, the worst first."""

    step: Step
    verdict: Verdict
    score: float
    rows: tuple[Row, ...]
    because: tuple[str, ...]
    guilty: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Blame:
    """The answer: `chosen` is None unless exactly one commit stands out."""

    suspects: tuple[Judged, ...]
    chosen: Judged | None
    because: str
    outside: tuple[Difference, ...] = ()
    """What can have brought the cause about and no commit of the window changed, where nothing is chosen for it."""
    rebuilt: tuple[Moved, ...] = ()
    """Images that were rebuilt under their tag, where that alone can have brought the cause about."""
    scores: Mapping[str, float] = field(default_factory=dict)
