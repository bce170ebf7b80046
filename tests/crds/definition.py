"""The CustomResourceDefinition and the samples, as the tests see them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

CRDS = Path(__file__).parents[2] / "crds"
DEFINITION = CRDS / "trainingbaseline.yaml"
SAMPLES = sorted((CRDS / "samples").glob("*.yaml"))
INVALID = sorted((CRDS / "samples" / "invalid").glob("*.yaml"))

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Schema = Mapping[str, Any]


def definition() -> dict[str, Any]:
    """The CustomResourceDefinition."""
    loaded: dict[str, Any] = yaml.load(DEFINITION.read_text(), Loader=_LOADER)  # noqa: S506 - a safe one
    return loaded


def schema() -> dict[str, Any]:
    """The schema of the one version."""
    found: dict[str, Any] = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def walk(node: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """Every field below a schema with its path, the schema itself first."""
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from walk(child, f"{path}.{name}")
    if "items" in node:
        yield from walk(node["items"], f"{path}[]")
    if isinstance(node.get("additionalProperties"), Mapping):
        yield from walk(node["additionalProperties"], f"{path}.*")


def closed(node: Schema) -> dict[str, Any]:
    """The schema as the API server reads it: a field that it does not name is refused."""
    copy = dict(node)
    if "properties" in node:
        copy["properties"] = {name: closed(child) for name, child in node["properties"].items()}
        copy["additionalProperties"] = False
    if "items" in node:
        copy["items"] = closed(node["items"])
    return copy


def with_defaults(value: Any, node: Schema) -> Any:
    """The value with the schema's defaults, as the API server stores it."""
    if isinstance(value, Mapping):
        filled = dict(value)
        for name, child in node.get("properties", {}).items():
            if name not in filled and "default" in child:
                filled[name] = child["default"]
            if name in filled:
                filled[name] = with_defaults(filled[name], child)
        return filled
    return value


def expectation(sample: Path) -> str:
    """What the API server is to say about a sample that it refuses: its first line."""
    first, _, _ = sample.read_text().partition("\n")
    assert first.startswith("# expect: "), f"{sample.name} does not begin with '# expect: <part of the message>'"
    return first.removeprefix("# expect: ")
