"""Where a workload's settings come from beside its own manifests, each layout with its truth: a commit, or none."""

# ruff: noqa: E501 - manifests as people write them
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support.built import built
from tests.support.git_repository import GitUpstream
from tests.support.layouts import (
    BASE,
    CHARTS,
    HELM_REPOSITORY,
    PLAIN,
    REPOSITORY,
    SLOW,
    TRAIN,
    URL,
    application,
    chart,
    given,
    kustomization,
    release,
    sent_chart,
)
from tests.support.suspect_story import Story, config_map, job

HELM, KUSTOMIZE = built("helm", "helm"), built("kustomize", "kustomize")
pytestmark = [] if HELM and KUSTOMIZE else [pytest.mark.cluster]
Truth = tuple[tuple[str, ...], str | None]
Layout = Callable[[Story], Truth]
FLUX = (REPOSITORY, HELM_REPOSITORY, kustomization())


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> None:
    for program in (HELM, KUSTOMIZE):
        if program:
            monkeypatch.setenv("PATH", str(Path(program).parent), prepend=":")


def values_of_a_release_in_git(story: Story) -> Truth:
    story.commit("Good", {"prod/release.yaml": release("workers: 8")})
    story.replace("Workers", "prod/release.yaml", "workers: 8", "workers: 0")
    return (*given(story, *FLUX), *sent_chart(story)), "Workers"


def chart_of_a_release_in_git(story: Story) -> Truth:
    story.commit("Good", {"prod/release.yaml": release("seed: 3")})
    story.replace("Bump", "prod/release.yaml", '"1.0.0"', '"1.1.0"')
    return (*given(story, *FLUX), *sent_chart(story, "1.0.0", 8), *sent_chart(story, "1.1.0", 0)), "Bump"


def values_that_a_release_reads_from_a_configmap(story: Story) -> Truth:
    values = config_map("workers: 8", "gpt-values", "values.yaml")
    story.commit("Good", {"prod/release.yaml": release("seed: 3", values_from="gpt-values"),
                          "prod/values.yaml": values, "staging/values.yaml": values})  # fmt: skip
    story.replace("Staging", "staging/values.yaml", "workers: 8", "workers: 0")
    story.replace("Values", "prod/values.yaml", "workers: 8", "workers: 0")
    return (*given(story, *FLUX), *sent_chart(story)), "Values"


def values_that_the_release_overrides(story: Story) -> Truth:
    values = config_map("workers: 8", "gpt-values", "values.yaml")
    story.commit(
        "Good", {"prod/release.yaml": release("workers: 8", values_from="gpt-values"), "prod/values.yaml": values}
    )
    story.replace("Values", "prod/values.yaml", "workers: 8", "workers: 0")
    return (*given(story, *FLUX), *sent_chart(story)), None


def chart_beside_its_release(story: Story) -> Truth:
    story.commit("Good", {"prod/release.yaml": release("seed: 3", chart_of="./charts/gpt"), **chart()})
    story.replace("Default", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    return given(story, *FLUX), "Default"


def release_whose_chart_was_not_given(story: Story) -> Truth:
    story.commit("Good", {"prod/release.yaml": release("workers: 8")})
    story.replace("Workers", "prod/release.yaml", "workers: 8", "workers: 0")
    return given(story, *FLUX), None


def chart_that_another_one_depends_on(story: Story) -> Truth:
    umbrella = f"apiVersion: v2\nname: all\nversion: 1.0.0\ndependencies: [{{name: gpt, version: 1.x, repository: {CHARTS}}}]\n"
    lock = f"dependencies: [{{name: gpt, version: 1.0.0, repository: {CHARTS}}}]\ndigest: x\n"
    story.commit("Good", {"all/Chart.yaml": umbrella, "all/Chart.lock": lock, "all/values.yaml": "gpt: {workers: 8}\n"})
    story.replace("Workers", "all/values.yaml", "workers: 8", "workers: 0")
    return (*given(story, application(path="all")), *sent_chart(story)), "Workers"


def variables_of_two_clusters(story: Story) -> Truth:
    settings = (
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: flux-system}\ndata: {workers: "8"}\n'
    )
    story.commit("Good", {"prod/job.yaml": job(args=["--num-workers=${workers:=4}"]), "prod/config.yaml": config_map("a: 1"),
                          "clusters/prod/settings.yaml": settings, "clusters/dev/settings.yaml": settings})  # fmt: skip
    story.replace("Dev", "clusters/dev/settings.yaml", '"8"', '"0"')
    story.replace("Prod", "clusters/prod/settings.yaml", '"8"', '"0"')
    ours = kustomization(postBuild={"substituteFrom": [{"kind": "ConfigMap", "name": "settings"}]})
    return given(story, REPOSITORY, ours, kustomization("./clusters/prod", "flux-system")), "Prod"


