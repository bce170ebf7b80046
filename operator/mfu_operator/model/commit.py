"""Commits, what they changed, and which of them is suspected."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a commit; None content is a file that did not exist on that side (or is not text)."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the configuration repository. More than one parent is a merge; `changes` are then those against
    the first one. `body` is the message after its subject."""

    sha: str
    parents: tuple[str, ...]
    author: str
    time_s: float
    subject: str
    changes: tuple[FileChange, ...]
    body: str = ""


@dataclass(frozen=True, slots=True)
class Deployed:
    """A revision that the GitOps tool deployed: when that was done, and when it began (None: not recorded)."""

    revision: str
    time_s: float
    started_s: float | None = None


@dataclass(frozen=True, slots=True)
class Hydrated:
    """Where rendered manifests are synced from. `deployed` revisions are of this branch; a revert belongs on the
    source's own (dry) branch, which a `hydrator.metadata` file beside the rendered manifests names."""

    branch: str
    path: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where the workload's configuration comes from.

    `replaces_immutable` says whether the delivery will replace a Job whose template changes (Force=true,Replace=true
    in Argo CD; force: enabled in Flux): None where the workload is not of an immutable kind. `updaters` are tools that
    write images to the path by themselves and may undo a revert. `tool` names the delivery for people, who should read
    `warnings` before they merge. `objects` are the delivery tool's own objects as they stand: what is rendered, and how
    (none: the manifests under the path). `beside` are the deployments with which another source of the same
    application changed: a chart's version, or the commit of another repository.
    """

    repository: str
    branch: str
    path: str
    deployed: tuple[Deployed, ...]
    synced_revision: str | None
    replaces_immutable: bool | None = None
    updaters: tuple[str, ...] = ()
    hydrated: Hydrated | None = None
    tool: str = "Argo CD"
    warnings: tuple[str, ...] = ()
    objects: tuple[Mapping[str, Any], ...] = ()
    beside: tuple[Deployed, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspect:
    """A commit of the window with the reasons for and against it. score 0 is ruled out.

    `changed` is what it alone changed of what the workload gets, `text` the keys of files in which it did so where
    they can be traced; `updaters` are tools that wrote it and may write it again.
    """

    commit: Commit
    score: float
    changed: tuple[str, ...]
    because: tuple[str, ...]
    text: tuple[str, ...] = ()
    updaters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """The window's commits, the most suspect first. `chosen` is None unless exactly one stands out."""

    suspects: tuple[Suspect, ...]
    chosen: Suspect | None
    because: str
