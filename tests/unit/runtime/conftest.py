import pytest

from tests.support.sweep_bench import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()
