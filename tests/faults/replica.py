"""One process of the operator in memory: the real loop, ticks, Lease and codec before doubles of the world."""

import json
from collections.abc import Mapping
from typing import Any, cast

from mfu_operator.cycle.adapters import Adapters
from mfu_operator.measure.sweep import Sweep
from mfu_operator.process import telemetry
from mfu_operator.process.leader import Leader
from mfu_operator.process.reconciler import Reconciler
from tests.faults.effects import Hook, Interposed, Killed
from tests.faults.lease_server import LeaseServer
from tests.support import worlds
from tests.support.adapters_double import INTERVAL_S, Stage, SweepDouble

LEASE_S = 3 * INTERVAL_S
"""A renewal comes with every beat, and one may fail."""


def _end() -> None:
    """What the loss of the Lease does to a process."""
    raise Killed


class Clocks:
    """A machine's two clocks: `wall_s`, which people set, and `elapsed_s`, which only goes on."""

    def __init__(self, wall_s: float) -> None:
        self.wall_s = wall_s
        self.elapsed_s = 1000.0

    def go(self, seconds: float) -> None:
        """Time passes."""
        self.wall_s += seconds
        self.elapsed_s += seconds


class Replica:
    """A process from its start to its death. What it holds in memory is its own; the world is the stage's.

    Args:
        name: the pod's name, which stands in the Lease.
        stage: the world.
        leases: where the Lease is kept.
        hook: what every effect goes through.
        clocks: the machine's.
    """

    def __init__(self, name: str, stage: Stage, leases: LeaseServer, hook: Hook, clocks: Clocks) -> None:
        self.name, self.clocks, self.stage = name, clocks, stage
        self.sweep = SweepDouble()
        self.adapters = Adapters(
            cast(Any, Interposed("Cluster", stage.cluster, hook)),
            cast(Sweep, self.sweep),
            {"Application": cast(Any, Interposed("Delivery", stage.delivery, hook))},
            cast(Any, Interposed("Repository", stage.repository, hook)),
            lambda *of: cast(Any, Interposed("Forge", stage.open_forge(*of), hook)),
        )
        lease = cast(Any, Interposed("Lease", leases.of(name, lambda: clocks.elapsed_s), hook))
        self.leader = Leader(lease, lambda: clocks.wall_s, LEASE_S, lambda: clocks.elapsed_s, _end)
        telemetry.forget_all()
        self.loop = Reconciler(
            self.adapters,
            worlds.DEFAULTS,
            lambda: self.leader.acting,
            INTERVAL_S,
            lambda: clocks.wall_s,
            lambda: clocks.elapsed_s,
        )
        self._heard: dict[str, str] = {}

    def hear(self, objects: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
        """The watch tells of what was changed since it last told."""
        for stored in objects.values():
            metadata = stored["metadata"]
            if self._heard.get(metadata["uid"]) != metadata["resourceVersion"]:
                self._heard[metadata["uid"]] = metadata["resourceVersion"]
                self.loop.saw(json.loads(json.dumps(stored)))
        for uid in self._heard.keys() - {stored["metadata"]["uid"] for stored in objects.values()}:
            del self._heard[uid]
            self.loop.gone(uid)

    def beat(self) -> int:
        """Renew the Lease and tick who is due; how many were."""
        self.leader.renew()
        self._sweep()
        self.loop.listen()
        if not self.loop.takes_part():
            return 0
        due = self.loop.fleet.begin(self.clocks.elapsed_s, 16, 16)
        for member in due:
            self.loop._slots.take(0.0)
            self.loop.ticked(member)
        return len(due)

    def _sweep(self) -> None:
        said = self.stage.sweep
        self.sweep.says, self.sweep.held = said.says, said.held
        self.sweep.problem, self.sweep.fills = said.problem, said.fills
        self.sweep.finished_s = self.clocks.wall_s

    def terminate(self) -> None:
        """SIGTERM: an orderly end."""
        self.loop.stop()
        self.leader.stop()
