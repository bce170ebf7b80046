"""A run that is broken rather than slow: it hangs, its memory runs full, it does not learn."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfu_operator.detect.vital_samples import (
    ALLOCATED,
    HOST,
    HOST_LIMIT,
    LIMIT,
    NONFINITE,
    RESERVED,
    VITALS,
    VitalAssembly,
)
from mfu_operator.detect.vitals import VitalSigns
from mfu_operator.model.baseline import Detection, Signal, Watch
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.vitals import Ailment, Fill, Streak, Symptom, Vitals

GIB = 2.0**30
MINUTE = 60.0
RULE, WATCH = Detection(), Watch()


class Run:
    """One job that is read every 30 s and looked at every 2 min."""

    def __init__(self, watch: Watch = WATCH, step_s: float | None = None) -> None:
        self.signs, self.watch, self.step_s = VitalSigns(), watch, step_s
        self.now_s, self.step, self.pod = 1_000_000.0, 0.0, "gpt-0-abcde"

    def runs(self, minutes: float, *, steps: bool = True, phase: Phase = Phase.RUNNING, **fills: float) -> None:
        """Some minutes; fills are the shares of the limits at the end, reached in a straight line."""
        start = {name: getattr(self, f"_{name}", share) for name, share in fills.items()}
        count = round(minutes * 2)
        for index in range(count):
            self.now_s += 30
            self.step += steps
            values = {Signal.STEP_TIME: 30.0} if steps else {}
            self.signs.read(Reading(self.now_s, values, phase=phase, step=self.step, incarnation=self.pod))
            if index % 4 == 3:
                done = (index + 1) / count
                shares = {name: start[name] + (end - start[name]) * done for name, end in fills.items()}
                self.look(**{name: Fill(share * 80 * GIB, 80 * GIB, self.pod) for name, share in shares.items()})
        for name, share in fills.items():
            setattr(self, f"_{name}", share)

    def look(self, **vitals: Fill | Streak) -> None:
        self.signs.look(Vitals(self.now_s, **vitals), self.watch)  # type: ignore[arg-type]

    def symptoms(self, later_s: float = 0.0) -> tuple[Symptom, ...]:
        return self.signs.symptoms(self.watch, RULE, self.step_s, self.now_s + later_s)

    def reasons(self) -> list[str]:
        return [str(symptom.reason) for symptom in self.symptoms()]


@pytest.fixture
def run() -> Run:
    return Run()


def test_a_step_counter_that_stands_still_for_as_long_as_a_loss_must_last_is_a_hang(run: Run) -> None:
    run.runs(30)
    run.runs(9.5, steps=False)
    assert run.symptoms() == ()
    run.runs(1, steps=False)
    (hung,) = run.symptoms()
    assert (hung.reason, hung.measured) == (Ailment.HUNG, 630.0)
    assert "stayed at 60 since 1970-01-12 14:16:40 UTC" in hung.message
    assert "py-spy" in hung.message
    run.runs(0.5)
    assert run.symptoms() == ()


def test_a_hang_needs_ten_steps_of_standing_still_however_short_the_limit() -> None:
    run = Run(replace(WATCH, hang_s=60.0), step_s=120.0)
    run.runs(10)
    run.runs(19, steps=False)
    assert run.symptoms() == ()
    run.runs(2, steps=False)
    assert run.reasons() == ["Hung"]


def test_a_checkpoint_may_take_longer_and_a_pause_for_ever(run: Run) -> None:
    run.runs(10)
    run.runs(59, steps=False, phase=Phase.CHECKPOINT)
    assert run.symptoms() == ()
    run.runs(2, steps=False, phase=Phase.CHECKPOINT)
    assert "in phase checkpoint" in run.symptoms()[0].message
    run.runs(600, steps=False, phase=Phase.PAUSED)
    assert run.symptoms() == ()


def test_a_run_that_is_not_scraped_any_more_is_not_said_to_hang(run: Run) -> None:
    run.runs(10)
    run.runs(20, steps=False)
    assert run.reasons() == ["Hung"]
    assert run.symptoms(later_s=601) == ()


def test_another_incarnation_has_a_hang_of_its_own_at_the_soonest(run: Run) -> None:
    run.runs(10)
    run.runs(20, steps=False)
    run.pod, run.step = "gpt-0-vwxyz", 0.0
    run.runs(5, steps=False)
    assert run.symptoms() == ()


def test_tensors_that_are_kept_are_a_leak_with_the_time_at_which_it_is_full(run: Run) -> None:
    run.runs(20, allocated=0.4, reserved=0.6)
    run.runs(300, allocated=0.8, reserved=0.85)
    (leak,) = run.symptoms()
    assert leak.reason is Ailment.MEMORY_LEAK
    assert leak.full_at == pytest.approx(run.now_s + 150 * MINUTE, abs=600)
    assert leak.pod == run.pod
    assert "of 80 GiB and rises by 6.09 GiB an hour" in leak.message
    assert ".detach()" in leak.message


def test_memory_that_is_held_and_not_used_is_fragments(run: Run) -> None:
    run.runs(20, allocated=0.4, reserved=0.5)
    run.runs(300, allocated=0.4, reserved=0.8)
    (fragments,) = run.symptoms()
    assert fragments.reason is Ailment.MEMORY_FRAGMENTATION
    assert "expandable_segments" in fragments.message


def test_memory_that_is_held_because_it_is_used_is_a_leak_before_tensors_alone_would_say_so(run: Run) -> None:
    run.runs(20, allocated=0.2, reserved=0.5)
    run.runs(300, allocated=0.45, reserved=0.8)
    assert run.reasons() == ["MemoryLeak"]


def test_the_host_s_memory_is_judged_by_itself(run: Run) -> None:
    run.runs(20, allocated=0.4, reserved=0.5, host=0.3)
    run.runs(300, allocated=0.4, reserved=0.5, host=0.75)
    (leak,) = run.symptoms()
    assert leak.reason is Ailment.HOST_MEMORY_LEAK
    assert "workers" in leak.message


def test_what_rises_during_an_evaluation_is_not_training_s(run: Run) -> None:
    run.runs(20, allocated=0.4, reserved=0.5)
    run.runs(300, phase=Phase.EVALUATION, allocated=0.9, reserved=0.9)
    assert run.symptoms() == ()


def test_a_restart_forgets_the_memory_of_the_incarnation_before(run: Run) -> None:
    run.runs(20, allocated=0.4)
    run.runs(300, allocated=0.8)
    run.pod, run.step = "gpt-0-vwxyz", 0.0
    run.runs(5, allocated=0.82)
    assert run.symptoms() == ()


def test_a_restart_of_the_operator_remembers_a_leak() -> None:
    run = Run()
    run.runs(40)
    history = [
        Vitals(run.now_s - (90 - index) * 960, allocated=Fill((0.3 + index / 180) * 80 * GIB, 80 * GIB, run.pod))
        for index in range(90)
    ]
    run.signs.remember(history, WATCH)
    run.look(allocated=Fill(0.8 * 80 * GIB, 80 * GIB, run.pod))
    assert run.reasons() == ["MemoryLeak"]


def test_what_memory_did_before_the_run_was_restarted_is_not_remembered() -> None:
    """An out-of-memory error and its restart: the container's second life has half a leak behind it."""
    run = Run()
    run.runs(40)

    def share(index: int) -> float:
        return 0.3 + (index % 80) / 115

    history = [
        Vitals(run.now_s - (90 - index) * 960, allocated=Fill(share(index) * 80 * GIB, 80 * GIB, run.pod))
        for index in range(90)
    ]
    run.signs.remember(history, WATCH)
    run.look(allocated=Fill(0.4 * 80 * GIB, 80 * GIB, run.pod))
    assert run.symptoms() == ()


