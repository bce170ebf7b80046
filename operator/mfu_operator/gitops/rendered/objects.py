"""Rendered manifests as objects with a name."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mfu_operator.gitops.rendered.reading import UnreadableText, yaml_documents


@dataclass(frozen=True, slots=True)
class Thing:
    """One Kubernetes object. `namespace` is "" where none is rendered; `file` is where it was found, "" in a stream;
    `origin` the rendered object of a delivery tool that deploys it, `Kind/name`, "" where it is deployed at once."""

    kind: str
    namespace: str
    name: str
    body: Mapping[str, Any]
    file: str = ""
    origin: str = ""

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}" if self.namespace else f"{self.kind}/{self.name}"

    @property
    def group(self) -> str:
        """The API group, "" for the core one."""
        group, slash, _ = str(self.body.get("apiVersion", "")).partition("/")
        return group if slash else ""


def things(text: str, file: str = "") -> tuple[Thing, ...]:
    """The objects of a YAML stream, Lists opened; documents that are not Kubernetes objects are left out.

    Raises:
        UnreadableText: the text is not YAML, or lies beyond a bound.
    """
    return tuple(thing for document in yaml_documents(text) for thing in of(document, file))


def of(document: Any, file: str = "") -> Iterator[Thing]:
    """The objects of one document."""
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str) or "apiVersion" not in document:
        return
    if document["kind"].endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from of(item, file)
        return
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or metadata.get("generateName")
    if name is not None:
        yield Thing(document["kind"], str(metadata.get("namespace") or ""), str(name), document, file)


def meant(found: Sequence[Thing], asked: Collection[str]) -> list[Thing]:
    """Objects without the namesakes of what the `asked` objects of a delivery tool deploy: those of other clusters."""
    ours = {str(thing) for thing in found if thing.origin in asked}
    return [thing for thing in found if thing.origin in asked or str(thing) not in ours]


def doubled(found: Iterable[Thing]) -> tuple[str, ...]:
    """Objects that stand there more than once with different content: which of them holds is not to be told."""
    seen: dict[str, Thing] = {}
    twice: dict[str, None] = {}
    for thing in found:
        other = seen.setdefault(str(thing), thing)
        if other.body != thing.body:
            twice[str(thing)] = None
    return tuple(twice)


__all__ = ["Thing", "UnreadableText", "doubled", "meant", "of", "things"]
