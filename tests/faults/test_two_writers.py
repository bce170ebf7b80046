"""Random stories in which others write to the object that the operator writes to: none of them breaks anything."""

import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

from tests.faults.table import Row
from tests.faults.two_writers import BEGINNING, STEPS, Writers

STORIES = 10_000
"""Of the long suite, in so many parts that two workers share them evenly."""

PARTS = 20
QUICK_STORIES = 150

TOLD = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 2**16)), min_size=6, max_size=30)


def told(stories: int, number: int, row: Row) -> None:
    """So many stories."""

    @seed(number)
    @settings(
        max_examples=stories,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(st.integers(0, len(BEGINNING)), TOLD)
    def tell(begun: int, steps: list[tuple[str, int]]) -> None:
        writers = Writers()
        for step, number in [*((step, 0) for step in BEGINNING[:begun]), *steps]:
            writers.tell(step, number)
        writers.settle()
        broken = writers.broken()
        row.note(stories=1, broken=bool(broken))
        note(str(broken))
        assert broken == {}

    tell()


def test_no_story_of_two_writers_breaks_anything(row: Row) -> None:
    told(QUICK_STORIES, PARTS, row)


@pytest.mark.faults
@pytest.mark.parametrize("part", range(PARTS))
def test_none_of_ten_thousand_stories_of_two_writers_breaks_anything(part: int, row: Row) -> None:
    told(STORIES // PARTS, part, row)
