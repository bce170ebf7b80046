"""Argo CD Applications as plans."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from mfu_operator.gitops.rendered.reading import UnreadableText, yaml_documents
from mfu_operator.gitops.sources.plan import Engine, HelmOptions, KustomizeOptions, Part, Plan, Source
from mfu_operator.gitops.sources.tree import NotRenderable, clean


def plan(application: Mapping[str, Any]) -> Plan:
    """The plan of one Application.

    Raises:
        NotRenderable: it has no source, or one of a kind that is not rendered here (a config management plugin).
    """
    metadata, spec = _mapping(application.get("metadata")), _mapping(application.get("spec"))
    listed: list[Mapping[str, Any]] = [each for each in spec.get("sources") or [] if isinstance(each, dict)]
    hydrator = _mapping(spec.get("sourceHydrator"))
    if hydrator:
        dry, synced = _mapping(hydrator.get("drySource")), _mapping(hydrator.get("syncSource"))
        listed = [{**dry, "targetRevision": dry.get("targetRevision"), "hydrated": synced}]
    listed = listed or [_mapping(spec.get("source"))]
    if not any(source.get("repoURL") for source in listed):
        raise NotRenderable(f"Application {metadata.get('name')} has no source")
    namespace = _mapping(spec.get("destination")).get("namespace")
    name = str(metadata.get("name") or "")
    history = [entry for entry in _mapping(application.get("status")).get("history") or [] if isinstance(entry, dict)]
    sources = tuple(_source(source, index if spec.get("sources") else None, history)
                    for index, source in enumerate(listed))  # fmt: skip
    parts = _parts(listed, name, namespace)
    if not parts:
        raise NotRenderable(f"Application {name} renders nothing: none of its sources has a path or a chart")
    return Plan(sources, parts, recorded=tuple(_recorded(history, listed, name, namespace)))


def _parts(listed: Sequence[Mapping[str, Any]], name: str, namespace: Any) -> tuple[Part, ...]:
    return tuple(_part(source, index, name, namespace) for index, source in enumerate(listed)
                 if source.get("path") or source.get("chart"))  # fmt: skip


def _recorded(
    history: Sequence[Mapping[str, Any]], live: Sequence[Mapping[str, Any]], name: str, namespace: Any
) -> Iterator[tuple[tuple[str, ...], tuple[Part, ...]]]:
    """The deployments of which the settings were recorded, for the sources that there are now."""
    for entry in history:
        one = _mapping(entry.get("source"))
        listed: list[Mapping[str, Any]] = [each for each in entry.get("sources") or [] if isinstance(each, dict)]
        listed = listed or [one]
        revisions = tuple(map(str, entry.get("revisions") or [entry.get("revision") or ""]))
        if [source.get("repoURL") for source in listed] == [source.get("repoURL") for source in live]:
            with suppress(NotRenderable):
                yield revisions, tuple(replace(part, assumed=()) for part in _parts(listed, name, namespace))


def _source(source: Mapping[str, Any], index: int | None, history: list[dict[str, Any]]) -> Source:
    deployed = []
    for entry in history:
        revisions = entry.get("revisions") or []
        revision = entry.get("revision") if index is None else (revisions[index] if index < len(revisions) else None)
        when = _seconds(entry.get("deployedAt"))
        if revision and when is not None:
            deployed.append((str(revision), when))
    hydrated = _mapping(source.get("hydrated"))
    return Source(
        repository=str(source.get("repoURL") or ""),
        target=_target(source),
        ref=source.get("ref"),
        chart=source.get("chart"),
        deployed=tuple(sorted(deployed, key=lambda each: each[1])),
        hydrated=str(hydrated.get("path") or ".") if hydrated else None,
    )


def _part(source: Mapping[str, Any], index: int, name: str, namespace: Any) -> Part:
    if source.get("plugin") is not None:
        raise NotRenderable(f"Application {name} is rendered by a plugin, which is not run here")
    directory = source.get("directory")
    part = Part(
        source=index,
        path=clean(str(source.get("path") or ".")),
        engine=Engine.PLAIN if directory is not None else Engine.AUTO,
        chart=source.get("chart"),
        version=_target(source) if source.get("chart") else None,
        namespace=str(namespace) if namespace else None,
        name=name,
        held=f"Application/{name}",
        helm=HelmOptions(release=name),
        assumed=(f"what Application {name} itself sets",) if _settled(source) else (),
        recurse=bool(_mapping(directory).get("recurse")),
        include=str(_mapping(directory).get("include") or ""),
        exclude=str(_mapping(directory).get("exclude") or ""),
    )
    return _with_options(part, source)


def _target(source: Mapping[str, Any]) -> str:
    """The revision to follow; where none is named the newest commit, or of a chart the newest version."""
    return str(source.get("targetRevision") or ("*" if source.get("chart") else "HEAD"))


def _settled(source: Mapping[str, Any]) -> bool:
    """Whether the Application itself holds settings, which no revision of its repository does."""
    helm, kustomize = _mapping(source.get("helm")), _mapping(source.get("kustomize"))
    return any(helm.get(key) for key in ("parameters", "values", "valuesObject")) or bool(_settings(kustomize))


def overridden(part: Part, text: str, path: str) -> Part:
    """A part with what a `.argocd-source.yaml` file says: Argo CD merges it as JSON (RFC 7396), lists take each other's
    place.

    Raises:
        NotRenderable: the file cannot be read.
    """
    try:
        documents = yaml_documents(text)
    except UnreadableText as error:
        raise NotRenderable(f"{path} cannot be read: {error}") from error
    return _with_options(part, _mapping(documents[0] if documents else None))


def _with_options(part: Part, source: Mapping[str, Any]) -> Part:
    helm, kustomize = _mapping(source.get("helm")), _mapping(source.get("kustomize"))
    settings = {**part.kustomize.settings, **_settings(kustomize)}
    return replace(
        part,
        helm=_helm(part.helm, helm),
        namespace=helm.get("namespace") or part.namespace,
        kustomize=replace(part.kustomize, settings=settings),
    )


def _helm(known: HelmOptions, helm: Mapping[str, Any]) -> HelmOptions:
    """The options with those that `helm` sets in place of the known ones; inline values are merged."""
    values: list[Mapping[str, Any]] = []
    inline = helm.get("valuesObject")
    if not inline and helm.get("values"):
        try:
            inline = (yaml_documents(str(helm["values"])) or [None])[0]
        except UnreadableText as error:
            raise NotRenderable(f"the Application's helm.values cannot be read: {error}") from error
    if isinstance(inline, dict):
        values.append(inline)
    kept = () if "parameters" in helm else known.parameters
    parameters = {name: (name, value, forced) for name, value, forced in kept}
    for each in helm.get("parameters") or []:
        parameters[str(each.get("name"))] = (
            str(each.get("name")), str(each.get("value", "")), bool(each.get("forceString")))  # fmt: skip
    if helm.get("fileParameters"):
        raise NotRenderable("the Application sets helm.fileParameters, which are not rendered here")
    return HelmOptions(
        release=helm.get("releaseName") or known.release,
        value_files=tuple(map(str, helm["valueFiles"] or ())) if "valueFiles" in helm else known.value_files,
        values=(*known.values, *values),
        parameters=tuple(parameters.values()),
        skip_crds=bool(helm.get("skipCrds", known.skip_crds)),
        ignore_missing=bool(helm.get("ignoreMissingValueFiles", known.ignore_missing)),
        kube_version=helm.get("kubeVersion") or known.kube_version,
        api_versions=tuple(map(str, helm.get("apiVersions") or ())) or known.api_versions,
    )


def _settings(kustomize: Mapping[str, Any]) -> Mapping[str, Any]:
    found: dict[str, Any] = {key: kustomize[key] for key in ("namePrefix", "nameSuffix", "namespace", "patches",
                             "components") if kustomize.get(key)}  # fmt: skip
    if kustomize.get("images"):
        found["images"] = [_image(str(each)) for each in kustomize["images"]]
    if kustomize.get("replicas"):
        found["replicas"] = [{"name": each["name"], "count": int(each["count"])} for each in kustomize["replicas"]]
    for key in ("commonLabels", "commonAnnotations"):
        if kustomize.get(key):
            found[key] = {str(name): str(value) for name, value in kustomize[key].items()}
    return found


def _image(text: str) -> Mapping[str, Any]:
    """`old=new:tag`, `new:tag` and `new@sha256:…` as an entry of kustomize's images."""
    name, equals, new = text.partition("=")
    reference = new if equals else name
    bare, _, digest = reference.partition("@")
    folder, slash, last = bare.rpartition("/")
    leaf, colon, tag = last.partition(":")
    entry: dict[str, Any] = {"name": name if equals else f"{folder}{slash}{leaf}"}
    if equals:
        entry["newName"] = f"{folder}{slash}{leaf}"
    if digest:
        entry["digest"] = digest
    elif colon:
        entry["newTag"] = tag
    return entry


def _seconds(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


__all__ = ["KustomizeOptions", "overridden", "plan"]
