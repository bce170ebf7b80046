"""Addresses of repositories, compared."""

import re
from urllib.parse import urlsplit


def host_and_path(address: str) -> str:
    """A remote address in one spelling: scheme, user, `.git` and trailing slashes aside; "" for what is none."""
    scp = re.fullmatch(r"(?:[\w.-]+@)?([\w.-]+):(?!//)([^\\]+)", address)
    try:
        parts = urlsplit(f"//{scp[1]}/{scp[2]}" if scp else address)
    except ValueError:  # a bracket that is never closed
        return ""
    host = parts.netloc.rpartition("@")[2].lower()
    return f"{host}/{parts.path.strip('/').removesuffix('.git')}".rstrip("/") if host else ""
