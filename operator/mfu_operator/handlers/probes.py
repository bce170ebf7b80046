"""Liveness by progress: a process whose sweep or whose ticks have stopped is not alive, whatever its sockets say."""

import time
from typing import Any

import kopf

from mfu_operator.handlers.shell import Shell
from mfu_operator.process import telemetry

MISSED_SWEEPS = 10
"""Sweeps that may be missed before the kubelet restarts the pod: longer than any source's deadline."""

LEAST_S = 120.0
"""… but never sooner, however short the interval."""

STUCK_S = 600.0
"""Nothing that a tick waits for takes longer than a fifth of it: a look at a repository two minutes to the last byte, a
forge's list as long, one request much less (`tests/unit/adapters/test_deadlines.py`)."""


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
    stuck_s = shell.reconciler.stuck_s
    if stuck_s > STUCK_S:
        raise LoopStoppedError(f"a baseline has been due, and no tick has ended, for {stuck_s:.0f} s")
    sweep = shell.adapters.sweep
    if not sweep.alive:
        raise SweepStoppedError("the sweep's thread has ended")
    finished_s = sweep.finished_s
    since_s = finished_s if finished_s is not None else sweep.started_s
    age_s = 0.0 if since_s is None else time.monotonic() - since_s
    if finished_s is not None:
        telemetry.LAST_SWEEP.set(time.time() - age_s)
    ended = "the first sweep has not ended since" if finished_s is None else "the last sweep ended"
    if age_s > max(LEAST_S, MISSED_SWEEPS * shell.settings.sweep_interval_s):
        raise SweepStoppedError(f"{ended} {age_s:.0f} s ago")
    return f"{ended} {age_s:.0f} s ago"
