"""Times as the APIs of others write them: RFC 3339 texts."""

from datetime import datetime


def unix_time(text: str | None) -> float | None:
    """Unix seconds; None where there is no text. Raises ValueError where it is not a time."""
    return datetime.fromisoformat(text).timestamp() if text else None
