"""Commits, what they changed, and which of them is suspected."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a commit; None content is a file that did not exist on that side (or is not text)."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the configuration repository. More than one parent is a merge."""

    sha: str
    parents: tuple[str, ...]
    author: str
    time_s: float
    subject: str
    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class Deployed:
    """A revision that the GitOps tool deployed, and when."""

    revision: str
    time_s: float


@dataclass(frozen=True, slots=True)
class Source:
    """Where the workload's configuration comes from.

    `replaces_immutable` says whether the delivery will replace a Job whose template changes (Force=true,Replace=true
    in Argo CD; force: enabled in Flux): None where the workload is not of an immutable kind.
    """

    repository: str
    branch: str
    path: str
    deployed: tuple[Deployed, ...]
    synced_revision: str | None
    replaces_immutable: bool | None = None
    updaters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspect:
    """A commit of the window with the reasons for and against it. score 0 is ruled out."""

    commit: Commit
    score: float
    changed: tuple[str, ...]
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The window's commits, the most suspect first. `chosen` is None unless exactly one stands out."""

    suspects: tuple[Suspect, ...]
    chosen: Suspect | None
    because: str
