"""Every command of a tutorial is run, or at least taken by its program; every file of it is what it says.

kubectl and helm are the real ones, without a cluster: with --help they still refuse flags that they do not know.
"""

import base64
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from mfu_operator.adapters.metric_names import profiles
from mfu_operator.api import decode
from mfu_operator.cli.main import WORDS, cli
from mfu_operator.cycle.credentials import credentials_of
from mfu_operator.model.baseline import SecretRef
from mfu_operator.ports import FORGE, Cluster, SecretUse
from tests.cluster.toolchain import go_binaries
from tests.crds.definition import closed, schema, with_defaults
from tests.docs.reference.cli_page import command_of
from tests.docs.tutorials.pages import PAGES, ROOT, Command, commands, files, objects
from tests.support.built import built

KUBECTL, HELM = built("kubernetes", "kubectl"), built("helm", "helm")
pytestmark = [] if KUBECTL and HELM else [pytest.mark.cluster]
"""Where they are not built yet, the tests wait for the cluster's programs, which are compiled with it."""

EVERY = [command for page in PAGES for command in commands(page)]
OFFLINE = ("--dry-run", "--print-policies")
"""Options with which `kubectl mfu` asks no cluster, so that the command is run."""

GIVEN = {"app.private-key.pem": "-----BEGIN RSA PRIVATE KEY-----\n"}
"""Files that a reader has from elsewhere."""

