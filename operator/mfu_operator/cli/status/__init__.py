"""`kubectl mfu status`: one line per baseline, or one of them as a story."""

from mfu_operator.cli.status.command import status_command

__all__ = ["status_command"]
