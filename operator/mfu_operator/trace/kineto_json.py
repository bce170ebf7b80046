"""Reads a Kineto (torch.profiler) Chrome trace."""

from pathlib import Path

from mfu_operator.errors import Unreadable
from mfu_operator.model.trace import Trace

MARKS = (b'"traceEvents"', b'"schemaVersion"', b'"deviceProperties"', b'"distributedInfo"', b'"ph"', b'"metadata"')
"""Keys near the beginning of such a trace: other JSON beside it is none."""

GZIP = b"\x1f\x8b"


def looks_like(head: bytes) -> bool:
    """Whether a file that begins so may be one: JSON, plain or in gzip."""
    start = head.lstrip()
    return (
        head.startswith(GZIP)
        or start.startswith(b"[")
        or (start.startswith(b"{") and any(one in head for one in MARKS))
    )


def read_kineto(path: Path) -> Trace:
    """The recording in columns."""
    raise Unreadable("NotYet", f"{path}: Kineto traces cannot be read yet")
