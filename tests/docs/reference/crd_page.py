"""runbooks/reference-crd.md, from the definition: `python -m tests.docs.reference.crd_page` writes it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crds.definition import Schema, definition, schema

PAGE = Path(__file__).parents[3] / "runbooks" / "reference-crd.md"
HEAD = """\
# Reference: TrainingBaseline

Every field of `{api}` (`{short}`). `kubectl explain {short}.spec.baseline` prints the same for
the definition that your cluster has. A field without a default is absent unless you write it, and "required" is meant
within its object. A duration is numbers with units (`ms`, `s`, `m`, `h`), such as `90s` or `1h30m`; a time is RFC 3339;
other units are in the field's name or meaning. Only the operator writes `status`. This page is made from
`crds/trainingbaseline.yaml` (`make generate`).
"""
COLUMNS = "\n| field | type | default | bounds | meaning |\n|---|---|---|---|---|\n"
BAR = r"\|"
DURATION = "write a number and a unit (ms, s, m, h)"


@dataclass(frozen=True, slots=True)
class Field:
    """One field, by its path below the section, and what is written about it elsewhere (None: it is written here)."""

    path: str
    node: Schema
    required: bool
    as_in: str | None


def made() -> str:
    """The page as the definition is now."""
    names = definition()["spec"]
    api = f"{names['group']}/{names['versions'][0]['name']} {names['names']['kind']}"
    head = HEAD.format(api=api, short=names["names"]["shortNames"][0])
    written: dict[int, str] = {}
    halves = schema()["properties"]  # held here: what `written` tells apart by its id must not be let go
    return head + "".join(part for half in ("spec", "status") for part in _half(half, halves[half], written))


def _half(half: str, node: Schema, written: dict[int, str]) -> Iterator[str]:
    """The section of spec or status itself with its plain fields, then one section for each of its objects."""
    parts = {name: child for name, child in node["properties"].items() if _inner(child) is not None}
    plain = {name: child for name, child in node["properties"].items() if name not in parts}
    yield _section(half, node, list(_fields({**node, "properties": plain}, "", half, written)))
    for name, child in parts.items():
        path = f"{half}.{name}"
        inner = _inner(child)
        assert inner is not None
        yield _section(path, child, list(_below(child, "", path, written)), written[id(inner)])


def _section(path: str, node: Schema, fields: Sequence[Field], as_in: str | None = None) -> str:
    heading = f"\n## {path}\n\n{node['description']}\n"
    if as_in is not None and as_in != path:
        return f"{heading}\nIts fields are those of {_link(as_in)}.\n"
    table = COLUMNS + "".join(map(_row, fields)) if fields else ""
    return heading + table + _refused([("", node), *((each.path, each.node) for each in fields)])


def _below(node: Schema, path: str, section: str, written: dict[int, str]) -> Iterator[Field]:
    """The fields inside an object, or inside the objects of a list or a map, those of objects in them included."""
    inner = _inner(node)
    if inner is None or id(inner) in written:
        return
    if "properties" in node:
        written[id(inner)] = f"{section}.{path.removeprefix('[]').removeprefix('.')}".removesuffix(".")
        yield from _fields(node, path, section, written)
    else:
        yield from _below(_element(node), f"{path}[]" if "items" in node else f"{path}.*", section, written)


def _fields(node: Schema, path: str, section: str, written: dict[int, str]) -> Iterator[Field]:
    for name, child in node["properties"].items():
        below = f"{path}.{name}" if path else name
        yield Field(below, child, name in node.get("required", ()), written.get(id(_inner(child))))
        yield from _below(child, below, section, written)


def _element(node: Schema) -> Schema:
    """What a list or a map is of; nothing for another node."""
    element = node.get("items", node.get("additionalProperties"))
    return element if isinstance(element, Mapping) else {}


def _inner(node: Schema) -> Mapping[str, Any] | None:
    """The fields in it: its own, or those of what it is a list or a map of."""
    if "properties" in node:
        found: Mapping[str, Any] = node["properties"]
        return found
    element = _element(node)
    return _inner(element) if element else None


def _row(field: Field) -> str:
    node = field.node
    default = _default(node)
    meaning = str(node["description"]).removesuffix(f" Default: {default}.")
    if field.as_in is not None:
        meaning += f" Its fields are those of {_link(field.as_in)}."
    shown = f"`{default}`" if default else ""
    limits = [*(["required"] if field.required else []), *bounds(node)]
    cells = (f"`{field.path}`", type_of(node), shown, ", ".join(limits), meaning)
    return f"| {' | '.join(each.replace('|', BAR) for each in cells)} |\n"


def _default(node: Schema) -> str:
    """A default as YAML writes it; an empty object is what is filled in for its fields' defaults to apply."""
    default = node.get("default")
    if default is None or default == {}:
        return ""
    return str(default).lower() if isinstance(default, bool) else str(default)


def type_of(node: Schema) -> str:
    """A node's type as a person says it."""
    if node.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if "items" in node:
        return f"list of {type_of(node['items'])}"
    if isinstance(node.get("additionalProperties"), Mapping):
        return f"map of {type_of(node['additionalProperties'])}"
    if node.get("format") == "date-time":
        return "time"
    if any(rule["message"].startswith(DURATION) for rule in node.get("x-kubernetes-validations", ())):
        return "duration"
    return str(node.get("type", "any"))


def bounds(node: Schema) -> Iterator[str]:
    """What the API server checks without an expression, in words."""
    if "enum" in node:
        yield "one of " + ", ".join(f"`{each}`" for each in node["enum"])
    yield from _between(node, "minimum", "maximum", "")
    if type_of(node) != "duration":
        yield from _between(node, "minLength", "maxLength", " characters")
    yield from _between(node, "minItems", "maxItems", " items")
    yield from _between(node, "minProperties", "maxProperties", " entries")
    if "pattern" in node:
        yield f"matches `{node['pattern']}`"


def _between(node: Schema, low: str, high: str, unit: str) -> Iterator[str]:
    if low in node and high in node:
        yield f"{node[low]} to {node[high]}{unit}"
    elif low in node or high in node:
        yield f"{'at least' if low in node else 'at most'} {node.get(low, node.get(high))}{unit}"


def _refused(nodes: Sequence[tuple[str, Schema]]) -> str:
    """What the API server's rules ask for, each with the fields that it is about; a duration's form is in the head."""
    asked: dict[str, list[str]] = {}
    for path, node in nodes:
        for place, each in ((path, node), (f"{path}[]", node.get("items", {}))):
            for rule in each.get("x-kubernetes-validations", ()):
                if not rule["message"].startswith(DURATION):
                    asked.setdefault(rule["message"], []).append(place)
    lines = [_rule(message, [each for each in places if each]) for message, places in asked.items()]
    return "\nThe API server also asks:\n\n" + "\n".join(lines) + "\n" if lines else ""


def _rule(message: str, places: Sequence[str]) -> str:
    about = ", ".join(f"`{each}`" for each in places)
    return f"- {about}: {message}." if about else f"- {message}."


def _link(path: str) -> str:
    """To the section that a path is in."""
    section = ".".join(path.split(".")[:2])
    return f"[{path}](#{anchor(section)})"


def anchor(heading: str) -> str:
    """A heading's anchor, as Git hosts make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(made(), encoding="utf-8")
