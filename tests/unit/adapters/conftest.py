import pytest

from tests.support.pods_double import Pods


@pytest.fixture
def pods() -> Pods:
    return Pods()
