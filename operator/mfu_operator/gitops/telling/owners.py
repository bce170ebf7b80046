"""Who owns files of a repository, by its CODEOWNERS: the file of GitHub, and of GitLab with its sections."""

import re
from collections.abc import Sequence

CODEOWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where it lies, the first that is there."""

MOST = 10
"""Owners that are told; of more, nobody feels asked."""

_LINES = 5000
_LONGEST_PATTERN, _MOST_STARS = 200, 6
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
    for path in paths:
        for names in _of(text, path).values():
            found |= dict.fromkeys(names)
    return tuple(found)[:MOST]


def _of(text: str, path: str) -> dict[str, tuple[str, ...]]:
    """By section, the owners of a file."""
    section, standard = "", tuple[str, ...]()
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines()[:_LINES]:
        bare = line.partition(" #")[0].strip()
        head = _SECTION.match(bare)
        if head:
            section, standard = head[1].lower(), _names(head[2].split())
        elif bare and not bare.startswith(("#", "!")):
            pattern, *named = bare.split()
            if _meets(pattern, path):
                found[section] = _names(named) if named else standard
    return found


def _names(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(match[1] for word in words if (match := _OWNER.match(word)))


def _meets(pattern: str, path: str) -> bool:
    """Whether a pattern as in .gitignore meets a file, or a folder above it."""
    if len(pattern) > _LONGEST_PATTERN or pattern.count("*") > _MOST_STARS:
        return False
    bare = pattern.strip("/")
    anchored = pattern.startswith("/") or "/" in bare
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", bare)
    meant = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(meant.get(part, re.escape(part)) for part in parts)
    start = "" if anchored else "(?:.*/)?"
    end = "/.*" if pattern.endswith("/") else "" if pattern.endswith("/*") else "(?:/.*)?"
    return re.fullmatch(f"{start}{body}{end}", path) is not None
