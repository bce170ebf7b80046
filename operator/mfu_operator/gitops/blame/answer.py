"""The answer of `kubectl mfu suspects` (schemaVersion 1) as values, and its JSON."""

from datetime import UTC, datetime

import msgspec

from mfu_operator.gitops.blame.model import Blame, Judged, Window
from mfu_operator.gitops.rendered.difference import rows
from mfu_operator.gitops.rendered.leaf import Scalar

SCHEMA_VERSION = 1
LONGEST_VALUE = 2000
"""Characters of one value that are told."""


class _Part(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Frozen, with the contract's spelling of names."""


class RendererRow(_Part, frozen=True, kw_only=True):
    """What rendered; name and version are null where nothing could, and `because` says why."""

    name: str | None
    version: str | None
    because: str


class SourceRow(_Part, frozen=True, kw_only=True):
    """One source of several with its own window; one of path and chart is set."""

    repository: str
    good: str
    bad: str
    path: str | msgspec.UnsetType = msgspec.UNSET
    chart: str | msgspec.UnsetType = msgspec.UNSET


class WindowRow(_Part, frozen=True, kw_only=True):
    """Full commit ids; commits on the first-parent line after good."""

    good: str
    bad: str
    commits: int
    sources: tuple[SourceRow, ...] | msgspec.UnsetType = msgspec.UNSET


class FieldRow(_Part, frozen=True, kw_only=True):
    """One field with another value; null is absent."""

    object: str
    field: str
    before: Scalar
    after: Scalar


class RenderedRow(_Part, frozen=True, kw_only=True):
    """Good → bad, and how many objects the workload gets something of."""

    changed: tuple[FieldRow, ...]
    objects: int


class TextRow(_Part, frozen=True, kw_only=True):
    """A key of a file that changed; null is absent."""

    path: str
    key: str
    before: Scalar
    after: Scalar


class SuspectRow(_Part, frozen=True, kw_only=True):
    """One commit of the window."""

    sha: str
    source: str
    subject: str
    author: str
    time: str
    verdict: str
    score: float
    rendered: tuple[FieldRow, ...]
    text: tuple[TextRow, ...]
    because: tuple[str, ...]


class Base(_Part, frozen=True, kw_only=True):
    """What the proposal's diff applies to; branch null: no branch of the clone holds it."""

    repository: str
    branch: str | None
    sha: str


class Remaining(_Part, frozen=True, kw_only=True):
    """What differs from the known good after the proposal."""

    object: str
    field: str
    known_good: Scalar
    after_proposal: Scalar


class Also(_Part, frozen=True, kw_only=True):
    """A field of another workload that the proposal changes."""

    object: str
    field: str


class ProposalRow(_Part, frozen=True, kw_only=True):
    """What undoes it; `conflicts` are paths that a plain revert could not merge."""

    kind: str
    base: Base
    diff: str
    files: tuple[str, ...]
    remaining: tuple[Remaining, ...]
    also_changes: tuple[Also, ...]
    conflicts: tuple[str, ...]


class Answer(_Part, frozen=True, kw_only=True):
    """The whole answer."""

    schema_version: int = SCHEMA_VERSION
    renderer: RendererRow
    window: WindowRow
    rendered: RenderedRow
    suspects: tuple[SuspectRow, ...]
    chosen: str | None
    because: str
    proposal: ProposalRow | None


def encode(answer: Answer) -> str:
    """The answer as JSON text of the contract."""
    return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()


def rendered(window: Window) -> RenderedRow:
    """What differs between good and bad."""
    objects = set(window.bad.objects if window.bad else ()) | set(window.good.objects if window.good else ())
    return RenderedRow(changed=_fields(rows(window.changed)), objects=len(objects))


def suspects(blame: Blame, texts: dict[str, tuple[TextRow, ...]]) -> tuple[SuspectRow, ...]:
    """The commits with their verdicts."""
    return tuple(_suspect(judged, texts.get(judged.step.commit.sha, ())) for judged in blame.suspects)


def _suspect(judged: Judged, text: tuple[TextRow, ...]) -> SuspectRow:
    commit = judged.step.commit
    return SuspectRow(
        sha=commit.sha,
        source=judged.step.source,
        subject=_clean(commit.subject),
        author=_clean(commit.author),
        time=datetime.fromtimestamp(commit.time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        verdict=judged.verdict,
        score=round(judged.score, 3),
        rendered=_fields(judged.rows),
        text=text,
        because=tuple(_clean(text) for text in judged.because),
    )


def _fields(found: object) -> tuple[FieldRow, ...]:
    assert isinstance(found, tuple)
    return tuple(
        FieldRow(object=row.object, field=row.field, before=shortened(row.before), after=shortened(row.after))
        for row in found
    )


def shortened(value: Scalar) -> Scalar:
    """A value as it is told."""
    if not isinstance(value, str):
        return value
    text = _clean(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _clean(text: str) -> str:
    """Text that JSON can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
