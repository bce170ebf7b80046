"""Manifests from a file or from a pipe, as people and kubectl write them."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from mfu_operator.errors import Unreadable

LARGEST_FILE = 16 << 20
"""Bytes of one file of manifests; more is not a workload."""

FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
"""The option's type; "-" is the standard input."""


def kind_and_name(option: str, text: str) -> tuple[str, str]:
    """Kind and name of a workload. Raises click's UsageError where they are not both there."""
    kind, slash, name = text.partition("/")
    if not slash or not kind or not name:
        raise click.UsageError(f"{option} {text!r}: write KIND/NAME, such as PyTorchJob/gpt")
    return kind, name


def documents(path: Path) -> Sequence[Mapping[str, Any]]:
    """The objects of a file, those of lists among them.

    Raises:
        Unreadable: (UnreadableManifest) where the file is not YAML or larger than is read.
    """
    try:
        text = sys.stdin.read(LARGEST_FILE + 1) if str(path) == "-" else _bounded(path)
        if len(text) > LARGEST_FILE:
            raise Unreadable(
                "UnreadableManifest", f"{path}: more than {LARGEST_FILE >> 20} MiB; give the workload alone"
            )
        loaded = list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))  # a safe one
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError, ValueError) as error:
        raise Unreadable("UnreadableManifest", f"{path}: {' '.join(str(error).split())}") from None
    objects = [each for each in loaded if isinstance(each, Mapping)]
    if not objects:
        raise Unreadable("UnreadableManifest", f"{path}: the file holds no object; give a workload's manifest")
    return [item for each in objects for item in _items(each)]


def _bounded(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.read(LARGEST_FILE + 1)


def _items(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    items = document.get("items")
    if str(document.get("kind", "")).endswith("List") and isinstance(items, list):
        return [each for each in items if isinstance(each, Mapping)]
    return [document]
