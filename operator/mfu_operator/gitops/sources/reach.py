"""Which files of a tree a rendering reads: all others can change without it.

It may name too many files, never too few: the rendering is given these files alone, so that one that is missing is a
rendering that fails, not one that differs in silence.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mfu_operator.gitops.rendered.reading import UnreadableText, yaml_documents
from mfu_operator.gitops.sources.plan import Engine, Part
from mfu_operator.gitops.sources.tree import SUBMODULE, SYMLINK, Entry, NotRenderable, Tree, below, clean, joined

Folders = frozenset[str]
Read = Callable[[str], str | None]
"""A file's text; None where it is none."""

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
MAX_FILES = 20_000
"""Files that one rendering reads at most."""

_MANIFESTS = (".yaml", ".yml", ".json")
_JSONNET = (".jsonnet", ".libsonnet")
_LINKS = 8
REMOTE = re.compile(
    r"(?:[a-z+]{2,12}://|git@|git::|(?:[\w-]+\.)+[a-z]{2,8}/[\w.-]+/[\w.-]+|[^\s]*\?ref=)", re.IGNORECASE
)
_LOADED = ("resources", "bases", "components", "crds", "configurations", "generators", "transformers", "validators",
           "patchesStrategicMerge")  # fmt: skip


def engine_of(part: Part, tree: Tree) -> Engine:
    """The engine for a folder, as the delivery tools choose it: Helm before Kustomize before plain manifests."""
    if part.engine is not Engine.AUTO:
        return part.engine
    if part.chart or posixpath.join(part.path, "Chart.yaml") in tree:
        return Engine.HELM
    if any(posixpath.join(part.path, name) in tree for name in KUSTOMIZATIONS):
        return Engine.KUSTOMIZE
    return Engine.PLAIN


def reach(part: Part, tree: Tree, read: Read, beside: Mapping[str, str] | None = None) -> frozenset[str]:
    """The files of the part's own source that its rendering reads.

    Args:
        part: what is rendered.
        tree: the files of a revision.
        read: how one is read.
        beside: by address, the folder in which a remote base lies in `tree`.

    Raises:
        NotRenderable: something remote or outside the repository is read, or more than MAX_FILES files.
    """
    engine = engine_of(part, tree)
    if engine is Engine.KUSTOMIZE:
        found = kustomize(part.path, tree, read, beside or {})
    elif engine is Engine.HELM:
        found = {*_chart(part.path, tree, read), *_value_files(part, tree)} if not part.chart else set()
    else:
        found = set(plain(part, tree))
    found |= {path for name in (".argocd-source.yaml", f".argocd-source-{part.name}.yaml")
              if (path := posixpath.join(part.path, name)) in tree}  # fmt: skip
    found |= set(_linked(found, tree, read))
    if len(found) > MAX_FILES:
        raise NotRenderable(f"{part.path or 'the repository'} reads {len(found)} files, of at most {MAX_FILES}")
    return frozenset(found)


def kustomize(folder: str, tree: Tree, read: Read, beside: Mapping[str, str]) -> set[str]:
    """The files that a kustomization reads, followed through bases and components."""
    folders = _folders(tree)
    waiting, seen, found = [clean(folder)], set[str](), set[str]()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        file = next((posixpath.join(current, name) for name in KUSTOMIZATIONS
                     if posixpath.join(current, name) in tree), None)  # fmt: skip
        if file is None:
            found.update(below(tree, current))
            continue
        found.add(file)
        for path in _named(current, _document(read(file), file), tree, folders, beside):
            if path in tree:
                found.add(path)
                found.update(_nested(path, tree, folders, read))
            else:
                waiting.append(path)
    return found


def _document(text: str | None, file: str) -> Mapping[str, Any]:
    try:
        documents = yaml_documents(text or "")
    except UnreadableText as error:
        raise NotRenderable(f"{file} cannot be read: {error}") from error
    return documents[0] if documents and isinstance(documents[0], dict) else {}


def _nested(path: str, tree: Tree, folders: Folders, read: Read) -> Iterator[str]:
    """Files that a generator's or transformer's own file names."""
    text = read(path) if path.endswith(_MANIFESTS) else None
    if text is None or not re.search(r"\b(?:builtin|Generator|Transformer)\b", text):
        return
    folder = posixpath.dirname(path)
    for value in _strings(_document(text, path)):
        target = _existing(folder, value, tree, folders)
        if target in tree:
            yield target


