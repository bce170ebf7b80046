"""A few hours of the soak: incidents open and close, pull requests are merged, and nothing is left of them."""

import tempfile
from pathlib import Path

import pytest

from tests.faults.soak import Soak, grown

SETTLED_STEPS, STEPS = 240, 480


def test_what_is_held_after_many_incidents_is_what_was_held_after_a_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    soak = Soak(tmp_path, baselines=4)
    for _ in range(SETTLED_STEPS):
        soak.step()
    soak.churn()
    soak.step()
    before, incidents = soak.held(), soak.incidents
    for _ in range(STEPS - SETTLED_STEPS):
        soak.step()
    soak.churn()
    soak.step()
    assert grown(before, soak.held()) == {}
    assert soak.incidents > incidents > 0
    assert soak.proposals > 0
    assert soak.repository.real_looks > 0
