"""The ports of a control plane that stands alone (`layout.ALONE`) are fixed: one at a time on a machine."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.cache import exclusive
from tests.cluster.state import cache_dir


@contextmanager
def alone() -> Iterator[None]:
    """Hold the ports; waits until nobody else does."""
    with exclusive(cache_dir() / ".control-plane.lock"):
        yield
