"""A whole incident on a clock: healthy, slow, explained, proposed, merged, recovered, and the operator beside it.

What people and machines do comes at fixed times, whatever becomes of the operator meanwhile, so that two stories can be
compared fact by fact.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from mfu_operator.api import status as codec
from mfu_operator.api.group import CLOSE_ANNOTATION
from mfu_operator.errors import MfuError, Retry
from mfu_operator.model.incident import Incident, Status
from mfu_operator.process.fleet import REST_S
from tests.faults.effects import ANSWER_LOST, Fault, Hook, Killed
from tests.faults.lease_server import LeaseServer
from tests.faults.replica import Clocks, Replica
from tests.support import worlds
from tests.support.adapters_double import INTERVAL_S, Stage
from tests.support.replica import REMEDIATION
from tests.support.stored_object import stored_object

ACT_S = 210.0
"""Between two things that people do: more than a Lease, a back-off and an open pull request's turn together."""


OUTAGE = "Outage"
"""The reason of the error of a dependency that is away."""

CULPRIT = "Save memory"
"""The subject of the commit that took the workers."""


class Story:
    """The stage, its clock, and the replicas. `hook` sees every effect of all of them. While `deaf` the watch tells
    nothing; a dependency `fails` for what is left of `outage` seconds."""

    def __init__(self, replicas: int = 1, hook: Hook | None = None, stage: Stage | None = None) -> None:
        self.stage = stage or Stage()
        self.now_s = self._until_s = worlds.NOW_S
        self.leases = LeaseServer()
        self.hook = hook or Fault()
        self.deaths = 0
        self.deaf = False
        self.outage = 0.0
        self.fails: Callable[[Story, MfuError | None], None] = lambda story, error: None
        self.frozen: Replica | None = None
        self.beating: Replica | None = None
        self.accounts = (worlds.FAST_STEP, worlds.SLOW_STEP)
        self.kept: list[dict[str, Any]] = []
        self.place = ("team-a", "gpt-small")
        self.stage.cluster.baselines[self.place] = stored_object(remediation={**REMEDIATION, "coolDown": "1m"})
        self._born = 0
        self.replicas: list[Replica] = []
        self.begin(replicas)
        self.observe: Callable[[], None] = lambda: None

    def begin(self, replicas: int) -> None:
        """So many processes start."""
        self.replicas += [self._start() for _ in range(replicas)]

    def _start(self, skew_s: float = 0.0) -> Replica:
        self._born += 1
        return Replica(f"operator-{self._born}", self.stage, self.leases, self.hook, Clocks(self.now_s + skew_s))

    @property
    def stored(self) -> dict[str, Any]:
        """The object as the API server has it."""
        return self.stage.cluster.baselines[self.place]

    @property
    def status(self) -> Status:
        """Its status."""
        return codec.decode(self.stored.get("status"))

    def beat(self) -> None:
        """One interval passes for everybody."""
        self.now_s += INTERVAL_S
        if self.outage:
            self.outage = max(0.0, self.outage - INTERVAL_S)
            self.fails(self, Retry(OUTAGE, "503") if self.outage else None)
        self.stage.now_s = self.stage.cluster.now_s = self.now_s
        if self.stage.sweep.says is not None:
            self.stage.sweep.says = replace(self.stage.sweep.says, last_usable_s=self.now_s)
        for index, replica in enumerate(self.replicas):
            replica.clocks.go(INTERVAL_S)
            if replica is self.frozen:
                continue
            self.beating = replica
            try:
                if not self.deaf:
                    replica.hear(self.stage.cluster.baselines)
                replica.beat()
            except Killed:
                self.deaths += 1
                self.replicas[index] = self._start(replica.clocks.wall_s - self.now_s)
            self.observe()

    def set_clocks(self, by_s: float) -> None:
        """Somebody sets every replica's wall clock."""
        for replica in self.replicas:
            replica.clocks.wall_s += by_s

    def freeze(self, seconds: float) -> None:
        """SIGSTOP of the process that acts now: the world and the other processes go on without it."""
        stopped, before = self.beating, self.frozen
        self.frozen = stopped
        for _ in range(round(seconds / INTERVAL_S)):
            self.beat()
        self.frozen, self.beating = before, stopped

    def run(self, seconds: float = ACT_S) -> None:
        """So much time passes since the last time that this was called, whatever kept somebody meanwhile."""
        self._until_s += seconds
        while self.now_s < self._until_s:
            self.beat()

    def roll(self) -> None:
        """Every replica is told to end, one after the other, and another one begins. Of one it takes as long as of two,
        so that what comes after comes at the same time."""
        for index, replica in enumerate(self.replicas):
            try:
                replica.terminate()
            except Killed:
                self.deaths += 1
            self.replicas[index] = self._start(replica.clocks.wall_s - self.now_s)
            self.run(INTERVAL_S)
        self.run((2 - len(self.replicas)) * INTERVAL_S)

    def keep(self) -> None:
        """A backup of the status."""
        self.kept.append(json.loads(json.dumps(self.stored.get("status") or {})))

    def write_status(self, status: dict[str, Any]) -> None:
        """Somebody else puts a status in place of the stored one."""
        self.stage.cluster.edit(*self.place, status=status)

    def finish_jobs(self) -> None:
        """Every profiling Job under way brings its account."""
        healthy, slow = self.accounts
        for (_, name), job in list(self.stage.cluster.jobs.items()):
            if job.result is None:
                well = "-healthy-" in name or "-after-" in name
                self.stage.finish(name, healthy if well else slow)

    def settle(self) -> None:
        """The healthy job is known and profiled. After a restart it is looked at when its turn comes."""
        self.run()
        self.finish_jobs()
        self.run(REST_S + ACT_S)

    def slow_down(self) -> None:
        """A commit takes the workers, and the loss is sustained: at its time, whatever keeps the operator."""
        repository = self.stage.repository
        repository.commit({"apps/gpt/train.yaml": "num_workers: 0\n"}, CULPRIT)
        repository.commit({"apps/gpt/README.md": "Thanks.\n"}, "Say thanks")
        repository.commit({"apps/gpt/notes.md": "None.\n"}, "Take notes")
        self.stage.deploy(self._until_s)
        self.stage.sweep.says = worlds.regressed(onset_s=self._until_s + 20)
        self.run()

    def explain(self) -> None:
        """The slow step's profile is there."""
        self.finish_jobs()
        self.run()

    def confirm(self) -> None:
        """The loss has lasted as long as a proposal needs it to."""
        assert self.stage.sweep.says is not None
        self.stage.sweep.says = replace(self.stage.sweep.says, confirmed=True)
        self.run()

    def merge(self) -> None:
        """A person merges what is open."""
        for pull in self.stage.forge.pulls:
            self.stage.forge.merge(pull.number, at_s=self.now_s)
        self.run()

    def recover(self) -> None:
        """The revert is deployed and the readings hold the baseline."""
        self.stage.repository.commit({"apps/gpt/train.yaml": "num_workers: 4\n"}, f"Revert {CULPRIT}")
        self.stage.deploy(self.now_s)
        self.stage.sweep.says = worlds.judgement(value=0.458, recovered=True)
        self.run()

    def prove(self) -> None:
        """The recovered step's profile is there."""
        self.finish_jobs()
        self.run()

    def catch_up(self, behind_s: float) -> None:
        """The clock is again where it was before it was set back, and what waited for that is done."""
        self.run(behind_s)
        self.prove()
        self.rest()

    def ask(self) -> None:
        """A person asks to close what is closed already."""
        self.stage.cluster.edit(*self.place, annotations={CLOSE_ANNOTATION: "it is well"})
        self.run()

    def rest(self) -> None:
        """Long enough for a baseline of which nothing new can be said to be looked at."""
        self.run(REST_S + ACT_S)

    def recover_alone(self) -> None:
        """The readings hold the baseline again, and nobody has merged anything."""
        self.stage.sweep.says = worlds.judgement(value=0.457, recovered=True)
        self.run()

    STEPS = ("settle", "slow_down", "explain", "roll", "confirm", "merge", "recover", "roll", "ask", "prove", "rest")
    AGAIN = ("slow_down", "explain", "confirm", "recover_alone", "prove", "rest")
    """Another loss, which ends by itself before anybody merges: the operator takes back what it opened."""

    def tell(self, between: Callable[["Story", int], None] = lambda story, told: None) -> "Story":
        """All of it; `between` is called with the number of steps told so far, before each step."""
        for told, step in enumerate(self.STEPS):
            between(self, told)
            self.tell_steps([step])
        return self

    def tell_steps(self, steps: Iterable[str]) -> None:
        """Some of it."""
        for step in steps:
            getattr(self, step)()

    def left(self) -> dict[str, object]:
        """What the world and the record hold, without the times at which it came to be."""
        status, cluster = self.status, self.stage.cluster
        return {
            "jobs": sorted(name for _, name in cluster.jobs),
            "branches": sorted(self.stage.repository.branches),
            "pulls": [(pull.branch, pull.state, pull.withdrawn) for pull in self.stage.forge.pulls],
            "notes": {number: text.partition(" at ")[0] for number, text in self.stage.forge.notes.items()},
            "events": Counter(event.reason for _, event in cluster.events if event.reason != ANSWER_LOST),
            "asked": self.stored["metadata"].get("annotations") or {},
            "open": status.incident and status.incident.id,
            "conditions": sorted((each.type, each.status, each.reason) for each in status.conditions),
            "known good": status.known_good and status.known_good.revision,
            "healthy profile": status.healthy_profile and status.healthy_profile.account,
            "history": [_record(each) for each in status.history],
        }


def _record(incident: Incident) -> dict[str, object]:
    """What does not depend on when it was found out."""
    profile, proposal, proof = incident.profile, incident.proposal, incident.proof
    return {
        "id": incident.id,
        "onset": incident.onset_at,
        "drop": incident.drop,
        "account": profile and profile.account,
        "diagnosis": incident.diagnosis,
        "suspect": incident.suspect,
        "proposal": proposal and (proposal.branch, proposal.number, proposal.state),
        "recovered": incident.recovery is not None,
        "proven": proof and (proof.part, proof.after_ns, proof.gone, proof.missing and proof.missing[0]),
    }
