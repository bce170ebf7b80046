"""`kubectl mfu report`: an incident as the record that a change ticket asks for, and as one page."""

from mfu_operator.cli.report.command import report_command

__all__ = ["report_command"]
