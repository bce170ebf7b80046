"""What an address of others may be, before a path of ours is put behind it."""

import re
from urllib.parse import urlsplit

_SHOWN = re.compile(r"[!-~]+")
"""Printable ASCII without spaces: what a URL is made of (RFC 3986)."""


def flaw(address: str) -> str | None:
    """Why the text cannot be a base address; None where it can.

    A query or a fragment would swallow the path that is put behind it, and so turn the base into a request to any
    path; credentials do not belong into an address.
    """
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "is not a web address; write it with its scheme, like https://prometheus.example:9090"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not _SHOWN.fullmatch(address):
        return "is not a web address; write it with its scheme, like https://prometheus.example:9090"
    if "@" in parts.netloc:
        return "holds credentials; put them into the Secret that secretRef names"
    return path_flaw(address)


def path_flaw(text: str) -> str | None:
    """Why the text cannot be the beginning of a path; None where it can."""
    if re.search(r"[?#\\]", text):
        return "holds a query or a fragment; write host, port and path alone"
    if {".", ".."} & set(text.split("/")):
        return "holds a path with . or .. in it; write the path itself"
    return None
