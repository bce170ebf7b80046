"""What trainers and their loggers write is read as it is."""

import json
import struct
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from mfu_operator.cli.replay.history import History
from mfu_operator.cli.replay.series import read as reading
from mfu_operator.cli.replay.series import read_series
from mfu_operator.errors import Unreadable
from mfu_operator.model.baseline import Signal
from mfu_operator.model.series import Phase

REAL = Path(__file__).parents[2] / "data" / "trainer_logs"
STEP = Signal.STEP_TIME
UNIX_S = 1767225600.0


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def values(history: History, signal: Signal = STEP) -> list[float]:
    return [each.values[signal] for each in history.readings if signal in each.values]


def spans(history: History) -> list[float]:
    return [after.time_s - before.time_s for before, after in pairwise(history.readings)]


def test_a_series_of_step_and_step_time_is_dated_by_the_sum_of_its_steps() -> None:
    found = read_series(REAL / "megatron_gpt3_15b.csv", STEP)
    assert values(found)[:2] == [3.58972, 3.45801]
    assert spans(found)[0] == pytest.approx(100 * 3.45801)
    assert not found.dated


def test_a_series_of_elapsed_seconds_keeps_them_and_leaves_out_the_step_after_an_evaluation() -> None:
    found = read_series(REAL / "nanogpt.csv", STEP)
    assert {each.phase for each in found.readings} == {Phase.UNKNOWN, Phase.EVALUATION}
    assert min(spans(found)) > 0


def test_a_series_of_kinds_gives_the_kind_that_is_asked_for() -> None:
    found = read_series(REAL / "mlperf_llama31_405b.csv", STEP)
    assert values(found)[0] == pytest.approx(54.7127, abs=1e-4)
    assert {each.phase for each in found.readings} == {Phase.RUNNING, Phase.EVALUATION}


def trainer_state(folder: Path, entries: Sequence[Mapping[str, object]]) -> Path:
    return file(folder, "trainer_state.json", json.dumps({"global_step": 1, "log_history": entries}, indent=2))


def test_a_trainer_state_gives_the_step_time_between_its_entries_without_evaluations(tmp_path: Path) -> None:
    entries = [
        {"step": 10, "loss": 3.0, "train_runtime": 20.0, "num_input_tokens_seen": 1000},
        {"step": 20, "loss": 2.0, "train_runtime": 40.0, "num_input_tokens_seen": 2000},
        {"step": 20, "eval_loss": 2.0, "eval_runtime": 30.0, "train_runtime": 70.0},
        {"step": 30, "loss": 1.0, "train_runtime": 100.0, "num_input_tokens_seen": 3000},
    ]
    assert values(read_series(trainer_state(tmp_path, entries), STEP)) == [2.0, 3.0]
    found = values(read_series(trainer_state(tmp_path, entries), Signal.THROUGHPUT), Signal.THROUGHPUT)
    assert found == [50.0, pytest.approx(1000 / 30)]


def test_a_trainer_state_without_times_says_which_option_logs_them(tmp_path: Path) -> None:
    path = trainer_state(tmp_path, [{"step": 10, "loss": 3.0}, {"step": 20, "loss": 2.0}])
    with pytest.raises(Unreadable, match=r"nothing says when.*found are step, loss.*include_num_input_tokens_seen"):
        read_series(path, STEP)


def test_lightning_s_table_has_holes_where_a_row_says_something_else(tmp_path: Path) -> None:
    rows = "epoch,step,train/device/tokens_per_sec,train/time,train_loss,val_loss\n"
    rows += "0,9,1000,10,,\n0,9,,,3.2,\n0,19,1100,20,,\n0,19,,,,3.3\n0,29,900,30,,\n"
    found = read_series(file(tmp_path, "metrics.csv", rows), Signal.THROUGHPUT)
    assert [(each.time_s, each.values[Signal.THROUGHPUT]) for each in found.readings] == [
        (10.0, 1000.0),
        (20.0, 1100.0),
        (30.0, 900.0),
    ]


def test_an_export_of_weights_and_biases_is_read_from_its_page_and_from_its_api(tmp_path: Path) -> None:
    page = 'Step,"run-7 - _timestamp","run-7 - perf/mfu","run-7 - perf/mfu__MIN","run-7 - perf/mfu__MAX"\n'
    page += f"1,{UNIX_S},0.4,0.3,0.5\n2,{UNIX_S + 30},0.41,0.3,0.5\n"
    found = read_series(file(tmp_path, "page.csv", page), Signal.MFU)
    assert (values(found, Signal.MFU), found.dated) == ([0.4, 0.41], True)
    lines = [{"_step": n, "_runtime": 30 * n, "train/step_time": 2 + n / 10, "note": {}} for n in range(3)]
    found = read_series(file(tmp_path, "history.jsonl", "\n".join(map(json.dumps, lines))), STEP)
    assert values(found) == [2.0, 2.1, 2.2]


def test_an_export_of_several_runs_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, "both.csv", "Step,a - mfu,b - mfu\n1,0.4,0.5\n")
    with pytest.raises(Unreadable, match="holds 2 runs: export one"):
        read_series(path, Signal.MFU)


