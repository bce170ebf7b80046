"""Manifests of delivery tools as one plan."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mfu_operator.gitops.sources import argocd, flux
from mfu_operator.gitops.sources.plan import Engine, Part, Plan, Source
from mfu_operator.gitops.sources.tree import NotRenderable


def plan(manifests: Sequence[Mapping[str, Any]]) -> Plan:
    """The plan of several manifests: Argo CD Applications, or Flux objects that belong together.

    Raises:
        NotRenderable: none of them says what is deployed, or one is of a kind that is not rendered here.
    """
    plans = [argocd.plan(each) for each in manifests if each.get("kind") == "Application"]
    templates = [each for each in manifests if each.get("kind") == "ApplicationSet"]
    if templates and not plans:
        raise NotRenderable("an ApplicationSet makes Applications: give the one that holds the workload")
    rest = [each for each in manifests if each.get("kind") not in ("Application", "ApplicationSet")]
    if any(each.get("kind") in ("Kustomization", "HelmRelease") for each in rest):
        plans.append(flux.plan(rest))
    if not plans:
        kinds = ", ".join(sorted({str(each.get("kind")) for each in manifests})) or "nothing"
        raise NotRenderable(
            f"the manifests given are {kinds}; an Application, a Kustomization or a HelmRelease says what is deployed"
        )
    return replace(_together(_joined(plans)), objects=tuple(manifests))


def _together(found: Plan) -> Plan:
    """The plan with one source for each repository and revision that it follows: one commit there is one change."""
    places: dict[tuple[str, str], int] = {}
    sources: list[Source] = []
    moved: list[int] = []
    for source in found.sources:
        place = (source.repository.removesuffix("/").removesuffix(".git"), source.target)
        index = places.get(place) if not source.chart and source.hydrated is None else None
        if index is None or (source.ref and sources[index].ref and source.ref != sources[index].ref):
            index = len(sources)
            sources.append(source)
            if not source.chart and source.hydrated is None:
                places.setdefault(place, index)
        else:
            sources[index] = replace(sources[index], ref=sources[index].ref or source.ref)
        moved.append(index)

    def of(parts: Sequence[Part]) -> tuple[Part, ...]:
        return tuple(replace(part, source=moved[part.source]) for part in parts)

    recorded = tuple((revisions, of(parts)) for revisions, parts in found.recorded)
    return replace(found, sources=tuple(sources), parts=of(found.parts), recorded=recorded)


def with_options(found: Plan, engine: Engine, kube_version: str | None, api_versions: Sequence[str]) -> Plan:
    """The plan with what is asked for beside it."""

    def asked(part: Part) -> Part:
        helm = replace(part.helm, kube_version=kube_version or part.helm.kube_version,
                       api_versions=tuple(api_versions) or part.helm.api_versions)  # fmt: skip
        chosen = engine if engine is not Engine.AUTO and not (part.chart and engine is not Engine.NONE) else part.engine
        return replace(part, helm=helm, engine=chosen)

    recorded = tuple((revisions, tuple(map(asked, parts))) for revisions, parts in found.recorded)
    return replace(found, parts=tuple(map(asked, found.parts)), recorded=recorded)


def _joined(plans: Sequence[Plan]) -> Plan:
    if len(plans) == 1:
        return plans[0]
    sources: list[Source] = []
    parts: list[Part] = []
    for each in plans:
        offset = len(sources)
        sources.extend(each.sources)
        parts.extend(replace(part, source=part.source + offset) for part in each.parts)
    return Plan(tuple(sources), tuple(parts), tuple(text for each in plans for text in each.told))
