"""When a loader's workers are started, as torch's own traces show it. Times of the hand-made ones in microseconds."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from mfu_operator.model.trace import Trace
from mfu_operator.trace.read.formats import expand, read
from mfu_operator.trace.read.loader import STARTED

RECORDED = Path(__file__).parents[2] / "data" / "traces" / "loader"
WAIT = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

Event = tuple[str, float, float]


def starts(trace: Trace) -> list[tuple[float, float]]:
    """Begin and length of each start, in microseconds."""
    rows = [row for row, name in enumerate(trace.ranges.name) if trace.names[name] == STARTED]
    begin, end = trace.ranges.start[rows], trace.ranges.end[rows]
    return [(one / 1e3, length / 1e3) for one, length in zip(begin.tolist(), (end - begin).tolist(), strict=True)]


def recorded(folder: Path, events: Sequence[Event]) -> Trace:
    kinds = {"aten": "cpu_op", "cuda": "cuda_runtime"}
    rows = [
        {
            "ph": "X", "cat": kinds.get(name[:4], "user_annotation"), "name": name, "ts": at, "dur": dur,
            "pid": 1, "tid": 1,
        }
        for name, at, dur in events
    ]  # fmt: skip
    path = folder / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": rows}))
    return read(expand([path])[0])


SEED: Sequence[Event] = (("aten::random_", 1000, 20), ("aten::item", 1030, 10), ("aten::_local_scalar_dense", 1032, 4))
FIRST: Event = (WAIT, 9000, 500)


def test_workers_that_start_anew_with_an_epoch_are_seen() -> None:
    trace = read(expand([RECORDED / "restart.json.gz"])[0])
    ((begin, length),) = starts(trace)
    (step,) = (row for row, name in enumerate(trace.ranges.name) if trace.names[name] == "ProfilerStep#6")
    assert (round(begin * 1e3) - trace.ranges.start[step]) / 1e6 == pytest.approx(294.2, abs=0.1)
    assert length / 1e3 == pytest.approx(308.1, abs=0.1)


def test_workers_that_stay_for_the_next_epoch_start_nothing() -> None:
    assert starts(read(expand([RECORDED / "persistent.json.gz"])[0])) == []


def test_a_start_lasts_from_the_seed_to_the_first_wait(tmp_path: Path) -> None:
    assert starts(recorded(tmp_path, [(WAIT, 0, 900), *SEED, FIRST])) == [(1000, 8000)]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([*SEED], id="nothing is waited for"),
        pytest.param([SEED[0], FIRST], id="the seed is not read"),
        pytest.param([*SEED, ("aten::randperm", 1050, 5000), FIRST], id="the sampler goes on at once"),
        pytest.param([*SEED, (WAIT, 2000, 500)], id="too soon for a process"),
        pytest.param([("aten::randint", 990, 80), *SEED, FIRST], id="noise that the model draws"),
        pytest.param([(WAIT, 900, 3000), *SEED, FIRST], id="within a wait"),
        pytest.param([*SEED, ("cudaLaunchKernel", 4000, 5), FIRST], id="the model runs in between"),
    ],
)
def test_what_else_draws_a_number_starts_nobody(tmp_path: Path, events: Sequence[Event]) -> None:
    assert starts(recorded(tmp_path, events)) == []


def test_the_time_to_start_a_process_is_a_millisecond(tmp_path: Path) -> None:
    assert starts(recorded(tmp_path, [*SEED, (WAIT, 2040, 500)])) == [(1000, 1040)]


def test_times_that_rounding_made_overlap_are_of_operators_side_by_side(tmp_path: Path) -> None:
    touching = (
        (WAIT, 0, 900.002),
        ("aten::zero_", 900, 100.002),
        ("aten::random_", 1000, 20.002),
        ("aten::item", 1020, 10),
    )
    assert starts(recorded(tmp_path, [*touching, FIRST])) == [(1000, 8000)]
    assert starts(recorded(tmp_path, [(WAIT, 0, 1000.002), *touching[2:], FIRST])) == [(1000, 8000)]
    assert starts(recorded(tmp_path, [*touching, ("aten::randperm", 1029.999, 5000), FIRST])) == []


def test_each_epoch_has_its_own_start(tmp_path: Path) -> None:
    later = [(name, at + 50_000, dur) for name, at, dur in (*SEED, FIRST)]
    assert starts(recorded(tmp_path, [*SEED, FIRST, *later])) == [(1000, 8000), (51_000, 8000)]
