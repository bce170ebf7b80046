"""When the GPUs of a baseline are looked at: in every sweep with a loss, now and then without one, once before it."""

import logging
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Protocol, runtime_checkable

from mfu_operator.detect.hardware import merged
from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.series import HardwareReading
from mfu_operator.ports import Metrics
from mfu_operator.runtime.round import Round
from mfu_operator.runtime.silence import absence
from mfu_operator.runtime.watched import Watched, workloads

log = logging.getLogger(__name__)

_USUAL_EVERY = 20
"""What hardware usually reads is looked at in every twentieth sweep, of a twentieth of the baselines that hold theirs:
each ten minutes, and ten thousand are one query more a sweep."""

_ONSET_UNCERTAINTY_S = 120.0
"""A fault begins with its loss, and the loss gathers evidence a minute or two later: what was read until shortly before
the onset is usual, and what was read since may be the fault."""

_BEFORE_LOSS_S = 600.0
_MOST_LOOKS_BACK = 2
"""Of a loss whose beginning this process did not see, the hardware of ten minutes before it is asked for: of losses
that began within the same ten minutes together, and of two such spans a sweep."""

_MOST_TRIES_BACK = 10
"""A Prometheus that fails for minutes holds up a diagnosis for ten sweeps; after that nothing is known to be usual."""


@runtime_checkable
class HardwareSource(Protocol):
    """A source of readings that knows the GPUs too."""

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        """The GPUs of each workload, absent keys where nothing is known of them."""


def look_at_hardware(source: Metrics, swept: Round) -> None:
    """Look at the GPUs of those of a source's baselines whose turn it is. No answer is no reading."""
    if not isinstance(source, HardwareSource):
        with swept.lock:
            for one in swept.current:
                one.looked = True
        return
    slow = [one for one in swept.current if one.state.alarmed]
    with swept.lock:
        for one in slow:
            one.take_as_usual((one.began_s or swept.now_s) - _ONSET_UNCERTAINTY_S)
    well = [one for one in swept.share(swept.current, _USUAL_EVERY) if one.holds_baseline]
    for at_s, group in _by_beginning([one for one in slow if _wants_usual(one)]):
        for one in group:
            one.looks_back += 1
        _note_usual(group, _asked(source, group, at_s), swept.lock)
    found = _asked(source, [*slow, *well], swept.now_s)
    with swept.lock:
        for one in slow:
            one.hardware = (found or {}).get(one.workload, ())
            one.looked = not _wants_usual(one)
        if found is not None:
            for one in well:
                if not _lacks(found, one):
                    one.note_look(swept.now_s, found.get(one.workload, ()))


def _note_usual(
    baselines: Sequence[Watched], found: Mapping[WorkloadRef, tuple[HardwareReading, ...]] | None, lock: Lock
) -> None:
    """`found` None: it could not be asked for, so nothing is usual yet. Nor is it where the answer may lack it."""
    if found is None:
        return
    with lock:
        for one in baselines:
            if not _lacks(found, one):
                one.usual_hardware = merged(one.usual_hardware or (), found.get(one.workload, ()))


def _lacks(found: Mapping[WorkloadRef, tuple[HardwareReading, ...]], watched: Watched) -> bool:
    return watched.workload not in found and absence(watched) is not None


def _asked(
    source: HardwareSource, baselines: Sequence[Watched], at_s: float
) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]] | None:
    """None where the source could not be asked."""
    if not baselines:
        return {}
    try:
        return source.hardware(workloads(baselines), at_s)
    except MfuError as problem:
        log.info("hardware metrics: %s: %s", problem.reason, problem.message)
        return None


def _wants_usual(watched: Watched) -> bool:
    """Whether what was usual before the loss is not known yet, and asking for it may still tell."""
    unknown = watched.usual_hardware is None and watched.began_s is not None
    return unknown and watched.looks_back < _MOST_TRIES_BACK


def _by_beginning(baselines: Sequence[Watched]) -> list[tuple[float, list[Watched]]]:
    """Those whose losses began within the same span, with a time before it; only the first spans."""
    spans: dict[int, list[Watched]] = {}
    for one in baselines:
        spans.setdefault(int((one.began_s or 0.0) // _BEFORE_LOSS_S), []).append(one)
    return [((span - 1) * _BEFORE_LOSS_S, spans[span]) for span in sorted(spans)[:_MOST_LOOKS_BACK]]
