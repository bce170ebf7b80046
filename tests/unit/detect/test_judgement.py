"""The judgement of a state: which verdict comes first, at which moment, and in which words."""

import math
from dataclasses import replace

import pytest

from mfu_operator.detect.evidence import Alarm, Doubt, Growth, Loss, Losses, Run, State
from mfu_operator.detect.judge import judge, stale_after_s
from mfu_operator.detect.statistics import tolerance_of
from mfu_operator.model.baseline import Baseline, Detection, Level, Provenance, Signal, Spread
from mfu_operator.model.verdict import Gate, Judgement, Verdict
from tests.unit.detect.series import QUIET, about

RULE = Detection(tolerance=0.1, sustain_s=600, confirm_s=1800, recover_s=300)
LEVEL = Level(mfu=0.5, step_time_s=2.0, throughput=1000.0)
BASELINE = Baseline(LEVEL, QUIET, Provenance.RECORDED)
NOISY = replace(BASELINE, spread=Spread(0.005, 0.03, 0.001, 5))
HELD = State(reading_s=990.0, counted_s=990.0, usable_s=980.0, signal=Signal.MFU, recent=((980.0, 0.5),), run=Run("a"))
LOST = HELD._replace(
    recent=((980.0, 0.4),), loss=Loss(600.0, 280.0, Losses((0.2,))), alarm=Alarm(raised=True, after_s=200.0)
)
BOTH = ((Signal.MFU, 0.2), (Signal.THROUGHPUT, 0.0))


def told(
    state: State, now_s: float = 1000.0, baseline: Baseline = BASELINE, rule: Detection = RULE, *differences: str
) -> Judgement:
    return judge(state, baseline, rule, now_s, differences)


def reason(state: State, now_s: float = 1000.0, baseline: Baseline = BASELINE) -> str:
    return told(state, now_s, baseline).reason


def test_a_job_at_its_level_is_healthy_and_nothing_is_collected() -> None:
    assert told(HELD) == Judgement(
        Verdict.HEALTHY, "WithinTolerance", "MFU 0.500, limit 0.450 = baseline 0.500 − 10 %", "mfu", value=0.5,
        baseline=0.5, limit=0.45, tolerance=0.1, change=0.0, sustain_s=600.0, confirm_s=1800.0, recover_s=300.0,
        smallest_visible_drop=told(HELD).smallest_visible_drop, last_usable_s=980.0,
    )  # fmt: skip


def test_a_loss_is_told_with_all_its_numbers() -> None:
    state = LOST._replace(
        alarm=Alarm(raised=True, after_s=200.0, confirmed=True, recover_s=20.0), gates=frozenset({Gate.PROFILING})
    )
    judgement = told(state)
    assert (judgement.verdict, judgement.reason) == (Verdict.REGRESSED, "SustainedLoss")
    assert judgement.message == (
        "MFU 0.400 for 12 min, limit 0.450 = baseline 0.500 − 10 %; within tolerance again, not yet long enough; "
        "gated: Profiling"
    )
    assert judgement.change == pytest.approx(-0.2)
    assert judgement.drop == pytest.approx(1 - math.exp(-0.2))
    assert (judgement.evidence_s, judgement.onset_s, judgement.gates) == (600.0, 280.0, (Gate.PROFILING,))
    assert (judgement.confirm_evidence_s, judgement.recover_evidence_s) == (200.0, 20.0)
    assert judgement.confirmed
    assert not judgement.recovered


def test_what_was_confirmed_of_a_loss_that_is_over_is_not_told() -> None:
    over = HELD._replace(alarm=Alarm(confirmed=True, recovered_at_s=900.0), loss=Loss(losses=Losses((0.2,))))
    judgement = told(over)
    assert (judgement.confirmed, judgement.drop, judgement.recovered) == (False, None, True)
    again = told(over._replace(alarm=Alarm(raised=True, recovered_at_s=900.0)))
    assert (again.confirmed, again.recovered) == (False, False)


def test_evidence_beyond_the_time_that_confirms_is_not_more_than_it() -> None:
    assert told(LOST._replace(alarm=Alarm(raised=True, after_s=5000.0))).confirm_evidence_s == 1800.0


def test_the_smallest_loss_that_is_seen_is_beyond_the_tolerance() -> None:
    visible = told(HELD).smallest_visible_drop
    assert visible is not None
    assert 0.1 < visible < 0.11
    sooner = told(HELD._replace(run=Run("a", phase_known=True)))
    assert sooner.sustain_s == pytest.approx(420)
    assert sooner.smallest_visible_drop is not None
    assert sooner.smallest_visible_drop < visible


