import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.model.trace import DeviceOps, Spans, Trace
from mfu_operator.trace.read.kineto import stream as kineto_stream
from mfu_operator.trace.read.kineto.reader import read_kineto

REAL = Path("tests/data/traces/hta/nccl_data.json.gz")


def same(one: Trace, two: Trace) -> None:
    for field in ("ops", "calls", "ranges", "host_ops"):
        left, right = getattr(one, field), getattr(two, field)
        assert isinstance(left, DeviceOps | Spans)
        for name in ("start", "end"):
            assert np.array_equal(getattr(left, name), getattr(right, name))
        assert [one.names[index] for index in left.name] == [two.names[index] for index in right.name]


@pytest.mark.parametrize("piece_bytes", [1 << 14, 100_003, 1 << 20])
def test_a_trace_read_in_pieces_is_the_trace_read_at_once(monkeypatch: pytest.MonkeyPatch, piece_bytes: int) -> None:
    monkeypatch.setattr(kineto_stream, "PIECE_BYTES", 1 << 30)
    whole = read_kineto(REAL)
    monkeypatch.setattr(kineto_stream, "PIECE_BYTES", piece_bytes)
    pieces = read_kineto(REAL)
    same(whole, pieces)
    assert (pieces.rank, pieces.world_size, pieces.gpus) == (whole.rank, whole.world_size, whole.gpus)


def event(name: str, start: float, **more: object) -> dict[str, object]:
    return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": 10, **more}


def written(path: Path, text: bytes) -> Path:
    path.write_bytes(text)
    return path


def document(events: int) -> bytes:
    return json.dumps({"traceEvents": [event(f"range {index}", index * 20) for index in range(events)]}).encode()


def test_a_cut_anywhere_in_an_event_leaves_the_events_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kineto_stream, "PIECE_BYTES", 2_000)
    text = document(100)
    for place in range(text.index(b"range 40"), text.index(b"range 60"), 7):
        trace = read_kineto(written(tmp_path / "t", text[:place]))
        assert len(trace.ranges) == text[:place].count(b'{"ph"') - 1
        assert trace.warnings == ("the file is cut short: the events after the cut are missing",)


@pytest.mark.parametrize("first", ["name", "args", "ts"])
def test_events_that_another_tool_has_written_again_are_told_apart_by_their_first_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setattr(kineto_stream, "PIECE_BYTES", 1_000)
    monkeypatch.setattr(kineto_stream, "LARGEST_PIECE_BYTES", 5_000)
    rows = [event(f"range {index}", index * 20, args={"sizes": [{"a": 1}, {"b": 2}]}) for index in range(100)]
    again = [{first: row[first], **row} for row in rows]
    trace = read_kineto(written(tmp_path / "t", json.dumps({"traceEvents": again}).encode()))
    assert trace.names == tuple(f"range {index}" for index in range(100))


def test_an_event_longer_than_a_piece_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kineto_stream, "PIECE_BYTES", 1_000)
    rows = [event(f"range {index}", index * 20, args={"stack": "x" * 5_000 * (index % 2)}) for index in range(50)]
    trace = read_kineto(written(tmp_path / "t", json.dumps({"traceEvents": rows}).encode()))
    assert trace.names == tuple(f"range {index}" for index in range(50))


def test_text_without_two_events_that_follow_each_other_is_not_held_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kineto_stream, "PIECE_BYTES", 1_000)
    monkeypatch.setattr(kineto_stream, "LARGEST_PIECE_BYTES", 50_000)
    rows = [event("a", 1, args={"stack": "x" * 60_000}), event("b", 2)]
    with pytest.raises(Unreadable, match="without two events that follow each other"):
        read_kineto(written(tmp_path / "t", json.dumps({"traceEvents": rows}).encode()))


def test_what_the_document_says_before_and_after_many_events_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kineto_stream, "PIECE_BYTES", 1_000)
    rows = [event(f"range {index}", index * 20) for index in range(50)]
    before = {"deviceProperties": [{"id": number, "name": f"GPU {number}"} for number in range(100)]}
    after = {"distributedInfo": {"rank": 3, "world_size": 8}, "notes": ["x" * 3_000]}
    trace = read_kineto(written(tmp_path / "t", json.dumps({**before, "traceEvents": rows, **after}).encode()))
    assert (trace.rank, trace.world_size, len(trace.gpus), len(trace.ranges)) == (3, 8, 100, 50)


def test_an_array_of_events_alone_is_a_trace_too(tmp_path: Path) -> None:
    trace = read_kineto(written(tmp_path / "t", json.dumps([event("a", 1), event("b", 2)]).encode()))
    assert trace.names == ("a", "b")


@pytest.mark.parametrize("end", ["}", "},", "}\n,\n", "},]", "} , ]\n"])
def test_an_array_need_not_be_closed_and_may_end_in_a_comma(end: str, tmp_path: Path) -> None:
    text = json.dumps([event("a", 1), event("b", 2)]).removesuffix("}]") + end
    trace = read_kineto(written(tmp_path / "t", text.encode()))
    assert (trace.names, trace.incomplete) == (("a", "b"), None)


@pytest.mark.parametrize(
    "cut", ["}]", "0}}]", ' {"device": 0}}]'], ids=["after a value's brace", "in a value", "before it"]
)
def test_an_array_that_ends_within_an_event_is_cut_short(cut: str, tmp_path: Path) -> None:
    text = json.dumps([event("a", 1), event("b", 2), event("c", 3, args={"device": 0})])
    trace = read_kineto(written(tmp_path / "t", text[: -len(cut)].encode()))
    assert trace.names == ("a", "b")
    assert trace.incomplete


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
    whole = gzip.compress(document(20_000))
    trace = read_kineto(written(tmp_path / "t", whole[: len(whole) // 2]))
    assert 1_000 < len(trace.ranges) < 20_000
    assert trace.warnings == ("the file is cut short: the events after the cut are missing",)
