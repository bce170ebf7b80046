"""The operator's own metrics."""

from collections.abc import Sequence

from prometheus_client import Counter, Gauge, Histogram

from mfu_operator.model.incident import Status
from mfu_operator.model.verdict import Verdict
from mfu_operator.model.vitals import MEMORY_AILMENTS, Ailment, Symptom
from mfu_operator.reconcile.conclude import Failure

VERDICT = Gauge("mfu_operator_verdict", "1 for the verdict in force on a baseline.", ["namespace", "name", "verdict"])
CHANGE = Gauge(
    "mfu_operator_change_ratio", "Relative change of the signal in force against its baseline.", ["namespace", "name"]
)
SYMPTOM = Gauge(
    "mfu_operator_symptom",
    "1 while something but its speed is wrong with a run, by reason; absent otherwise.",
    ["namespace", "name", "reason"],
)
MEMORY_FULL = Gauge(
    "mfu_operator_memory_full_timestamp_seconds",
    "When memory that creeps is full if it goes on.",
    ["namespace", "name", "reason"],
)
INCIDENT = Gauge("mfu_operator_incident_open", "1 while an incident is open on a baseline.", ["namespace", "name"])
FAILURES = Counter(
    "mfu_operator_failures_total", "Steps that failed, by condition and reason.", ["condition", "reason"]
)
TICKS = Histogram("mfu_operator_tick_seconds", "Duration of one reconciliation of one baseline.")
STATUS_WRITES = Counter("mfu_operator_status_writes_total", "Statuses written, which happens on change only.")
LAST_SWEEP = Gauge("mfu_operator_last_sweep_timestamp_seconds", "When the last sweep over the metrics sources ended.")
LEADER = Gauge("mfu_operator_leader", "1 on the replica that holds the Lease and acts.")

_AILING: dict[tuple[str, str], tuple[Ailment, ...]] = {}
"""Symptoms that are exported now, by baseline."""


def record(namespace: str, name: str, status: Status) -> None:
    """Export a baseline's state after a tick."""
    judgement = status.judgement
    for verdict in Verdict:
        VERDICT.labels(namespace, name, str(verdict)).set(judgement is not None and judgement.verdict is verdict)
    if judgement is not None and judgement.change is not None:
        CHANGE.labels(namespace, name).set(judgement.change)
    INCIDENT.labels(namespace, name).set(status.incident is not None)
    _record_symptoms(namespace, name, status.symptoms)


def _record_symptoms(namespace: str, name: str, symptoms: Sequence[Symptom]) -> None:
    """Series only for what is wrong: ten thousand sound runs have none."""
    for ailment in {*_AILING.get((namespace, name), ())} - {symptom.reason for symptom in symptoms}:
        _forget_symptom(namespace, name, ailment)
    for symptom in symptoms:
        SYMPTOM.labels(namespace, name, str(symptom.reason)).set(1)
        if symptom.full_at is not None:
            MEMORY_FULL.labels(namespace, name, str(symptom.reason)).set(symptom.full_at)
    if symptoms:
        _AILING[namespace, name] = tuple(symptom.reason for symptom in symptoms)
    else:
        _AILING.pop((namespace, name), None)


def _forget_symptom(namespace: str, name: str, ailment: Ailment) -> None:
    SYMPTOM.remove(namespace, name, str(ailment))
    if ailment in MEMORY_AILMENTS:
        MEMORY_FULL.remove(namespace, name, str(ailment))


def count(failure: Failure) -> None:
    """Count a failure, once each time that it is noted: not while it stands."""
    FAILURES.labels(failure.condition, failure.reason).inc()


def forget(namespace: str, name: str) -> None:
    """Stop exporting a baseline that is gone, or that another replica takes care of."""
    for verdict in Verdict:
        VERDICT.remove(namespace, name, str(verdict))
    for gauge in (CHANGE, INCIDENT):
        gauge.remove(namespace, name)
    _record_symptoms(namespace, name, ())