def variables_of_an_unknown_cluster(story: Story) -> Truth:
    options, _ = variables_of_two_clusters(story)
    return options[:4], None


def variables_that_git_does_not_hold(story: Story) -> Truth:
    held = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"workers": "8"}}
    story.commit(
        "Good", {"prod/job.yaml": job(args=["--num-workers=${workers}"]), "prod/config.yaml": config_map("a: 1")}
    )
    story.replace("Fixed", "prod/job.yaml", "${workers}", "0")
    ours = kustomization(postBuild={"substituteFrom": [{"kind": "ConfigMap", "name": "settings"}]})
    return given(story, REPOSITORY, ours, held), "Fixed"


def application_of_an_app_of_apps(story: Story) -> Truth:
    def manifest(workers: int) -> dict[str, object]:
        return application(path="charts/gpt", helm={"parameters": [{"name": "workers", "value": str(workers)}]})

    story.commit("Good", {**chart(), "apps/gpt.yaml": json.dumps(manifest(8))})
    story.commit("Parameter", {"apps/gpt.yaml": json.dumps(manifest(0))})
    return given(story, application("root", path="apps"), manifest(0)), "Parameter"


def value_of_the_namespace_that_is_deployed_to(story: Story) -> Truth:
    files = chart()
    template = next(path for path in files if "/templates/" in path)
    chosen = '{{ if eq .Release.Namespace "training" }}{{ .Values.there }}{{ else }}{{ .Values.workers }}{{ end }}'
    assert "{{ .Values.workers }}" in files[template]
    files[template] = files[template].replace("{{ .Values.workers }}", chosen)
    story.commit("Good", {**files, "charts/gpt/values.yaml": "workers: 4\nthere: 8\n"})
    story.replace("Elsewhere", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    story.replace("There", "charts/gpt/values.yaml", "there: 8", "there: 0")
    source = {"repoURL": URL, "targetRevision": "main", "path": "charts/gpt"}
    return given(story, application(source=source, destination={"namespace": "training"})), "There"


def application_of_another_repository(story: Story) -> Truth:
    source = {"repoURL": "https://git.example/other/charts", "targetRevision": "main", "path": "charts/gpt"}
    elsewhere = application(source=source)
    story.commit("Good", {**chart(), "apps/gpt.yaml": json.dumps(elsewhere)})
    story.replace("Default", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    return given(story, application("root", path="apps")), None


def parameters_that_nothing_recorded(story: Story) -> Truth:
    story.commit("Good", chart())
    story.replace("Default", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    live = application(path="charts/gpt", helm={"parameters": [{"name": "workers", "value": "8"}]})
    return given(story, live), None


def _bases(story: Story, reference: str) -> tuple[str, ...]:
    (story.folder / "bases").mkdir()
    bases = GitUpstream(story.folder / "bases")
    for tag, text in (("v1", TRAIN), ("v2", SLOW)):
        bases.commit({**BASE, "base/train.yaml": text}, tag)
        bases.git("tag", tag)
    address = "https://git.example/platform/bases"
    story.commit("Good", {"prod/kustomization.yaml": f"resources: ['{address}//base?ref={reference}']\n"})
    story.commit("Docs", {"README.md": "x"})
    story.replace("Bump", "prod/kustomization.yaml", f"ref={reference}", "ref=v2")
    return "--path", "prod", "--values", f"{address}={bases.work}"


def base_of_another_repository(story: Story) -> Truth:
    return _bases(story, "v1"), "Bump"


def base_that_follows_a_branch(story: Story) -> Truth:
    return _bases(story, "main"), None


def _set(workers: str, generator: Mapping[str, object]) -> dict[str, object]:
    source = {"repoURL": URL, "targetRevision": "main", "path": "charts/gpt",
              "helm": {"releaseName": "{{name}}", "parameters": [{"name": "workers", "value": workers}]}}  # fmt: skip
    template = {"metadata": {"name": "{{name}}"}, "spec": {"source": source}}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "all"},
            "spec": {"generators": [generator], "template": template}}  # fmt: skip


def element_of_an_application_set(story: Story) -> Truth:
    def manifest(workers: int) -> dict[str, object]:
        elements = [{"name": "gpt", "workers": str(workers)}, {"name": "bert", "workers": "8"}]
        return _set("{{workers}}", {"list": {"elements": elements}})

    story.commit("Good", {**chart(), "apps/all.yaml": json.dumps(manifest(8))})
    story.commit("Element", {"apps/all.yaml": json.dumps(manifest(0))})
    live = application(path="charts/gpt", helm={"parameters": [{"name": "workers", "value": "0"}]})
    return given(story, live, application("root", path="apps"), manifest(0)), "Element"


def file_of_an_application_set(story: Story) -> Truth:
    environment = '{"name": "%s", "workers": "8"}\n'
    story.commit("Good", {**chart(), "envs/prod.json": environment % "gpt", "envs/dev.json": environment % "gpt-dev",
                          "envs/none.json": ""})  # fmt: skip
    story.replace("Dev", "envs/dev.json", '"8"', '"0"')
    story.replace("Prod", "envs/prod.json", '"8"', '"0"')
    files = {"git": {"repoURL": URL, "revision": "main", "files": [{"path": "envs/*.json"}]}}
    live = application(path="charts/gpt", helm={"parameters": [{"name": "workers", "value": "0"}]})
    return given(story, live, _set("{{workers}}", files)), "Prod"


def variable_that_the_container_sets_again(story: Story) -> Truth:
    defaults = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: defaults}\ndata: {NUM_WORKERS: '8'}\n"
    env = job(env='[{name: NUM_WORKERS, value: "8"}]')
    ours = env.replace(
        "          resources:", "          envFrom: [{configMapRef: {name: defaults}}]\n          resources:"
    )
    story.commit("Good", {"gpt/job.yaml": ours, "gpt/config.yaml": config_map("a: 1"), "gpt/defaults.yaml": defaults})
    story.replace("Defaults", "gpt/defaults.yaml", "'8'", "'0'")
    return ("--path", "gpt"), None


