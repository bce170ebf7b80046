"""An answer or one clear line, whatever happened to the file."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.trace.analyze import analyze
from tests.support import damage
from tests.support.synthetic.host_loop import HostLoop
from tests.support.synthetic.loop import Loop
from tests.support.synthetic.nsys_file import NsysFile

TRACES = Path("tests/data/traces")
SMALL = (
    "hta/with_gpu_user_annotation.json.gz",
    "hta/alexnet_first_iteration.json.gz",
    "tracelens/bert_small_h100.json.gz",
    "nsys/healthy_1pct.sqlite",
)
WAYS = (damage.cut, damage.flipped, damage.cut_inside, damage.flipped_inside)


def survives(path: Path) -> bool:
    """Whether there is an answer; whatever there is must be sound."""
    try:
        found = analyze([path])
    except Unreadable as refused:
        assert len(refused.message.splitlines()) == 1
        assert str(path) in refused.message
        return False
    for device in found.devices:
        for step in device.steps:
            assert sum(step.account_ns.values()) == step.end_ns - step.start_ns
            assert min(step.account_ns.values()) >= 0
    return True


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", SMALL)
def test_a_damaged_file_is_answered_or_refused(
    name: str, way: Callable[[bytes, random.Random], bytes], tmp_path: Path
) -> None:
    whole = (TRACES / name).read_bytes()
    for seed in range(8):
        path = tmp_path / "trace"
        path.write_bytes(way(whole, random.Random(f"{name} {seed}")))
        survives(path)


@pytest.mark.parametrize("kind", ["host", "device"])
def test_an_export_may_lack_any_table_and_any_column(kind: str, tmp_path: Path) -> None:
    file = NsysFile("2026.2.1.210") if kind == "device" else HostLoop().trace()
    if kind == "device":
        Loop(steps=5).record(file, 1)
    path = file.write(tmp_path / "whole")
    answered = [survives(damaged) for damaged in damage.without_tables(path, tmp_path)]
    assert sum(answered) > len(answered) / 2


def test_a_kineto_trace_that_ends_in_the_middle_still_gives_its_whole_steps(tmp_path: Path) -> None:
    import gzip

    text = gzip.decompress((TRACES / "kineto/resnet50_workers4_a.json.gz").read_bytes())
    path = tmp_path / "trace"
    path.write_bytes(text[: len(text) * 9 // 10])
    found = analyze([path])
    assert any("cut short" in warning for warning in found.traces[0].warnings)
