"""The command that a person runs next for what goes wrong on the first day, by a condition's reason."""

from collections.abc import Mapping
from typing import Any

_OPERATOR = "-n mfu-system deploy/mfu-operator"
_VALUES = "helm get values mfu-operator -n mfu-system --all"
_RIGHTS = "kubectl auth can-i --list --as=system:serviceaccount:mfu-system:mfu-operator -n {namespace}"
_DOCTOR = "kubectl mfu doctor {name} -n {namespace}"
_APPLICATIONS = "kubectl get applications.argoproj.io,kustomizations.kustomize.toolkit.fluxcd.io -A"
_SECRETS = "kubectl get secrets -n {namespace} --show-labels"
_TEMPLATE = "kubectl get {kind} {workload} -n {namespace} -o yaml"
_PODS = "kubectl get pods -n {namespace}"
_EDIT = "kubectl edit tb {name} -n {namespace}"

_COMMANDS: Mapping[str, str] = {
    "ApplicationNotFound": _APPLICATIONS,
    "BranchMissing": "git ls-remote --heads REPOSITORY",
    "CertificateUnreadable": _SECRETS,
    "ClusterAccessDenied": _RIGHTS,
    "ClusterRefused": "kubectl get events -n {namespace} --sort-by=.lastTimestamp",
    "ContainerNotFound": _TEMPLATE,
    "CredentialsMissing": _SECRETS,
    "CredentialsUnbound": _SECRETS,
    "CredentialsUnfit": _SECRETS,
    "DeliveryForbidden": _VALUES,
    "ForgeAccessDenied": _SECRETS,
    "ImagePullFailed": _PODS,
    "InvalidSpec": _EDIT,
    "JobHasNoPod": "kubectl get events -n {namespace} --sort-by=.lastTimestamp",
    "JobUnschedulable": "kubectl describe pods -n {namespace} -l app.kubernetes.io/managed-by=mfu-operator",
    "NoPrometheus": _VALUES,
    "NoReadings": _DOCTOR,
    "NoSeries": _DOCTOR,
    "NoUsableSignal": _DOCTOR,
    "NotDeployedByApplication": _APPLICATIONS,
    "NotInstrumented": "kubectl mfu onboard {kind}/{named} -n {namespace}",
    "NotManagedByGitOps": _APPLICATIONS,
    "PodUnreachable": _DOCTOR,
    "ProfilerImageMissing": _VALUES,
    "PrometheusRefused": _DOCTOR,
    "PrometheusTlsFailed": _DOCTOR,
    "PrometheusUnavailable": _DOCTOR,
    "PrometheusUnreachable": "kubectl get services -A -l app.kubernetes.io/name=prometheus",
    "RepositoryAccessDenied": _SECRETS,
    "Stale": _PODS,
    "TickFailed": f"kubectl logs {_OPERATOR} --tail=50",
    "TokenMissing": "kubectl get secret mfu-capture -n {namespace}",
    "TokenRefused": "kubectl get secret mfu-capture -n {namespace}",
    "TrainingRoleUnknown": _TEMPLATE,
    "UnknownKind": "kubectl api-resources | grep -w {kind}",
    "UnknownMetric": _EDIT,
    "UnknownMetricsProfile": _EDIT,
    "WorkloadNotFound": "kubectl get {kind} -A",
}


def next_command(reason: str, item: Mapping[str, Any]) -> str | None:
    """The command for a condition's reason, with the names of the baseline and its workload; None where the reason
    needs none on the first day.

    Args:
        reason: of a condition.
        item: the TrainingBaseline as the API server has it.
    """
    found = _COMMANDS.get(reason)
    if found is None:
        return None
    metadata, workload = item["metadata"], (item.get("spec") or {}).get("workload") or {}
    return found.format(
        name=metadata["name"],
        namespace=metadata["namespace"],
        kind=str(workload.get("kind") or "jobs"),
        workload=str(workload.get("name") or ""),
        named=str(workload.get("name") or "NAME"),
    ).replace("  ", " ")
