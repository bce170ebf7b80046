"""Which pods and which of their ranks are asked: all up to 64, and beyond that one rank per node."""

from collections.abc import Hashable, Sequence
from typing import TypeVar

from mfu_operator.profiling.live.request import MOST_TARGETS

T = TypeVar("T")


def chosen(candidates: Sequence[tuple[T, Hashable]], asked: int | None, most: int = MOST_TARGETS) -> tuple[T, ...]:
    """The candidates to ask, in their own order.

    Args:
        candidates: each with its node.
        asked: how many, where a person said; None: all of at most `most`, and beyond that one per node.
        most: the largest number that is asked.
    """
    if asked is None and len(candidates) <= most:
        return tuple(one for one, _ in candidates)
    turns = _by_turns([node for _, node in candidates])
    nodes = len({node for _, node in candidates})
    count = min(most, nodes) if asked is None else min(most, asked)
    taken = sorted(turns[:count])
    return tuple(candidates[index][0] for index in taken)


def _by_turns(nodes: Sequence[Hashable]) -> list[int]:
    """Indexes such that each node has had its turn before any has its next: one slow node is told from the others."""
    seen: dict[Hashable, int] = {}
    order = []
    for index, node in enumerate(nodes):
        turn = seen.get(node, 0)
        seen[node] = turn + 1
        order.append((turn, index))
    return [index for _, index in sorted(order)]
