"""Objects for programs: JSON and YAML."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml


def as_json(value: Mapping[str, Any]) -> str:
    """Indented, in Unicode."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def as_yaml(value: Mapping[str, Any]) -> str:
    """In blocks, in the order in which it was given."""
    return yaml_of(as_json(value))


def yaml_of(text: str) -> str:
    """What is JSON already, as YAML."""
    return yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True).rstrip("\n")


def listed(items: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Several objects as kubectl prints them."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}
