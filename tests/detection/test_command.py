"""The command prints every detector and every bound, for every profile; few job-months here."""

import pytest

from tests.detection.__main__ import main
from tests.detection.asked import BOUNDS
from tests.detection.figures import detectors
from tests.detection.profiles import LABELS, PROFILES


def test_every_detector_label_and_bound_has_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--job-months", "1", "--days", "0.1", "--jobs", "5", "--otava-jobs", "0"])
    told = capsys.readouterr()
    for name in detectors():
        assert told.out.count(f"| {name} |") == len(PROFILES)
    for labels in LABELS:
        assert told.out.count(f"{labels.name} |") == len(PROFILES)
    for bound in BOUNDS:
        assert f"| {bound.profile.name} | {bound.what} | {bound.asked} |" in told.out
    assert "without Apache Otava" in told.err
