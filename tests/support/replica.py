"""One baseline, and the operator's processes that take care of it: their watch and their clock are moved by hand."""

from dataclasses import replace
from typing import Any

from mfu_operator.api import status as codec
from mfu_operator.cycle.breaker import Breaker
from mfu_operator.cycle.profiling.budgets import Budgets
from mfu_operator.cycle.profiling.slots import ProfilingSlots
from mfu_operator.errors import MfuError
from mfu_operator.model.incident import Status
from mfu_operator.process.reconciler import Reconciler
from tests.support import worlds
from tests.support.adapters_double import INTERVAL_S, Stage
from tests.support.stored_object import stored_object

NAMESPACE, NAME = "team-a", "gpt-small"
REMEDIATION = {
    "mode": "PullRequest",
    "forge": {"kind": "Gitea", "address": "https://git.example", "secretRef": {"name": "forge"}},
}


class Realm:
    """A stage whose baseline is stored as an API server stores it."""

    def __init__(self, **spec: Any) -> None:
        self.stage = Stage()
        self.cluster = self.stage.cluster
        self.cluster.create(stored_object(remediation=REMEDIATION, **spec))

    @property
    def now_s(self) -> float:
        """The time, Unix seconds."""
        return self.stage.now_s

    @property
    def object(self) -> dict[str, Any]:
        """The baseline as it is stored."""
        return self.cluster.baselines[NAMESPACE, NAME]

    @property
    def status(self) -> Status:
        """Its status."""
        return codec.decode(self.object.get("status"))

    def pass_time(self, seconds: float) -> None:
        """Time goes by, and the readings go on."""
        self.stage.now_s += seconds
        self.cluster.now_s = self.stage.now_s
        says = self.stage.sweep.says
        if says is not None:
            self.stage.sweep.says = replace(says, last_usable_s=self.stage.now_s)

    def edit(self, **spec: Any) -> None:
        """A person edits the spec."""
        self.cluster.edit(NAMESPACE, NAME, spec={**self.object["spec"], **spec})

    def overwrite(self, status: dict[str, Any]) -> None:
        """Somebody puts another status in place of the stored one."""
        self.cluster.edit(NAMESPACE, NAME, status=status)


class Replica:
    """One process of the operator. It hears of the objects when told to: `heard` of what the watch tells."""

    def __init__(self, realm: Realm) -> None:
        self.realm = realm
        self.start()

    def start(self) -> None:
        """A new process, with nothing in its memory."""
        adapters = replace(self.realm.stage.adapters, slots=ProfilingSlots(), budgets=Budgets(), breaker=Breaker())
        self.loop = Reconciler(
            adapters, worlds.DEFAULTS, lambda: True, INTERVAL_S, lambda: self.realm.now_s, lambda: self.realm.now_s
        )
        self.loop.takes_part()
        self.heard = len(self.realm.cluster.watch)
        for stored in list(self.realm.cluster.baselines.values()):
            self.loop.saw(stored)

    def hear(self, most: int | None = None) -> None:
        """The watch tells what happened since, or the first so many events of it."""
        told = self.realm.cluster.watch[self.heard :][:most]
        self.heard += len(told)
        for kind, body in told:
            if kind == "DELETED":
                self.loop.gone(body["metadata"]["uid"])
            else:
                self.loop.saw(body)

    def tick(self) -> int:
        """Every tick that is due now; how many there were."""
        due = self.loop.fleet.begin(self.realm.now_s, 16, 16)
        for member in due:
            try:
                self.loop.reconcile(member)
            except MfuError:
                self.loop.fleet.end(member, self.realm.now_s + INTERVAL_S)
        return len(due)

    def go_on(self, ticks: int = 1, after_s: float = INTERVAL_S) -> None:
        """So many intervals, the watch keeping up."""
        for _ in range(ticks):
            self.realm.pass_time(after_s)
            self.hear()
            for member in self.loop.fleet.members():
                self.loop.fleet.call(member, self.realm.now_s)
            self.tick()
