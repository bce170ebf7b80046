"""Errors are named for what to do next.

    MfuError
    ├── Wait        a fact is not there yet; ask again at the next tick, nothing failed
    ├── Retry       the world failed; repeat with back-off
    ├── Conflict    somebody else wrote since it was read; read it again and begin again
    ├── Stall       this spec can never work; wait for a person to change it
    ├── AskPerson   the operator could go on, and must not without a person
    └── Unreadable  a trace or an answer that cannot be read; another one may be

Each carries a documented `reason` (CamelCase, a condition's reason) and a message that says what to do.
They become conditions in one place: `reconcile/conclude.py`.

    Abandoned   none of these: the replica may not act any more, and nothing is to be said of the tick
"""


class MfuError(Exception):
    """Base of every error this project raises on purpose.

    Args:
        reason: a documented condition reason, CamelCase ("PrometheusUnreachable").
        message: what was seen and what to do about it, for a person.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Wait(MfuError):
    """A fact is not there yet; ask again at the next tick.

    Args:
        until_s: Unix seconds before which asking again is of no use; None: it may come at any moment.
    """

    def __init__(self, reason: str, message: str, until_s: float | None = None) -> None:
        super().__init__(reason, message)
        self.until_s = until_s


class Retry(MfuError):
    """The world failed; repeat with back-off."""


class Conflict(MfuError):
    """Somebody else wrote since it was read; read it again and begin again."""


class Stall(MfuError):
    """This spec can never work as it is; wait for its next generation."""


class AskPerson(MfuError):
    """The operator must not go on without a person."""


class Unreadable(MfuError):
    """A trace, a file or an answer cannot be read."""


class Abandoned(Exception):
    """This replica may not act (any more): the tick is given up, and nothing more is done or written."""
