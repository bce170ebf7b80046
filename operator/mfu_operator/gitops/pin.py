"""Setting an image's digest in a person's file: every other byte of it stays as it was."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from mfu_operator.errors import AskPerson
from mfu_operator.gitops.images import parse

Edit = tuple[int, int, str]
"""Start, end and new text of one replacement."""


def pin(text: str, image: str, digest: str) -> str:
    """A manifest or kustomization with every use of `image` set to `digest`.

    Understood are `image:` of containers and kustomize's `images:` entries (where a tag gives way to the digest).

    Args:
        text: YAML, of one or more documents.
        image: the image's name without tag and digest.
        digest: `sha256:…`.

    Raises:
        AskPerson(NothingToPin): the image is not named there, has this digest already, or the text is not YAML.
    """
    wanted = parse(image).full_name
    missing = f"{image} is not named where it was expected, or has digest {digest[:19]} already"
    return _pinned(text, image, lambda root: _edits(root, wanted, digest, text), missing)


def pin_tag(text: str, image: str, digest: str, tag: str | None = None) -> str:
    """Helm values with the tag beside `repository: image` (or its `digest`) set; as `pin`, for charts.

    Args:
        text, image, digest: those of `pin`.
        tag: by which the digest ran; None: the one that stands there.

    Raises:
        AskPerson(NothingToPin): no such values are there.
    """
    wanted = parse(image).full_name
    missing = f"no tag beside a repository {image} is there"
    return _pinned(text, image, lambda root: _tags(root, wanted, digest, tag, text), missing)


def pin_chart(text: str, chart: str, version: str, good: str) -> str:
    """A manifest that asks for a chart's version or range, with the one that ran set; as `pin`.

    Understood are `targetRevision` or `version` beside `chart`, and the dependencies of a Chart.yaml.

    Raises:
        AskPerson(NothingToPin): no such chart is asked for there.
    """
    missing = f"chart {chart} {version} is not asked for there"
    return _pinned(text, chart, lambda root: _versions(root, chart, version, good, text), missing)


def _pinned(text: str, named: str, edits: Callable[[Node | None], Iterator[Edit]], missing: str) -> str:
    """The text with the edits of each of its documents; where there are none, a person is told what is missing."""
    try:
        roots = list(YAML(typ="rt").compose_all(text))
    except YAMLError as error:
        raise AskPerson("NothingToPin", f"the file that should name {named} is not valid YAML: {error}") from error
    pinned = text
    for start, end, new in sorted({edit for root in roots for edit in edits(root)}, reverse=True):
        pinned = f"{pinned[:start]}{new}{pinned[end:]}"
    if pinned == text:
        raise AskPerson("NothingToPin", missing)
    return pinned


def _versions(node: Node | None, chart: str, version: str, good: str, text: str) -> Iterator[Edit]:
    for item in node.value if isinstance(node, SequenceNode) else ():
        yield from _versions(item, chart, version, good, text)
    if not isinstance(node, MappingNode):
        return
    fields = {key.value: value for key, value in node.value if isinstance(key, ScalarNode)}
    for _, value in node.value:
        yield from _versions(value, chart, version, good, text)
    named = fields.get("chart", fields.get("name") if "repository" in fields else None)
    asked = fields.get("targetRevision", fields.get("version"))
    if (
        isinstance(named, ScalarNode)
        and isinstance(asked, ScalarNode)
        and (named.value, asked.value) == (chart, version)
    ):
        yield _scalar(asked, good, text)


class _Tagged(NamedTuple):
    """A tag or digest, what it is set to, and the repository beside it."""

    repository: Node | None
    scalar: ScalarNode
    prefix: str


def _tags(root: Node | None, wanted: str, digest: str, tag: str | None, text: str) -> Iterator[Edit]:
    """Tags beside the image's repository; where none names it, the one tag that stands alone: of several it is unknown
    whose they are."""
    tagged = list(_tagged(root))
    named = [each for each in tagged if _names_image(each.repository, wanted)]
    alone = [each for each in tagged if each.repository is None]
    for each in named or (alone if len(alone) == 1 else []):
        prefix = f"{tag}@" if tag and each.prefix else each.prefix
        yield _scalar(each.scalar, f"{prefix}{digest}", text)


def _tagged(node: Node | None) -> Iterator[_Tagged]:
    """The mappings with a tag or a digest, wherever they are."""
    if isinstance(node, SequenceNode):
        for item in node.value:
            yield from _tagged(item)
    if not isinstance(node, MappingNode):
        return
    for _, value in node.value:
        yield from _tagged(value)
    fields = {key.value: value for key, value in node.value if isinstance(key, ScalarNode)}
    repository, tag, digest = fields.get("repository", fields.get("name")), fields.get("tag"), fields.get("digest")
    if isinstance(digest, ScalarNode):
        yield _Tagged(repository, digest, "")
    elif isinstance(tag, ScalarNode):
        yield _Tagged(repository, tag, f"{tag.value.partition('@')[0]}@")


def _names_image(repository: Node | None, wanted: str) -> bool:
    return isinstance(repository, ScalarNode) and f"/{wanted}".endswith(f"/{parse(repository.value).name}")


def _edits(node: Node | None, wanted: str, digest: str, text: str) -> Iterator[Edit]:
    if isinstance(node, SequenceNode):
        for item in node.value:
            yield from _edits(item, wanted, digest, text)
    if not isinstance(node, MappingNode):
        return
    for key, value in node.value:
        if key.value == "image" and isinstance(value, ScalarNode) and parse(value.value).full_name == wanted:
            yield _scalar(value, f"{parse(value.value).name}@{digest}", text)
        elif key.value == "images" and isinstance(value, SequenceNode):
            for entry in value.value:
                yield from _kustomize(entry, wanted, digest, text)
        else:
            yield from _edits(value, wanted, digest, text)


def _kustomize(entry: Any, wanted: str, digest: str, text: str) -> Iterator[Edit]:
    if not isinstance(entry, MappingNode):
        return
    fields = {key.value: (key, value) for key, value in entry.value if isinstance(key, ScalarNode)}
    named = fields.get("newName") or fields.get("name")
    if named is None or parse(str(named[1].value)).full_name != wanted:
        return
    if "digest" in fields:
        yield _scalar(fields["digest"][1], digest, text)
        if "newTag" in fields:
            yield _line(fields["newTag"][0], text)
    elif "newTag" in fields:
        key, value = fields["newTag"]
        yield (key.start_mark.index, key.end_mark.index, "digest")
        yield _scalar(value, digest, text)
    else:
        key, value = named
        end = value.end_mark.index
        joint = ", " if entry.flow_style else "\n" + " " * key.start_mark.column
        yield (end, end, f"{joint}digest: {digest}")


def _scalar(node: ScalarNode, new: str, text: str) -> Edit:
    start, end = node.start_mark.index, node.end_mark.index
    quote = text[start] if text[start] in "\"'" else ""
    return start, end, f"{quote}{new}{quote}"


def _line(key: ScalarNode, text: str) -> Edit:
    """The removal of a key that has its line to itself; nothing where it shares one."""
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    if text[start : key.start_mark.index].strip():
        return start, start, ""
    end = text.find("\n", key.end_mark.index)
    return start, (len(text) if end < 0 else end + 1), ""
