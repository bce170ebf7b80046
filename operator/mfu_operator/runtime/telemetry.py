"""The operator's own metrics."""

from prometheus_client import Counter, Gauge, Histogram

from mfu_operator.model.incident import Status
from mfu_operator.model.verdict import Verdict
from mfu_operator.reconcile.conclude import Failure

VERDICT = Gauge("mfu_operator_verdict", "1 for the verdict in force on a baseline.", ["namespace", "name", "verdict"])
CHANGE = Gauge(
    "mfu_operator_change_ratio", "Relative change of the signal in force against its baseline.", ["namespace", "name"]
)
INCIDENT = Gauge("mfu_operator_incident_open", "1 while an incident is open on a baseline.", ["namespace", "name"])
FAILURES = Counter(
    "mfu_operator_failures_total", "Steps that failed, by condition and reason.", ["condition", "reason"]
)
TICKS = Histogram("mfu_operator_tick_seconds", "Duration of one reconciliation of one baseline.")
STATUS_WRITES = Counter("mfu_operator_status_writes_total", "Statuses written, which happens on change only.")
LAST_SWEEP = Gauge("mfu_operator_last_sweep_timestamp_seconds", "When the last sweep over the metrics sources ended.")
LEADER = Gauge("mfu_operator_leader", "1 on the replica that holds the Lease and acts.")


def record(namespace: str, name: str, status: Status) -> None:
    """Export a baseline's state after a tick."""
    judgement = status.judgement
    for verdict in Verdict:
        VERDICT.labels(namespace, name, str(verdict)).set(judgement is not None and judgement.verdict is verdict)
    if judgement is not None and judgement.change is not None:
        CHANGE.labels(namespace, name).set(judgement.change)
    INCIDENT.labels(namespace, name).set(status.incident is not None)


def count(failure: Failure) -> None:
    """Count a failure, once each time that it is noted: not while it stands."""
    FAILURES.labels(failure.condition, failure.reason).inc()


def forget(namespace: str, name: str) -> None:
    """Stop exporting a baseline that is gone, or that another replica takes care of."""
    for verdict in Verdict:
        VERDICT.remove(namespace, name, str(verdict))
    for gauge in (CHANGE, INCIDENT):
        gauge.remove(namespace, name)
