"""What must hold for every answer, whatever was read; and how long it may take."""

import math
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

import msgspec

from mfu_operator.model.account import PARTS
from mfu_operator.trace.answer import Answer, DeviceRow

ROUNDING = 1e-9
"""Relative: means are doubles."""


@contextmanager
def within_seconds(seconds: float) -> Iterator[None]:
    """A block that fails instead of hanging: so many seconds of CPU time, whatever else runs; for the main thread."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def check(found: Answer) -> None:
    """Sums are exact, nothing is negative, everything is finite."""
    for device in found.devices:
        _check_device(device)
    assert 0 <= found.diagnosis.confidence <= 1
    if found.difference is not msgspec.UNSET:
        change = found.difference
        assert math.isfinite(change.step_ns)
        assert _near(sum(change.account_ns.values()), change.step_ns)
        assert change.comparable == (not change.not_comparable_because)
    if found.ranks is not msgspec.UNSET:
        assert all(wait >= 0 for wait in found.ranks.wait_ns.values())


def _check_device(device: DeviceRow) -> None:
    ends = 0
    for index, step in enumerate(device.steps):
        assert set(step.account_ns) == set(PARTS)
        assert step.end_ns >= step.start_ns
        assert sum(step.account_ns.values()) == step.end_ns - step.start_ns
        assert min(step.account_ns.values()) >= 0
        assert index == 0 or step.start_ns >= ends
        ends = step.end_ns
    mean = device.step
    assert 1 <= mean.count <= len(device.steps)
    assert _near(sum(mean.account_ns.values()), mean.mean_ns)
    numbers = [mean.mean_ns, mean.std_ns, mean.communication_total_ns, *mean.account_ns.values()]
    numbers += [mean.tensor_core.eligible_ns, mean.tensor_core.used_ns, mean.tensor_core.unknown_ns]
    numbers += [number for kernel in mean.kernels for number in (kernel.calls, kernel.total_ns)]
    numbers += [*mean.ranges_ns.values(), *_numbers(mean.facts)]
    assert all(math.isfinite(number) and number >= 0 for number in numbers)
    assert mean.communication_total_ns >= mean.account_ns["communication"] * (1 - ROUNDING)


def _numbers(facts: Mapping[str, float | str]) -> list[float]:
    return [value for value in facts.values() if not isinstance(value, str)]


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= ROUNDING * max(abs(one), abs(other), 1.0) + 1e-3
