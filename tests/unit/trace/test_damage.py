"""An answer or one clear line, whatever happened to the file.

Every trace in tests/data is damaged CASES times, those of more than LARGE_BYTES only CASES_OF_LARGE times: the whole of
it, with more seeds and in every way, is `make damage`.
"""

import gzip
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.trace.analyze import analyze
from tests.support import damage, soundness
from tests.support.synthetic.host_loop import HostLoop
from tests.support.synthetic.loop import Loop
from tests.support.synthetic.nsys_file import NsysFile

DATA = Path("tests/data")
FILES = sorted(
    str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.name.endswith((".json.gz", ".json", ".sqlite"))
)
CASES = 16
CASES_OF_LARGE = 5
"""Places at which each file is damaged, the ways in turn."""

LARGE_BYTES = 700_000
"""As stored: ten times that as JSON, and half a second for each damaged copy."""

LONGEST_S = 20.0
"""For one answer: the slowest sound file takes a second."""


def survives(path: Path, shown: str = "") -> bool:
    """Whether there is an answer; whatever there is must be sound."""
    try:
        with soundness.within_seconds(LONGEST_S):
            found = analyze([path])
    except Unreadable as refused:
        assert len(refused.message.splitlines()) == 1, shown
        assert str(path) in refused.message, shown
        return False
    soundness.check(found)
    return True


def cases(name: str, path: Path, count: int) -> Iterator[str]:
    """Writes the damaged file to `path`, `count` times; gives what was done to it."""
    whole = (DATA / name).read_bytes()
    ways = damage.ways_of(whole)
    for seed in range(count):
        way = ways[seed % len(ways)]
        path.write_bytes(way(whole, random.Random(f"{name} {seed}")))
        yield f"{name}, {way.__name__}, seed {seed}"


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_answered_or_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    large = (DATA / name).stat().st_size > LARGE_BYTES
    for case in cases(name, path, CASES_OF_LARGE if large else CASES):
        survives(path, case)


@cache
def export(kind: str, folder: Path) -> Path:
    file = NsysFile("2026.2.1.210") if kind == "device" else HostLoop().trace()
    if kind == "device":
        Loop(steps=5).record(file, 1)
    return file.write(folder / "whole")


@pytest.mark.parametrize("kind", ["host", "device"])
def test_an_export_may_lack_any_table_and_any_column(kind: str, tmp_path: Path) -> None:
    path = export(kind, tmp_path)
    answered = [survives(damaged) for damaged in damage.without_tables(path, tmp_path)]
    answered += [survives(damaged) for damaged in damage.without_columns(path, tmp_path)]
    assert sum(answered) > len(answered) / 2


@pytest.mark.parametrize("kind", ["host", "device"])
def test_an_export_may_hold_any_value_in_any_column(kind: str, tmp_path: Path) -> None:
    path = export(kind, tmp_path)
    for seed in range(CASES):
        survives(damage.absurd_values(path, tmp_path / "absurd", random.Random(f"{kind} {seed}")), f"seed {seed}")


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".sqlite")])
def test_a_real_export_may_lack_any_table_and_hold_any_value(name: str, tmp_path: Path) -> None:
    for damaged in damage.without_tables(DATA / name, tmp_path):
        survives(damaged, damaged.name)
    large = (DATA / name).stat().st_size > LARGE_BYTES
    for seed in range(CASES_OF_LARGE if large else CASES):
        case = f"{name}, absurd values, seed {seed}"
        survives(damage.absurd_values(DATA / name, tmp_path / "absurd", random.Random(case)), case)


def test_a_kineto_trace_that_ends_in_the_middle_still_gives_its_whole_steps(tmp_path: Path) -> None:
    text = gzip.decompress((DATA / "traces/kineto/resnet50_workers4_a.json.gz").read_bytes())
    path = tmp_path / "trace"
    path.write_bytes(text[: len(text) * 9 // 10])
    found = analyze([path])
    assert any("cut short" in warning for warning in found.traces[0].warnings)