def variable_that_a_later_configmap_sets_again(story: Story) -> Truth:
    held = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {NUM_WORKERS: '8'}\n"
    both = "          envFrom: [{configMapRef: {name: first}}, {configMapRef: {name: second}}]\n          resources:"
    story.commit("Good", {"gpt/job.yaml": job().replace("          resources:", both), "gpt/config.yaml": config_map("a: 1"),
                          "gpt/first.yaml": held % "first", "gpt/second.yaml": held % "second"})  # fmt: skip
    story.replace("First", "gpt/first.yaml", "'8'", "'0'")
    story.replace("Second", "gpt/second.yaml", "'8'", "'0'")
    return ("--path", "gpt"), "Second"


def variable_of_another_name(story: Story) -> Truth:
    held = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {WORKERS: '8', NUM_WORKERS: '8'}\n"
    more = "          envFrom: [{prefix: EVAL_NUM_, configMapRef: {name: more}}]\n          resources:"
    story.commit("Good", {"gpt/job.yaml": job().replace("          resources:", more), "gpt/config.yaml": config_map("a: 1"),
                          "gpt/more.yaml": held})  # fmt: skip
    story.replace("Evaluate", "gpt/more.yaml", "{WORKERS: '8'", "{WORKERS: '0'")
    return ("--path", "gpt"), None


