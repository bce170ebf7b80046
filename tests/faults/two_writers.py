"""One baseline that others write to, told in any order: persons, a second process, lost statuses, deaths."""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mfu_operator.api import naming
from mfu_operator.api import status as codec
from mfu_operator.errors import Unreadable
from mfu_operator.model.incident import Incident
from mfu_operator.process.fleet import REST_S
from tests.faults.effects import Killed
from tests.support import worlds
from tests.support.cluster_double import copied
from tests.support.json_places import places, put
from tests.support.replica import NAME, NAMESPACE, Realm, Replica

GARBAGE: tuple[Any, ...] = (..., "garbage", -1, {}, [], {"id": "x"}, None)
"""What a hand writes in place of anything; `...` takes it away."""

MOST_ROUNDS = 20
"""Of ticks of both processes, after which what is not found out never will be."""


class Writers:
    """The realm, two processes of the operator, and what each step of a story does; `number` chooses its object."""

    def __init__(self) -> None:
        self.realm = Realm()
        self.replicas = (Replica(self.realm), Replica(self.realm))
        self.kept: list[dict[str, Any]] = [{}]
        self.culprits: set[str] = set()
        self.blamed: dict[int, set[str]] = {}
        self.former: set[str] = set()
        self.sound = sys.maxsize
        """So many versions of the object came before somebody garbled one."""
        self.deaths = 0
        self._noted = ""

    def tell(self, step: str, number: int) -> None:
        """One step."""
        STEPS[step](self, number)
        self.kept.append(copied(self.realm.object.get("status") or {}))

    def settle(self) -> None:
        """Nobody else writes any more."""
        self.realm.cluster.meanwhile = None
        self.edit(0)
        self._until_calm()
        self.realm.pass_time(REST_S)
        self._until_calm()

    def _until_calm(self) -> None:
        """Rounds of ticks until one changes nothing."""
        for _ in range(MOST_ROUNDS):
            before = (self.realm.object["metadata"]["resourceVersion"], self.realm.cluster.jobs.copy())
            for replica in self.replicas:
                self.go_on(replica)
            if before == (self.realm.object["metadata"]["resourceVersion"], self.realm.cluster.jobs):
                return
            self.finish()

    def go_on(self, replica: Replica, hears: bool = True) -> None:
        """One interval of a process, which may be killed in it."""
        try:
            if hears:
                replica.go_on()
            else:
                self.realm.pass_time(15.0)
                replica.tick()
        except Killed:
            self.deaths += 1
            replica.start()
        self._note_blame()

    def finish(self) -> None:
        """Every profiling Job under way brings its account."""
        for (_, name), job in list(self.realm.cluster.jobs.items()):
            if job.result is None:
                self.realm.stage.finish(name, worlds.FAST_STEP if "-healthy-" in name else worlds.SLOW_STEP)

    def edit(self, number: int) -> None:
        """A person edits the spec."""
        self.realm.edit(suspend=number % 4 == 3, detection={"sustain": f"{600 + number % 3}s"})

    def write(self, number: int) -> None:
        """Somebody else writes the status: wiped, or as it was before."""
        self.realm.overwrite(copied(self.kept[number % len(self.kept)]) if number % 2 else {})

    def garble(self, number: int) -> None:
        """Somebody writes anything in place of anything."""
        stored = copied(self.realm.object.get("status") or {})
        found = places(stored)
        if found:
            self.sound = min(self.sound, len(self.realm.cluster.watch))
            stored = put(stored, found[number % len(found)], GARBAGE[number % len(GARBAGE)])
            self.realm.overwrite(_without_nulls(stored))

    def make_anew(self) -> None:
        """A person deletes the baseline and applies it again: what the former one's incidents were is not its own."""
        former = self.realm.object
        self.former |= {each.id for each in incidents(former)}
        self.realm.cluster.delete(NAMESPACE, NAME)
        self.realm.cluster.create({**former, "metadata": {"namespace": NAMESPACE, "name": NAME}, "status": {}})
        self.kept = [{}]

    def during_a_tick(self, happens: Callable[[], object]) -> None:
        """It happens between the first process's decision and its write."""
        self.realm.cluster.meanwhile = happens
        self.go_on(self.replicas[0])
        self.realm.cluster.meanwhile = None

    def slow_down(self) -> None:
        """A commit takes the workers."""
        if len(self.culprits) < 3 and not self._slow():
            self.culprits.add(self.realm.stage.slow_down())
            self.realm.pass_time(600.0)

    def confirm(self) -> None:
        """The loss has lasted."""
        if self._slow():
            self.realm.stage.confirm()

    def recover(self) -> None:
        """Whatever is open is merged, and the readings hold the baseline."""
        stage = self.realm.stage
        if not self._slow():
            return
        for pull in [each for each in stage.forge.pulls if each.merged_at is None]:
            stage.forge.merge(pull.number, at_s=self.realm.now_s)
        stage.repository.commit({"apps/gpt/train.yaml": "num_workers: 4\n"}, "Put the workers back")
        self.realm.pass_time(3600.0)
        stage.deploy()
        stage.sweep.says = worlds.judgement(value=0.458, recovered=True)

    def die(self) -> None:
        """The process is killed before it writes."""
        raise Killed

    def broken(self) -> dict[str, object]:
        """What must never come of any story; empty where nothing did."""
        stored, stage = self.realm.object, self.realm.stage
        try:
            status = codec.decode(stored.get("status"))
        except Unreadable as error:
            return {"unreadable": error.message}
        told = incidents(stored)
        launched: dict[str, list[str]] = {}
        for job in self.realm.cluster.jobs.values():
            launched.setdefault(str(job.subject), []).append(job.name)
        found: dict[str, object] = {
            "edits unheard": status.observed_generation != stored["metadata"]["generation"],
            "without an id": [each for each in told if not each.id],
            "torn": torn(body for _, body in self.realm.cluster.watch[: self.sound]),
            "of a former object": [each.id for each in told if each.id in self.former],
            "several Jobs": [names for of, names in launched.items() if len(names) > 1 and not of.endswith("-healthy")],
            "several requests": [
                pull.branch for pull in stage.forge.pulls if len(stage.forge.pulls) > max(1, len(self.culprits))
            ],
            "wrong blame": {sha for shas in self.blamed.values() for sha in shas} - self.culprits,
            "grafted": {number: shas for number, shas in self.blamed.items() if number and len(shas) > 1},
            "not served": [each.reason for each in status.conditions if each.type == "Ready" and each.status != "True"],
        }
        return {name: what for name, what in found.items() if what}

    def _slow(self) -> bool:
        says = self.realm.stage.sweep.says
        return says is not None and says.verdict == "Regressed"

    def _note_blame(self) -> None:
        stored = self.realm.object
        if stored["metadata"]["resourceVersion"] == self._noted:
            return
        self._noted = stored["metadata"]["resourceVersion"]
        for each in incidents(stored):
            if each.suspect is not None and each.suspect.sha not in GARBAGE:
                self.blamed.setdefault(_number(each), set()).add(each.suspect.sha)


