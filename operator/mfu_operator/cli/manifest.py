"""A baseline's manifest from a file, or from a pipe: what a person wrote, or what `kubectl get -o yaml` shows."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import yaml

from mfu_operator.errors import Unreadable

MANIFEST = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
"""The option's type; "-" is the standard input."""


def read_manifest(path: Path) -> Mapping[str, Any]:
    """The object, of the namespace `default` where it names none.

    Raises:
        Unreadable: (UnreadableBaseline) where it is none.
    """
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
        body = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Unreadable("UnreadableBaseline", f"{path}: {error}") from None
    if not isinstance(body, Mapping) or body.get("kind") != "TrainingBaseline":
        raise Unreadable("UnreadableBaseline", f"{path}: not a TrainingBaseline manifest")
    return {**body, "metadata": {"namespace": "default", **(body.get("metadata") or {})}}
