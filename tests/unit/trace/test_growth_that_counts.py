"""What a step must have grown by before anything is blamed: what comes in some steps only is no noise of the others."""

from collections import defaultdict
from dataclasses import replace

import pytest

from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.diagnosis import growth
from tests.support.cases import account_of

STEP = account_of(compute=100e6)
UNEVEN = replace(account_of(compute=100e6, slowestIn="input", ownStdNs=0.0), std_ns=50e6)
LEAST = growth.LEAST_GROWTH * STEP.mean_ns


@pytest.mark.parametrize(
    ("waits", "waits_for_the_slowest", "counts"),
    [(0.6 * LEAST, 0.6 * LEAST, True), (0.4 * LEAST, 0.4 * LEAST, False), (0.0, 1.1 * LEAST, True)],
)
def test_waits_for_input_of_all_ranks_together_are_distinguished_from_noise(
    waits: float, waits_for_the_slowest: float, counts: bool
) -> None:
    groups = defaultdict(float, {Bottleneck.INPUT_STARVED: waits, Bottleneck.STRAGGLER: waits_for_the_slowest})
    limit = growth._limit(UNEVEN, STEP, groups)
    assert (limit == pytest.approx(LEAST)) is counts
