"""`kubectl mfu timeline`: what happened in a baseline's incidents, and when.

moments   an incident's record of facts as moments
events    the Events of a baseline, which date what the record does not
story     both together, in order
command   the command, and its formats
"""

from mfu_operator.cli.timeline.command import timeline_command

__all__ = ["timeline_command"]
