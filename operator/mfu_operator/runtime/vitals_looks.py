"""When the memory and the streaks of a run are looked at: now and then, after the history of what is new here."""

import logging
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.vitals import Vitals
from mfu_operator.ports import Metrics
from mfu_operator.runtime.round import Round
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


def look_at_vitals(source: Metrics, swept: Round) -> None:
    """Look at a quarter of a source's baselines. No answer is no look."""
    if not isinstance(source, VitalsSource):
        with swept.lock:
            for one in swept.current:
                one.remembered = True
        return
    _remember(source, [one for one in swept.current if not one.remembered][:_MOST_REFILLED], swept)
    asked = swept.share([one for one in swept.current if one.remembered], _VITALS_EVERY)
    if not asked:
        return
    try:
        found = source.vitals(workloads(asked), swept.now_s)
    except MfuError as problem:
        log.info("memory and streaks: %s: %s", problem.reason, problem.message)
        return
    with swept.lock:
        for one in asked:
            vitals = found.get(one.workload)
            if vitals is not None:
                one.signs.look(vitals, one.spec.watch)


def _remember(source: VitalsSource, fresh: Sequence[Watched], swept: Round) -> None:
    """Read the floors of a day, so that a restart of the operator does not forget a leak."""
    if not fresh:
        return
    refs = workloads(fresh)
    try:
        history = source.vitals_history(refs, swept.now_s - _REFILL_S, swept.now_s, _REFILL_STEP_S)
        latest = source.vitals(refs, swept.now_s)
    except MfuError as problem:
        log.info("memory of the last day: %s: %s", problem.reason, problem.message)
        history, latest = {}, {}
    with swept.lock:
        for one in fresh:
            one.signs.remember(history.get(one.workload, ()), one.spec.watch)
            if one.workload in latest:
                one.signs.look(latest[one.workload], one.spec.watch)
            one.remembered = True
