"""Which values a column holds. np.unique does the same, but imports numpy.ma, which costs more than a small trace."""

import numpy as np

from mfu_operator.model.trace import Ints


def distinct(values: Ints) -> Ints:
    """Every value once, ascending."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def with_places(values: Ints) -> tuple[Ints, Ints]:
    """Every value once, ascending, and for each row the place of its value among them."""
    once = distinct(values)
    return once, np.searchsorted(once, values)


def used(indexes: Ints) -> Ints:
    """Every index once, ascending, of a column of small indexes that are not negative."""
    return np.flatnonzero(np.bincount(indexes))
