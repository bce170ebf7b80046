"""Which rows of several ranks' collectives are the same collective.

Ranks record their collectives in the same order, and may lack some at the edges: one whose launch lay before the
recording, one that had not ended with it. Steps that carry numbers are matched by name, and within each the longest
common sequence of what the collectives do, of several the one whose ends lie closer; others by the order in which they
come, shifted to where their ends agree.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mfu_operator.model.trace import NONE, Ints, column
from mfu_operator.trace.account.collectives import Collectives

ENOUGH_FOR_DRIFT = 4
"""Collectives, from which on a clock's drift is estimated beside its offset."""

MOST_COMPARED = 1_000
"""Rows of each of two ranks that a longest common sequence is looked for in, beyond those equal at the edges."""

FARTHEST = 64
"""Rows that one rank may have recorded more of at the beginning than another, where steps are not numbered."""

LEAST_SHARED = 0.5
"""Of the shorter rank's rows: with fewer that match, they are not the same collectives."""

Pairs = tuple[Ints, Ints]
"""Rows of one rank and the rows of another that are the same collectives, ascending."""


def meetings(recorded: Sequence[Collectives]) -> Ints:
    """The collectives that several ranks shared: shape (ranks, collectives), each rank's row, NONE where it is not of
    the group. Only those that all ranks of the group have recorded are among them."""
    groups = dict.fromkeys(group for one in recorded for group in one.group)
    found = [
        _of_group(recorded, [np.flatnonzero([own == group for own in one.group]) for one in recorded])
        for group in groups
    ]
    shared = np.concatenate([one for one in found if one is not None] or [_nothing(recorded)], axis=1)
    if not shared.shape[1] and len(groups) > 1:
        return _joined(_of_group(recorded, [np.arange(len(one)) for one in recorded]), recorded)
    return shared


def _joined(found: Ints | None, recorded: Sequence[Collectives]) -> Ints:
    return _nothing(recorded) if found is None else found


def _nothing(recorded: Sequence[Collectives]) -> Ints:
    return np.full((len(recorded), 0), NONE, dtype=np.int64)


def _of_group(recorded: Sequence[Collectives], rows: Sequence[Ints]) -> Ints | None:
    members = [rank for rank, its in enumerate(rows) if len(its)]
    if len(members) < 2:
        return None
    parts = {rank: recorded[rank].where(rows[rank]) for rank in members}
    first = max(members, key=lambda rank: len(rows[rank]))
    found = np.full((len(recorded), len(rows[first])), NONE, dtype=np.int64)
    found[first] = rows[first]
    numbered = are_numbered([parts[rank] for rank in members])
    for rank in members:
        if rank == first:
            continue
        mine, theirs = pairs(parts[first], parts[rank], numbered=numbered)
        found[rank, mine] = rows[rank][theirs]
    return found[:, (found[members] != NONE).all(axis=0)]


def are_numbered(recorded: Sequence[Collectives]) -> bool:
    """Whether each rank's steps have names of their own."""
    return all(
        len(set(one.step_names)) == len(one.step_names) > 1 and all(re.search(r"\d", name) for name in one.step_names)
        for one in recorded
    )


def pairs(one: Collectives, other: Collectives, *, numbered: bool) -> Pairs:
    """The rows of two ranks that are the same collectives; none where that cannot be told."""
    return _by_step(one, other) if numbered else _by_order(one, other)


def _by_step(one: Collectives, other: Collectives) -> Pairs:
    """Within each step a longest common sequence. Where several are as long, those ends decide that lie closer."""
    both = [name for name in one.step_names if name in other.step_names]
    either = [_of_step(one, other, one.step_names.index(name), other.step_names.index(name)) for name in both]
    certain = _concatenated([usual for usual, last in either if _alike(usual, last)])
    if not len(certain[0]):
        return _concatenated([usual for usual, _ in either])
    shift = float(np.median(other.end[certain[1]] - one.end[certain[0]]))
    return _concatenated([min(pair, key=lambda rows: _apart(one, other, rows, shift)) for pair in either])


def _of_step(one: Collectives, other: Collectives, place: int, its_place: int) -> tuple[Pairs, Pairs]:
    """Of a step's two sequences the usual one, and that which keeps to the step's other edge.

    The first recorded step may lack its beginning, any other its end.
    """
    mine, theirs = np.flatnonzero(one.step == place), np.flatnonzero(other.step == its_place)
    kinds = [one.kind[row] for row in mine], [other.kind[row] for row in theirs]
    begun = 0 in (place, its_place)
    (left, right), (last_left, last_right) = (common(*kinds, from_the_end=end) for end in (begun, not begun))
    return (mine[left], theirs[right]), (mine[last_left], theirs[last_right])