def program_that_prepares(story: Story) -> Truth:
    line = "python prepare.py --workers 4 && torchrun --nproc_per_node=8 train.py --num-workers 8"
    ours = job().replace("command: [python]", "command: [bash, -c]").replace(
        'args: ["train.py", "--config=/etc/gpt/train.yaml"]', f'args: ["{line}"]')  # fmt: skip
    assert line in ours
    story.commit("Good", {"gpt/job.yaml": ours, "gpt/config.yaml": config_map(TRAIN)})
    story.replace("Prepare", "gpt/job.yaml", "--workers 4", "--workers 1")
    return ("--path", "gpt"), None


def program_that_trains_after_another(story: Story) -> Truth:
    program_that_prepares(story)
    story.replace("Train", "gpt/job.yaml", "--num-workers 8", "--num-workers 0")
    return ("--path", "gpt"), "Train"


LAYOUTS: list[Layout] = [
    values_of_a_release_in_git, chart_of_a_release_in_git, values_that_a_release_reads_from_a_configmap,
    values_that_the_release_overrides, chart_beside_its_release, chart_that_another_one_depends_on, release_whose_chart_was_not_given,
    variables_of_two_clusters, variables_of_an_unknown_cluster, variables_that_git_does_not_hold,
    application_of_an_app_of_apps, value_of_the_namespace_that_is_deployed_to, application_of_another_repository, element_of_an_application_set, file_of_an_application_set,
    variable_that_the_container_sets_again, variable_that_a_later_configmap_sets_again, program_that_prepares,
    program_that_trains_after_another, variable_of_another_name, parameters_that_nothing_recorded, base_of_another_repository,
    base_that_follows_a_branch,
]  # fmt: skip
SAYS: dict[Layout, str] = {
    release_whose_chart_was_not_given: f"{CHARTS}/gpt@1.0.0",
    variables_of_an_unknown_cluster: "clusters/dev/settings.yaml, clusters/prod/settings.yaml",
    variables_that_git_does_not_hold: "ConfigMap/settings at good: it is taken as it is now",
    application_of_another_repository: "which none of the manifests that were given follows",
    parameters_that_nothing_recorded: "what Application gpt itself sets at good: it is taken as it is now",
    base_that_follows_a_branch: "name a tag or a commit",
    program_that_prepares: "prepare.py is not the program that trains",
}


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_a_source_gets_its_truth_and_a_true_reason(layout: Layout, tmp_path: Path) -> None:
    story = Story(tmp_path / "models")
    options, truth = layout(story)
    told = story.ask("DataLoaderWorkers", *options)
    assert told.chosen == truth, told.because
    assert SAYS.get(layout, "") in told.because
    assert "does not read" not in told.because
    assert (told.json["proposal"] is not None) is (truth is not None), told.because


def test_an_entry_of_a_generated_secret_is_told_as_its_hash(tmp_path: Path) -> None:
    story = Story(tmp_path / "models")
    secret = "secretGenerator:\n  - name: creds\n    envs: [creds.env]\n"
    files = {"base/kustomization.yaml": BASE["base/kustomization.yaml"] + secret, "base/creds.env": "TRACKER=first\n",
             "base/job.yaml": job().replace("env: []", "envFrom: [{secretRef: {name: creds}}]")}  # fmt: skip
    story.commit("Good", {**BASE, **files})
    story.commit("Key", {"base/creds.env": "TRACKER=hunter2hunter2\n"})
    story.commit("Slow", {"base/train.yaml": SLOW})
    told = story.ask("DataLoaderWorkers", "--path", "base")
    assert told.chosen == "Slow"
    assert "hunter2" not in json.dumps(told.json)


def test_a_digest_that_moved_beside_a_guilty_commit_is_told(tmp_path: Path) -> None:
    story = Story(tmp_path / "models")
    story.commit("Good", PLAIN)
    story.commit("Slow", {"gpt/config.yaml": config_map(SLOW)})
    ran = [f"registry.example/gpt:v1@sha256:{letter * 64}" for letter in "ab"]
    told = story.ask("DataLoaderWorkers", "--path", "gpt", "--good-image", ran[0], "--bad-image", ran[1])
    assert told.chosen == "Slow"
    assert "Besides, image registry.example/gpt:v1 ran as" in told.because
