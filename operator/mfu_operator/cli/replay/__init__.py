"""`kubectl mfu replay`: what the operator would have said about a series."""

from mfu_operator.cli.replay.command import replay_command

__all__ = ["replay_command"]
