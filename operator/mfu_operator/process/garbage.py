"""How often Python looks for cycles among its objects, in a process that remembers a fleet."""

import gc

YOUNGEST_OBJECTS = 20_000
"""New objects before the collector looks at them. The answers of one sweep over ten thousand jobs are 200,000 objects
that live to its end; at Python's 700 each sweep had it walk all that the fleet is remembered by, and a quarter of a
sweep's time went into that (`python -m tests.bench.sweep`)."""

OLDER_PASSES = 20
"""Passes over the younger objects for one over the older; Python has 10."""


def collect_seldom() -> None:
    """Let the collector of this process go by the size of a fleet's answers."""
    gc.set_threshold(YOUNGEST_OBJECTS, OLDER_PASSES, OLDER_PASSES)
