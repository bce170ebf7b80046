"""When the memory and the streaks of a run are looked at: now and then, after the history of what is new here."""

import logging
from collections.abc import Mapping, Sequence

from mfu_operator.errors import MfuError
from mfu_operator.measure.monitored_job import MonitoredJob, workloads
from mfu_operator.measure.sweep_round import SweepRound
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.vitals import Vitals
from mfu_operator.ports import Metrics

log = logging.getLogger(__name__)

_VITALS_EVERY = 4
"""Memory and streaks are looked at in every fourth sweep, of a quarter of the baselines each: ten thousand jobs are one
query more a sweep, and a loss that is lost is told within two minutes."""

_REFILL_S = 26 * 3600.0
_REFILL_STEP_S = 960.0
_MOST_REFILLED = 250
"""After a restart the floors of a day are read again, of so many baselines a sweep, in one query."""


def look_at_vitals(source: Metrics, swept: SweepRound) -> None:
    """Look at a quarter of a source's baselines. Without an answer nothing changes."""
    _remember(source, [one for one in swept.current if not one.vitals.remembers][:_MOST_REFILLED], swept)
    asked = swept.share([one for one in swept.current if one.vitals.remembers], _VITALS_EVERY)
    if not asked:
        return
    try:
        found = source.vitals(workloads(asked), swept.now_s)
    except MfuError as problem:
        log.info("memory and streaks: %s: %s", problem.reason, problem.message)
        return
    _note(asked, found)


def _remember(source: Metrics, fresh: Sequence[MonitoredJob], swept: SweepRound) -> None:
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
    for one in fresh:
        one.vitals.remember(history.get(one.workload, ()), one.spec.watch)
    _note(fresh, latest)


def _note(baselines: Sequence[MonitoredJob], found: Mapping[WorkloadRef, Vitals]) -> None:
    for one in baselines:
        vitals = found.get(one.workload)
        if vitals is not None:
            one.vitals.look(vitals, one.spec.watch)
