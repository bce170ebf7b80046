"""Objects of a delivery tool that are rendered themselves: Applications of an app of apps, Flux' releases in Git."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mfu_operator.gitops.rendered.objects import Thing, of
from mfu_operator.gitops.sources import argocd, flux
from mfu_operator.gitops.sources.addresses import host_and_path
from mfu_operator.gitops.sources.applicationset import applications
from mfu_operator.gitops.sources.plan import Part, Plan, Source
from mfu_operator.gitops.sources.tree import NotRenderable

Files = Callable[[int], Mapping[str, Callable[[], str | None]]]

MAX_PARTS = 200
"""Rendered objects that are rendered in their turn."""

_GROUPS = {
    "HelmRelease": "helm.toolkit.fluxcd.io",
    "Kustomization": "kustomize.toolkit.fluxcd.io",
    "Application": "argoproj.io",
    "ApplicationSet": "argoproj.io",
}


@dataclass(frozen=True, slots=True)
class Held:
    """The part of a rendered object; None, and why, where it cannot be rendered."""

    name: str
    parts: tuple[Part, ...] = ()
    why_not: str = ""


def is_holder(thing: Thing) -> bool:
    """Whether an object says what a delivery tool deploys."""
    return thing.group == _GROUPS.get(thing.kind, "-")


def held(things: Sequence[Thing], plan: Plan, own: int, files: Files) -> tuple[Held, ...]:
    """What the delivery tool's objects among rendered ones deploy.

    Args:
        things: the rendered objects.
        plan: whose sources are at hand.
        own: the source that they were rendered from, for those that name none.
        files: by (number of a source), how its files are read.
    """
    holders, failed = list[Thing](), list[Held]()
    for thing in things:
        if is_holder(thing) and thing.kind == "ApplicationSet":
            try:
                made = applications(
                    thing.body, lambda address, target: files(_index(Source(address, target), plan, own))
                )
                holders.extend(inner for each in made for inner in of(each))
            except NotRenderable as error:
                failed.append(Held(f"{thing.kind}/{thing.name}", why_not=str(error)))
        elif is_holder(thing):
            holders.append(thing)
    objects = [*(thing.body for thing in things), *plan.objects]
    rendered = frozenset(f"{thing.kind}/{thing.name}" for thing in things)
    return (*failed, *(_held(thing, objects, plan, own, rendered) for thing in holders[:MAX_PARTS]))


def _held(thing: Thing, objects: Sequence[Mapping[str, Any]], plan: Plan, own: int, rendered: frozenset[str]) -> Held:
    name = f"{thing.kind}/{thing.name}"
    try:
        sources, parts = _of(thing, objects)
        found = tuple(_placed(part, sources, plan, own) for part in parts)
    except NotRenderable as error:
        return Held(name, why_not=str(error))
    kept = (replace(part, assumed=_assumed(part, rendered)) for part in found)
    return Held(name, tuple(kept))


def _assumed(part: Part, rendered: frozenset[str]) -> tuple[str, ...]:
    """What is taken as it is now, without what is rendered: the object itself, and what it reads."""
    return tuple(each for each in part.assumed if each not in rendered and not each.startswith("what Application "))


def _of(thing: Thing, objects: Sequence[Mapping[str, Any]]) -> tuple[Sequence[Source], Sequence[Part]]:
    if thing.kind == "Application":
        found = argocd.plan(thing.body)
        return found.sources, found.parts
    sources: list[Source] = []
    part = (flux.release if thing.kind == "HelmRelease" else flux.kustomization)(thing.body, objects, sources)
    return sources, (part,)


def _placed(part: Part, sources: Sequence[Source], plan: Plan, own: int) -> Part:
    """The part with the plan's own numbers of its sources."""
    source = sources[part.source]
    files = tuple(_lent(file, sources, plan, own) for file in part.helm.value_files)
    part = replace(part, helm=replace(part.helm, value_files=files))
    if source.chart:
        return replace(part, source=own, repository=source.repository, version=source.target)
    return replace(part, source=_index(source, plan, own))


def _index(source: Source, plan: Plan, own: int) -> int:
    if not source.repository:
        return own
    wanted = host_and_path(source.repository) or source.repository
    index: int
    for index in (own, *range(len(plan.sources))):
        known = plan.sources[index]
        same = (host_and_path(known.repository) or known.repository) == wanted
        if not known.chart and same and _target(known) == _target(source):
            return index
    raise NotRenderable(
        f"it deploys revision {source.target or 'HEAD'} of {source.repository}, which none of the manifests that were "
        "given follows: give its manifest by --application"
    )


def _target(source: Source) -> str:
    return source.target.removeprefix("refs/heads/") or "HEAD"


def _lent(file: str, sources: Sequence[Source], plan: Plan, own: int) -> str:
    """A value file of another source by that one's number, `$2/values.yaml`."""
    if not file.startswith("$"):
        return file
    name, _, path = file.removeprefix("$").partition("/")
    source = next((each for each in sources if each.ref == name), None)
    if source is None:
        raise NotRenderable(f"value file {file} names source ${name}, which the application does not have")
    return f"${_index(source, plan, own)}/{path}"


def without(plan: Plan, names: Sequence[str]) -> Plan:
    """The plan with what rendered objects hold left to them."""

    def kept(parts: Sequence[Part]) -> tuple[Part, ...]:
        return tuple(part for part in parts if part.held not in names)

    recorded = tuple((revisions, kept(parts)) for revisions, parts in plan.recorded)
    return replace(plan, parts=kept(plan.parts), recorded=recorded, nested=True, asked=tuple(names))
