"""What is asked of an investigation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mfu_operator.adapters.egress import Egress
from mfu_operator.gitops.images import parse
from mfu_operator.gitops.rendered.workload import Wanted
from mfu_operator.gitops.sources.plan import Engine
from mfu_operator.ports import Credentials


@dataclass(frozen=True, slots=True)
class Request:
    """One question.

    Attributes:
        repository: a folder or an address: the one that `good` and `bad` are of.
        good: the revision that was fast; `bad` the one that is slow.
        wanted: the workload.
        cause: the diagnosed cause or bottleneck; None: no diagnosis.
        applications: manifests of the delivery tool; none: `path` is the folder that is deployed.
        others: by another source's repository, its good and bad revision.
        clones: by a repository's address, a local clone or another address of it.
        branch: the branch of the repository that takes a proposal; "": the one that is followed.
        charts: by `REPO/NAME@VERSION`, the folder of a chart.
        good_images: by image reference, the digest that ran where it was fast; `bad_images` where it is slow.
        good_ran: what ran where it was fast (`name@sha256:…`), by whatever reference; `bad_ran` where it is slow.
        egress: where charts may be fetched from; None: nowhere.
        exonerated: commits, and ids of pins, that did not do it; they are compared, and not suspected.
        refused: commits whose revert a person has refused.
        credentials: what charts may be fetched with; None: nothing.
        good_s: until when (Unix seconds) the recorded revisions of the other sources were fast, `bad_s` slow; None: the
            first that was recorded with `good`, or with `bad`.
        env: git's environment; None: one that holds no credentials.
    """

    repository: str
    good: str
    bad: str
    wanted: Wanted
    cause: str | None
    applications: tuple[Mapping[str, Any], ...] = ()
    path: str = ""
    others: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    clones: Mapping[str, str] = field(default_factory=dict)
    charts: Mapping[str, Path] = field(default_factory=dict)
    engine: Engine = Engine.AUTO
    kube_version: str | None = None
    api_versions: tuple[str, ...] = ()
    branch: str = ""
    good_images: Mapping[str, str] = field(default_factory=dict)
    bad_images: Mapping[str, str] = field(default_factory=dict)
    good_ran: tuple[str, ...] = ()
    bad_ran: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    exonerated: tuple[str, ...] = ()
    good_s: float | None = None
    bad_s: float | None = None
    egress: Egress | None = None
    credentials: Credentials | None = field(default=None, repr=False)
    env: Mapping[str, str] | None = None

    def good_digest(self, reference: str) -> str | None:
        """The digest that an image reference had where it was fast; None: not known."""
        return self.good_images.get(reference) or _of(reference, self.good_ran)

    def bad_digest(self, reference: str) -> str | None:
        """The digest that it has where it is slow; None: not known."""
        return self.bad_images.get(reference) or _of(reference, self.bad_ran)


def _of(reference: str, ran: tuple[str, ...]) -> str | None:
    """The one digest under which an image of this name ran."""
    wanted = parse(reference)
    found = {each.digest for each in map(parse, ran) if each.digest and each.full_name == wanted.full_name}
    return wanted.digest or (next(iter(found)) if len(found) == 1 else None)
