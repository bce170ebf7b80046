"""ApplicationSets as the Applications that they make, for the generators that need nothing but a repository."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from mfu_operator.gitops.rendered.reading import UnreadableText, yaml_documents
from mfu_operator.gitops.sources.tree import NotRenderable

MAX_APPLICATIONS = 200

Files = Callable[[str, str], Mapping[str, Callable[[], str | None]]]
"""(repository, revision) → how each file of it is read. Raises NotRenderable where it is not at hand."""

_FIELD = re.compile(r"\{\{-?\s*(\.?[A-Za-z_][\w.-]{0,200})\s*-?\}\}")


def applications(body: Mapping[str, Any], files: Files) -> list[Mapping[str, Any]]:
    """The Applications that an ApplicationSet makes of lists, and of a repository's files and folders.

    Raises:
        NotRenderable: it has another generator, or a template of more than fields.
    """
    spec = _mapping(body.get("spec"))
    template = _mapping(spec.get("template"))
    if spec.get("templatePatch"):
        raise NotRenderable("its templatePatch is not rendered here")
    made = []
    for generator in spec.get("generators") or []:
        for values in _elements(_mapping(generator), files):
            made.append(_filled(template, values, bool(spec.get("goTemplate"))))
            if len(made) > MAX_APPLICATIONS:
                raise NotRenderable(f"it makes over {MAX_APPLICATIONS} Applications")
    return [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", **each} for each in made]


def _elements(generator: Mapping[str, Any], files: Files) -> Iterator[Mapping[str, Any]]:
    if set(generator) == {"list"} and not _mapping(generator["list"]).get("elementsYaml"):
        yield from (each for each in _mapping(generator["list"]).get("elements") or [] if isinstance(each, dict))
    elif set(generator) == {"git"} and not _mapping(generator["git"]).get("pathParamPrefix"):
        git = _mapping(generator["git"])
        found = files(str(git.get("repoURL") or ""), str(git.get("revision") or "HEAD"))
        extra = _mapping(git.get("values"))
        if any("{{" in str(value) for value in extra.values()):
            raise NotRenderable("its generator's values hold templates, which are not rendered here")
        beside = {"values": dict(extra)} if extra else {}
        yield from ({**each, **beside} for each in (*_of_files(git, found), *_of_folders(git, found)))
    else:
        raise NotRenderable(f"its generator {', '.join(sorted(generator)) or '(none)'} is not evaluated here")


def _of_files(git: Mapping[str, Any], found: Mapping[str, Callable[[], str | None]]) -> Iterator[Mapping[str, Any]]:
    patterns = _patterns(git.get("files"))
    for path in sorted(found):
        if _chosen(path, patterns):
            try:
                documents = yaml_documents(found[path]() or "")
            except UnreadableText as error:
                raise NotRenderable(f"{path} cannot be read: {error}") from error
            for document in documents[0] if documents and isinstance(documents[0], list) else documents[:1]:
                yield {**_mapping(document), "path": _path(posixpath.dirname(path), posixpath.basename(path))}


def _of_folders(git: Mapping[str, Any], found: Mapping[str, object]) -> Iterator[Mapping[str, Any]]:
    patterns = _patterns(git.get("directories"))
    folders = {"/".join(path.split("/")[:depth]) for path in found for depth in range(1, path.count("/") + 1)}
    for folder in sorted(folders):
        if _chosen(folder, patterns):
            yield {"path": _path(folder, None)}


def _patterns(entries: Any) -> Sequence[tuple[str, bool]]:
    return [
        (str(each.get("path") or ""), bool(each.get("exclude"))) for each in entries or [] if isinstance(each, dict)
    ]


def _chosen(path: str, patterns: Sequence[tuple[str, bool]]) -> bool:
    said = [exclude for pattern, exclude in patterns if _matches(path, pattern)]
    return bool(said) and not any(said)


def _matches(path: str, pattern: str) -> bool:
    """A glob whose `*` stays within a folder and whose `**` does not."""
    if "**" in pattern:
        return fnmatchcase(path, pattern.replace("**/", "*"))
    ours, wanted = path.split("/"), pattern.split("/")
    return len(ours) == len(wanted) and all(map(fnmatchcase, ours, wanted))


def _path(folder: str, file: str | None) -> Mapping[str, Any]:
    name = posixpath.basename(folder)
    normalized = re.sub(r"[^a-z0-9.-]", "-", name.lower())
    return {"path": folder, "basename": name, "basenameNormalized": normalized, "filename": file}


def _filled(value: Any, values: Mapping[str, Any], go: bool) -> Any:
    if isinstance(value, Mapping):
        return {key: _filled(inner, values, go) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, values, go) for inner in value]
    if not isinstance(value, str):
        return value
    if "{{" in _FIELD.sub("", value):
        raise NotRenderable(f"its template's {value[:60]} is more than a field, which is not rendered here")
    return _FIELD.sub(lambda found: _field(found[1], values, go), value)


def _field(name: str, values: Mapping[str, Any], go: bool) -> str:
    parts = name.removeprefix(".").split(".")
    if not go and name in ("path", ".path") and isinstance(values.get("path"), Mapping):
        parts = ["path", "path"]
    found: Any = values
    for part in parts:
        found = found.get(part) if isinstance(found, Mapping) else None
    if found is None or isinstance(found, Mapping | list):
        raise NotRenderable(f"its template names {name}, which its generator does not give")
    return str(found).lower() if isinstance(found, bool) else str(found)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
