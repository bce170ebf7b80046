"""`kubectl mfu suspects`: which commit made a workload slow, without a cluster."""

from mfu_operator.cli.suspects.command import suspects_command

__all__ = ["suspects_command"]
