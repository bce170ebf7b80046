import random
from dataclasses import replace
from pathlib import Path

import pytest

from mfu_operator.model import facts
from mfu_operator.trace import termination_message as compact
from mfu_operator.trace.analyze import profile
from mfu_operator.trace.diagnosis.diagnose import diagnose
from tests.accuracy.answer import answer
from tests.accuracy.families import FAMILIES
from tests.accuracy.family import Family
from tests.accuracy.trial import attempt, attempt_ranks, random_loop
from tests.support.synthetic.faults import FAULTS, RANK_FAULTS
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import Loop
from tests.support.synthetic.nsys_file import NsysFile


@pytest.mark.parametrize("form", ["nsys", "kineto"])
@pytest.mark.parametrize("cause", FAULTS)
def test_a_cause_that_is_switched_on_is_named(cause: str, form: str) -> None:
    outcome = attempt(cause, 0.1, form, 1)
    assert outcome.right, outcome


@pytest.mark.parametrize("form", ["nsys", "kineto"])
@pytest.mark.parametrize("cause", RANK_FAULTS)
def test_the_slow_rank_of_several_is_named_with_what_it_is_slow_in(cause: str, form: str) -> None:
    outcome = attempt_ranks(cause, 0.1, form, 1)
    assert outcome.right, outcome


REGULAR = [(one, place % 2) for place, one in enumerate(FAMILIES) if "vary by 4 %" not in one.name]


@pytest.mark.parametrize(("family", "seed"), REGULAR, ids=[one.name for one, _ in REGULAR])
def test_hard_cases_get_an_answer_that_is_right_or_none(family: Family, seed: int) -> None:
    found = answer(family.name, seed)
    assert found.verdict != "wrong", found


def recorded(loop: Loop, path: Path, seed: int) -> Path:
    file = NsysFile("2025.3.1.90")
    loop.record(file, seed)
    return file.write(path)


def test_nothing_switched_on_is_nothing_blamed(tmp_path: Path) -> None:
    for seed in range(5):
        loop = random_loop(random.Random(seed), "DataLoaderWorkers")
        before = profile([recorded(loop, tmp_path / f"a{seed}", 2 * seed)])
        assert diagnose(profile([recorded(loop, tmp_path / f"b{seed}", 2 * seed + 1)]), before).bottleneck is None


def test_an_input_wait_that_the_device_does_not_feel_is_not_blamed(tmp_path: Path) -> None:
    busy = Loop(waits_for_device=False, layers=12, steps=12)
    waiting = replace(busy, input_us=600.0, loader="inline")
    before, now = profile([recorded(busy, tmp_path / "a", 1)]), profile([recorded(waiting, tmp_path / "b", 2)])
    assert (now.facts.number(facts.INPUT_RANGE_NS) or 0.0) > 500_000
    assert diagnose(now, before).bottleneck is None


def test_the_compact_account_carries_what_the_diagnosis_needs(tmp_path: Path) -> None:
    for cause, (_, fault) in FAULTS.items():
        loop = random_loop(random.Random(cause), cause)
        file, slow = KinetoFile(), KinetoFile()
        loop.record(file, 1)
        fault(loop, 1500.0).record(slow, 2)
        before = profile([file.write(tmp_path / "a")])
        now = profile([slow.write(tmp_path / "b")])
        whole = diagnose(now, before)
        travelled = diagnose(compact.decode(compact.encode(now)), compact.decode(compact.encode(before)))
        assert (travelled.bottleneck, travelled.cause) == (whole.bottleneck, whole.cause), cause
