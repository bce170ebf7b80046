"""Where a repository is: host, owner and name, from whatever form of address a GitOps tool was given."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from mfu_operator.errors import Stall
from mfu_operator.model.web_address import path_flaw


@dataclass(frozen=True, slots=True)
class Address:
    """`web` is the forge's base URL ("https://git.example.org"); `path` the repository below it ("team/models")."""

    web: str
    path: str

    @property
    def host(self) -> str:
        """The host without its port."""
        return urlsplit(self.web).hostname or ""

    @property
    def owner(self) -> str:
        """All of the path but the repository's own name."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The repository's own name."""
        return self.path.rpartition("/")[2]


def parse(repository: str, base: str | None = None) -> Address:
    """The address of `https://host/owner/name.git`, `ssh://git@host:22/owner/name` or `git@host:owner/name.git`.

    Args:
        repository: as the GitOps tool has it; credentials in it are dropped.
        base: the forge's base URL where it is not the repository's host; a folder in it is taken off the path.

    Raises:
        Stall(ForgeUnknown): it names no owner and repository.
    """
    scp = re.fullmatch(r"(?:[\w.-]+@)?([\w.-]+):(?!//)(.+)", repository)
    if scp:
        web, path = f"https://{scp[1]}", scp[2]
    else:
        parts = urlsplit(repository)
        netloc = parts.netloc.rpartition("@")[2]
        secure = parts.scheme not in ("http", "https")
        web = f"https://{netloc.partition(':')[0]}" if secure else f"{parts.scheme}://{netloc}"
        path = parts.path
    problem = path_flaw(repository)
    if problem is not None:
        raise Stall("ForgeUnknown", f"the address of the repository {problem}: correct spec.remediation.repository.")
    path = path.strip("/").removesuffix(".git")
    if base:
        web = base.rstrip("/")
        folder = urlsplit(web).path.strip("/")
        path = path.removeprefix(f"{folder}/") if folder else path
    if "/" not in path:
        raise Stall(
            "ForgeUnknown",
            f"{path or 'the repository'} names no owner and repository: set spec.remediation.repository.",
        )
    return Address(web, path)
