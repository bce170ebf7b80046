"""Bases of kustomizations that lie in other repositories: which repository, revision and folder an address means."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs

FOLDER = ".mfu-remote"
"""Where other repositories are laid beside an exported one."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A folder of another repository; `ref` "" is what it has checked out."""

    repository: str
    ref: str
    path: str


def remote(text: str) -> Remote | None:
    """What a kustomization's address means; None where it is not an address of a repository that kustomize reads."""
    bare, _, query = text.removeprefix("git::").partition("?")
    asked = parse_qs(query)
    ref = (asked.get("ref") or asked.get("version") or [""])[0]
    scheme, mark, rest = bare.partition("://")
    if not mark:
        scheme, rest = "", bare
    front, double, path = rest.partition("//")
    if not double:
        front, path = _split(rest)
    if not front or (not scheme and not re.match(r"(?:[\w-]+\.)+[a-z]{2,8}/|[\w.-]+@[\w.-]+:", front)):
        return None
    written = front if "@" in front and ":" in front and not scheme else f"{scheme or 'https'}://{front}"
    return Remote(written, ref, path.strip("/"))


def _split(text: str) -> tuple[str, str]:
    """The repository and the folder of an address without `//`: after `.git`, else after host, owner and name."""
    front, git, path = text.partition(".git")
    if git:
        return f"{front}.git", path
    parts = text.split("/")
    return "/".join(parts[:3]), "/".join(parts[3:])