@pytest.mark.parametrize(
    ("signal", "value", "limit", "change", "message"),
    [
        (Signal.STEP_TIME, 2.5, 2 / 0.9, -0.2, "step time 2.5 s, limit 2.22 s = baseline 2 s at 10 % less speed"),
        (
            Signal.THROUGHPUT,
            800.0,
            900.0,
            -0.2,
            "throughput 800 tokens/s per GPU, limit 900 = baseline 1000 − 10 %",
        ),
    ],
)
def test_each_signal_has_its_own_limit(signal: Signal, value: float, limit: float, change: float, message: str) -> None:
    judgement = told(HELD._replace(signal=signal, recent=((980.0, value),)))
    assert judgement.limit == pytest.approx(limit)
    assert judgement.change == pytest.approx(change)
    assert judgement.message == message


def test_before_a_signal_was_read_the_strongest_of_the_baseline_is_told_without_a_value() -> None:
    judgement = told(HELD._replace(signal=None, recent=()))
    assert (judgement.signal, judgement.value, judgement.change) == ("mfu", None, None)
    assert (judgement.baseline, judgement.limit) == (0.5, about(0.45))
    assert judgement.message == "MFU not measured now, limit 0.450 = baseline 0.500 − 10 %"
    only = replace(BASELINE, level=Level(step_time_s=2.0))
    assert told(HELD._replace(signal=None), 1000.0, only).signal == "stepTime"
    assert told(HELD._replace(signal=None), 1000.0, only).value is None


def test_without_a_baseline_there_is_no_data_and_no_limit() -> None:
    judgement = told(HELD._replace(signal=None), 1000.0, replace(BASELINE, level=Level()))
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "NoBaseline")
    assert (judgement.signal, judgement.baseline, judgement.limit, judgement.change) == ("", None, None, None)


def test_a_signal_that_the_baseline_does_not_have_has_no_limit() -> None:
    judgement = told(HELD, 1000.0, replace(BASELINE, level=Level(throughput=1000.0)))
    assert (judgement.baseline, judgement.limit, judgement.change) == (None, None, None)
    assert judgement.message == "nothing measured"


def test_another_configuration_comes_before_everything_else() -> None:
    judgement = told(State(), 1000.0, replace(BASELINE, level=Level()), RULE, "batch 1", "model b")
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_COMPARABLE, "ConfigurationDiffers")
    assert judgement.message == "not the baseline's job: batch 1; model b"


def test_a_baseline_that_is_too_noisy_says_what_to_accept_unless_a_loss_stands() -> None:
    judgement = told(HELD, 1000.0, NOISY)
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_COMPARABLE, "BaselineTooNoisy")
    tolerance = tolerance_of(NOISY.spread, RULE)
    assert tolerance.ratio == pytest.approx(0.105, abs=0.001)
    assert "only a loss beyond 10.5 % is seen" in judgement.message
    assert judgement.message.endswith('with detection.tolerance: "11%"')
    assert reason(LOST, 1000.0, NOISY) == "SustainedLoss"


@pytest.mark.parametrize(("doubted_s", "is_doubted"), [(599.0, False), (600.0, True)])
def test_doubts_count_after_as_long_as_a_loss_does(doubted_s: float, is_doubted: bool) -> None:
    unit = HELD._replace(doubt=Doubt(unusual_s=doubted_s, unusual=(Signal.MFU, -math.log(100))))
    assert reason(unit) == ("UnitChanged" if is_doubted else "WithinTolerance")
    apart = HELD._replace(doubt=Doubt(contradiction_s=doubted_s, contradicting=BOTH))
    assert reason(apart) == ("SignalsDisagree" if is_doubted else "WithinTolerance")


def test_a_doubt_without_signals_that_disagree_now_is_none() -> None:
    assert reason(HELD._replace(doubt=Doubt(contradiction_s=600.0))) == "WithinTolerance"


@pytest.mark.parametrize(
    ("unusual", "message"),
    [
        ((Signal.MFU, -math.log(100)), "MFU reads 50.000 against a baseline of 0.500"),
        ((Signal.STEP_TIME, math.log(1000)), "step time reads 2000 against a baseline of 2"),
        (None, "the readings are in another unit than the baseline"),
    ],
)
def test_another_unit_is_told_by_what_was_read(unusual: tuple[Signal, float] | None, message: str) -> None:
    judgement = told(HELD._replace(doubt=Doubt(unusual_s=600.0, unusual=unusual)))
    assert judgement.verdict is Verdict.NOT_COMPARABLE
    assert judgement.message.startswith(message)


