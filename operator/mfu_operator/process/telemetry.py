"""The operator's own metrics."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import REGISTRY, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mfu_operator.model.diagnosis import NOTHING_GREW
from mfu_operator.model.incident import Incident
from mfu_operator.model.verdict import Judgement
from mfu_operator.model.vitals import Symptom
from mfu_operator.reconcile.conclude import Failure
from mfu_operator.reconcile.recovery import cost_until
from mfu_operator.reconcile.world import Identity


class Loss(NamedTuple):
    """An open incident, and how many devices its run has."""

    incident: Incident
    devices: int

    @property
    def labels(self) -> list[str]:
        """What is known of it so far; empty texts for what is not."""
        found, suspect, proposal = self.incident.diagnosis, self.incident.suspect, self.incident.proposal
        cause = (str(found.bottleneck or NOTHING_GREW), found.cause or "") if found is not None else ("", "")
        commit = suspect.sha[:SHORT_SHA] if suspect is not None else ""
        return [self.incident.id, *cause, commit, (proposal.url or "") if proposal is not None else ""]


SHORT_SHA = 12
"""Letters of a commit's name, as Git shows it."""


class Baselines(Collector):
    """What is known of every baseline that this replica takes care of, made into series when they are asked for: one
    object per series and baseline would be most of the operator's memory."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._names: dict[str, tuple[str, str]] = {}
        self._judged: dict[str, Judgement] = {}
        self._losses: dict[str, Loss] = {}
        self._symptoms: dict[str, tuple[Symptom, ...]] = {}

    def show(self, identity: Identity, judgement: Judgement | None) -> None:
        """Note a judgement; None: as it was."""
        with self._lock:
            self._names[identity.uid] = (identity.namespace, identity.name)
            if judgement is not None:
                self._judged[identity.uid] = judgement

    def loses(self, uid: str, loss: Loss | None) -> None:
        """Note the open incident of a baseline, or that none is open."""
        with self._lock:
            self._losses.pop(uid, None)
            if loss is not None:
                self._losses[uid] = loss

    def ails(self, uid: str, symptoms: Sequence[Symptom]) -> None:
        """Note what is wrong with a run but its speed. Ten thousand sound runs have no series."""
        with self._lock:
            self._symptoms.pop(uid, None)
            if symptoms:
                self._symptoms[uid] = tuple(symptoms)

    def forget(self, uid: str) -> None:
        """Show a baseline no longer."""
        with self._lock:
            self._symptoms.pop(uid, None)
            self._names.pop(uid, None)
            self._judged.pop(uid, None)
            self._losses.pop(uid, None)

    def forget_all(self) -> None:
        """Show none."""
        with self._lock:
            self._names.clear()
            self._judged.clear()
            self._losses.clear()
            self._symptoms.clear()

    def describe(self) -> list[GaugeMetricFamily]:
        """The families without their series."""
        return [GaugeMetricFamily(name, about, labels=labels) for name, about, labels in FAMILIES]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The families with a series for every baseline."""
        with self._lock:
            names, judged, losses = dict(self._names), dict(self._judged), dict(self._losses)
            symptoms = dict(self._symptoms)
        families = {each.name: each for each in self.describe()}
        families["mfu_operator_baselines"].add_metric([], len(names))
        for uid, where in names.items():
            if uid in judged:
                _add_judgement(families, where, judged[uid])
            families["mfu_operator_incident_open"].add_metric(where, int(uid in losses))
            if uid in losses:
                _add_loss(families, where, losses[uid], self._clock())
            for each in symptoms.get(uid, ()):
                families["mfu_operator_symptom"].add_metric([*where, str(each.reason)], 1)
                if each.full_at is not None:
                    full = families["mfu_operator_memory_full_timestamp_seconds"]
                    full.add_metric([*where, str(each.reason)], each.full_at)
        yield from families.values()


