"""What goes wrong on the first day: `kubectl mfu status` says the true cause, and the next command.

Each row is a mistake: how it is staged, the cause that a person reads, and the command that is printed. Those that the
operator sees happen at its ports, and what it then writes is read from an API server over HTTP.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from click.testing import CliRunner

from mfu_operator.api.quantities import rfc3339
from mfu_operator.cli.main import cli
from mfu_operator.errors import MfuError, Retry, Stall, Wait
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.condition import Condition
from mfu_operator.model.verdict import Verdict
from mfu_operator.model.workload import JobPhase
from tests.support import worlds
from tests.support.adapters_double import Stage
from tests.unit.cli.api_server import ApiServer


@dataclass(frozen=True)
class Mistake:
    """What was done, as a person would say it, and what the command line answers."""

    name: str
    staged: Callable[[Any], object]
    cause: str
    command: str
    asked: tuple[str, ...] = ("status", "gpt-small")

    def __str__(self) -> str:
        return self.name


def source_fails(error: MfuError) -> Callable[[Stage], None]:
    def stage(given: Stage) -> None:
        given.sweep.fills, given.sweep.problem = False, error
        given.tick()

    return stage


def fails(port: str, error: MfuError) -> Callable[[Stage], None]:
    def stage(given: Stage) -> None:
        given.regress()
        getattr(given, port).fails = error
        given.tick()

    return stage


def cluster_fails(error: MfuError) -> Callable[[Stage], None]:
    def stage(given: Stage) -> None:
        given.cluster.fails = error
        given.tick()

    return stage


def job_waits(reason: str, message: str) -> Callable[[Stage], None]:
    def stage(given: Stage) -> None:
        given.tick()
        given.cluster.becomes(given.job, phase=JobPhase.WAITING, reason=reason, message=message)
        given.tick()

    return stage


def no_job(stage: Stage) -> None:
    stage.cluster.workloads.clear()
    stage.tick()


def other_kind(stage: Stage) -> None:
    stage.edit(lambda spec: replace(spec, workload=replace(spec.workload, kind="TrainingRun")))
    stage.tick()


def unlabelled(stage: Stage) -> None:
    stage.regress()
    stage.cluster.unlabelled.add(("team-a", "forge"))
    stage.tick()


def no_secret(stage: Stage) -> None:
    stage.regress()
    stage.cluster.secrets.clear()
    stage.tick()


def no_application(stage: Stage) -> None:
    stage.regress()
    stage.delivery.sources.clear()
    stage.tick()


def foreign_application(stage: Stage) -> None:
    stage.regress()
    stage.delivery.foreign.add(worlds.REF)
    stage.tick()


def unmanaged(stage: Stage) -> None:
    stage.regress()
    stage.cluster.workloads["Job", "team-a", "gpt-small"] = replace(
        stage.cluster.workloads["Job", "team-a", "gpt-small"], annotations={}
    )
    stage.edit(lambda spec: replace(spec, remediation=replace(spec.remediation, mode=RemediationMode.PULL_REQUEST)))
    stage.tick()


def ended(stage: Stage) -> None:
    stage.sweep.says = worlds.judgement(Verdict.NO_DATA, reason="Stale", message="the last reading is 20 min old")
    stage.tick()


NAMES = {"kind": "Job", "name": "gpt-small"}
DOCTOR = "kubectl mfu doctor gpt-small -n team-a"
SECRETS = "kubectl get secrets -n team-a --show-labels"
APPLICATIONS = "kubectl get applications.argoproj.io,kustomizations.kustomize.toolkit.fluxcd.io -A"
TEMPLATE = "kubectl get Job gpt-small -n team-a -o yaml"

SEEN_BY_THE_OPERATOR = (
    Mistake("a job that is not there", no_job, "create the job in the baseline's namespace", "kubectl get Job -A"),
    Mistake("a kind that the cluster does not serve", other_kind, "install the kind's CRD", "kubectl api-resources"),
    Mistake("a job that ended", ended, "Job ended: delete the baseline", "kubectl get pods -n team-a"),
    Mistake("metrics under another name", source_fails(Wait("NoSeries", "no series under the names of the profile")),
            "set `spec.metrics.names` and `labels`", DOCTOR),
    Mistake("no ServiceMonitor that Prometheus selects", source_fails(Wait("NoSeries", "no series of Job gpt-small")),
            "repair the scrape", DOCTOR),
    Mistake("the wrong Prometheus", source_fails(Retry("PrometheusUnreachable", "it cannot be reached")),
            "Correct scheme, host, port and path", "kubectl get services -A -l app.kubernetes.io/name=prometheus"),
    Mistake("no Prometheus at all", source_fails(Stall("NoPrometheus", "nobody names one")),
            "Set the chart's `prometheus.address`", "helm get values mfu-operator -n mfu-system --all"),
    Mistake("a token that Prometheus refuses", source_fails(Retry("PrometheusRefused", "it answered 401")),
            "Renew the Secret in `spec.metrics.prometheus.secretRef`", DOCTOR),
    Mistake("a private CA that is not named", source_fails(Retry("PrometheusTlsFailed", "unknown authority")),
            "Private CA: `prometheus.caSecretRef`", DOCTOR),
    Mistake("a profile of another name", source_fails(Stall("UnknownMetricsProfile", "there are mfu_probe, nemo")),
            "Use one of them", "kubectl edit tb gpt-small -n team-a"),
    Mistake("a pod's page that nobody lets in", source_fails(Retry("PodUnreachable", "10.0.0.1:9400 is silent")),
            "Listen on 0.0.0.0", DOCTOR),
    Mistake("a role without the kind", cluster_fails(Stall("ClusterAccessDenied", "reading Job: 403")),
            "the namespace to `watchNamespaces`",
            "kubectl auth can-i --list --as=system:serviceaccount:mfu-system:mfu-operator -n team-a"),
    Mistake("an image that is not pulled", job_waits("ImagePullFailed", "no such tag"),
            "Correct the chart's `profilerImage`", "kubectl get pods -n team-a"),
    Mistake("no GPU for the profile", job_waits("JobUnschedulable", "0/3 nodes"),
            "Free a node", "kubectl describe pods -n team-a -l app.kubernetes.io/managed-by=mfu-operator"),
    Mistake("a quota that refuses its pod", job_waits("JobHasNoPod", "exceeded quota"),
            "Raise the quota", "kubectl get events -n team-a"),
    Mistake("a Secret without its label", unlabelled, "run the command at the end of the message", SECRETS),
    Mistake("a Secret that is not there", no_secret, "Create the Secret with its label and `address`", SECRETS),
    Mistake("Argo CD in another namespace", no_application, "Correct kind, namespace and name", APPLICATIONS),
    Mistake("an application that deploys something else", foreign_application,
            "Name the right one in `spec.remediation.application`", APPLICATIONS),
    Mistake("a job that no GitOps tool deployed", unmanaged,
            "Name the application in `spec.remediation.application`", APPLICATIONS),
    Mistake("an application that may not be read", fails("delivery", Retry("DeliveryForbidden", "grant it get")),
            "`gitops.namespaces`", "helm get values mfu-operator -n mfu-system --all"),
    Mistake("a branch that is not there", fails("repository", Stall("BranchMissing", "no branch main")),
            "Set `spec.remediation.branch`", "git ls-remote --heads"),
    Mistake("a token that the repository refuses", fails("repository", Stall("RepositoryAccessDenied", "refused")),
            "Renew the token", SECRETS),
    Mistake("a token that the forge refuses", fails("forge", Stall("ForgeAccessDenied", "it needs write")),
            "The token", SECRETS),
)  # fmt: skip


@pytest.mark.parametrize("mistake", SEEN_BY_THE_OPERATOR, ids=str)
def test_what_the_operator_sees_is_told_with_its_cause_and_the_next_command(api: ApiServer, mistake: Mistake) -> None:
    stage = Stage()
    mistake.staged(stage)
    api.keep(stage.status)
    api.objects["team-a", "gpt-small"]["spec"]["workload"] = NAMES
    told = CliRunner().invoke(cli, mistake.asked).output
    assert mistake.cause in told
    assert f"→ Next: {mistake.command}" in told


def undefined(api: ApiServer) -> None:
    api.defined = False


def refused(api: ApiServer) -> None:
    api.answers = 403


def broken(api: ApiServer) -> None:
    api.answers = 503


def elsewhere(api: ApiServer) -> None:
    api.keep(worlds.SETTLED, namespace="team-b")


def created(ago_s: float) -> Callable[[ApiServer], None]:
    def stage(api: ApiServer) -> None:
        api.keep(None)
        api.objects["team-a", "gpt-small"]["metadata"]["creationTimestamp"] = rfc3339(time.time() - ago_s)

    return stage


def edited(api: ApiServer) -> None:
    api.keep(replace(worlds.SETTLED, conditions=(Condition("Ready", "True", "Measuring", "it is judged", 1, 0.0),)))
    ours = {"time": rfc3339(time.time() - 3600)}
    theirs = {"time": rfc3339(time.time()), "subresource": "status"}
    api.objects["team-a", "gpt-small"]["metadata"] |= {"generation": 9, "managedFields": [ours, theirs]}


LIST = ("status",)
SEEN_BY_THE_COMMAND = (
    Mistake("the definition is missing", undefined, "no definition (CRD)", "kubectl apply --server-side", LIST),
    Mistake("the definition is missing, by name", undefined, "no definition (CRD)", "kubectl config current-context"),
    Mistake("the user may not list", refused, "your own user that is refused", "kubectl auth can-i list", LIST),
    Mistake("the user may not read", refused, "your own user that is refused", "kubectl auth can-i list"),
    Mistake("another cluster, which is down", broken, "that you mean", "kubectl config get-contexts", LIST),
    Mistake("a baseline elsewhere", elsewhere, "but in team-b", "kubectl mfu status gpt-small -n team-b"),
    Mistake("the baseline is nowhere", lambda api: None, "no TrainingBaseline 'gpt-small'", "kubectl get tb -A"),
    Mistake("nothing here", lambda api: None, "No TrainingBaseline here", "kubectl mfu status -A", LIST),
    Mistake("no operator runs", created(600), "No operator has looked at this baseline in 10 min",
            "kubectl get pods -A -l app.kubernetes.io/name=mfu-operator"),
    Mistake("the namespace is not watched", created(600), "none watches the namespace team-a", "helm get values"),
    Mistake("the operator is gone since", edited, "The spec was edited", "kubectl logs -n mfu-system deploy"),
)  # fmt: skip


@pytest.mark.parametrize("mistake", SEEN_BY_THE_COMMAND, ids=str)
def test_what_the_command_meets_itself_is_told_with_the_next_command(api: ApiServer, mistake: Mistake) -> None:
    mistake.staged(api)
    done = CliRunner().invoke(cli, mistake.asked)
    told = done.exception.message if isinstance(done.exception, MfuError) else done.output
    assert mistake.cause in told
    assert mistake.command in told


def test_a_context_that_the_kubeconfig_lacks_is_named_with_the_command_that_lists_them(api: ApiServer) -> None:
    done = CliRunner().invoke(cli, ["status", "--context", "nowhere"])
    assert isinstance(done.exception, Stall)
    assert done.exception.reason == "NoCluster"
    assert "nowhere" in done.exception.message
    assert "kubectl config get-contexts" in done.exception.message


def test_a_baseline_just_made_and_one_just_edited_are_given_time(api: ApiServer) -> None:
    created(5)(api)
    assert "looks at it within a minute" in CliRunner().invoke(cli, ["status", "gpt-small"]).output
    edited(api)
    found = api.objects["team-a", "gpt-small"]["metadata"]
    found["managedFields"] = [{"time": rfc3339(time.time() - 30)}]
    assert "The spec was edited" not in CliRunner().invoke(cli, ["status", "gpt-small"]).output
