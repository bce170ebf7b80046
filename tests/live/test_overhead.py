"""What the probe costs a real loop outside of a capture, measured at every other step of one job."""

import json
import random
import statistics
from itertools import pairwise
from pathlib import Path

import pytest

from tests.live.conftest import Table
from tests.live.job import Job

pytestmark = pytest.mark.torch
LIMIT = 0.03
PAIRS = 1500
WARM = 100
"""Steps at the beginning that are left out."""


@pytest.mark.parametrize("ranks", [1, 2])
def test_outside_of_a_capture_steps_take_no_longer(ranks: int, tmp_path: Path, port: int, table: Table) -> None:
    """Every other step without the hook, with the metrics scraped meanwhile. Each is compared with the next one, so
    that what else the machine does falls on both."""
    with Job(tmp_path / "job", ranks, port, words=("--toggle",)) as job:
        job.serving()
        while len(job.ends_s(0)) < WARM + 2 * PAIRS:
            job.trained(len(job.ends_s(0)) + 50)
            job.ask(0, "GET", "/metrics")
        assert job.finish() == 0
    ratios, step_s = _compared(tmp_path / "job" / "steps-with-and-without-0")
    cost, (low, high) = statistics.median(ratios), _interval(ratios)
    table.row(
        "none (outside a capture)", "mfu_probe run", ranks,
        f"step {step_s * 1e3:.1f} ms; with the hook {cost:+.2%} (95 %: {low:+.2%} to {high:+.2%})",
    )  # fmt: skip
    assert low < LIMIT, "slower by more than the limit, and it is not chance"


def _compared(path: Path) -> tuple[list[float], float]:
    """By how much each step with the hook lasted longer than the next one, which is without; the median of these."""
    steps = [json.loads(line) for line in path.read_text().splitlines()[:-1]][WARM:]
    pairs = [(one, two) for (on, one), (off, two) in pairwise(steps) if on and not off]
    assert len(pairs) > PAIRS / 2
    return [one / two - 1 for one, two in pairs], statistics.median(two for _, two in pairs)


def _interval(ratios: list[float]) -> tuple[float, float]:
    """The median's 95 % interval, by resampling."""
    dice = random.Random(1)
    medians = sorted(statistics.median(dice.choices(ratios, k=len(ratios))) for _ in range(400))
    return medians[10], medians[389]
