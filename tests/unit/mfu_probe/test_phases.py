"""Which phase a run is in, and the share of a span spent running."""

import pytest

from mfu_probe.phases import PhaseLog


def log_with_a_checkpoint() -> PhaseLog:
    log = PhaseLog(0)
    log.enter("running", 100)
    log.enter("checkpoint", 600)
    log.enter("running", 700)
    return log


def test_a_run_begins_by_starting() -> None:
    assert PhaseLog(0).current == "starting"


def test_the_share_counts_only_time_spent_running() -> None:
    log = log_with_a_checkpoint()
    assert log.running_ratio(500, 900) == pytest.approx(0.75)
    assert log.running_ratio(600, 700) == 0.0
    assert log.running_ratio(100, 600) == 1.0
    assert log.running_ratio(0, 200) == 0.5


def test_what_was_forgotten_does_not_change_later_spans() -> None:
    log = log_with_a_checkpoint()
    log.forget_before(650)
    assert log.running_ratio(650, 750) == pytest.approx(0.5)


def test_an_unknown_phase_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match="starting, running, checkpoint, evaluation, paused"):
        PhaseLog(0).enter("sleeping", 1)  # type: ignore[arg-type]
