"""What git said, as what to do next, and without secrets."""

import os
import re

from mfu_operator.adapters.git.environment import secrets_of
from mfu_operator.adapters.git.protocol import Request
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.masking import without

_DENIED = re.compile(
    r"authentication failed|could not read (?:username|password)|invalid credentials|terminal prompts disabled|"
    r"permission|access denied|unauthorized|forbidden|error: 40[13]|repository .*not found|not appear to be a git repo",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"hook declined|protected branch|remote rejected|not allowed to push", re.IGNORECASE)

_REDIRECTED = re.compile(r"returned error: 30[1-8]|redirect", re.IGNORECASE)
_TOO_LARGE = re.compile(r"out of memory|memory exhausted|file too large|file size limit|malloc failed", re.IGNORECASE)

MOST_SAID = 300
"""Characters of git's own words, in a condition's message."""


def explained(request: Request, stderr: str) -> MfuError:
    """What git said, as what to do next."""
    told = re.findall(r"^\s*(?:stderr: ')?\s*((?:fatal|error|remote|ERROR): .*)$", stderr, re.MULTILINE) or [stderr]
    shown = redacted(" ".join(told), *secrets_of(os.environ))
    said = " ".join(shown.split()).removesuffix("'")[:MOST_SAID].rstrip(" .")
    if re.search(r"remote branch .* not found", stderr, re.IGNORECASE):
        return Stall(
            "BranchMissing", f"{request.url} has no branch {request.source.branch}: set spec.remediation.branch."
        )
    if _TOO_LARGE.search(stderr):
        return too_large(request.url, said)
    if redirected(stderr):
        return Stall(
            "RepositoryUnsupported",
            f"{request.url} redirects to another address, which git does not follow: write the new one in "
            "spec.remediation.repository.",
        )
    if _REFUSED.search(stderr):
        account = "let the account of spec.remediation.forge.secretRef push branches named mfu-operator/*"
        return Retry("RepositoryRefused", f"{request.url} refused the push: {said}; {account}")
    if _DENIED.search(stderr):
        return Retry(
            "RepositoryAccessDenied",
            f"{request.url} refused access: {said}. Check the Secret in spec.remediation.forge.secretRef: its "
            "token must read and write the repository.",
        )
    return unreachable(f"{request.url} cannot be reached: {said}")


def redirected(stderr: str) -> bool:
    """Whether the server sent git to another address."""
    return _REDIRECTED.search(stderr) is not None


def too_large(url: str, said: str) -> Stall:
    """The repository needs more than the Git process may use."""
    return Stall(
        "RepositoryTooLarge",
        f"{url} needs more than a look at a repository may use ({said}): move the workload's configuration into a "
        "repository of its own, or find the commit by hand.",
    )


def unreachable(said: str) -> Retry:
    """The repository did not answer; with what to check."""
    checks = "check spec.remediation.repository (absent: the application's), and that the operator's pod reaches it"
    return Retry("RepositoryUnreachable", f"{said}; {checks}")


def redacted(text: str, *secrets: str) -> str:
    """The text without the secrets and without credentials in addresses."""
    shown = without(text, *secrets)
    return re.sub(r"://[^/@\s]+@", "://***@", shown)
