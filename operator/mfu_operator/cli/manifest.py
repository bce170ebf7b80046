"""A baseline's manifest from a file, or from a pipe: what a person wrote, or what `kubectl get -o yaml` shows."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import yaml

from mfu_operator.api import decode
from mfu_operator.errors import Unreadable
from mfu_operator.model.baseline import BaselineSpec

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
    for name in ("metadata", "spec"):
        if not isinstance(body.get(name) or {}, Mapping):
            raise Unreadable("UnreadableBaseline", f"{path}: {name} is {body[name]!r}: write its fields below it")
    return {**body, "metadata": {"namespace": "default", **(body.get("metadata") or {})}}


def spec_of(body: Mapping[str, Any]) -> BaselineSpec:
    """The decoded spec. Of a field that there is none of, a line on stderr: the API server would refuse it, and a
    misspelt tolerance is not a tolerance.

    Raises:
        Stall: as `decode.spec`.
    """
    noted = _Noted("spec", body.get("spec") or {})
    spec = decode.spec({**body, "spec": noted})
    for said in spec.deprecated:
        click.echo(f"kubectl-mfu: {said}", err=True)
    for path in noted.unread():
        click.echo(
            f"kubectl-mfu: {path} is not a field, so it does nothing: `kubectl explain tb.{path.rpartition('.')[0]}`",
            err=True,
        )
    return spec


class _Noted(Mapping[str, Any]):
    """A mapping that notes which of its fields were looked at, and so do those below it."""

    def __init__(self, path: str, values: Mapping[str, Any]) -> None:
        self._path = path
        self._values = {
            name: _Noted(f"{path}.{name}", value) if isinstance(value, Mapping) else value
            for name, value in values.items()
        }
        self._seen: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self._seen.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def unread(self) -> Iterator[str]:
        """The paths of the fields that nobody looked at."""
        for name, value in self._values.items():
            if name not in self._seen:
                yield f"{self._path}.{name}"
            elif isinstance(value, _Noted):
                yield from value.unread()
