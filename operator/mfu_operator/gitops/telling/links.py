"""Addresses of a commit and of the pull request that brought it, on the host that holds the repository."""

import re
from urllib.parse import urlsplit

from mfu_operator.model.baseline import ForgeKind
from mfu_operator.model.commit import Commit

_HOSTS = {
    "github.com": ForgeKind.GITHUB,
    "gitlab.com": ForgeKind.GITLAB,
    "bitbucket.org": ForgeKind.BITBUCKET,
    "codeberg.org": ForgeKind.GITEA,
    "gitea.com": ForgeKind.GITEA,
    "dev.azure.com": ForgeKind.AZURE_DEVOPS,
}
_COMMITS = {ForgeKind.GITLAB: "-/commit", ForgeKind.BITBUCKET: "commits"}
_REQUESTS = {
    ForgeKind.GITHUB: "pull",
    ForgeKind.GITLAB: "-/merge_requests",
    ForgeKind.GITEA: "pulls",
    ForgeKind.FORGEJO: "pulls",
    ForgeKind.AZURE_DEVOPS: "pullrequest",
    ForgeKind.BITBUCKET: "pull-requests",
}
_BROUGHT = (
    re.compile(r"\AMerge pull request #(\d{1,9}) from "),
    re.compile(r"\AMerge pull request '[^'\n]{0,200}' \(#(\d{1,9})\)"),
    re.compile(r"\AMerged PR (\d{1,9}):"),
    re.compile(r"\AMerged in [^\n]{0,200} \(pull request #(\d{1,9})\)"),
    re.compile(r"\A[^\n]{0,300}\(#(\d{1,9})\)$", re.MULTILINE),
    re.compile(r"^See merge request [\w./-]{0,200}!(\d{1,9})$", re.MULTILINE),
)
"""How GitHub, Gitea, Azure DevOps, Bitbucket, squashed merges and GitLab name the request in the commit's message."""

_WEB = re.compile(r"https?://[\w.-]+(?::\d+)?(?:/[\w.~%-]+)+")


def page(repository: str, address: str | None) -> str | None:
    """The repository's page; None where its address is none that a browser takes.

    Args:
        repository: its address in any form.
        address: the base address of its forge, where that is another one than the repository's host.
    """
    scp = re.fullmatch(r"(?:[\w.-]+@)?([\w.-]+):(?!//)(.+)", repository)
    parts = urlsplit(f"https://{scp[1]}/{scp[2].lstrip('/')}" if scp else repository)
    web = parts.scheme in ("http", "https")
    host = parts.netloc.rpartition("@")[2] if web else (parts.hostname or "")
    base = address.rstrip("/") if address else f"{parts.scheme if web else 'https'}://{host}"
    found = f"{base}/{parts.path.strip('/').removesuffix('.git')}"
    return found if _WEB.fullmatch(found) else None


def kind_of(repository: str, kind: ForgeKind | None) -> ForgeKind | None:
    """The declared kind, else that of a public host."""
    return kind or _HOSTS.get(urlsplit(page(repository, None) or "").hostname or "")


def commit_link(page_address: str | None, kind: ForgeKind | None, sha: str) -> str | None:
    """The commit's page; None where the host is of no known kind."""
    if page_address is None or kind in (None, ForgeKind.OTHER) or not re.fullmatch(r"[0-9a-f]{7,64}", sha):
        return None
    return f"{page_address}/{_COMMITS.get(kind or ForgeKind.OTHER, 'commit')}/{sha}"


def brought_by(commit: Commit) -> int | None:
    """The number of the pull request that brought a commit, where its message says so."""
    said = f"{commit.subject[:400]}\n{commit.body[:4000]}"
    found = next((match for pattern in _BROUGHT if (match := pattern.search(said))), None)
    return int(found[1]) if found is not None else None


def request_link(page_address: str | None, kind: ForgeKind | None, number: int) -> str | None:
    """The pull request's page; None where the host is of no known kind."""
    where = _REQUESTS.get(kind) if kind is not None else None
    return f"{page_address}/{where}/{number}" if page_address is not None and where is not None else None
