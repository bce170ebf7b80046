"""How a change is told: in a line, whatever the values are."""

import pytest

from mfu_operator.gitops.changes import Change
from mfu_operator.gitops.manifests import Place

WORKERS = Place("train.yaml", "workers")


@pytest.mark.parametrize(("length", "told"), [(60, "x" * 60), (61, f"{'x' * 57}…")])
def test_a_long_value_is_cut_to_sixty_characters(length: int, told: str) -> None:
    assert str(Change(WORKERS, None, "x" * length, was_there=False)) == f"{WORKERS} (absent) → {told}"
