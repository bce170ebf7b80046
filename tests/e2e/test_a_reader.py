"""The tutorials on a real cluster, walked from the first command to the last.

Not run here are `pip install` (tests/supply installs the package), `helm` without `--dry-run=server` (the environment's
operator serves other tests), `kubectl port-forward` (Prometheus runs beside this cluster) and
`kubectl mfu capture NAME` (tests/live captures a real torch).
"""

import json
import re
import shlex
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from mfu_operator.api.group import GUARDS_ANNOTATION
from mfu_operator.api.guarded import TAKES_EFFECT_S
from tests.cluster.gitea import OWNER
from tests.cluster.process import await_condition
from tests.demo.environment import Environment
from tests.docs.tutorials.pages import commands
from tests.e2e.conftest import Running
from tests.e2e.reader import NAMESPACE, PAGE, WORKERS, Reader, command_of, definition, substitutes

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]
MONITORING = [("monitoring.coreos.com", kind, "v1") for kind in ("PodMonitor", "ServiceMonitor", "PrometheusRule")]
FLUX = [
    ("source.toolkit.fluxcd.io", "GitRepository", "v1"),
    ("kustomize.toolkit.fluxcd.io", "Kustomization", "v1"),
    ("helm.toolkit.fluxcd.io", "HelmRelease", "v2"),
]
REPOSITORY, JOB = "training", "apps/gpt/job.yaml"
SPACES = (NAMESPACE, "flux-system")
TYPED = re.compile(r'types\(\s*"([^"]+)",\s*"([^"]+)"')
ELSEWHERE = ("pip ", "kubectl port-forward", "helm ", "kubectl mfu capture gpt", "kubectl mfu analyze")


@pytest.fixture(scope="module")
def reader(environment: Environment, stories: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """The stories have begun: the reader walks while they wait."""
    kubectl, gitea = environment.kubectl, environment.gitea
    made = [definition(*kind) for kind in (*MONITORING, *FLUX)]
    names = [each["metadata"]["name"] for each in made]
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in SPACES]
    kubectl.apply(*made, *spaces)
    kubectl.await_established(*names)
    repository = gitea.ensure_repository(REPOSITORY, private=False)
    environment.argocd.ensure_repository_credentials(repository, OWNER, gitea.owner_token)
    try:
        yield Reader(environment, tmp_path_factory.mktemp("reader"), substitutes(environment, repository))
    finally:
        environment.argocd.delete_application("gpt")
        kubectl.run("delete", "crd", *names)
        for name in SPACES:
            kubectl.delete("namespace", name)
        gitea.delete_repository(REPOSITORY)


@pytest.fixture(scope="module")
def watched(environment: Environment, reader: Reader) -> Reader:
    """Somebody who has walked the first tutorial: a level is recorded."""
    reader.turn_to("argocd")
    reader.types("argocd", "kubectl rollout status")
    environment.gitea.commit(REPOSITORY, "Train gpt", {JOB: (reader.folder / JOB).read_text()})
    reader.types("argocd", "kubectl apply -f podmonitor.yaml -f application.yaml")
    await_condition("the training pod", lambda: _trains(environment), timeout_s=300)
    await_condition("the admission policy to take effect", lambda: _guards(environment), timeout_s=60)
    reader.types("argocd", "kubectl apply -f baseline.yaml")
    reader.types("argocd", "kubectl wait --for=condition=Ready tb/gpt")
    return reader


def _guards(environment: Environment) -> bool:
    """Whether a baseline that is made now is one that the policy saw."""
    bindings = environment.kubectl.run("get", "validatingadmissionpolicybindings", "--output=json")
    made_s = [
        datetime.fromisoformat(each["metadata"]["creationTimestamp"]).timestamp()
        for each in json.loads(bindings)["items"]
        if GUARDS_ANNOTATION in each["metadata"].get("annotations", {})
    ]
    return bool(made_s) and time.time() > max(made_s) + TAKES_EFFECT_S + 1


def _trains(environment: Environment) -> bool:
    pods = environment.kubectl.run("get", "pods", f"--namespace={NAMESPACE}", "--output=json")
    return any(pod["status"].get("phase") == "Running" for pod in json.loads(pods)["items"])


@pytest.mark.parametrize("page", ["argocd", "github-app"])
def test_the_api_server_takes_what_helm_makes_of_the_page_s_values(reader: Reader, page: str) -> None:
    reader.turn_to(page)
    shown = reader.runs(command_of(page, "helm upgrade"), "--dry-run=server")
    assert "kind: Deployment" in shown


