"""Asking for many workloads in as few queries as an API takes.

Prometheus and Thanos take a query of any length. VictoriaMetrics takes 16 KiB (`-search.maxQueryLen`), Mimir what
`-query-frontend.max-query-expression-size-bytes` says, a proxy what its requests may hold. What is refused is asked for
in halves, and no query as long as that is sent again.
"""

import math
from collections.abc import Callable, Iterator, Mapping

from mfu_operator.adapters.prometheus.api import PrometheusApi, Row, TooLarge, is_rejection
from mfu_operator.errors import Stall

TAKEN_BYTES = 8192
"""A query of this length is refused for what it says: half of the least limit that is known, VictoriaMetrics' own."""

Query = Callable[[int, int], str]
"""PromQL for the workloads from one place up to another, of those that are asked for."""


class Portions:
    """The queries to one API, as long as it takes them."""

    def __init__(self, api: PrometheusApi) -> None:
        self._api = api
        self._longest_bytes = math.inf
        self._most: float = math.inf
        """Workloads at once, where the answer for more was too large."""

    def rows(self, path: str, form: Mapping[str, str], count: int, most: int, query: Query) -> Iterator[Row]:
        """The rows of a query for `count` workloads, at most `most` of them at once. Raises as `PrometheusApi.rows`."""
        for start in range(0, count, most):
            yield from self._rows(path, form, start, min(count, start + most), query)

    def _rows(self, path: str, form: Mapping[str, str], start: int, end: int, query: Query) -> Iterator[Row]:
        asked = query(start, end)
        if not asked:
            return
        divisible = end - start > 1 and len(asked) > TAKEN_BYTES
        if end - start > self._most or (divisible and len(asked) > self._longest_bytes):
            yield from self._halves(path, form, start, end, query)
            return
        try:
            with self._api.rows(path, {"query": asked, **form}) as found:
                yield from found
            return
        except Stall as problem:
            if not divisible or not is_rejection(problem):
                raise
            self._longest_bytes = max(TAKEN_BYTES, len(asked) // 2)
        except TooLarge:
            if end - start == 1:
                raise
            self._most = (end - start) // 2
        yield from self._halves(path, form, start, end, query)

    def _halves(self, path: str, form: Mapping[str, str], start: int, end: int, query: Query) -> Iterator[Row]:
        middle = (start + end) // 2
        yield from self._rows(path, form, start, middle, query)
        yield from self._rows(path, form, middle, end, query)
