"""`kubectl mfu capture`: a capture by hand, and the plan for any manifest."""

from mfu_operator.cli.capture.command import capture_command

__all__ = ["capture_command"]
