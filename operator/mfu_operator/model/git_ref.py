"""What can be a branch in Git: a name of others that becomes a part of a command is checked first."""

import re

LONGEST = 253
"""Characters; a ref is a path, of which a file system takes no more."""

_FORBIDDEN = re.compile(r"[\0-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|^[-./]|[/.]$")
"""The rules of `git check-ref-format --branch` (git-check-ref-format(1)); a dash in front would be an option."""

_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def is_branch(name: str) -> bool:
    """Whether Git takes the name for a branch."""
    return 0 < len(name) <= LONGEST and name not in ("@", "HEAD") and _FORBIDDEN.search(name) is None


def is_commit(revision: str) -> bool:
    """Whether the revision is the hexadecimal name of a commit, and no expression that Git would evaluate."""
    return _COMMIT.fullmatch(revision) is not None
