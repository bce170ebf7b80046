"""How large a trace may be before it is refused, rather than read until memory ends."""

from pathlib import Path

from mfu_operator.errors import Unreadable

MOST_EVENTS = 25_000_000
"""Of one file, unless a person says otherwise: reading takes up to 180 bytes of memory per event (`make bench`), so
that these need 4.5 GB."""


def check_count(path: Path, events: int, most_events: int) -> None:
    """Raises Unreadable (TooLarge) where there are more events than are to be read."""
    if events > most_events:
        raise Unreadable(
            "TooLarge", f"{path}: more than {most_events:,} events; record fewer steps, or raise --max-events"
        )
