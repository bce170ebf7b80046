"""A run's first hour is compared with earlier runs at the same age, where they are known."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from mfu_operator.detect.climb import climb_of
from mfu_operator.detect.record import record
from mfu_operator.detect.replay import replay
from mfu_operator.model.baseline import Baseline, Level, Provenance, RecordPlan, Signal, Spread
from mfu_operator.model.series import Reading
from tests.support.real_series import points
from tests.unit.detect.series import BASELINE, RULE, flat, joined

MIXTURE = "megatron_deepseekv3_proxy_flex_tp2pp2emp16etp1cp1_gb_200_release{}_dev_dgx_gb200.csv"
SETTLED_S = {"": 7.56, "_sm": 7.97}
"""Seconds a step once a run has settled."""

CAREFUL = replace(RULE, confirm_s=900.0)
SPREAD = Spread(within=0.01, between=0.002, slow=0.002, runs=3)
CLIMB = (0.0, *(0.1,) * 10)


def run(which: str) -> list[Reading]:
    """The first five hours of a published run of a mixture of experts, as its log has them."""
    name = MIXTURE.format(which)
    return [Reading(each.time_s, {Signal.STEP_TIME: each.value}) for each in points(name) if each.time_s < 5 * 3600]


def level(which: str, climb: tuple[float, ...] = ()) -> Baseline:
    return Baseline(Level(step_time_s=SETTLED_S[which]), SPREAD, Provenance.DECLARED, climb=climb)


def said(readings: Sequence[Reading], baseline: Baseline, born_s: float | None = 0.0) -> list[str]:
    found = replay(readings, baseline, CAREFUL, born_s=born_s).said
    return [each.event for each in found if each.event != "NoData"]


@pytest.mark.parametrize(("which", "earlier"), [("", "_sm"), ("_sm", "")])
def test_a_mixture_of_experts_that_settles_as_the_run_before_did_is_no_loss(which: str, earlier: str) -> None:
    assert said(run(which), level(which)) == ["Regressed", "Confirmed", "Recovered"], "against the settled level alone"
    climb = climb_of([run(earlier)], level(earlier).level)
    assert said(run(which), level(which, climb)) == []


def test_an_earlier_run_at_another_level_tells_how_runs_settle_all_the_same() -> None:
    assert climb_of([run("_sm")], level("").level) == pytest.approx(
        climb_of([run("_sm")], level("_sm").level), abs=1e-3
    )


def test_a_loss_beyond_that_climb_is_found_at_that_age() -> None:
    climb = climb_of([run("_sm")], level("_sm").level)
    slow = [replace(each, values={Signal.STEP_TIME: each.values[Signal.STEP_TIME] * 1.25}) for each in run("")]
    assert said(slow, level("", climb))[:2] == ["Regressed", "Confirmed"]


def test_a_loss_that_goes_on_after_the_hour_is_found() -> None:
    slow = replace(BASELINE, climb=CLIMB)
    assert said(joined(flat(3), flat(50, loss=0.09), flat(5)), slow) == []
    assert said(joined(flat(3), flat(150, loss=0.09)), slow) == ["Regressed", "Confirmed"]


def test_where_the_beginning_was_not_seen_the_level_alone_counts() -> None:
    readings = joined(flat(3), flat(50, loss=0.09))
    assert said(readings, replace(BASELINE, climb=CLIMB), born_s=None) == ["Regressed", "Confirmed"]


def test_a_restart_that_is_seen_begins_the_age_anew() -> None:
    later = [replace(each, incarnation="b") for each in joined(flat(3), flat(50, loss=0.09), flat(5))]
    readings = joined(flat(120), later)
    assert said(readings, BASELINE, born_s=None) == ["Regressed", "Confirmed"]
    assert said(readings, replace(BASELINE, climb=CLIMB), born_s=None) == []


def test_a_run_that_goes_on_from_a_checkpoint_has_settled_before() -> None:
    steady = replace(BASELINE, level=Level(step_time_s=2.0), climb=CLIMB)
    slow = [replace(each, values={Signal.STEP_TIME: 2.2}) for each in flat(50)]
    fresh = [replace(each, step=each.time_s / 2.2) for each in joined(flat(3, level=2.0), slow)]
    fresh = [replace(each, values={Signal.STEP_TIME: 2.0}) if each.time_s <= 180 else each for each in fresh]
    assert said(fresh, steady) == []
    resumed = [replace(each, step=each.step + 50_000) for each in fresh if each.step is not None]
    assert said(resumed, steady) == ["Regressed", "Confirmed"]


def test_a_run_of_less_than_the_hour_says_nothing_of_how_runs_settle() -> None:
    assert climb_of([flat(30, loss=0.1)], BASELINE.level) == ()
    assert climb_of([flat(90)], BASELINE.level) == ()
    assert climb_of([], BASELINE.level) == ()


def test_the_median_of_the_runs_counts() -> None:
    odd, usual = joined(flat(10, loss=0.5), flat(60)), joined(flat(10, loss=0.1), flat(60))
    found = climb_of([odd, usual, usual], BASELINE.level)
    assert found == pytest.approx((0.1054, 0.1054), abs=1e-3)


def test_a_recorded_level_keeps_how_runs_climb_to_it() -> None:
    runs = [[replace(each, incarnation=name) for each in joined(flat(20, loss=0.1), flat(90))] for name in "abc"]
    found = record(joined(*runs), RecordPlan(duration_s=1800, warmup_s=300, runs=3), 0.0)
    assert isinstance(found, Baseline)
    assert found.climb == pytest.approx((0.1054,) * 4, abs=1e-3)
    alone = record(runs[0], RecordPlan(duration_s=1800, warmup_s=300), 0.0)
    assert isinstance(alone, Baseline)
    assert alone.climb == (), "the beginning of the first run may be from before the recording"


def test_what_is_usual_is_said() -> None:
    heard: list[str] = []
    slow = joined(flat(3), flat(30, loss=0.09))
    replay(slow, replace(BASELINE, climb=CLIMB), RULE, follow=lambda _, now: heard.append(now.message), born_s=0.0)
    assert heard[-1].endswith("; earlier runs were up to 9.5 % slower than that at this age")
