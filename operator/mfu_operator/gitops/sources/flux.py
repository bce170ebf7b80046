"""Flux' Kustomizations and HelmReleases, with the sources that they name, as plans."""

from collections.abc import Mapping, Sequence
from typing import Any

from mfu_operator.gitops.rendered.leaf import decoded
from mfu_operator.gitops.rendered.reading import UnreadableText, yaml_documents
from mfu_operator.gitops.sources.plan import Engine, HelmOptions, KustomizeOptions, Part, Plan, Source, Substitution
from mfu_operator.gitops.sources.tree import NotRenderable, clean


def plan(objects: Sequence[Mapping[str, Any]]) -> Plan:
    """The plan of Flux objects.

    Raises:
        NotRenderable: a source that is named was not given, or is of a kind that is not rendered here.
    """
    sources: list[Source] = []
    parts: list[Part] = []
    for each in objects:
        kind = each.get("kind")
        if kind == "Kustomization" and "kustomize.toolkit" in str(each.get("apiVersion")):
            parts.append(kustomization(each, objects, sources))
        elif kind == "HelmRelease":
            parts.append(release(each, objects, sources))
    if not parts:
        raise NotRenderable("none of the manifests is a Kustomization of kustomize.toolkit.fluxcd.io or a HelmRelease")
    return Plan(tuple(sources), tuple(parts))


def kustomization(one: Mapping[str, Any], objects: Sequence[Mapping[str, Any]], sources: list[Source]) -> Part:
    """The part of a Kustomization; its source is added to `sources`. Raises NotRenderable."""
    metadata, spec = _mapping(one.get("metadata")), _mapping(one.get("spec"))
    source = _git(_mapping(spec.get("sourceRef")), objects, sources)
    settings: dict[str, Any] = {
        key: spec[key] for key in ("patches", "components", "namePrefix", "nameSuffix") if spec.get(key)
    }
    if spec.get("targetNamespace"):
        settings["namespace"] = spec["targetNamespace"]
    if spec.get("images"):
        settings["images"] = [dict(each) for each in spec["images"]]
    common = _mapping(spec.get("commonMetadata"))
    for field, key in (("labels", "commonLabels"), ("annotations", "commonAnnotations")):
        if common.get(field) and field == "annotations":
            settings[key] = dict(common[field])
    build = _mapping(spec.get("postBuild"))
    substitution = None
    if build:
        named = tuple((str(each.get("kind")), str(each.get("name")), bool(each.get("optional")))
                      for each in build.get("substituteFrom") or [])  # fmt: skip
        variables = {str(key): _text(value) for key, value in _mapping(build.get("substitute")).items()}
        given = {(kind, name): data for kind, name, _ in named
                 if (data := _given(kind, name, metadata.get("namespace"), objects)) is not None}  # fmt: skip
        substitution = Substitution(variables, named, str(metadata.get("namespace") or ""), given)
    return Part(
        source=source,
        path=clean(str(spec.get("path") or ".")),
        engine=Engine.KUSTOMIZE if settings else Engine.AUTO,
        name=str(metadata.get("name") or ""),
        held=f"Kustomization/{metadata.get('name')}",
        kustomize=KustomizeOptions(settings, unrestricted=True),
        recurse=True,
        substitution=substitution,
    )


def release(one: Mapping[str, Any], objects: Sequence[Mapping[str, Any]], sources: list[Source]) -> Part:
    """The part of a HelmRelease; its source is added to `sources`. Raises NotRenderable."""
    metadata, spec = _mapping(one.get("metadata")), _mapping(one.get("spec"))
    if spec.get("postRenderers"):
        raise NotRenderable(f"HelmRelease {metadata.get('name')} has postRenderers, which are not run here")
    chart = _mapping(_mapping(spec.get("chart")).get("spec"))
    if not chart:
        raise NotRenderable(f"HelmRelease {metadata.get('name')} names its chart by chartRef: give its chart.spec")
    reference = _mapping(chart.get("sourceRef"))
    values = _values(spec, str(metadata.get("namespace") or ""), objects)
    namespace = spec.get("targetNamespace") or spec.get("storageNamespace") or metadata.get("namespace")
    prefix = f"{spec['targetNamespace']}-" if spec.get("targetNamespace") else ""
    options = HelmOptions(
        release=str(spec.get("releaseName") or f"{prefix}{metadata.get('name')}"),
        value_files=tuple(f"/{clean(str(each))}" for each in chart.get("valuesFiles") or ()),
        values=tuple(values),
        ignore_missing=bool(chart.get("ignoreMissingValuesFiles")),
    )
    assumed = tuple(f"{each.get('kind')}/{each.get('name')}" for each in spec.get("valuesFrom") or [])
    if reference.get("kind") == "GitRepository":
        source = _git(reference, objects, sources)
        return Part(source, clean(str(chart.get("chart") or ".")), Engine.HELM, None, None,
                    str(namespace) if namespace else None, str(metadata.get("name") or ""), options,
                    held=f"HelmRelease/{metadata.get('name')}", assumed=assumed)  # fmt: skip
    repository = _found("HelmRepository", reference, objects)
    address = str(_mapping(repository.get("spec")).get("url") or "")
    version = str(chart.get("version") or "*")
    sources.append(Source(address, version, None, str(chart.get("chart"))))
    return Part(len(sources) - 1, "", Engine.HELM, str(chart.get("chart")), version,
                str(namespace) if namespace else None, str(metadata.get("name") or ""), options,
                held=f"HelmRelease/{metadata.get('name')}", assumed=assumed)  # fmt: skip


