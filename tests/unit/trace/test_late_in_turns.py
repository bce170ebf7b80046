"""What is slow on every rank shows on one at a time: the others wait for the unlucky one in a collective."""

from dataclasses import replace
from pathlib import Path

from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Answer, Ranks
from mfu_operator.trace.diagnosis.recorded import MOST_WITHOUT
from tests.accuracy.events.programs import convolutions
from tests.accuracy.events.score import record
from tests.accuracy.events.setup import Setup

HEALTHY = Setup(convolutions(4), ranks=3, seed=1)


def compared(healthy: Setup, now: Setup, form: str, folder: Path) -> Answer:
    before, after = (record(one, form, folder / name) for one, name in ((healthy, "before"), (now, "now")))
    return analyze(after, before)


def test_an_allocator_that_stalls_every_rank_makes_no_rank_a_straggler(tmp_path: Path) -> None:
    found = compared(HEALTHY, replace(HEALTHY, allocations=18.0, seed=101), "kineto", tmp_path)
    assert found.ranks is not None
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == (Bottleneck.HOST_BOUND, "Allocator")


def test_a_late_host_stays_a_straggler_beside_others_that_wait_for_their_device(tmp_path: Path) -> None:
    found = compared(HEALTHY, replace(HEALTHY, late=(("allocations", 18.0),), seed=101), "kineto", tmp_path)
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == (Bottleneck.STRAGGLER, "SlowHost")


def test_a_store_that_is_slow_for_every_rank_makes_none_a_straggler_beyond_doubt(tmp_path: Path) -> None:
    healthy = replace(HEALTHY, steps=13, read_ms=2.0, transform_ms=12.0)
    found = compared(healthy, replace(healthy, seed=101, read_ms=16.0), "kineto", tmp_path).diagnosis
    assert found.bottleneck == Bottleneck.INPUT_STARVED or found.confidence <= MOST_WITHOUT


def test_ranks_that_several_of_them_keep_waiting_for_input_have_no_straggler(tmp_path: Path) -> None:
    healthy = replace(HEALTHY, ranks=4, seed=2, steps=13, read_ms=3.4, transform_ms=8.0)
    found = compared(healthy, replace(healthy, seed=102, transform_ms=22.0), "kineto", tmp_path)
    assert isinstance(found.ranks, Ranks)
    assert found.ranks.evidence.endswith("; the ranks take turns in being late")
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == (Bottleneck.INPUT_STARVED, None)


TWO_SLOW = replace(HEALTHY, ranks=2, steps=13, read_ms=3.4, transform_ms=8.0)


def test_of_two_ranks_that_wait_for_input_the_one_that_waits_less_is_seen(tmp_path: Path) -> None:
    found = compared(TWO_SLOW, replace(TWO_SLOW, seed=101, transform_ms=24.0), "kineto", tmp_path).diagnosis
    assert (found.bottleneck, found.cause) == (Bottleneck.INPUT_STARVED, None)
    assert found.confidence <= MOST_WITHOUT
    assert any("that of rank" in one for one in found.evidence)


def test_workers_that_every_rank_has_fewer_of_are_no_straggler(tmp_path: Path) -> None:
    found = compared(TWO_SLOW, replace(TWO_SLOW, seed=101, workers=1), "nsys", tmp_path).diagnosis
    assert (found.bottleneck, found.cause) == (Bottleneck.INPUT_STARVED, "DataLoaderWorkers")


def test_a_store_that_is_slow_for_one_rank_makes_it_the_straggler(tmp_path: Path) -> None:
    for form in ("kineto", "nsys"):
        slow = replace(TWO_SLOW, seed=101, late=(("read_ms", 24.0),))
        found = compared(TWO_SLOW, slow, form, tmp_path / form).diagnosis
        assert (found.bottleneck, found.cause) == (Bottleneck.STRAGGLER, "SlowInput")
