"""The operator's own metrics."""

import threading
from collections.abc import Iterator, Sequence

from prometheus_client import REGISTRY, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mfu_operator.model.verdict import Judgement
from mfu_operator.model.vitals import Symptom
from mfu_operator.reconcile.conclude import Failure
from mfu_operator.reconcile.world import Identity


class Baselines(Collector):
    """What is known of every baseline that this replica takes care of, made into series when they are asked for: one
    object per series and baseline would be most of the operator's memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[str, tuple[str, str]] = {}
        self._verdicts: dict[str, tuple[str, float | None]] = {}
        self._incidents: set[str] = set()
        self._symptoms: dict[str, tuple[Symptom, ...]] = {}

    def show(self, identity: Identity, judgement: Judgement | None, incident: bool | None) -> None:
        """Note a judgement; `incident` None: as it was."""
        with self._lock:
            self._names[identity.uid] = (identity.namespace, identity.name)
            if judgement is not None:
                self._verdicts[identity.uid] = (str(judgement.verdict), judgement.change)
            if incident is not None:
                (self._incidents.add if incident else self._incidents.discard)(identity.uid)

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
            self._verdicts.pop(uid, None)
            self._incidents.discard(uid)

    def forget_all(self) -> None:
        """Show none."""
        with self._lock:
            self._names.clear()
            self._verdicts.clear()
            self._incidents.clear()
            self._symptoms.clear()

    def describe(self) -> list[GaugeMetricFamily]:
        """The families without their series."""
        return [
            GaugeMetricFamily("mfu_operator_baselines", "Baselines that this replica takes care of."),
            GaugeMetricFamily(
                "mfu_operator_verdict",
                "1 for the verdict in force on a baseline.",
                labels=["namespace", "name", "verdict"],
            ),
            GaugeMetricFamily(
                "mfu_operator_change_ratio",
                "Relative change of the signal in force against its baseline.",
                labels=["namespace", "name"],
            ),
            GaugeMetricFamily(
                "mfu_operator_incident_open", "1 while an incident is open on a baseline.", labels=["namespace", "name"]
            ),
            GaugeMetricFamily(
                "mfu_operator_symptom",
                "1 while something but its speed is wrong with a run, by reason; absent otherwise.",
                labels=["namespace", "name", "reason"],
            ),
            GaugeMetricFamily(
                "mfu_operator_memory_full_timestamp_seconds",
                "When memory that creeps is full if it goes on.",
                labels=["namespace", "name", "reason"],
            ),
        ]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The families with a series for every baseline."""
        with self._lock:
            names, verdicts, incidents = dict(self._names), dict(self._verdicts), set(self._incidents)
            symptoms = dict(self._symptoms)
        count, verdict, change, incident, symptom, full = self.describe()
        count.add_metric([], len(names))
        for uid, where in names.items():
            if uid in verdicts:
                word, ratio = verdicts[uid]
                verdict.add_metric([*where, word], 1)
                if ratio is not None:
                    change.add_metric(where, ratio)
            incident.add_metric(where, uid in incidents)
            for each in symptoms.get(uid, ()):
                symptom.add_metric([*where, str(each.reason)], 1)
                if each.full_at is not None:
                    full.add_metric([*where, str(each.reason)], each.full_at)
        yield from (count, verdict, change, incident, symptom, full)


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


def show(identity: Identity, judgement: Judgement | None, incident: bool | None = None) -> None:
    """Export a baseline's state; what is None stays as it was."""
    BASELINES.show(identity, judgement, incident)


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
