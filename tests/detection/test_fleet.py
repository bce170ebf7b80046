"""The numpy rule of the simulation is the operator's: the same jobs alarm, at the same time."""

import numpy as np
import pytest

from mfu_operator.detect.advance import advance
from mfu_operator.detect.evidence import initial
from mfu_operator.detect.statistics import tolerance_of
from mfu_operator.model.baseline import Baseline, Detection, Level, Provenance, Signal, Spread
from mfu_operator.model.series import Phase, Reading
from tests.detection.figures import OURS, Delay, Rate, delays, detectors, false_alarms, physical_limit_min
from tests.detection.fleet import Fleet, Lines, Rule
from tests.detection.profiles import EVERY_S, PROFILES, Jobs, Profile

COUNT = 30
SPREAD = Spread(within=0.013, between=0.003, slow=0.003, runs=5)
RULE = Detection()
MAKES = {OURS: detectors()[OURS]}


def found(profile: Profile, loss: float) -> Delay:
    return delays(profile, loss, MAKES, jobs=300)[OURS]


def healthy(profile: Profile, days: float) -> Rate:
    return false_alarms(profile, MAKES, jobs=300, days=days)[OURS]


@pytest.mark.parametrize("loss", [0.0, 0.03, 0.05])
def test_the_simulated_rule_and_the_operators_alarm_at_the_same_time(loss: float) -> None:
    fleet = Fleet(Lines.of([tolerance_of(SPREAD, RULE)] * COUNT), Rule())
    simulated = Jobs(PROFILES[1], COUNT, np.random.default_rng(3))
    baseline = Baseline(Level(mfu=1.0), SPREAD, Provenance.RECORDED)
    states = [initial() for _ in range(COUNT)]
    runs = np.zeros(COUNT, dtype=int)
    theirs = np.full(COUNT, np.inf)
    ours = np.full(COUNT, np.inf)
    for index in range(600):
        reading = simulated.read(loss if index > 120 else 0.0)
        runs += reading.restarted
        raised, _ = fleet.advance(reading)
        theirs[raised & np.isinf(theirs)] = index
        for job in range(COUNT):
            phase = Phase.RUNNING if reading.usable[job] else Phase.CHECKPOINT
            values = {Signal.MFU: float(np.exp(-reading.loss[job]))}
            one = Reading((index + 1) * EVERY_S, values, phase, incarnation=str(runs[job]))
            states[job] = advance(states[job], one, baseline, RULE)
            if states[job].alarmed and np.isinf(ours[job]):
                ours[job] = index
    assert np.array_equal(np.isinf(ours), np.isinf(theirs))
    seen = ~np.isinf(ours)
    assert seen.any() == (loss > 0)
    assert np.all(np.abs(ours[seen] - theirs[seen]) <= 4)


@pytest.mark.parametrize(("profile", "at_most_min"), list(zip(PROFILES, (8.0, 8.0, 14.0), strict=True)))
def test_five_per_cent_is_seen_within_minutes(profile: Profile, at_most_min: float) -> None:
    seen = found(profile, 0.05)
    assert seen.median_min <= at_most_min
    assert seen.within_30 >= 0.95


def test_three_per_cent_of_a_typical_job_is_seen_within_twelve_minutes() -> None:
    seen = found(PROFILES[1], 0.03)
    assert seen.median_min <= 12
    assert seen.missed <= 0.05


@pytest.mark.parametrize("profile", PROFILES)
def test_no_healthy_job_is_confirmed_in_thirty_job_months(profile: Profile) -> None:
    assert healthy(profile, days=3).confirmed == 0


def test_the_physical_limit_is_that_of_a_sequential_test() -> None:
    assert [round(physical_limit_min(profile), 1) for profile in PROFILES] == [0.7, 4.7, 18.4]
