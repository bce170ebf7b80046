"""Addresses of repositories, compared."""

import re
from urllib.parse import urlsplit


def host_and_path(address: str) -> str:
    """A remote address in one spelling: scheme, user, `.git` and trailing slashes aside; "" for a local path."""
    scp = re.fullmatch(r"(?:[\w.-]+@)?([\w.-]+):(?!//)([^\\]+)", address)
    parts = urlsplit(f"//{scp[1]}/{scp[2]}" if scp and "/" not in scp[1] else address)
    host = parts.netloc.rpartition("@")[2].lower()
    return f"{host}/{parts.path.strip('/').removesuffix('.git')}".rstrip("/") if host else ""