def _alike(one: Pairs, other: Pairs) -> bool:
    return np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


def _apart(one: Collectives, other: Collectives, rows: Pairs, shift: float) -> float:
    """How far the ends of a step's rows are apart in the median, ns, the one clock shifted; 0 where there are none."""
    mine, theirs = rows
    return float(np.median(np.abs(other.end[theirs] - one.end[mine] - shift))) if len(mine) else 0.0


def _concatenated(found: Sequence[Pairs]) -> Pairs:
    if not found:
        return column(), column()
    return np.concatenate([left for left, _ in found]), np.concatenate([right for _, right in found])


def _by_order(one: Collectives, other: Collectives) -> Pairs:
    """The shift at which kinds are equal and the ends, once the clocks are, agree best; the smallest of such."""
    best: tuple[float, Pairs] | None = None
    least = LEAST_SHARED * min(len(one), len(other))
    for shift in sorted(range(-FARTHEST, FARTHEST + 1), key=abs):
        mine = np.arange(max(0, shift), min(len(one), len(other) + shift))
        if len(mine) <= least or any(one.kind[row] != other.kind[row - shift] for row in mine):
            continue
        apart = disagreement_ns(one.end[mine], other.end[mine - shift])
        if best is None or apart < best[0]:
            best = apart, (mine, mine - shift)
    if best is not None:
        return best[1]
    left, right = common(one.kind, other.kind, from_the_end=False)
    return (left, right) if len(left) > least else (column(), column())


def common(one: Sequence[str], other: Sequence[str], *, from_the_end: bool) -> Pairs:
    """The places of a longest common sequence; of several the one that reaches the end (or the beginning)."""
    if from_the_end:
        left, right = common(one[::-1], other[::-1], from_the_end=False)
        return (len(one) - 1 - left)[::-1], (len(other) - 1 - right)[::-1]
    head = _equal(one, other)
    tail = _equal(one[head:][::-1], other[head:][::-1])
    inner = _longest(one[head : len(one) - tail], other[head : len(other) - tail])
    ends = np.arange(tail)
    return (
        np.concatenate((np.arange(head), head + inner[0], len(one) - tail + ends)),
        np.concatenate((np.arange(head), head + inner[1], len(other) - tail + ends)),
    )


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    """How many are equal from the beginning on."""
    return next(
        (place for place, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )


def _longest(one: Sequence[str], other: Sequence[str]) -> Pairs:
    """By dynamic programming over rows; none where there are too many."""
    if max(len(one), len(other)) > MOST_COMPARED:
        return column(), column()
    numbers = {kind: number for number, kind in enumerate(dict.fromkeys((*one, *other)))}
    left, right = column([numbers[kind] for kind in one]), column([numbers[kind] for kind in other])
    length = np.zeros((len(left) + 1, len(right) + 1), dtype=np.int32)
    for row in range(len(left) - 1, -1, -1):
        best = np.maximum(length[row + 1, :-1], length[row + 1, 1:] + (right == left[row]))
        length[row, :-1] = np.maximum.accumulate(best[::-1])[::-1]
    return _traced(length, left, right)


def _traced(length: NDArray[np.int32], left: Ints, right: Ints) -> Pairs:
    found: list[tuple[int, int]] = []
    row, place = 0, 0
    while row < len(left) and place < len(right):
        if left[row] == right[place]:
            found.append((row, place))
            row, place = row + 1, place + 1
        elif length[row + 1, place] >= length[row, place + 1]:
            row += 1
        else:
            place += 1
    return column([mine for mine, _ in found]), column([theirs for _, theirs in found])


def disagreement_ns(one: Ints, other: Ints) -> float:
    """By how much two clocks' ends of the same collectives differ in the median, once the one is shifted to the other.

    A clock's offset is estimated, and from ENOUGH_FOR_DRIFT collectives on its drift.
    """
    return float(np.median(residuals(one, other)))


def residuals(one: Ints, other: Ints) -> NDArray[np.float64]:
    """How far each collective's ends are apart, ns, once one clock is shifted to the other."""
    order = np.argsort(one, kind="stable")
    time = (one[order] - one[order[0]]).astype(np.float64)
    apart = other[order] - one[order]
    shifted = (apart - apart[0]).astype(np.float64)
    if len(time) >= ENOUGH_FOR_DRIFT:
        shifted -= _slope(time, shifted) * time
    found: NDArray[np.float64] = np.abs(shifted - np.median(shifted))
    return found


def _slope(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Between the medians of the first and the last half: an outlier does not bend it."""
    half = len(x) // 2
    run = float(np.median(x[half:]) - np.median(x[:half]))
    return float(np.median(y[half:]) - np.median(y[:half])) / run if run > 0 else 0.0