def test_another_unit_of_a_signal_that_the_baseline_lost_is_told_without_numbers() -> None:
    doubt = Doubt(unusual_s=600.0, unusual=(Signal.MFU, -5.0))
    judgement = told(HELD._replace(doubt=doubt), 1000.0, replace(BASELINE, level=Level(throughput=1.0)))
    assert judgement.message == "the readings are in another unit than the baseline"


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (
            (Signal.MFU, 0.2),
            (Signal.THROUGHPUT, 0.0),
            "MFU shows 18.1 % less speed and throughput that of the baseline: the formula of MFU changed, not",
        ),
        (
            (Signal.THROUGHPUT, 0.05),
            (Signal.MFU, -0.3),
            "MFU shows 35 % more speed and throughput that of the baseline: the formula of MFU changed, not the speed",
        ),
        (
            (Signal.MFU, 0.5),
            (Signal.THROUGHPUT, 0.2),
            "MFU shows 39.3 % less speed and throughput 18.1 % less: the formula of MFU changed;",
        ),
        (
            (Signal.STEP_TIME, 0.2),
            (Signal.MFU, 0.0),
            "step time shows 18.1 % less speed and MFU that of the baseline: the batch, the sequence length or",
        ),
    ],
)
def test_signals_that_disagree_are_told_by_the_one_that_moved_most(
    one: tuple[Signal, float], other: tuple[Signal, float], message: str
) -> None:
    judgement = told(HELD._replace(doubt=Doubt(contradiction_s=600.0, contradicting=(one, other))))
    assert judgement.message.startswith(message)
    assert judgement.message.endswith("declare or record the baseline again if that was on purpose")


def test_a_signal_exactly_at_the_tolerance_is_still_that_of_the_baseline() -> None:
    kappa = tolerance_of(QUIET, RULE).kappa
    pair = (Signal.MFU, 0.5), (Signal.THROUGHPUT, kappa)
    judgement = told(HELD._replace(doubt=Doubt(contradiction_s=600.0, contradicting=pair)))
    assert "throughput that of the baseline" in judgement.message


def test_a_job_that_was_never_read_has_no_data() -> None:
    judgement = told(State())
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "NoReadings")


@pytest.mark.parametrize(("sustain_s", "stale_s"), [(600.0, 300.0), (100.0, 60.0), (120.0, 60.0), (121.0, 60.5)])
def test_readings_are_stale_after_half_of_the_horizon_and_not_before_a_minute(sustain_s: float, stale_s: float) -> None:
    assert stale_after_s(Detection(sustain_s=sustain_s)) == stale_s


def test_a_job_that_is_not_read_any_more_is_stale_even_with_a_loss() -> None:
    assert reason(LOST, 1290.0) == "SustainedLoss"
    judgement = told(LOST, 1291.0)
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "Stale")
    assert judgement.message.startswith("the last reading is 5 min old")


def test_a_hang_is_told_with_its_step_and_its_time() -> None:
    hung = LOST._replace(gates=frozenset({Gate.HUNG}), run=Run("a", 0, 1234.0, 280.0))
    judgement = told(hung)
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "Hung")
    assert judgement.message == "the step counter has stayed at 1234 for 12 min"
    assert told(hung._replace(run=Run("a", 0, 7.0))).message == "the step counter has stayed at 7"


def gated(*gates: Gate, usable_s: float | None = 0.0) -> State:
    return HELD._replace(gates=frozenset(gates), usable_s=usable_s, reading_s=1190.0)


def test_a_gate_that_is_closed_for_twenty_minutes_says_nothing_of_the_speed() -> None:
    assert reason(gated(Gate.CHECKPOINT, Gate.EVALUATION), 1200.0) == "WithinTolerance"
    judgement = told(gated(Gate.EVALUATION, Gate.CHECKPOINT), 1201.0)
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "Gated")
    assert judgement.message == "readings arrive and none counts: the job is Checkpoint, Evaluation"
    assert reason(gated(Gate.STARTING, usable_s=None), 1200.0) == "Gated"


def test_a_short_horizon_waits_a_minute_for_a_gate() -> None:
    rule = Detection(sustain_s=20)
    assert told(gated(Gate.CHECKPOINT, usable_s=1000.0), 1060.0, BASELINE, rule).verdict is not Verdict.NO_DATA
    assert told(gated(Gate.CHECKPOINT, usable_s=1000.0), 1200.0, BASELINE, rule).reason == "Gated"


