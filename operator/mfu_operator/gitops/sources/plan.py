"""What is rendered of an application, and how: the delivery tool's own options as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from mfu_operator.gitops.rendered.objects import Thing, of
from mfu_operator.model.masking import is_secret_key, masked


class Engine(StrEnum):
    """AUTO: by what lies in the folder, as the delivery tools do."""

    AUTO = "auto"
    KUSTOMIZE = "kustomize"
    HELM = "helm"
    PLAIN = "plain"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class HelmOptions:
    """`values` are inline values, later ones win; `value_files` may begin with `$name/` for another source."""

    release: str | None = None
    value_files: tuple[str, ...] = ()
    values: tuple[Mapping[str, Any], ...] = ()
    values_first: bool = False
    parameters: tuple[tuple[str, str, bool], ...] = ()
    file_parameters: tuple[tuple[str, str], ...] = ()
    skip_crds: bool = False
    ignore_missing: bool = False
    kube_version: str | None = None
    api_versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KustomizeOptions:
    """`settings` are merged into the kustomization: images, namePrefix, patches, …"""

    settings: Mapping[str, Any] = field(default_factory=dict)
    unrestricted: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """Flux' postBuild: variables, and the objects of `namespace` that hold more of them.

    `given` are such objects' values as they are in the cluster now, for those that no file holds.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    from_objects: tuple[tuple[str, str, bool], ...] = ()
    namespace: str = ""
    given: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """One thing to render.

    Attributes:
        source: the index of its source.
        path: the folder in it.
        chart: the name of a chart from a chart repository, `version` the one that is asked for; `repository` is that
            of a chart that a rendered object names, and "" where the chart is a source of its own.
        held: the object that this is a part for, `Kind/name`, where a rendered object of another part may be it.
        assumed: what is taken as it is now, because no revision of a repository says how it was.
        recurse: whether plain manifests are read from folders below too; None: where the folder itself has none.
    """

    source: int = 0
    path: str = ""
    engine: Engine = Engine.AUTO
    chart: str | None = None
    version: str | None = None
    namespace: str | None = None
    name: str = ""
    helm: HelmOptions = HelmOptions()
    kustomize: KustomizeOptions = KustomizeOptions()
    recurse: bool | None = None
    include: str = ""
    exclude: str = ""
    substitution: Substitution | None = None
    repository: str = ""
    held: str = ""
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """One source: a repository with a revision to follow, or a chart repository.

    Attributes:
        repository: the address, as the delivery tool names it; "" for the one that is asked about.
        target: the revision to follow: branch, tag, commit or version range.
        ref: the name under which other sources' value files refer to it.
        deployed: (revision, Unix seconds) as recorded, oldest first.
    """

    repository: str = ""
    target: str = ""
    ref: str | None = None
    chart: str | None = None
    deployed: tuple[tuple[str, float], ...] = ()
    hydrated: str | None = None
    """The folder of what a hydrator renders, where revisions that are asked about are of that branch."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All of an application (or of several)."""

    sources: tuple[Source, ...] = (Source(),)
    parts: tuple[Part, ...] = (Part(),)
    told: tuple[str, ...] = ()
    """What of the application could not be read, and is not compared."""
    recorded: tuple[tuple[tuple[str, ...], tuple[Part, ...]], ...] = ()
    """(revisions, parts) of every deployment that the tool recorded with its own settings, oldest first."""
    objects: tuple[Mapping[str, Any], ...] = ()
    """The manifests that were given, for what is rendered to refer to."""
    nested: bool = False
    """Whether rendered objects of the delivery tool are rendered in their turn."""
    asked: tuple[str, ...] = ()
    """Of these, by `Kind/name`, those that were given: what they deploy is meant, and not another one's namesake."""

    def makers(self) -> tuple[Thing, ...]:
        """The ApplicationSets that were given and make one of the Applications that were."""
        return tuple(thing for each in self.objects if each.get("kind") == "ApplicationSet" for thing in of(each))

    def at(self, *revisions: str) -> "Plan":
        """The plan with the settings that were recorded when one of these revisions was deployed last."""
        for known, parts in reversed(self.recorded):
            same = any(one == other for one in known for other in revisions)
            if same and len(parts) == len(self.parts):
                return replace(self, parts=parts)
        return self


def settings_changed(before: Sequence[Part], after: Sequence[Part]) -> tuple[str, ...]:
    """What of an application's own settings is another one, as it is told."""
    told: dict[str, None] = {}
    for one, other in zip(before, after, strict=True):
        was, now = ({name: value for name, value, _ in part.helm.parameters} for part in (one, other))
        for name in sorted(was.keys() | now.keys()):
            if was.get(name) != now.get(name):
                values = " → ".join(_shown(name, side.get(name)) for side in (was, now))
                told[f"the application's parameter {name}: {values}"] = None
        rest = [
            replace(part, version=None, assumed=(), helm=replace(part.helm, parameters=())) for part in (one, other)
        ]
        if rest[0] != rest[1]:
            told["the application's own settings (values, images, path or patches)"] = None
    return tuple(told)


def _shown(name: str, value: str | None) -> str:
    if value is None:
        return "(absent)"
    return "(hidden)" if is_secret_key(name) else masked(value)[:60]
