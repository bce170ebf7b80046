"""Who may ask for a capture: whoever knows the token. Read at each request, because a mounted Secret is renewed."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from pathlib import Path

FILE_VARIABLE = "MFU_PROBE_TOKEN_FILE"
VARIABLE = "MFU_PROBE_TOKEN"
LONGEST = 4096


def configured_token(environment: Mapping[str, str]) -> str | None:
    """The token; None where none is configured, or its file cannot be read (the Secret is optional)."""
    path = environment.get(FILE_VARIABLE)
    if path:
        try:
            with Path(path).open(encoding="utf-8") as file:
                return file.read(LONGEST).strip() or None
        except (OSError, UnicodeDecodeError):
            return None
    return environment.get(VARIABLE) or None


def allows(header: str | None, token: str) -> bool:
    """Whether an Authorization header carries the token, compared in constant time."""
    scheme, _, given = (header or "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())
