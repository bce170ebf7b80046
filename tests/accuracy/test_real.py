"""Verdicts on real traces: a few of what `make accuracy-real` tries, and that what it changes is what it says."""

import random
from pathlib import Path

import pytest

from tests.accuracy.real import changes, raw
from tests.accuracy.real.cases import OF_A_JOB, Case, cases, run
from tests.accuracy.real.verdict import said
from tests.support import oracle, rank_oracle

SEED = 1
SMALL = ("DLRM, 4 V100", "DLRM, 4 V100, rank 2 late", "DLRM, 8 ranks")

QUICK = [
    one
    for one in cases([SEED])
    if one.run in SMALL
    and (
        (one.change, one.recording)
        in {
            ("slower network", "whole"),
            ("slower network", "one rank of several"),
            ("slower network", "one rank's steps unmarked"),
            ("a late device", "a collective missing on one rank"),
            ("a late device", "the late rank missing"),
            ("a late host", "a clock 50 ms off"),
            ("a late host", "the late rank missing"),
        }
    )
]


@pytest.mark.parametrize("case", QUICK, ids=lambda one: f"{one.change}, {one.recording}")
def test_of_a_changed_run_the_right_is_said_or_doubted(case: Case) -> None:
    found = said(case)
    assert found.verdict == "right", found


def test_every_recording_and_every_change_is_tried() -> None:
    tried = list(cases([SEED]))
    assert {one.change for one in tried} == {*OF_A_JOB, "a late host", "a late device"}
    assert len(tried) > 100
    assert len({one.recording for one in tried}) == 12


PARTS = {
    "allocation": ("idleAlloc",),
    "slower network": ("communication",),
}


@pytest.mark.parametrize("change", PARTS)
def test_time_is_put_where_the_change_would_put_it(change: str, tmp_path: Path) -> None:
    """By the sums of the raw events, which another program adds up."""
    before = run("A100, rank 0 of 2")
    after = OF_A_JOB[change][0](before, 0.2, random.Random(SEED))
    once, now = (_parts(one[0], tmp_path / name) for one, name in ((before, "a"), (after, "b")))
    more = {part: now[part] - once[part] for part in once}
    assert max(more, key=lambda part: more[part]) in PARTS[change]
    assert more[PARTS[change][0]] > 0.6 * sum(more.values())


def _parts(document: raw.Document, folder: Path) -> dict[str, int]:
    """The middle step's, ns."""
    raw.write([document], folder)
    found = oracle.recording(folder / "rank0.json")
    window = oracle.windows_of_marks(found.marks)[1]
    return oracle.sweep(found, 0, [window])[0].parts


def test_the_late_rank_of_a_changed_run_is_late_in_the_raw_events_too() -> None:
    before = run("DLRM, 8 ranks")
    after = changes.late_host(before, 1.0, random.Random(SEED))
    once, now = rank_oracle.truth(before), rank_oracle.truth(after)
    assert max(now.waits_us.values()) - max(once.waits_us.values()) > 0.5 * raw.step_us(before[0])
    assert now.waits_us[now.late] < 0.2 * max(now.waits_us.values())