WHERE = ("namespace", "name")
SIGNAL = (*WHERE, "signal")
FAMILIES = (
    ("mfu_operator_baselines", "Baselines that this replica takes care of.", ()),
    ("mfu_operator_verdict", "1 for the verdict in force on a baseline.", (*WHERE, "verdict")),
    ("mfu_operator_change_ratio", "Relative change of the signal in force against its baseline.", WHERE),
    ("mfu_operator_reading", "The median reading of the last minutes, in the signal's unit.", SIGNAL),
    ("mfu_operator_baseline_reading", "The reading that the baseline holds, in the signal's unit.", SIGNAL),
    ("mfu_operator_limit_reading", "The reading beyond which loss is counted, in the signal's unit.", SIGNAL),
    ("mfu_operator_incident_open", "1 while an incident is open on a baseline.", WHERE),
    (
        "mfu_operator_incident_info",
        "1 for an open incident; what is not known yet is empty.",
        (*WHERE, "incident", "bottleneck", "cause", "commit", "pull_request"),
    ),
    ("mfu_operator_incident_drop_ratio", "The loss of speed of an open incident, relative to its baseline.", WHERE),
    ("mfu_operator_incident_gpu_hours_lost", "Device hours that an open incident has cost, while pods ran.", WHERE),
    ("mfu_operator_incident_gpu_hours_per_hour", "Device hours that an open incident costs in each hour.", WHERE),
    (
        "mfu_operator_symptom",
        "1 while something but its speed is wrong with a run, by reason; absent otherwise.",
        (*WHERE, "reason"),
    ),
    (
        "mfu_operator_memory_full_timestamp_seconds",
        "When memory that creeps is full if it goes on.",
        (*WHERE, "reason"),
    ),
)
"""Name, help text and labels of what is exported of every baseline. Signals are `mfu` (0 to 1), `stepTime` (seconds)
and `throughput` (tokens per second and GPU)."""


def _add_judgement(families: Mapping[str, GaugeMetricFamily], where: tuple[str, str], judged: Judgement) -> None:
    families["mfu_operator_verdict"].add_metric([*where, str(judged.verdict)], 1)
    if judged.change is not None:
        families["mfu_operator_change_ratio"].add_metric(where, judged.change)
    for name, value in (
        ("reading", judged.value),
        ("baseline_reading", judged.baseline),
        ("limit_reading", judged.limit),
    ):
        if value is not None:
            families[f"mfu_operator_{name}"].add_metric([*where, judged.signal], value)


def _add_loss(families: Mapping[str, GaugeMetricFamily], where: tuple[str, str], loss: Loss, now_s: float) -> None:
    families["mfu_operator_incident_info"].add_metric([*where, *loss.labels], 1)
    families["mfu_operator_incident_drop_ratio"].add_metric(where, max(0.0, loss.incident.drop))
    cost = cost_until(loss.incident, loss.devices, now_s)
    families["mfu_operator_incident_gpu_hours_lost"].add_metric(where, cost.so_far)
    families["mfu_operator_incident_gpu_hours_per_hour"].add_metric(where, cost.per_hour)


BASELINES = Baselines()
REGISTRY.register(BASELINES)

FAILURES = Counter(
    "mfu_operator_failures_total", "Steps that failed, by condition and reason.", ["condition", "reason"]
)
TICKS = Histogram("mfu_operator_tick_seconds", "Duration of one reconciliation of one baseline.")
BROKEN = Counter("mfu_operator_broken_ticks_total", "Ticks that ended in an error that nobody foresaw.")
STATUS_WRITES = Counter("mfu_operator_status_writes_total", "Statuses written, which happens on change only.")
STATUS_CONFLICTS = Counter(
    "mfu_operator_status_conflicts_total", "Statuses not written because somebody else had changed the object."
)
OLDEST_DUE = Gauge(
    "mfu_operator_oldest_due_seconds",
    "For how long the baseline has been due that waits the longest for its tick to end.",
)
TICKS_IN_FLIGHT = Gauge("mfu_operator_ticks_in_flight", "Ticks that were begun and have not ended.")
NEIGHBOURS = Gauge("mfu_operator_neighbours", "Other installations that serve baselines which this one serves.")
LAST_SWEEP = Gauge("mfu_operator_last_sweep_timestamp_seconds", "When the last sweep over the metrics sources ended.")
LEADER = Gauge("mfu_operator_leader", "1 on the replica that holds the Lease and acts.")


def show(identity: Identity, judgement: Judgement | None) -> None:
    """Export a baseline's state; where it is None, it stays as it was."""
    BASELINES.show(identity, judgement)


def loses(identity: Identity, loss: Loss | None) -> None:
    """Export what the open incident of a baseline costs and what is known of it; None: none is open."""
    BASELINES.loses(identity.uid, loss)


def ails(identity: Identity, symptoms: Sequence[Symptom]) -> None:
    """Export what is wrong with a run but its speed."""
    BASELINES.ails(identity.uid, symptoms)


def count(failure: Failure) -> None:
    """Count a failure, once each time that it is noted: not while it stands."""
    FAILURES.labels(failure.condition, failure.reason).inc()


def count_broken() -> None:
    """Count a tick that ended in an error that nobody foresaw."""
    BROKEN.inc()


def forget(uid: str) -> None:
    """Stop exporting a baseline that is gone."""
    BASELINES.forget(uid)


def forget_all() -> None:
    """Stop exporting baselines, which another replica takes care of."""
    BASELINES.forget_all()
