"""Which collectives of two ranks are the same: a longest common sequence of what they do."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from mfu_operator.trace.account.matching import common

KINDS = st.text("abc", max_size=8)


def subsequences(kinds: str) -> set[str]:
    return {"".join(each) for count in range(len(kinds) + 1) for each in combinations(kinds, count)}


@settings(deadline=None, max_examples=200)
@given(KINDS, KINDS)
def test_what_two_ranks_share_is_as_long_as_it_can_be_and_in_the_order_of_both(one: str, other: str) -> None:
    longest = max(map(len, subsequences(one) & subsequences(other)))
    for from_the_end in (True, False):
        mine, theirs = (places.tolist() for places in common(one, other, from_the_end=from_the_end))
        assert [one[place] for place in mine] == [other[place] for place in theirs]
        assert mine == sorted(set(mine))
        assert theirs == sorted(set(theirs))
        assert len(mine) == longest
