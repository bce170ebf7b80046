"""The end of the process, where it must not wait for what is under way."""

import logging
import os
import sys

log = logging.getLogger(__name__)

ORDERLY = 0
"""The exit status of a process that was told to end."""

FAILED = 1
"""The exit status after which the kubelet starts the container again."""


def end_process(because: str, status: int = FAILED) -> None:
    """End now: no thread is waited for, no handler is run. What was done is found by its name at the next start."""
    log.critical("the process ends: %s", because)
    logging.shutdown()
    sys.stdout.flush()
    os._exit(status)
