"""When the readings of a span that is over are read: after the sweep, of few baselines at a time."""

import logging
from typing import Protocol, runtime_checkable

from mfu_operator.detect.utilisation import with_mfu
from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.series import Reading
from mfu_operator.ports import Metrics
from mfu_operator.runtime.round import Round

log = logging.getLogger(__name__)

PAST_POINTS = 160
"""Readings of a span at most: what a picture of this width shows, and a status can hold (an SVG of some 10 KB)."""

_MOST_AT_ONCE = 1
"""Each has a span of its own, which is four queries: a fleet that recovers at once waits its turn."""


@runtime_checkable
class RememberingSource(Protocol):
    """A source that keeps what was read."""

    def speeds(self, workload: WorkloadRef, start_s: float, end_s: float, step_s: float) -> tuple[Reading, ...]:
        """The speed and the phase of one workload over a span, oldest first, one reading per `step_s`."""


def look_at_past(source: Metrics, swept: Round, interval_s: float) -> None:
    """Read what is asked for; of a source that keeps nothing there is nothing. No answer is no look: it is asked for as
    long as somebody does.

    Args:
        source: the source of the round's baselines.
        swept: the round.
        interval_s: what a source is asked at: no two readings lie closer.
    """
    with swept.lock:
        asked = [(one, one.past_span) for one in swept.current if one.past_span is not None and one.past is None]
    for one, span in asked[:_MOST_AT_ONCE]:
        assert span is not None
        start_s, end_s = span
        step_s = max(interval_s, (end_s - start_s) / PAST_POINTS)
        try:
            found = source.speeds(one.workload, start_s, end_s, step_s) if isinstance(source, RememberingSource) else ()
        except MfuError as problem:
            log.info("readings of the past: %s: %s", problem.reason, problem.message)
            return
        readings = tuple(with_mfu(reading, one.spec) for reading in found)
        with swept.lock:
            one.past = readings
