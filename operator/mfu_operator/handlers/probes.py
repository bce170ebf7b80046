"""Liveness: a process whose sweep has stopped is not alive, whatever its sockets say."""

import time
from typing import Any

import kopf

from mfu_operator.handlers.shell import Shell
from mfu_operator.runtime import telemetry

MISSED_SWEEPS = 10
"""Sweeps that may be missed before the kubelet restarts the pod: longer than any source's deadline."""

LEAST_S = 120.0
"""… but never sooner, however short the interval."""


class SweepStoppedError(RuntimeError):
    """The sweep's thread has ended, or none of its sweeps for too long."""


class LoopStoppedError(RuntimeError):
    """Nobody ticks any more."""


@kopf.on.probe(id="sweep")
def sweep_is_alive(memo: kopf.Memo, **_: Any) -> str:
    """When the last sweep ended; raises where that is too long ago."""
    shell: Shell = memo.shell
    if not shell.reconciler.alive:
        raise LoopStoppedError("the loop over the baselines has ended")
    sweep = shell.hands.sweep
    if not sweep.alive:
        raise SweepStoppedError("the sweep's thread has ended")
    finished_s = sweep.finished_s
    if finished_s is not None:
        telemetry.LAST_SWEEP.set(finished_s)
    since_s = finished_s if finished_s is not None else sweep.started_s
    age_s = 0.0 if since_s is None else time.time() - since_s
    ended = "the first sweep has not ended since" if finished_s is None else "the last sweep ended"
    if age_s > max(LEAST_S, MISSED_SWEEPS * shell.settings.sweep_interval_s):
        raise SweepStoppedError(f"{ended} {age_s:.0f} s ago")
    return f"{ended} {age_s:.0f} s ago"
