"""What the values of a Kineto trace's events say: numbers, times, messages, devices, and ranks in one file."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from mfu_operator.model.trace import NONE, column
from mfu_operator.trace.columns.parts import COMPUTE, D2D, D2H, H2D, MEMSET
from mfu_operator.trace.read.kineto import merged
from mfu_operator.trace.read.kineto.device import copy_part, device_columns, gpus_of
from mfu_operator.trace.read.kineto.events import Arguments, Event
from mfu_operator.trace.read.kineto.messages import Said, said_by
from mfu_operator.trace.read.kineto.numbers import count_of, integer, integers, times
from mfu_operator.trace.read.kineto.pairs import paired

LARGEST = 1 << 62
DAY_US = 24 * 3600 * 1e6


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5), (0, 0), (-1, -1), (-2, NONE), (LARGEST - 1, LARGEST - 1), (LARGEST, NONE), (1 << 80, NONE),
        ("7", 7), ("-7", NONE), ("x", NONE), ("", NONE), ("٣", NONE), (5.0, NONE), (None, NONE), ([5], NONE),
        ("9" * 10_000, NONE),
    ],
)  # fmt: skip
def test_a_number_is_one_that_a_column_can_hold(value: Any, number: int) -> None:
    assert integer(value) == number
    assert integers([value]).tolist() == [number]
    assert integers([value, "5"]).tolist() == [number, 5]
    assert count_of(value) == (None if number < 0 else number)


def test_numbers_and_absent_ones_are_read_together() -> None:
    assert integers([3, None, -1, -2, LARGEST, LARGEST - 1]).tolist() == [3, NONE, NONE, NONE, NONE, LARGEST - 1]
    assert integers([]).tolist() == []
    assert count_of(True) is None


def test_times_are_microseconds_and_those_that_cannot_be_are_marked() -> None:
    rows = [
        Event(ts=1.5, dur=0.25), Event(ts=2.0, dur=0.0), Event(ts=3.0, dur=-1.0), Event(ts=1.0, dur=12 * DAY_US),
        Event(ts=-5.0, dur=1.0), Event(ts=5e15, dur=1.0), Event(ts=-5e15, dur=1.0), Event(ts=float("nan"), dur=1.0),
        Event(ts=4e15, dur=11 * DAY_US),
    ]  # fmt: skip
    start, end, sound = times(rows)
    assert sound.tolist() == [True, True, False, False, True, False, False, False, True]
    assert start.tolist()[:5] == [1_500, 2_000, 0, 0, -5_000]
    assert end.tolist()[:5] == [1_750, 2_000, 0, 0, -4_000]


def message(name: str = "kernel", **said: Any) -> Said | None:
    return said_by(Event(name=name, args=Arguments(**said)))


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ({"elements_in": 10, "dtype": "BFloat16"}, 20),
        ({"elements_in": 10, "elements_out": 80, "dtype": "Float"}, 320),
        ({"elements_in": 80, "elements_out": 10, "dtype": "c10::Half"}, 160),
        ({"elements_out": "10", "dtype": "Double"}, 80),
        ({"elements_in": 10, "dtype": "ComplexDouble"}, 160),
        ({"elements_in": 10, "dtype": "Float8_e4m3fn"}, 10),
        ({"elements_in": 10, "dtype": "Byte"}, 10),
        ({"elements_in": 10, "dtype": "unheard of"}, 0),
        ({"elements_in": 10}, 0),
        ({"dtype": "Float"}, 0),
        ({"elements_in": (1 << 48) - 1, "dtype": "Float"}, (1 << 50) - 4),
        ({"elements_in": 1 << 48, "dtype": "Float"}, 0),
    ],
)
def test_a_message_is_as_large_as_its_longer_side(said: dict[str, Any], size: int) -> None:
    assert message(collective="allreduce", **said) == Said("allreduce", size, None, 0)


@pytest.mark.parametrize(
    ("said", "group"),
    [
        ({"ranks": "[0, 1]", "group": "0"}, "ranks [0, 1]"),
        ({"ranks": "[]", "group": "0"}, "0"),
        ({"ranks": "[0, 1, ..., 7]", "group": "tp"}, "tp"),
        ({"ranks": [0, 1], "group": 3}, "3"),
        ({"group": ""}, None),
        ({"group": 2.5}, None),
        ({}, None),
    ],
)
def test_a_group_is_told_by_its_ranks_where_all_are_listed_or_by_its_name(
    said: dict[str, Any], group: str | None
) -> None:
    assert message(collective="allreduce", members="8", **said) == Said("allreduce", 0, group, 8)


def shaped(shapes: object, types: Any, name: str = "nccl:all_to_all") -> Said | None:
    texts = {
        key: msgspec.Raw(one if isinstance(one, bytes) else msgspec.json.encode(one))
        for key, one in (("shapes", shapes), ("types", types))
    }
    return said_by(Event(name=name, args=Arguments(**texts)))


@pytest.mark.parametrize(
    ("shapes", "types", "size"),
    [
        ([[4, 8]], ["float"], 128),
        ([[4, 8], [2]], ["float", "long int"], 144),
        ([[4, 8], [2]], ["float"], 128),
        ([[[4], [8]]], ["int"], 48),
        ([[], [3]], ["float", "int"], 12),
        (["text", [3]], ["float", "int"], 12),
        ([[4, -1], [3]], ["float", "int"], 12),
        ([[4, "x"], [3]], ["float", "int"], 12),
        ([[0], [3]], ["float", "int"], 12),
        ([[4]], "float", None),
        ([[4]], ["unheard of"], None),
        ([[1 << 49]], ["char"], 1 << 49),
        ([[1 << 49, 2]], ["char"], None),
        ([[1 << 50, 2], [3]], ["char", "char"], 3),
        (b"{", ["float"], None),
    ],
)
def test_an_older_annotation_is_as_large_as_its_inputs(shapes: object, types: Any, size: int | None) -> None:
    assert shaped(shapes, types) == (None if size is None else Said("nccl:all_to_all", size, None, 0))


def test_only_a_collectives_annotation_tells_of_a_message() -> None:
    assert shaped([[4]], ["float"], "gloo:all_reduce") == Said("gloo:all_reduce", 16, None, 0)
    assert shaped([[4]], ["float"], "aten::add") is None
    assert message("nccl:all_reduce", types=["float"]) is None
    assert said_by(Event(name="nccl:all_reduce", args=Arguments())) is None
    assert said_by(Event(name="nccl:all_reduce")) is None


def test_an_operation_says_where_it_ran_and_what_it_moved() -> None:
    rows = [
        Event(cat="kernel", pid=1, tid=2, args=Arguments(device=3, stream=4, correlation=5, grid=[2, 3, 4])),
        Event(cat="gpu_memcpy", pid=1, tid=2, args=Arguments(bytes=64)),
        Event(cat="Memset", pid="x", tid="y", args=Arguments(bytes=-5)),
        Event(cat="kernel", args=None),
        Event(cat="Memcpy", args=Arguments(device=0, stream=0)),
    ]
    assert [each.tolist() for each in device_columns(rows)] == [
        [3, 1, 0, 0, 0],
        [4, 2, NONE, NONE, 0],
        [5, NONE, NONE, NONE, NONE],
        [0, 64, 0, 0, 0],
        [24, 0, 0, 0, 0],
        [COMPUTE, D2D, MEMSET, COMPUTE, D2D],
    ]


@pytest.mark.parametrize(
    ("grid", "blocks"),
    [
        ([7], 7),
        ([2, 0, 4], 0),
        ([2, -3], 0),
        ([2, 1.5], 0),
        ([(1 << 20) - 1], (1 << 20) - 1),
        ([1 << 20], 0),
        ("2", 0),
        ([], 1),
    ],
)
def test_a_grid_has_as_many_blocks_as_its_sides_make(grid: Any, blocks: int) -> None:
    assert device_columns([Event(args=Arguments(grid=grid))])[4].tolist() == [blocks]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Memcpy HtoD (Pinned -> Device)", H2D), ("Memcpy DtoH (Device -> Pageable)", D2H), ("Memcpy DtoD", D2D),
        ("CopyHostToDevice", H2D), ("CopyDeviceToHost", D2H), ("Memcpy M2D (MEMORY -> DEVICE)", H2D),
        ("Memcpy D2M", D2H),
    ],
)  # fmt: skip
def test_copies_go_where_their_names_say(name: str, part: int) -> None:
    assert copy_part(name) == part


def test_devices_are_named_by_their_numbers() -> None:
    rows = [{"id": 0, "name": "H100"}, {"id": "1", "name": "H200"}, {"id": 2}, "damage", {"id": 3, "name": ""}]
    assert gpus_of(rows) == {0: "H100", 1: "H200"}
    assert gpus_of(None) == {}
    assert gpus_of({"id": 0, "name": "H100"}) == {}


# Several ranks in one file.


@pytest.mark.parametrize(
    ("owners", "processes", "ranks"),
    [
        ([0, 1], ["4711"], ([0, 0], [0])),
        (["[TP00] 0", "[TP01] 0"], ["[TP01] 4712", "[TP00] 4711"], ([1, 0], [0, 1])),
        ([0, 1], ["0", "1"], ([0, 1], [0, 1])),
        (["[TP00] 0"], ["worker"], ([0], [0])),
        (["rank 1 gpu"], ["rank 7 gpu", "other"], ([0], [0, 1])),
        ([], ["4711"], ([], [0])),
    ],
)
def test_an_owners_rank_is_that_of_the_process_whose_name_it_shares(
    owners: Sequence[Any], processes: Sequence[str], ranks: tuple[Sequence[int], Sequence[int]]
) -> None:
    assert tuple(each.tolist() for each in merged.ranks_of(owners, processes)) == ranks


def test_correlations_are_equal_within_one_rank_only() -> None:
    keys = merged.by_rank(column([5, 5, NONE, 6]), column([0, 1, 1, 1])).tolist()
    assert keys[0] == 5
    assert keys[2] == NONE
    assert len(set(keys)) == 4
    assert merged.by_rank(column([(1 << 32) - 1]), column([2])).tolist() == [(2 << 32) + (1 << 32) - 1]


def test_devices_that_several_owners_number_alike_get_numbers_of_their_own() -> None:
    device, stood = merged.told_apart(column([0, 0, 1, 0]), column([1, 0, 1, 2]), ["rank 10", "rank 2", "rank 3"])
    assert (device.tolist(), stood) == ([0, 3, 1, 2], {2: 0, 3: 0})
    alone, none = merged.told_apart(column([0, 1]), column([0, 0]), ["rank 2"])
    assert (alone.tolist(), none) == ([0, 1], {})
    apart, nothing = merged.told_apart(column([0, 1]), column([0, 1]), ["a", "b"])
    assert (apart.tolist(), nothing) == ([0, 1], {})


# Events in halves.


def halves(*edges: tuple[str, str, float]) -> list[tuple[str, float, float]]:
    return [(one.name, one.ts, one.dur) for one in paired([Event(ph, None, name, 1, 1, ts) for ph, name, ts in edges])]


def test_an_end_belongs_to_the_last_open_beginning_of_its_name() -> None:
    assert halves(("B", "a", 1), ("B", "b", 2), ("E", "b", 3), ("E", "a", 5)) == [("b", 2, 1), ("a", 1, 4)]
    assert halves(("B", "a", 1), ("B", "b", 2), ("E", "a", 3), ("E", "b", 5)) == [("a", 1, 2), ("b", 2, 3)]
    assert halves(("B", "a", 1), ("B", "a", 2), ("E", "a", 3)) == [("a", 2, 1)]
    assert halves(("E", "a", 3), ("B", "a", 1)) == [("a", 1, 2)]
    assert halves(("B", "a", 1), ("B", "b", 2), ("E", "", 3), ("E", "", 4)) == [("b", 2, 1), ("a", 1, 3)]


def test_halves_without_the_other_are_left_out_and_threads_do_not_mix() -> None:
    assert halves(("E", "a", 1), ("B", "a", 2)) == []
    assert halves(("B", "a", 1), ("E", "b", 2)) == []
    edges = [Event("B", "cat", "a", 1, 1, 1.0), Event("B", None, "a", 1, 2, 2.0), Event("E", None, "a", 1, 1, 5.0)]
    (found,) = paired(edges)
    assert (found.ph, found.cat, found.pid, found.tid, found.ts, found.dur) == ("X", "cat", 1, 1, 1.0, 4.0)
