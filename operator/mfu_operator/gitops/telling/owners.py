"""Who owns files of a repository, by its CODEOWNERS: the file of GitHub, and of GitLab with its sections."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

CODEOWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where it lies, the first that is there."""

MOST = 10
"""Owners that are told; of more, nobody feels asked."""

_LINES = 5000
_LONGEST_PATTERN = 200
_MOST_COMPARED = 2_000_000
"""Names of folders and files with parts of patterns, seconds of them: beyond, nobody is told."""

_SECTION = re.compile(r"\^?\[([^\]]{1,100})\](?:\[\d{1,3}\])?(.*)\Z")
_OWNER = re.compile(r"@([A-Za-z0-9][\w.-]{0,99}(?:/[\w.-]{1,100}){0,5})\Z")


def owners(text: str, paths: Sequence[str]) -> tuple[str, ...]:
    """The owners of files, at most MOST: names without "@", `org/team` for a team. Addresses of mail are left out.

    Of one section the last pattern that meets a file holds, as the hosts have it.

    Args:
        text: the CODEOWNERS file.
        paths: of the repository.
    """
    found: dict[str, None] = {}
    lines, left = text.splitlines()[:_LINES], _MOST_COMPARED
    for path in paths:
        parts = path.split("/")
        left -= len(parts) * sum(line.count("/") + 2 for line in lines)
        if left < 0:
            return ()
        for names in _of(lines, parts).values():
            found |= dict.fromkeys(names)
    return tuple(found)[:MOST]


def _of(lines: Sequence[str], parts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """By section, the owners of a file."""
    section, standard = "", tuple[str, ...]()
    found: dict[str, tuple[str, ...]] = {}
    for line in lines:
        bare = line.partition(" #")[0].strip()
        head = _SECTION.match(bare)
        if head:
            section, standard = head[1].lower(), _names(head[2].split())
        elif bare and not bare.startswith(("#", "!")):
            pattern, *named = bare.split()
            if _meets(pattern, parts):
                found[section] = _names(named) if named else standard
    return found


def _names(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(match[1] for word in words if (match := _OWNER.match(word)))


def _meets(pattern: str, parts: Sequence[str]) -> bool:
    """Whether a pattern as in .gitignore meets a file, or a folder above it. No pattern makes it go back: after each of
    its parts it is known how many of the file's may be behind it."""
    bare = pattern.strip("/")
    if len(pattern) > _LONGEST_PATTERN or not bare:
        return False
    anchored = pattern.startswith("/") or "/" in bare
    behind = {0} if anchored else set(range(len(parts)))
    wanted = [part.replace("[", "[[]") for part in bare.split("/")]
    for part in wanted:
        if part == "**":
            behind = set(range(min(behind), len(parts) + 1))
        else:
            behind = {at + 1 for at in behind if at < len(parts) and fnmatchcase(parts[at], part)}
        if not behind:
            return False
    if pattern.endswith("/*"):
        return len(parts) in behind
    inside = pattern.endswith("/") or wanted[-1] == "**"
    return min(behind) < len(parts) if inside else True
