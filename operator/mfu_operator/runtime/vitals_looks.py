"""When the memory and the streaks of a run are looked at: now and then, after the history of what is new here."""

import logging
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Protocol, runtime_checkable

from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.vitals import Vitals
from mfu_operator.ports import Metrics
from mfu_operator.runtime.watched import Watched, workloads

log = logging.getLogger(__name__)

_VITALS_EVERY = 4
"""Memory and streaks are looked at in every fourth sweep, of a quarter of the baselines each: ten thousand jobs are one
query more a sweep, and a loss that is lost is told within two minutes."""

_REFILL_S = 26 * 3600.0
_REFILL_STEP_S = 960.0
_MOST_REFILLED = 250
"""After a restart the floors of a day are read again, of so many baselines a sweep, in one query."""


@runtime_checkable
class VitalsSource(Protocol):
    """A source of readings that knows memory and streaks too."""

    def vitals(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, Vitals]:
        """The vitals of each workload now, absent keys where nothing is known of them."""

    def vitals_history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Vitals, ...]]:
        """The least memory of each step of a span, oldest first."""


def look_at_vitals(source: Metrics, current: Sequence[Watched], now_s: float, turn: int, lock: Lock) -> None:
    """Look at a quarter of a source's baselines. No answer is no look.

    Args:
        source: what they are read from.
        current: its baselines, whose readings are up to date.
        now_s: the time of this sweep, Unix seconds.
        turn: the number of this sweep.
        lock: taken while what was found is noted, and not while it is asked for.
    """
    if not isinstance(source, VitalsSource):
        with lock:
            for one in current:
                one.remembered = True
        return
    _remember(source, [one for one in current if not one.remembered][:_MOST_REFILLED], now_s, lock)
    asked = [one for one in current if one.remembered][turn % _VITALS_EVERY :: _VITALS_EVERY]
    if not asked:
        return
    try:
        found = source.vitals(workloads(asked), now_s)
    except MfuError as problem:
        log.info("memory and streaks: %s: %s", problem.reason, problem.message)
        return
    with lock:
        for one in asked:
            vitals = found.get(one.workload)
            if vitals is not None:
                one.signs.look(vitals, one.spec.watch)


def _remember(source: VitalsSource, fresh: Sequence[Watched], now_s: float, lock: Lock) -> None:
    """Read the floors of a day, so that a restart of the operator does not forget a leak."""
    if not fresh:
        return
    refs = workloads(fresh)
    try:
        history = source.vitals_history(refs, now_s - _REFILL_S, now_s, _REFILL_STEP_S)
        latest = source.vitals(refs, now_s)
    except MfuError as problem:
        log.info("memory of the last day: %s: %s", problem.reason, problem.message)
        history, latest = {}, {}
    with lock:
        for one in fresh:
            one.signs.remember(history.get(one.workload, ()), one.spec.watch)
            if one.workload in latest:
                one.signs.look(latest[one.workload], one.spec.watch)
            one.remembered = True
