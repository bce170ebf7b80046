"""That nothing grew claims no more than was recorded: how sure it is, and when it is not said at all."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.analyze import analyze, profile
from mfu_operator.trace.diagnosis.diagnose import diagnose
from mfu_operator.trace.diagnosis.recorded import MOST_WITHOUT
from tests.support.facts import facts_of
from tests.unit.trace.test_uneven_steps import lasting

MS = 1e6


def account(
    host_ms: float = 8.0, std_ms: float = 0.1, count: int = 10, known: Mapping[str, float] | None = None
) -> StepAccount:
    """A step of 100 ms where the host works for 8, of which these facts are known."""
    usual = {"compute": 50.0, "communication": 40.0, "idleInput": 2.0, "idleHost": host_ms}
    parts = {part: usual.get(part, 0.0) * MS for part in PARTS}
    return replace(StepAccount(count, sum(parts.values()), std_ms * MS, parts), facts=facts_of(**(known or {})))


STEADY = account()


def test_a_recording_that_lacks_nothing_is_sure() -> None:
    found = diagnose(account(host_ms=8.2), STEADY)
    assert found.bottleneck is None
    assert found.confidence == pytest.approx(0.93, abs=0.01)


def test_steps_that_are_left_out_and_hold_the_growth_make_it_inconclusive() -> None:
    found = diagnose(account(known={"leftOutNs": 20 * MS}), STEADY)
    assert (found.bottleneck, found.confidence) == (Bottleneck.INCONCLUSIVE, 0.0)
    assert "uneven steps: those that are left out of the mean add 20.0 ms per step (20.0%)" in found.evidence[1]
    assert "record at least three times as many steps" in found.advice[0]


def test_a_long_step_of_a_trace_is_not_passed_over(tmp_path: Path) -> None:
    now = lasting(tmp_path / "now", 40, 40, 41, 130, 42, 40, 40, 41, 40)
    found = analyze([now], [lasting(tmp_path / "before", *[40.5] * 9)]).diagnosis
    assert found.bottleneck == "Inconclusive"
    assert "uneven steps" in found.evidence[1]


def test_a_long_step_as_in_the_baseline_is_none_of_what_grew(tmp_path: Path) -> None:
    now = lasting(tmp_path / "now", 40, 40, 41, 130, 42, 40, 40, 41, 40)
    found = analyze([now], [lasting(tmp_path / "before", 40, 40, 41, 130, 42, 40, 40, 41, 40)]).diagnosis
    assert found.bottleneck is None
    assert found.confidence > MOST_WITHOUT


@pytest.mark.parametrize(("added_ms", "sure"), [(2.4, True), (2.6, False), (4.9, False)])
def test_steps_that_are_left_out_and_add_little_make_it_less_sure(added_ms: float, sure: bool) -> None:
    found = diagnose(account(known={"leftOutNs": added_ms * MS}), STEADY)
    assert found.bottleneck is None
    assert (found.confidence > MOST_WITHOUT) is sure
    assert any("left out of the mean" in one for one in found.evidence) is not sure


@pytest.mark.parametrize(("added_ms", "sure"), [(9.0, True), (11.0, False)])
def test_what_grew_is_named_with_doubt_where_the_steps_left_out_lost_more(added_ms: float, sure: bool) -> None:
    blocked = {"kernelCalls": 100.0, "launchCalls": 100.0, "inputRangeNs": 2.0 * MS}
    found = diagnose(account(host_ms=18.0, known=blocked | {"leftOutNs": added_ms * MS}), account(known=blocked))
    assert (found.bottleneck, found.cause) == (Bottleneck.HOST_BOUND, "PythonOverhead")
    assert (found.confidence > MOST_WITHOUT) is sure
    assert any("left out of the mean" in one for one in found.evidence) is not sure


@pytest.mark.parametrize(("std_ms", "sure"), [(4.0, True), (4.1, False)])
def test_steps_that_vary_so_much_that_five_per_cent_would_not_show_are_said(std_ms: float, sure: bool) -> None:
    found = diagnose(account(std_ms=std_ms), account(std_ms=std_ms / 2))
    assert found.bottleneck is None
    assert (found.confidence > MOST_WITHOUT) is sure
    assert any("more of them would tell" in one for one in found.evidence) is not sure


def test_two_steps_tell_of_no_small_growth() -> None:
    found = diagnose(account(count=2, std_ms=0.0), STEADY)
    assert (found.bottleneck, found.confidence) == (None, MOST_WITHOUT)
    assert "2 steps are in the mean: growth of less than 10% would not show" in found.evidence[-1]


def test_a_baseline_of_the_runs_first_iteration_hides_growth() -> None:
    found = diagnose(STEADY, account(known={"firstIteration": 1.0}))
    assert (found.bottleneck, found.confidence) == (None, MOST_WITHOUT)
    assert "the baseline's steps include the run's first iteration" in found.evidence[-1]


@pytest.mark.parametrize(
    ("meets", "sure"), [("communicationCalls", True), ("hostCollectiveNs", True), ("h2dCalls", False)]
)
def test_one_rank_speaks_for_the_job_where_it_waits_for_the_others(meets: str, sure: bool) -> None:
    alone = {"worldSize": 8.0, "ranksRecorded": 1.0, meets: 4.0}
    found = diagnose(account(known=alone), account(known=alone))
    assert found.bottleneck is None
    assert (found.confidence > MOST_WITHOUT) is sure
    assert any(one.startswith("1 of 8 ranks recorded") for one in found.evidence) is not sure


def test_a_file_that_could_not_be_read_may_be_the_rank_that_is_waited_for(tmp_path: Path) -> None:
    lasting(tmp_path / "rank0.json", 40, 40, 41, 42, 40)
    assert "filesUnread" not in profile([tmp_path]).facts.named
    (tmp_path / "rank1.json").write_bytes(b"")
    assert profile([tmp_path]).facts.named["filesUnread"] == 1
    compared = {
        "ranksRecorded": 2.0,
        "slowestRank": 1.0,
        "rankSkewNs": 0.0,
        "rankWaitNs": 0.0,
        "communicationCalls": 4.0,
    }
    slower = replace(account(known=compared | {"filesUnread": 1.0}), mean_ns=120 * MS, communication_total_ns=60 * MS)
    now = replace(slower, parts_ns={**STEADY.parts_ns, "communication": 60 * MS})
    found = diagnose(now, replace(account(known=compared), communication_total_ns=40 * MS))
    assert (found.bottleneck, found.cause) == (Bottleneck.COMMS_BOUND, None)
    assert any("1 file of the folder could not be read" in one for one in found.evidence)