def test_argo_cd_deploys_the_job_and_the_operator_records_its_level(watched: Reader) -> None:
    signals = watched.types("argocd", "kubectl mfu doctor gpt")
    for signal in ("stepTime", "steps"):
        assert any(line.split()[:2] == ["ok", signal] for line in signals.splitlines()), signals
    assert "Healthy" in watched.types("argocd", "kubectl get tb gpt")
    assert "Healthy" in watched.types("argocd", "kubectl mfu status gpt")


def test_the_app_s_secret_is_taken_and_the_baseline_proposes(watched: Reader) -> None:
    watched.turn_to("github-app")
    (watched.folder / "app.private-key.pem").write_text("-----BEGIN RSA PRIVATE KEY-----\n")
    watched.types("github-app", "kubectl create secret generic github")
    watched.types("github-app", "kubectl label secret github")
    assert watched.types("github-app", "kubectl auth can-i propose").strip() == "yes"
    watched.types("github-app", "kubectl apply -f baseline.yaml")
    conditions = watched.types("github-app", "kubectl get tb gpt")
    assert "Ready=True" in conditions and "ProposalFailed=True" not in conditions
    assert "Healthy" in watched.types("github-app", "kubectl mfu status gpt")


def test_the_job_is_instrumented_and_let_in_at(watched: Reader, environment: Environment) -> None:
    watched.turn_to("live-capture")
    assert "patch" in watched.types("live-capture", "kubectl mfu capture -f job.yaml --dry-run")
    watched.types("live-capture", "kubectl create secret generic mfu-capture")
    assert "Live with torch.profiler" in watched.types(
        "live-capture", "kubectl mfu capture -f instrumented.yaml --dry-run"
    )
    watched.types("live-capture", "kubectl replace --force -f instrumented.yaml")
    watched.types("live-capture", "kubectl mfu capture --print-policies -n training")
    watched.types("live-capture", "kubectl apply -f policies.yaml")
    policies = environment.kubectl.run("get", "networkpolicies", f"--namespace={NAMESPACE}", "--output=name")
    assert len(policies.split()) >= 2


def test_flux_s_objects_are_taken_and_a_commit_is_found_in_the_clone(watched: Reader, environment: Environment) -> None:
    watched.turn_to("flux")
    kubectl = environment.kubectl
    for name in ("mfu-operator", "training"):
        kubectl.run("apply", f"--filename={watched.folder / 'clusters' / 'production' / f'{name}.yaml'}")
    ready = json.dumps({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    for name in ("helmrelease/mfu-operator", "kustomization/training"):
        kubectl.run(
            "patch", name, "--namespace=flux-system", "--subresource=status", "--type=merge", f"--patch={ready}"
        )
    watched.types("flux", "kubectl wait --for=condition=Ready helmrelease/mfu-operator")
    watched.types("flux", "kubectl wait --for=condition=Ready kustomization/training")
    watched.types("flux", "kubectl get tb gpt")
    watched.types("flux", "kubectl wait --for=condition=Ready tb/gpt")
    watched.types("flux", "kubectl mfu doctor gpt")
    slower(environment, watched)
    watched.types("flux", "git clone")
    watched.types("flux", "kubectl get kustomization training")
    watched.types("flux", "kubectl get gitrepository training")
    assert "--num-workers" in watched.types("flux", "kubectl mfu suspects")


def slower(environment: Environment, reader: Reader) -> None:
    """A tag at what is good, and after it a commit that turns the loader's workers off."""
    gitea = environment.gitea
    gitea.api("POST", f"/repos/{OWNER}/{REPOSITORY}/tags", json={"tag_name": "v12", "target": "main"})
    job = (reader.folder / JOB).read_text()
    assert WORKERS in job
    gitea.commit(REPOSITORY, "Read in the main process", {JOB: job.replace(WORKERS, "--num-workers=0")})


def test_no_command_of_a_page_is_left_out() -> None:
    typed = [match.groups() for match in TYPED.finditer(Path(__file__).read_text())]
    left_out = [
        str(command)
        for page in PAGE
        for command in commands(PAGE[page])
        if not shlex.join(command.words).startswith(ELSEWHERE)
        and not any(of == page and shlex.join(command.words).startswith(beginning) for of, beginning in typed)
    ]
    assert left_out == []