BY_PAGE = {page.stem: page for page in PAGES}
Object = Mapping[str, Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the reader is."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(page: str, folder: Path) -> None:
    """The page's files, and those that its commands write or that the reader has."""
    made = {command.into: "" for command in commands(BY_PAGE[page]) if command.into}
    for name, text in {**made, **GIVEN, **files(BY_PAGE[page])}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def run(program: str, *arguments: str, folder: Path) -> str:
    """What a program prints; it must succeed."""
    path = {"kubectl": KUBECTL or go_binaries("kubernetes") / "kubectl", "helm": HELM or go_binaries("helm") / "helm"}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(folder / "none")}
    done = subprocess.run(
        [str(path[program]), *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def named(page: str, kind: str, name: str | None = None) -> Object:
    [found] = [
        each for each in objects(BY_PAGE[page]) if each["kind"] == kind and name in (None, each["metadata"]["name"])
    ]
    return found


def of_program(*words: str) -> list[Command]:
    return [command for command in EVERY if command.words[: len(words)] == words]


def test_every_command_is_of_a_program_that_is_tried_here() -> None:
    known = ("kubectl", "helm", "pip", "git")
    assert len(EVERY) > 20
    assert [str(command) for command in EVERY if command.words[0] not in known] == []


@pytest.mark.parametrize("command", of_program("kubectl", "mfu"), ids=str)
def test_kubectl_mfu_takes_the_command_and_runs_it_where_it_asks_no_cluster(command: Command, folder: Path) -> None:
    written(command.page, folder)
    _, _, word, *arguments = command.words
    assert word in WORDS
    if set(OFFLINE) & set(arguments):
        done = CliRunner().invoke(cli, [word, *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    else:
        command_of(word).make_context(word, arguments)


@pytest.mark.parametrize("command", [each for each in of_program("kubectl") if each.words[1] != "mfu"], ids=str)
def test_kubectl_takes_the_command(command: Command, folder: Path) -> None:
    written(command.page, folder)
    assert run("kubectl", *command.words[1:], "--help", folder=folder)
    told = [word for flag, word in zip(command.words, command.words[1:], strict=False) if flag in ("-f", "--filename")]
    assert [name for name in told if not (folder / name).is_file()] == []


@pytest.mark.parametrize("command", of_program("helm"), ids=str)
def test_helm_takes_the_command_and_renders_the_chart_with_its_values(command: Command, folder: Path) -> None:
    written(command.page, folder)
    (folder / "charts").symlink_to(ROOT / "charts")
    assert run("helm", *command.words[1:], "--help", folder=folder)
    rendering = [word for word in command.words[2:] if word not in ("--install", "--reuse-values")]
    assert "Deployment" in run("helm", "template", *rendering, folder=folder)


@pytest.mark.parametrize("command", of_program("pip"), ids=str)
def test_pip_installs_what_is_a_package(command: Command) -> None:
    assert (ROOT / command.words[-1] / "pyproject.toml").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_baseline_is_one_that_the_definition_and_the_operator_take(page: Path) -> None:
    for body in (each for each in objects(page) if each["kind"] == "TrainingBaseline"):
        jsonschema.validate(body["spec"], closed(schema()["properties"]["spec"]))
        stored = with_defaults(body, schema())
        stored["metadata"] = {"namespace": "training", **stored["metadata"]}
        assert decode.spec(stored).workload.name == "gpt"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_ends_with_how_to_see_that_it_works_and_is_in_the_index(page: Path) -> None:
    ending = page.read_text().rpartition("\n## ")[2]
    assert ending.startswith("How to see that it works\n") and "```sh\n" in ending
    assert f"](tutorials/{page.name})" in (ROOT / "runbooks" / "README.md").read_text()


def test_prometheus_scrapes_the_job_and_the_operator_finds_its_series() -> None:
    monitor, job = named("argocd", "PodMonitor")["spec"], named("argocd", "Job")["spec"]["template"]
    assert monitor["selector"]["matchLabels"].items() <= job["metadata"]["labels"].items()
    [endpoint] = monitor["podMetricsEndpoints"]
    assert endpoint["port"] in [port["name"] for port in job["spec"]["containers"][0]["ports"]]
    assert endpoint["relabelings"][0]["targetLabel"] == profiles()["mfu_probe"].labels["workload"]


def test_what_is_waited_for_is_what_the_chart_makes(folder: Path) -> None:
    written("argocd", folder)
    values = folder / "values.yaml"
    text = run("helm", "template", "mfu-operator", str(ROOT / "charts" / "mfu-operator"),
               "-n", "mfu-system", "-f", str(values), folder=folder)  # fmt: skip
    made = [each for each in yaml.safe_load_all(text) if each]
    names = {(each["kind"], each["metadata"]["namespace"], each["metadata"]["name"])
             for each in made if "namespace" in each["metadata"]}  # fmt: skip
    assert ("Deployment", "mfu-system", "mfu-operator") in names
    selected = yaml.safe_load(values.read_text())["serviceMonitor"]["labels"]
    for kind in ("ServiceMonitor", "PrometheusRule"):
        [found] = [each for each in made if each["kind"] == kind]
        assert selected.items() <= found["metadata"]["labels"].items()


def test_flux_installs_the_chart_with_values_that_it_takes(folder: Path) -> None:
    release = named("flux", "HelmRelease")["spec"]
    (folder / "values.yaml").write_text(yaml.safe_dump(release["values"]))
    chart = str(ROOT / release["chart"]["spec"]["chart"])
    assert run("helm", "template", release["releaseName"], chart, "-f", "values.yaml", folder=folder)
    assert (release["install"]["crds"], release["upgrade"]["crds"]) == ("CreateReplace", "CreateReplace")


def test_the_application_that_a_baseline_names_is_the_one_of_the_page() -> None:
    asked = named("flux", "TrainingBaseline")["spec"]["remediation"]["application"]
    kustomization = named("flux", "Kustomization", asked["name"])
    assert kustomization["metadata"]["namespace"] == asked["namespace"]
    assert named("flux", "GitRepository", kustomization["spec"]["sourceRef"]["name"])
    grants = named("flux", "HelmRelease")["spec"]["values"]["authority"]["grants"]
    assert "applications" in grants[kustomization["spec"]["targetNamespace"]]


class Stored:
    """The Secrets of a namespace, as kubectl made them."""

    def __init__(self, *secrets: Object) -> None:
        self._by_name = {each["metadata"]["name"]: each["data"] for each in secrets}

    def secret(self, namespace: str, name: str, use: SecretUse) -> Mapping[str, str]:
        """The keys of the use, and the address."""
        assert namespace == "training"
        data = self._by_name[name]
        return {key: base64.b64decode(data[key]).decode() for key in (*use.keys, "address") if key in data}


def made_secret(page: str, folder: Path) -> Object:
    written(page, folder)
    [command] = [each for each in of_program("kubectl", "create", "secret") if each.page == page]
    text = run("kubectl", *command.words[1:], "--dry-run=client", "-o", "yaml", folder=folder)
    found: Object = yaml.safe_load(text)
    return found


def test_the_app_s_secret_is_one_that_the_operator_reads_and_may_send_to_github(folder: Path) -> None:
    secret = made_secret("github-app", folder)
    reference = named("github-app", "TrainingBaseline")["spec"]["remediation"]["forge"]["secretRef"]["name"]
    found = credentials_of(cast(Cluster, Stored(secret)), "training", SecretRef(reference), FORGE)
    assert found is not None and found.app is not None and found.app.app_id == "1234"
    found.require("https://github.com/example/training.git")
    values = yaml.safe_load(files(BY_PAGE["github-app"])["proposing.yaml"])
    assert values["secrets"] == {"training": [reference]}
    assert {"propose", "secrets"} <= set(values["authority"]["grants"]["training"])


def test_the_token_s_secret_is_the_one_that_the_job_mounts(folder: Path) -> None:
    secret = made_secret("live-capture", folder)
    job = yaml.safe_load(files(BY_PAGE["live-capture"])["instrumented.yaml"])
    [volume] = job["spec"]["template"]["spec"]["volumes"]
    assert volume["secret"]["secretName"] == secret["metadata"]["name"] and "token" in secret["data"]


def test_the_instrumented_job_is_the_first_one_with_the_patch_that_the_command_prints(folder: Path) -> None:
    written("live-capture", folder)

    def planned(name: str) -> Object:
        done = CliRunner().invoke(cli, ["capture", "-f", name, "--dry-run", "-o", "json"], catch_exceptions=False)
        found: Object = yaml.safe_load(done.output)
        return found

    job = yaml.safe_load((folder / "job.yaml").read_text())
    assert planned("job.yaml")["way"] is None
    for change in planned("job.yaml")["instrument"][0]["patch"]:
        *way, last = change["path"].strip("/").split("/")
        place = job
        for step in way:
            place = place[int(step) if step.isdigit() else step]
        place[last] = change["value"]
    assert job == yaml.safe_load((folder / "instrumented.yaml").read_text())
    assert planned("instrumented.yaml")["way"] == "Live"