@pytest.mark.parametrize("before", [0.3, 0.9])
def test_a_leak_after_memory_fell_to_less_than_half_is_remembered_whatever_was_before(before: float) -> None:
    run = Run()
    run.runs(40)
    shares = [before] * 60 + [0.3 + index / 180 for index in range(90)]
    history = [
        Vitals(run.now_s - (150 - index) * 960, allocated=Fill(share * 80 * GIB, 80 * GIB, run.pod))
        for index, share in enumerate(shares)
    ]
    run.signs.remember(history, WATCH)
    run.look(allocated=Fill(0.8 * 80 * GIB, 80 * GIB, run.pod))
    assert run.reasons() == ["MemoryLeak"]


def test_a_loss_that_is_lost_is_told_and_so_is_its_return(run: Run) -> None:
    run.runs(10)
    run.look(nonfinite=Streak(2, "gpt-0"))
    assert run.symptoms() == ()
    run.look(nonfinite=Streak(3, "gpt-0"))
    (lost,) = run.symptoms()
    assert (lost.reason, lost.measured, lost.pod) == (Ailment.LOSS_NOT_FINITE, 3.0, "gpt-0")
    run.look(nonfinite=Streak(0, "gpt-0"))
    assert run.symptoms() == ()


def test_a_scaler_that_looks_for_its_scale_is_no_streak_and_one_that_never_finds_it_is(run: Run) -> None:
    run.runs(10)
    run.look(skipped=Streak(17, "gpt-0"))
    assert run.symptoms() == ()
    run.look(skipped=Streak(32, "gpt-0"))
    assert run.reasons() == ["StepsSkipped"]