MEGATRON = (
    " [2026-01-01 00:00:{second:02}.12] iteration {step:8d}/  500000 | consumed samples: {samples:12d} | "
    "elapsed time per iteration (ms): {ms} | throughput per GPU (TFLOP/s/GPU): 312.3 | learning rate: 1.0E-04 | "
    "lm loss: 2.1E+00 | number of skipped iterations:   0 | number of nan iterations:   0 |"
)


def test_a_log_of_megatron_is_read_between_all_its_other_lines(tmp_path: Path) -> None:
    lines = [MEGATRON.format(second=2 * n, step=n, samples=8 * n, ms=2000.0 + n) for n in range(1, 5)]
    text = "building GPT model ...\n" + "\nvalidation loss at iteration 2 | lm loss value: 2.0\n".join(lines)
    found = read_series(file(tmp_path, "log.txt", text), STEP)
    assert values(found) == [2.001, 2.002, 2.003, 2.004]
    assert (found.dated, spans(found)) == (True, [2.0, 2.0, 2.0])
    assert [each.step for each in found.readings] == [1, 2, 3, 4]


def test_an_old_log_of_megatron_without_clock_is_dated_by_its_steps(tmp_path: Path) -> None:
    line = " iteration {}/ 100 | elapsed time per iteration (ms): 500.0 | lm loss: 2.0 |"
    lines = [line.format(number) for number in (10, 20, 30)]
    assert spans(read_series(file(tmp_path, "log.txt", "\n".join(lines)), STEP)) == [5.0, 5.0]


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def held(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def event(wall_s: float, step: int, scalar: bytes) -> bytes:
    body = b"\x09" + struct.pack("<d", wall_s) + b"\x10" + varint(step) + held(5, held(1, scalar))
    return struct.pack("<QI", len(body), 0) + body + bytes(4)


def event_file(*events: bytes) -> bytes:
    version = b"\x09" + struct.pack("<d", UNIX_S) + held(3, b"brain.Event:2")
    return struct.pack("<QI", len(version), 0) + version + bytes(4) + b"".join(events)


def simple(tag: str, value: float) -> bytes:
    return held(1, tag.encode()) + b"\x15" + struct.pack("<f", value)


def tensor(tag: str, value: float) -> bytes:
    return held(1, tag.encode()) + held(8, b"\x08\x01" + held(4, struct.pack("<f", value)))


@pytest.mark.parametrize("scalar", [simple, tensor])
def test_an_event_file_of_tensorboard_gives_a_tag_or_the_time_between_steps(tmp_path: Path, scalar: object) -> None:
    assert callable(scalar)
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(
        event_file(*(event(UNIX_S + 20 * n, 10 * n, scalar("train/mfu", 0.25 * (1 + n % 2))) for n in range(1, 4)))
    )
    assert values(read_series(path, Signal.MFU), Signal.MFU) == [0.5, 0.25, 0.5]
    assert values(read_series(path, STEP)) == [2.0, 2.0]


def test_an_event_file_that_is_still_written_is_read_up_to_its_cut(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.host"
    whole = event_file(event(UNIX_S, 1, simple("mfu", 0.5)), event(UNIX_S + 9, 2, simple("mfu", 0.25)))
    path.write_bytes(whole[:-6])
    assert values(read_series(path, Signal.MFU), Signal.MFU) == [0.5]


def test_an_event_that_is_none_names_its_record(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.host"
    broken = b"\xff" * 20
    path.write_bytes(event_file(struct.pack("<QI", len(broken), 0) + broken + bytes(4)))
    with pytest.raises(Unreadable, match="record 2: not an event of TensorBoard"):
        read_series(path, Signal.MFU)


def test_a_column_can_be_named_where_no_name_says_what_it_is(tmp_path: Path) -> None:
    path = file(tmp_path, "odd.csv", "elapsed_s,speedo\n0,5\n30,6\n")
    with pytest.raises(Unreadable, match=r"nothing says the .*--column.*found are elapsed_s, speedo"):
        read_series(path, Signal.MFU)
    assert values(read_series(path, Signal.MFU, "speedo"), Signal.MFU) == [5.0, 6.0]
    with pytest.raises(Unreadable, match="there is no column speed; found are"):
        read_series(path, Signal.MFU, "speed")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"step": 1}\nnot json\n', "line 2: not JSON"),
        ('{"log_history": 3}', "log_history is not a list"),
        ("[1, 2]", "entry 1: not an object"),
        ("[" * 100_000, r"nested too deeply|not JSON"),
        ("timestamp,mfu\n1,0.5\nnoon,0.5\n", "line 3: 'noon' is not a time"),
    ],
)
def test_what_cannot_be_read_names_its_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        read_series(file(tmp_path, "odd", text), Signal.MFU)


def test_a_file_beyond_the_bound_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGEST", 100)
    with pytest.raises(Unreadable, match="larger than 0 MiB"):
        read_series(file(tmp_path, "long.csv", "time,value\n" + "0,1\n" * 100), Signal.MFU)