def torn(versions: Iterable[dict[str, Any]]) -> list[str]:
    """What in any version of the object is of two decisions, one of which did not know of the other."""
    found: list[str] = []
    told: dict[tuple[str, str], set[object]] = {}
    for body in versions:
        metadata = body["metadata"]
        try:
            status = codec.decode(body.get("status"))
        except Unreadable as error:
            found.append(f"version {metadata['resourceVersion']}: {error.message}")
            continue
        if status.observed_generation > metadata["generation"]:
            found.append(f"version {metadata['resourceVersion']} has observed what was never asked")
        for each in filter(None, (status.incident, *status.history)):
            found += _mixed(each, metadata)
            if each.suspect is not None:
                told.setdefault((each.id, "suspect"), set()).add(each.suspect.sha)
            if each.proposal is not None and each.proposal.number is not None:
                told.setdefault((each.id, "pull request"), set()).add(each.proposal.number)
                told.setdefault((f"{metadata['uid']} #{each.proposal.number}", "incident"), set()).add(each.id)
    return [
        *found,
        *(f"{of} has {what} {sorted(map(str, of_it))}" for (of, what), of_it in told.items() if len(of_it) > 1),
    ]


def _mixed(incident: Incident, metadata: dict[str, Any]) -> list[str]:
    """What in an incident is of another one."""
    profile, found = incident.profile, []
    if incident.id != naming.incident_id(NAME, metadata["uid"], incident.onset_at):
        found.append(f"{incident.id} is not the id of an onset at {incident.onset_at:.0f} of {metadata['uid']}")
    if profile is not None and profile.job != naming.profiling_job_name(NAME, incident.id, profile.attempt):
        found.append(f"{incident.id} has the Job {profile.job}")
    proof = incident.proof
    if proof is not None and proof.profile is not None and proof.profile.job != f"mfu-{incident.id}-after-a1":
        found.append(f"{incident.id} is proven by the Job {proof.profile.job}")
    if incident.proposal is not None and incident.suspect is None:
        found.append(f"{incident.id} has a proposal and no suspect")
    return found


def incidents(stored: dict[str, Any]) -> list[Incident]:
    """Those that can be read in an object's status."""
    status = codec.salvage(stored.get("status")).status
    return [each for each in (status.incident, *status.history) if each is not None]


def _number(incident: Incident) -> int:
    """Its pull request; 0: none."""
    return (incident.proposal.number or 0) if incident.proposal is not None else 0


def _without_nulls(value: Any) -> Any:
    """As an API server stores it."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value if inner is not None] if isinstance(value, list) else value


Step = Callable[[Writers, int], None]

STEPS: Mapping[str, Step] = {
    "tick": lambda it, n: it.go_on(it.replicas[0]),
    "the other ticks": lambda it, n: it.go_on(it.replicas[1]),
    "tick deaf": lambda it, n: it.go_on(it.replicas[n % 2], hears=False),
    "finish": lambda it, n: it.finish(),
    "slow down": lambda it, n: it.slow_down(),
    "confirm": lambda it, n: it.confirm(),
    "recover": lambda it, n: it.recover(),
    "edit": lambda it, n: it.edit(n),
    "make again": lambda it, n: it.make_anew(),
    "make again during a tick": lambda it, n: it.during_a_tick(it.make_anew),
    "write": lambda it, n: it.write(n),
    "edit during a tick": lambda it, n: it.during_a_tick(lambda: it.edit(n)),
    "garble": lambda it, n: it.garble(n),
    "garble during a tick": lambda it, n: it.during_a_tick(lambda: it.garble(n)),
    "write during a tick": lambda it, n: it.during_a_tick(lambda: it.write(n)),
    "the other ticks during a tick": lambda it, n: it.during_a_tick(lambda: it.go_on(it.replicas[1])),
    "die during a tick": lambda it, n: it.during_a_tick(it.die),
    "restart": lambda it, n: it.replicas[n % 2].start(),
}

BEGINNING = (
    "tick",
    "finish",
    "tick",
    "slow down",
    "tick",
    "tick",
    "finish",
    "tick",
    "confirm",
    "tick",
    "tick",
    "recover",
)
"""An incident that nobody disturbs: a story begins after any part of it."""
