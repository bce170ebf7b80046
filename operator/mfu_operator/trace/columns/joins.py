"""Matching rows of two tables by integer keys."""

import numpy as np

from mfu_operator.model.trace import NONE, Flags, Ints


def join(wanted: Ints, keys: Ints) -> Ints:
    """For each wanted key the first row of `keys` that equals it, or NONE."""
    if not len(keys):
        return np.full(len(wanted), NONE, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    found = order[place]
    return np.where(keys[found] == wanted, found, NONE)


def ambiguous(keys: Ints, owners: Ints) -> Flags:
    """Whether each key is another owner's too, so that who asks for it cannot know whose row is meant."""
    found = np.zeros(len(keys), dtype=np.bool_)
    if not len(keys) or (owners == owners[0]).all():
        return found
    order = np.lexsort((owners, keys))
    first = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0))
    last = np.append(first[1:], len(keys)) - 1
    of_several = owners[order[first]] != owners[order[last]]
    found[order] = np.repeat(of_several, last - first + 1)
    return found
