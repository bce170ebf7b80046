"""Matching rows of two tables by integer keys."""

import numpy as np

from mfu_operator.model.trace import NONE, Ints


def join(wanted: Ints, keys: Ints) -> Ints:
    """For each wanted key the first row of `keys` that equals it, or NONE."""
    if not len(keys):
        return np.full(len(wanted), NONE, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    found = order[place]
    return np.where(keys[found] == wanted, found, NONE)
