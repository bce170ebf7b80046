"""Every account of a real trace against a second opinion that shares no code with it: to the nanosecond, all twelve."""

from pathlib import Path

import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Answer, DeviceRow
from tests.support import oracle

DATA = Path("tests/data")
FILES = sorted(
    str(path.relative_to(DATA))
    for folder in ("traces", "nsys_cpu")
    for path in (DATA / folder).rglob("*")
    if path.name.endswith((".json.gz", ".json", ".sqlite"))
)


def answer(path: Path) -> Answer | None:
    try:
        return analyze([path])
    except Unreadable:
        return None


def disagreements(path: Path, found: Answer) -> list[str]:
    """Where the answer and the second opinion differ: on the windows themselves, and on every part of each."""
    recording = oracle.recording(path)
    said = []
    for device in found.devices:
        if device.account_from != "gpu" or device.device is None:
            continue
        windows = [(step.start_ns, step.end_ns) for step in device.steps]
        if recording.marks and windows != oracle.windows_of_marks(recording.marks):
            said.append(f"device {device.device}: windows {windows}")
        said += _parts(device, oracle.sweep(recording, device.device, windows))
    return said


def _parts(device: DeviceRow, expected: list[oracle.Window]) -> list[str]:
    return [
        f"device {device.device}, {step.name}: {part} {step.account_ns[part]}, expected {window.parts[part]}"
        for step, window in zip(device.steps, expected, strict=True)
        for part in window.parts
        if step.account_ns[part] != window.parts[part]
    ]


@pytest.mark.parametrize("name", FILES)
def test_the_account_agrees_with_an_independent_sweep(name: str) -> None:
    found = answer(DATA / name)
    if found is None:
        assert not oracle.recording(DATA / name).ops, "refused, though the device did something"
        return
    recorded = {device for device, ops in oracle.recording(DATA / name).ops.items() if ops}
    assert {device.device for device in found.devices if device.device is not None} == recorded
    assert disagreements(DATA / name, found) == []