def _values(spec: Mapping[str, Any], namespace: str, objects: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for each in spec.get("valuesFrom") or []:
        holder = _optional(str(each.get("kind")), {**each, "namespace": namespace}, objects)
        if holder is None and not each.get("optional"):
            raise NotRenderable(f"{each.get('kind')}/{each.get('name')}, which valuesFrom names, was not given")
        if holder is None:
            continue
        if each.get("targetPath"):
            raise NotRenderable(f"valuesFrom of {each.get('name')} sets a targetPath, which is not rendered here")
        entry = each.get("valuesKey") or "values.yaml"
        text = entries(holder).get(entry)
        if text is None:
            raise NotRenderable(f"{each.get('kind')}/{each.get('name')} has no {entry}, which valuesFrom names")
        try:
            documents = yaml_documents(text)
        except UnreadableText as error:
            raise NotRenderable(f"the values of {each.get('name')} cannot be read: {error}") from error
        if documents and not isinstance(documents[0], dict):
            raise NotRenderable(f"{entry} of {each.get('kind')}/{each.get('name')} is not a mapping of values")
        found.extend(documents[:1])
    if isinstance(spec.get("values"), dict):
        found.append(spec["values"])
    return found


def _git(reference: Mapping[str, Any], objects: Sequence[Mapping[str, Any]], sources: list[Source]) -> int:
    if reference.get("kind") != "GitRepository":
        raise NotRenderable(f"source {reference.get('kind')}/{reference.get('name')} is not a GitRepository")
    repository = _optional("GitRepository", reference, objects)
    spec = _mapping((repository or {}).get("spec"))
    ref = _mapping(spec.get("ref"))
    target = str(
        ref.get("commit") or ref.get("name") or ref.get("semver") or ref.get("tag") or ref.get("branch") or "HEAD"
    )
    source = Source(str(spec.get("url") or ""), target)
    if source in sources:
        return sources.index(source)
    sources.append(source)
    return len(sources) - 1


def _found(kind: str, reference: Mapping[str, Any], objects: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    found = _optional(kind, reference, objects)
    if found is None:
        raise NotRenderable(f"{kind}/{reference.get('name')} was not given: add its manifest by --application")
    return found


def _optional(
    kind: str, reference: Mapping[str, Any], objects: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    found = [each for each in objects if each.get("kind") == kind
             and _mapping(each.get("metadata")).get("name") == reference.get("name")]  # fmt: skip
    spaces = [str(_mapping(each.get("metadata")).get("namespace") or "") for each in found]
    for wanted in (str(reference.get("namespace") or ""), ""):
        if wanted in spaces:
            return found[spaces.index(wanted)]
    return found[0] if found else None


def _given(kind: str, name: str, namespace: object, objects: Sequence[Mapping[str, Any]]) -> Mapping[str, str] | None:
    found = _optional(kind, {"name": name, "namespace": namespace}, objects)
    return entries(found) if found is not None else None


def entries(holder: Mapping[str, Any]) -> Mapping[str, str]:
    """The entries of a ConfigMap or Secret, as text."""
    plain = {str(key): value for key, value in _mapping(holder.get("data")).items()}
    if holder.get("kind") == "Secret":
        plain = {key: decoded(value) for key, value in plain.items()}
    plain |= {str(key): value for key, value in _mapping(holder.get("stringData")).items()}
    return {key: _text(value) for key, value in plain.items() if value is not None}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