def test_a_job_that_ended_has_no_symptoms(run: Run) -> None:
    run.runs(10)
    run.look(nonfinite=Streak(30, "gpt-0"))
    assert run.symptoms(later_s=601) == ()


@pytest.mark.parametrize(("off", "reason"), [("hang", "Hung"), ("memory", "MemoryLeak"), ("loss", "LossNotFinite")])
def test_each_can_be_turned_off(off: str, reason: str) -> None:
    def ailing(watch: Watch) -> list[str]:
        run = Run(watch)
        run.runs(20, allocated=0.4)
        run.runs(300, allocated=0.8)
        run.runs(12, steps=False, allocated=0.81)
        run.look(nonfinite=Streak(9, "gpt-0"), allocated=Fill(0.81 * 80 * GIB, 80 * GIB, run.pod))
        return run.reasons()

    assert ailing(WATCH) == ["Hung", "LossNotFinite", "MemoryLeak"]
    assert reason not in ailing(replace(WATCH, **{off: False}))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2)), max_size=400))
def test_a_counter_that_moves_and_memory_that_comes_and_goes_are_no_symptoms(looks: list[tuple[float, int]]) -> None:
    """Whatever is used now, at every other look it is back where it was."""
    run = Run()
    for used, moves in looks:
        run.now_s += 30
        run.step += 1 + moves
        run.signs.read(Reading(run.now_s, {}, step=run.step, incarnation=run.pod))
        run.look(allocated=Fill(used, 1.0, run.pod), host=Fill(0.1 * used, 1.0, run.pod))
        run.now_s += 30
        run.look(allocated=Fill(0.0, 1.0, run.pod), host=Fill(0.0, 1.0, run.pod))
    assert run.symptoms() == ()


def assembled(samples: Iterable[tuple[str, str, float]]) -> Vitals:
    assembly = VitalAssembly()
    for pod, kind, value in samples:
        assembly.add({"instance": f"{pod}:9400"}, pod, kind, value)
    return assembly.vitals(5.0)


def test_the_fullest_process_and_the_longest_streak_speak_for_the_job() -> None:
    found = assembled(
        [
            ("a", ALLOCATED, 10.0), ("a", RESERVED, 20.0), ("a", LIMIT, 80.0), ("a", NONFINITE, 0.0),
            ("b", ALLOCATED, 30.0), ("b", RESERVED, 15.0), ("b", LIMIT, 40.0), ("b", NONFINITE, 4.0),
            ("a", HOST, 5.0), ("a", HOST_LIMIT, 10.0), ("b", HOST, 1.0),
        ]
    )  # fmt: skip
    assert found == Vitals(
        5.0,
        allocated=Fill(30.0, 40.0, "b"),
        reserved=Fill(15.0, 40.0, "b"),
        host=Fill(5.0, 10.0, "a"),
        nonfinite=Streak(4, "b"),
    )


def test_what_is_not_exported_is_none_and_not_well() -> None:
    assert assembled([]) == Vitals(5.0)
    assert assembled([("a", ALLOCATED, 1.0), ("a", LIMIT, 0.0), ("a", HOST, float("nan"))]) == Vitals(5.0)
    assert len(set(VITALS)) == 7
