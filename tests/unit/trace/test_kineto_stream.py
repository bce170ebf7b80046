import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.model.trace import DeviceOps, Spans, Trace
from mfu_operator.trace import kineto_stream
from mfu_operator.trace.kineto_json import read_kineto

REAL = Path("tests/data/traces/hta/nccl_data.json.gz")


def same(one: Trace, two: Trace) -> None:
    for field in ("ops", "calls", "ranges", "host_ops"):
        left, right = getattr(one, field), getattr(two, field)
        assert isinstance(left, DeviceOps | Spans)
        for name in ("start", "end"):
            assert np.array_equal(getattr(left, name), getattr(right, name))
        assert [one.names[index] for index in left.name] == [two.names[index] for index in right.name]


def test_a_trace_read_in_pieces_is_the_trace_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_kineto(REAL)
    monkeypatch.setattr(kineto_stream, "PIECE_BYTES", 1 << 20)
    pieces = read_kineto(REAL)
    same(whole, pieces)
    assert (pieces.rank, pieces.world_size, pieces.gpus) == (whole.rank, whole.world_size, whole.gpus)


def event(name: str, start: float, **more: object) -> dict[str, object]:
    return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": 10, **more}


def written(path: Path, text: bytes) -> Path:
    path.write_bytes(text)
    return path


def test_an_array_of_events_alone_is_a_trace_too(tmp_path: Path) -> None:
    trace = read_kineto(written(tmp_path / "t", json.dumps([event("a", 1), event("b", 2)]).encode()))
    assert trace.names == ("a", "b")


def test_text_that_is_not_utf8_and_numbers_that_are_none_are_put_right(tmp_path: Path) -> None:
    text = b'{"traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "caf\xe9", "ts": 5, "dur": 1, '
    text += b'"args": {"memory bandwidth (GB/s)": inf, "other": -nan}}]}'
    assert read_kineto(written(tmp_path / "t", text)).names == ("caf\ufffd",)


def test_numbers_beyond_64_bits_in_arguments_do_not_matter(tmp_path: Path) -> None:
    rows = [event("a", 1, args={"Comms Id": 10159970886766084423, "stream": 2**80})]
    assert len(read_kineto(written(tmp_path / "t", json.dumps({"traceEvents": rows}).encode())).ranges) == 1


def test_events_with_impossible_times_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [event("a", 1), event("b", 2, dur=-5), event("c", 1e300)]
    trace = read_kineto(written(tmp_path / "t", json.dumps({"traceEvents": rows}).encode()))
    assert len(trace.ranges) == 1
    assert trace.warnings == ("2 events have impossible times and are left out",)


@pytest.mark.parametrize(
    "text", [b"{}", b"[]x", b'{"traceEvents": [}', b'{"traceEvents": 3}', b'{"traceEvents": [{"ph"']
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(Unreadable):
        read_kineto(written(tmp_path / "t", text))


def test_a_gzip_stream_that_ends_too_early_gives_what_it_holds(tmp_path: Path) -> None:
    rows = [event(f"range {index}", index * 20) for index in range(20_000)]
    whole = gzip.compress(json.dumps({"traceEvents": rows}).encode())
    trace = read_kineto(written(tmp_path / "t", whole[: len(whole) // 2]))
    assert 1_000 < len(trace.ranges) < 20_000
    assert trace.warnings == ("the file is cut short: the events after the cut are missing",)