def _named(
    folder: str, document: Mapping[str, Any], tree: Tree, folders: Folders, beside: Mapping[str, str]
) -> Iterator[str]:
    for field in _LOADED:
        for value in document.get(field) or []:
            if isinstance(value, str) and value in beside:
                yield beside[value]
            elif isinstance(value, str) and "\n" not in value and not _existing(folder, value, tree, folders):
                if REMOTE.match(value):
                    raise NotRenderable(
                        f"{posixpath.join(folder, 'kustomization.yaml')} reads {value}, which is remote and "
                        "is not fetched: nothing that depends on it can be rendered. Give a clone by --values "
                        "ADDRESS=PATH, and name a tag or a commit by ?ref=, not a branch"
                    )
                joined(folder, value)
    for chart in document.get("helmCharts") or []:
        if isinstance(chart, dict):
            home = (document.get("helmGlobals") or {}).get("chartHome") or "charts"
            yield from below(tree, joined(folder, posixpath.join(str(home), str(chart.get("name")))))
    for value in _strings(document):
        target = _existing(folder, value, tree, folders)
        if target:
            yield target


def _existing(folder: str, value: str, tree: Tree, folders: Folders) -> str:
    """The file or folder that a text names, "" where it names none."""
    for text in (value, value.partition("=")[2]):
        if not text or "\n" in text or len(text) > 500 or text in (".", "./"):
            continue
        normal = posixpath.normpath(posixpath.join(folder, text))
        if normal in tree or normal in folders:
            return normal
    return ""


def _folders(tree: Tree) -> Folders:
    found: set[str] = set()
    for path in tree:
        folder = posixpath.dirname(path)
        while folder and folder not in found:
            found.add(folder)
            folder = posixpath.dirname(folder)
    return frozenset(found)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _chart(folder: str, tree: Tree, read: Read) -> Iterator[str]:
    yield from below(tree, folder)
    document = _document(read(posixpath.join(folder, "Chart.yaml")), posixpath.join(folder, "Chart.yaml"))
    for dependency in document.get("dependencies") or []:
        repository = str(dependency.get("repository") or "") if isinstance(dependency, dict) else ""
        if repository.startswith("file://"):
            yield from below(tree, joined(folder, repository.removeprefix("file://")))


def _value_files(part: Part, tree: Tree) -> Iterator[str]:
    for file in part.helm.value_files:
        if not file.startswith("$"):
            path = clean(file) if file.startswith("/") else joined(part.path, file)
            if path in tree:
                yield path


def plain(part: Part, tree: Tree) -> list[str]:
    """The manifests of a folder; those of folders below where that is asked for, or the folder itself has none."""
    files = [path for path in below(tree, part.path) if path.endswith(_MANIFESTS)]
    direct = [path for path in files if posixpath.dirname(path) == part.path or path == part.path]
    if part.recurse is False:
        return direct
    own = {posixpath.dirname(path) for path in tree
           if posixpath.basename(path) in (*KUSTOMIZATIONS, "Chart.yaml")}  # fmt: skip
    return [path for path in files if part.recurse or not any(path.startswith(f"{folder}/") for folder in own)]


def followed(path: str, tree: Tree, read: Read) -> str:
    """The file that a path leads to, links of the repository followed.

    Raises:
        NotRenderable: a link leads out of the repository, to nothing, or round in a circle.
    """
    target = path
    for _ in range(_LINKS):
        if target not in tree:
            break
        if tree[target].mode != SYMLINK:
            return target
        target = joined(posixpath.dirname(target), read(target) or "")
    raise NotRenderable(f"{path} is a link that leads to no file of the repository")


def unread(part: Part, tree: Tree) -> dict[str, Entry]:
    """What the delivery tool reads of the part and no rendering here does: submodules, Jsonnet with its libraries."""
    found = {
        path: entry
        for path, entry in tree.items()
        if entry.mode == SUBMODULE and _deploys(part, path) and part.recurse is not False
    }
    own = [path for path in below(tree, part.path) if path.endswith(_JSONNET[:1])]
    if engine_of(part, tree) is Engine.PLAIN and any(
        part.recurse or posixpath.dirname(path) == part.path for path in own
    ):
        found |= {path: entry for path, entry in tree.items() if path.endswith(_JSONNET)}
    return found


def may_be_unread(path: str, entry: Entry) -> bool:
    """Whether a file is of a kind that no rendering here reads."""
    return entry.mode == SUBMODULE or path.endswith(_JSONNET)


def _deploys(part: Part, path: str) -> bool:
    return not part.chart and (
        not part.path or f"{path}/".startswith(f"{part.path}/") or f"{part.path}/".startswith(f"{path}/")
    )


def _linked(found: set[str], tree: Tree, read: Read) -> Iterator[str]:
    waiting, seen = sorted(found), set[str]()
    while waiting:
        path = waiting.pop()
        if path in seen or tree[path].mode != SYMLINK:
            continue
        seen.add(path)
        targets = below(tree, joined(posixpath.dirname(path), read(path) or ""))
        waiting.extend(targets)
        yield from targets
