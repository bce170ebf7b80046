import pytest

from tests.support.adapters_double import Stage
from tests.support.sweep_bench import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def stage() -> Stage:
    return Stage()
