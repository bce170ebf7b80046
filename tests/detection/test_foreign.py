"""Worlds that the rule was not made for."""

import pytest

from tests.detection.foreign import WORLDS, said_of


@pytest.mark.parametrize("name", WORLDS)
def test_nothing_healthy_is_confirmed_in_a_world_that_the_rule_was_not_made_for(name: str) -> None:
    assert said_of(WORLDS[name], seed=1, days=2)["Confirmed"] == 0
