"""The one back-off of everything that waits after a failure: it doubles, and it is bounded."""

MOST_DOUBLINGS = 32
"""Beyond any pair of pauses in use: a second doubled so often is a century. Without it the 1,024th failure in a row,
after 3.5 days of five-minute pauses, is more than a float can hold."""


def growing_pause_s(first_s: float, longest_s: float, failures: int) -> float:
    """Seconds to wait after so many failures in a row: `first_s` after the first, twice as long after each further one,
    never longer than `longest_s`."""
    return min(longest_s, first_s * 2.0 ** min(max(failures - 1, 0), MOST_DOUBLINGS))