@pytest.mark.parametrize(
    ("gates", "alarmed", "stands"),
    [
        ({Gate.PROFILING}, True, True),
        ({Gate.PROFILING}, False, False),
        ({Gate.PROFILING, Gate.CHECKPOINT}, True, False),
        (set(), True, False),
    ],
)
def test_a_loss_stands_while_our_own_job_alone_keeps_readings_from_counting(
    gates: set[Gate], alarmed: bool, stands: bool
) -> None:
    state = gated(*gates)._replace(alarm=Alarm(raised=alarmed))
    assert told(state, 1201.0).verdict is (Verdict.REGRESSED if stands else Verdict.NO_DATA)


def test_readings_without_a_usable_signal_are_no_data() -> None:
    never = told(HELD._replace(usable_s=None))
    assert (never.verdict, never.reason) == (Verdict.NO_DATA, "NoUsableSignal")
    assert "none of the signals that the baseline declares" in never.message
    later = HELD._replace(usable_s=0.0, reading_s=1190.0)
    assert reason(later, 1200.0) == "WithinTolerance"
    judgement = told(later, 1201.0)
    assert judgement.reason == "NoUsableSignal"
    assert "none of the last 20 min says anything new" in judgement.message


def collecting(evidence_s: float) -> State:
    return HELD._replace(loss=Loss(evidence_s, 900.0, Losses((0.2,)), Growth()))


def test_evidence_for_a_loss_is_told_as_it_is_collected() -> None:
    judgement = told(collecting(0.5)._replace(gates=frozenset({Gate.CHECKPOINT})))
    assert (judgement.verdict, judgement.reason) == (Verdict.HEALTHY, "EvidenceCollecting")
    assert judgement.message.endswith("; 0.0 of 10 min of evidence for a loss; gated: Checkpoint")
    assert judgement.onset_s == 900.0
    assert judgement.drop is None


@pytest.mark.parametrize(
    ("sustain_s", "progress"), [(600.0, "0.8 of 10 min"), (90.0, "0.8 of 1.5 min"), (89.0, "45 of 89 s")]
)
def test_progress_is_in_the_unit_that_fits_the_whole(sustain_s: float, progress: str) -> None:
    rule = Detection(tolerance=0.1, sustain_s=sustain_s)
    assert f"; {progress} of evidence" in told(collecting(45.0), 1000.0, BASELINE, rule).message


def test_evidence_that_is_whole_and_no_alarm_is_within_the_noise() -> None:
    assert "noise" not in told(collecting(599.0)).message
    assert told(collecting(600.0)).message.endswith("whose mean is still within the readings' own noise")


def test_a_loss_without_an_onset_is_told_without_its_length() -> None:
    assert told(LOST._replace(loss=Loss(600.0))).message.startswith("MFU 0.400, limit")


def unconfirmed(drop: float, runs: int = 1, *, confirmed: bool = False) -> str:
    state = LOST._replace(
        loss=Loss(600.0, 280.0, Losses((-math.log1p(-drop),))), alarm=Alarm(raised=True, confirmed=confirmed)
    )
    baseline = replace(BASELINE, spread=replace(QUIET, between=None, slow=0.003, runs=runs))
    return told(state, 1000.0, baseline, replace(RULE, tolerance=None)).message


@pytest.mark.parametrize(
    ("runs", "ending"),
    [
        (0, "; not confirmed below 5 % with a baseline of 1 run: record 3, or declare detection.tolerance"),
        (1, "; not confirmed below 5 % with a baseline of 1 run: record 3, or declare detection.tolerance"),
        (2, "; not confirmed below 5 % with a baseline of 2 runs: record 3, or declare detection.tolerance"),
        (3, " − 2.1 %; not confirmed below 2.5 %"),
    ],
)
def test_a_loss_that_is_too_small_to_be_confirmed_says_what_to_do(runs: int, ending: str) -> None:
    message = unconfirmed(0.02, runs)
    assert message.endswith(ending)


def test_a_loss_that_is_confirmed_or_large_enough_says_nothing_of_it() -> None:
    assert "not confirmed" not in unconfirmed(0.06)
    assert "not confirmed" not in unconfirmed(0.03, confirmed=True)
    assert "within tolerance again" in told(LOST._replace(alarm=Alarm(raised=True, recover_s=0.5))).message
    assert "not confirmed" in told(LOST._replace(loss=Loss(600.0))).message
