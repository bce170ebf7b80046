"""Each dependency behind a proxy that fails: the adapter ends in time with an error that says what to do, takes nothing
half for whole, and works again as soon as the dependency does."""

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import product
from pathlib import Path

import pytest

from mfu_operator.errors import MfuError, Retry
from tests.faults.dependencies import DEPENDENCIES
from tests.faults.proxy import Fault
from tests.faults.table import Row
from tests.support.awaited import awaited

DEADLINE_S = 60.0
"""None takes longer than this to say that it failed."""

PATIENT = {*((dependency, Fault.BLACK_HOLE) for dependency in DEPENDENCIES), ("git", Fault.HALF)}
"""What ends by a deadline alone takes as long as the deadline."""


@pytest.mark.parametrize(
    ("dependency", "fault"),
    [
        pytest.param(*case, id=f"{case[0]}-{case[1].value}", marks=[pytest.mark.faults] if case in PATIENT else [])
        for case in product(DEPENDENCIES, Fault)
        if case[1] is not Fault.NONE
    ],
)
def test_a_dependency_that_fails_is_an_error_in_time_and_is_asked_again(
    dependency: str, fault: Fault, tmp_path: Path, row: Row
) -> None:
    with ExitStack() as open_now:
        proxy, ask = open_now.enter_context(DEPENDENCIES[dependency](tmp_path))
        rightful = ask()
        proxy.become(fault)
        begun_s = time.monotonic()
        if fault is Fault.LATENCY:
            assert ask() == rightful
        else:
            with pytest.raises(MfuError) as raised:
                ask()
            assert raised.value.message
        took_s = time.monotonic() - begun_s
        row.note(cases=1, longest_s=round(took_s, 1))
        assert took_s < DEADLINE_S
        proxy.become(Fault.NONE)
        if fault is Fault.THROTTLED:
            awaited(lambda: _is_asked(ask), bool, DEADLINE_S)
        assert ask() == rightful


def _is_asked(ask: Callable[[], object]) -> bool:
    """Whether what asked for a pause is asked again by now."""
    with suppress(Retry):
        ask()
        return True
    return False
