"""A series from a CSV file, as people and programs write them."""

import math
from pathlib import Path

import pytest

from mfu_operator.cli.replay.history import read_csv
from mfu_operator.errors import Unreadable
from mfu_operator.model.baseline import Signal
from mfu_operator.model.series import Phase


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n", r"time,value\[,phase\], separated by commas; it is 'a,b'"),
        ("time;value\n1;2\n", "separated by commas; it is 'time;value'"),
        ("", "the first line must name"),
        ("time,value,value\n1,2,3\n", "names the column value twice"),
        ("time,value\n\n1,2\n2,fast\n", "line 4: 'fast' is not a number"),
        ("time,value\n2026-01-01T00:00:00Z,2\n30,2\n", "line 3: '30' is in seconds and the times before it are dates"),
        ("time,value\n0,2\n2026-01-01T00:00:00Z,2\n", "is a date and the times before it are in seconds"),
        ("time,value\n-1e300,2\n", "is beyond the year 5000"),
        ('time,value\n0,"2\n' + "30,2\n" * 40_000, "is a quote not closed"),
        ("time,value\nyesterday,2\n", "line 2"),
        ("time,value\n1,fast\n", "is not a number"),
        ("time,value\n1767225600000,2\n", "not milliseconds"),
        ("time,value,phase\n1,2,sleeping\n", "is unknown"),
    ],
)
def test_a_file_that_cannot_be_read_names_the_line_and_the_remedy(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(Unreadable, match=says):
        read_csv(path, Signal.MFU)


def test_a_file_that_is_not_utf_8_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "exported.csv"
    path.write_bytes("time,value\n0,0.5\n".encode("utf-16"))
    with pytest.raises(Unreadable, match="save it as UTF-8"):
        read_csv(path, Signal.MFU)


def test_columns_are_known_by_their_names_however_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    path.write_text("Step, Time , VALUE\n1, 0 , 0.5\n2, 30, 0.4\n")
    assert [reading.values[Signal.MFU] for reading in read_csv(path, Signal.MFU).readings] == [0.5, 0.4]


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-01-01T00:01:00Z",
        "2026-01-01 00:01:00+00:00",
        "2026-01-01 00:01:00",
        "2026-01-01T05:31:00+0530",
        "2026-01-01t00:01:00.000z",
    ],
)
def test_dates_are_read_as_programs_write_them(tmp_path: Path, stamp: str) -> None:
    path = tmp_path / "series.csv"
    path.write_text(f"time,value\n{stamp},0.5\n")
    history = read_csv(path, Signal.MFU)
    assert (history.readings[0].time_s, history.dated) == (1767225660.0, True)


@pytest.mark.parametrize(
    ("word", "phase"),
    [
        ("train", Phase.RUNNING),
        ("Running", Phase.RUNNING),
        ("eval", Phase.EVALUATION),
        ("validation", Phase.EVALUATION),
        ("checkpointing", Phase.CHECKPOINT),
        ("save", Phase.CHECKPOINT),
        ("warmup", Phase.STARTING),
        ("restarting", Phase.STARTING),
        ("hung", Phase.PAUSED),
        ("unknown", Phase.UNKNOWN),
    ],
)
def test_phases_are_read_by_the_names_that_trainers_give_them(tmp_path: Path, word: str, phase: Phase) -> None:
    path = tmp_path / "series.csv"
    path.write_text(f"time,value,phase\n0,0.5,{word}\n")
    assert read_csv(path, Signal.MFU).readings[0].phase is phase


@pytest.mark.parametrize("nothing", ["", "null", "None", "NaN", "n/a"])
def test_a_row_may_say_that_it_has_no_value(tmp_path: Path, nothing: str) -> None:
    path = tmp_path / "series.csv"
    path.write_text(f"time,value\n0,{nothing}\n30,0.5\n")
    first = read_csv(path, Signal.MFU).readings[0]
    assert not any(math.isfinite(value) for value in first.values.values())


def test_empty_values_are_gaps_and_rows_are_sorted(tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    path.write_text("time,value,phase\n60,0.5,running\n0,0.4,\n30,,paused\n")
    readings = read_csv(path, Signal.MFU).readings
    assert [reading.time_s for reading in readings] == [0, 30, 60]
    assert readings[1].values == {}
    assert readings[2].phase is Phase.RUNNING
