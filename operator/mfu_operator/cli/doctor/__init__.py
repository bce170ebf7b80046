"""`kubectl mfu doctor`: each signal of a baseline, which query is sent, and what comes back."""

from mfu_operator.cli.doctor.command import doctor_command

__all__ = ["doctor_command"]
