"""Histories of layouts by name, each with its truth, written before the code that answers them was looked at."""

# ruff: noqa: E501 - manifests as people write them
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.built import built
from tests.support.layouts import (
    BASE,
    PLAIN,
    REPOSITORY,
    SLOW,
    TRAIN,
    URL,
    application,
    chart,
    flux,
    given,
    kustomization,
)
from tests.support.suspect_story import Story, Told, config_map, job

HELM, KUSTOMIZE = built("helm", "helm"), built("kustomize", "kustomize")
pytestmark = [] if HELM and KUSTOMIZE else [pytest.mark.cluster]


@dataclass(frozen=True, slots=True)
class Truth:
    """What the command is asked, and the subject of the commit that did it; `said` and `unsaid` are of its reason."""

    options: tuple[str, ...]
    chosen: str | None
    cause: str = "DataLoaderWorkers"
    workload: str = "Job/gpt"
    said: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folders = [str(Path(program).parent) for program in (HELM, KUSTOMIZE) if program]
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
    yield


def overlay(patch: str = "", more: str = "") -> dict[str, str]:
    """An overlay of the base for production."""
    return {**BASE, "prod/kustomization.yaml": f"resources: [../base]\n{patch}{more}"}


def carriage_returns(story: Story) -> Truth:
    story.commit("Good", overlay())
    _raw(story, "Windows", "base/train.yaml", TRAIN.replace("\n", "\r\n"))
    _raw(story, "Slow", "base/train.yaml", SLOW.replace("\n", "\r\n"))
    story.commit("Docs", {"README.md": "x\n"})
    return Truth(("--path", "prod"), "Slow")


def _raw(story: Story, subject: str, path: str, text: str) -> None:
    (story.repo / path).write_bytes(text.encode())
    story.commit(subject, {})


def line_ends_alone(story: Story) -> Truth:
    story.commit("Good", overlay())
    _raw(story, "Windows", "base/train.yaml", TRAIN.replace("\n", "\r\n"))
    _raw(story, "Manifest too", "base/job.yaml", job().replace("\n", "\r\n"))
    return Truth(("--path", "prod"), None)


ANCHORED = """apiVersion: v1
kind: ConfigMap
metadata: {name: gpt-config}
data:
  train.yaml: |
    defaults: &loader
      num_workers: 8
      pin_memory: true
    loader:
      <<: *loader
      prefetch_factor: 4
"""


def anchor_is_changed(story: Story) -> Truth:
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": ANCHORED})
    story.replace("Comment", "gpt/config.yaml", "    loader:", "    # the loader of all of us\n    loader:")
    story.replace("Anchor", "gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    return Truth(("--path", "gpt"), "Anchor")


def anchor_is_written_out(story: Story) -> Truth:
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": ANCHORED})
    story.replace("Expand", "gpt/config.yaml", "<<: *loader", "num_workers: 8\n      pin_memory: true")
    story.replace(
        "Key of the anchor that the loader sets itself",
        "gpt/config.yaml",
        "&loader\n      num_workers: 8",
        "&loader\n      num_workers: 0",
    )
    story.replace(
        "Gone", "gpt/config.yaml", "    defaults: &loader\n      num_workers: 0\n      pin_memory: true\n", ""
    )
    return Truth(("--path", "gpt"), None)


SCRIPT = "#!/bin/bash\n# starts the run\nset -e\nexec torchrun --nproc-per-node=8 train.py --num-workers=8 --seed=1\n"


def _scripted(text: str) -> dict[str, str]:
    body = (
        job()
        .replace("command: [python]", "command: [bash, /etc/gpt/run.sh]")
        .replace('args: ["train.py", "--config=/etc/gpt/train.yaml"]', "args: []")
    )
    return {"gpt/job.yaml": body, "gpt/config.yaml": config_map(text, file="run.sh")}


def comment_of_a_launch_script(story: Story) -> Truth:
    story.commit("Good", _scripted(SCRIPT))
    story.commit("Comment", _scripted(SCRIPT.replace("# starts the run", "# starts the run; --num-workers=0 was slow")))
    return Truth(("--path", "gpt"), None)


def option_of_a_launch_script(story: Story) -> Truth:
    story.commit("Good", _scripted(SCRIPT))
    story.commit("Comment", _scripted(SCRIPT.replace("starts", "begins")))
    story.commit("Slow", _scripted(SCRIPT.replace("starts", "begins").replace("workers=8", "workers=0")))
    return Truth(("--path", "gpt"), "Slow")


def default_that_a_patch_of_production_replaces(story: Story) -> Truth:
    patch = "patches:\n  - target: {kind: Job, name: gpt}\n    patch: |\n      - {op: replace, path: /spec/template/spec/containers/0/args, value: [train.py, --num-workers=8]}\n"
    story.commit("Good", {**overlay(patch), "base/job.yaml": job(args=["--num-workers=8"])})
    story.replace("Base", "base/job.yaml", "--num-workers=8", "--num-workers=0")
    return Truth(("--path", "prod"), None)


def revert_of_a_revert_of_a_revert(story: Story) -> Truth:
    story.commit("Good", overlay())
    story.commit("Try", {"base/train.yaml": SLOW})
    story.commit("Undo", {"base/train.yaml": TRAIN})
    story.commit("Again", {"base/train.yaml": SLOW})
    story.commit("Undo again", {"base/train.yaml": TRAIN})
    return Truth(("--path", "prod"), None)


def slow_again_after_two_reverts(story: Story) -> Truth:
    story.commit("Good", overlay())
    story.commit("Try", {"base/train.yaml": SLOW})
    story.upstream.git("revert", "--no-edit", "HEAD")
    story.shas["Undo"] = story.upstream.push()
    story.upstream.git("revert", "--no-edit", "HEAD")
    story.shas["Again"] = story.upstream.push()
    story.replace("Seed", "base/train.yaml", "seed: 1", "seed: 2")
    return Truth(("--path", "prod"), "Again")


def squash_of_five_changes(story: Story) -> Truth:
    story.commit(
        "Good", {**overlay(), "base/eval.yaml": job("gpt-eval"), "docs/a.md": "a\n", "src/train.py": "import torch\n"}
    )
    changed = SLOW.replace("seed: 1", "seed: 7").replace("precision: bf16", "precision: bf16\nlog_every: 50")
    story.commit(
        "Squash (#12)",
        {
            "base/train.yaml": changed,
            "docs/a.md": "b\n",
            "src/train.py": "import torch, os\n",
            "base/eval.yaml": job("gpt-eval", args=["--num-workers=1"]),
        },
    )
    story.commit("Docs", {"docs/a.md": "c\n"})
    return Truth(("--path", "prod"), "Squash (#12)")


def merge_whose_conflict_was_solved_badly(story: Story) -> Truth:
    story.commit("Good", PLAIN)
    story.upstream.git("checkout", "--quiet", "-b", "side")
    story.commit("Side", {"gpt/config.yaml": config_map(TRAIN.replace("seed: 1", "seed: 2"))})
    story.upstream.git("checkout", "--quiet", "main")
    story.commit("Ours", {"gpt/config.yaml": config_map(TRAIN.replace("seed: 1", "seed: 3"))})
    story.upstream.git("merge", "--quiet", "--no-ff", "--no-commit", "-s", "ours", "side")
    (story.repo / "gpt/config.yaml").write_text(config_map(SLOW.replace("seed: 1", "seed: 2")))
    story.upstream.git("add", "--all")
    story.upstream.git("commit", "--quiet", "-m", "Merge side")
    story.shas["Merge side"] = story.upstream.push()
    return Truth(("--path", "gpt"), "Merge side")


def merge_of_three(story: Story) -> Truth:
    story.commit("Good", PLAIN)
    for side, files in {
        "one": {"a.md": "a\n"},
        "two": {"gpt/config.yaml": config_map(SLOW)},
        "three": {"c.md": "c\n"},
    }.items():
        story.upstream.git("checkout", "--quiet", "-b", side, story.shas["Good"])
        story.commit(side, files)
    story.upstream.git("checkout", "--quiet", "main")
    story.upstream.git("merge", "--quiet", "--no-ff", "-m", "Merge three", "one", "two", "three")
    story.shas["Merge three"] = story.upstream.push()
    return Truth(("--path", "gpt"), "Merge three")


def good_of_a_release_branch(story: Story) -> Truth:
    story.commit("Start", overlay())
    story.upstream.git("checkout", "--quiet", "-b", "release")
    story.commit("Good", {"base/train.yaml": TRAIN.replace("seed: 1", "seed: 2")})
    story.upstream.git("checkout", "--quiet", "main")
    story.replace("Seed", "base/train.yaml", "seed: 1", "seed: 2")
    story.replace("Slow", "base/train.yaml", "num_workers: 8", "num_workers: 0")
    return Truth(("--path", "prod"), None, said=("does not descend", "another branch"))


def folder_that_the_application_left(story: Story) -> Truth:
    old = {
        path.replace("prod/", "deploy/prod/"): text.replace("../base", "../../base") for path, text in overlay().items()
    }
    story.commit("Good", old)
    story.move("Move", "deploy/prod/kustomization.yaml", "envs/prod/kustomization.yaml")
    story.commit("Slow", {"base/train.yaml": SLOW})
    source = {"repoURL": URL, "targetRevision": "main"}
    status = {"history": [
        {"id": 1, "revision": story.shas["Good"], "deployedAt": "2026-01-01T00:00:00Z", "source": {**source, "path": "deploy/prod"}},
        {"id": 2, "revision": story.shas["Slow"], "deployedAt": "2026-01-02T00:00:00Z", "source": {**source, "path": "envs/prod"}},
    ]}  # fmt: skip
    return Truth(given(story, application(path="envs/prod", status=status)), "Slow")


COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n  - target: {kind: Job}\n    patch: |\n      - {op: add, path: /spec/template/spec/containers/0/env, value: [{name: NUM_WORKERS, value: '%s'}]}\n"


def component_that_a_later_one_overrides(story: Story) -> Truth:
    files = {"components/one/kustomization.yaml": COMPONENT % 8, "components/two/kustomization.yaml": COMPONENT % 8}
    story.commit("Good", {**overlay("components: [../components/one, ../components/two]\n"), **files})
    story.commit("One", {"components/one/kustomization.yaml": COMPONENT % 0})
    return Truth(("--path", "prod"), None)


def order_of_two_components(story: Story) -> Truth:
    files = {"components/one/kustomization.yaml": COMPONENT % 0, "components/two/kustomization.yaml": COMPONENT % 8}
    story.commit("Good", {**overlay("components: [../components/one, ../components/two]\n"), **files})
    story.commit("Docs", {"README.md": "x\n"})
    story.replace(
        "Order",
        "prod/kustomization.yaml",
        "[../components/one, ../components/two]",
        "[../components/two, ../components/one]",
    )
    return Truth(("--path", "prod"), "Order")


def dotenv_that_the_overlay_merges(story: Story) -> Truth:
    body = job().replace("env: []", "envFrom: [{configMapRef: {name: gpt-env}}]")
    base = {**BASE, "base/job.yaml": body, "base/run.env": "NUM_WORKERS=8\nPREFETCH_FACTOR=4\n",
            "base/kustomization.yaml": BASE["base/kustomization.yaml"] + "  - name: gpt-env\n    envs: [run.env]\n"}  # fmt: skip
    merge = "configMapGenerator:\n  - name: gpt-env\n    behavior: merge\n    literals: [PREFETCH_FACTOR=4]\n"
    story.commit("Good", {**overlay(merge), **base})
    story.commit("Overridden", {"base/run.env": "NUM_WORKERS=8\nPREFETCH_FACTOR=0\n"})
    story.commit("Slow", {"base/run.env": "NUM_WORKERS=0\nPREFETCH_FACTOR=0\n"})
    return Truth(("--path", "prod"), "Slow")


def replacement_from_a_configmap(story: Story) -> Truth:
    more = "resources: [../base, settings.yaml]\nreplacements:\n  - source: {kind: ConfigMap, name: settings, fieldPath: data.workers}\n    targets:\n      - select: {kind: Job, name: gpt}\n        fieldPaths: [spec.template.spec.containers.0.env.0.value]\n"
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {workers: '8', banner: hello}\n"
    story.commit(
        "Good",
        {
            **BASE,
            "base/job.yaml": job(env='[{name: NUM_WORKERS, value: "1"}]'),
            "prod/kustomization.yaml": more,
            "prod/settings.yaml": settings,
        },
    )
    story.replace("Base", "base/job.yaml", 'value: "1"', 'value: "0"')
    story.replace("Banner", "prod/settings.yaml", "hello", "bye")
    story.replace("Slow", "prod/settings.yaml", "workers: '8'", "workers: '0'")
    return Truth(("--path", "prod"), "Slow")


def patch_for_another_label(story: Story) -> Truth:
    patch = "patches:\n  - target: {kind: Job, labelSelector: tier=eval}\n    patch: |\n      - {op: add, path: /spec/template/spec/containers/0/env, value: [{name: NUM_WORKERS, value: '%s'}]}\n"
    more = "labels:\n  - pairs: {team: ml}\n"
    files = {
        **overlay(patch % 8, more),
        "base/eval.yaml": job("gpt-eval").replace(
            "metadata:\n  name: gpt-eval\n", "metadata:\n  name: gpt-eval\n  labels: {tier: eval}\n"
        ),
    }
    files["base/kustomization.yaml"] = files["base/kustomization.yaml"].replace("[job.yaml]", "[job.yaml, eval.yaml]")
    story.commit("Good", files)
    story.commit("Evaluate", {"prod/kustomization.yaml": f"resources: [../base]\n{patch % 0}{more}"})
    return Truth(("--path", "prod"), None)


def hash_suffix_switched_off(story: Story) -> Truth:
    story.commit("Good", overlay("namePrefix: prod-\n"))
    story.commit(
        "Names",
        {
            "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\ngeneratorOptions: {disableNameSuffixHash: true}\n"
        },
    )
    return Truth(("--path", "prod"), None, workload="Job/prod-gpt")


def _umbrella() -> dict[str, str]:
    files = chart("umbrella/charts/gpt/") | {
        path: text.replace("name: gpt\n", "name: eval\n").replace("{{ .Release.Name }}", "{{ .Release.Name }}-eval")
        for path, text in chart("umbrella/charts/eval/").items()
    }
    return files | {
        "umbrella/Chart.yaml": "apiVersion: v2\nname: umbrella\nversion: 1.0.0\ndependencies:\n  - {name: gpt, version: 1.0.0}\n  - {name: eval, version: 1.0.0, condition: eval.enabled}\n",
        "umbrella/values.yaml": "gpt: {workers: 8}\neval: {workers: 8, enabled: true}\n",
    }


def umbrella_over_two_charts(story: Story) -> Truth:
    story.commit("Good", _umbrella())
    story.replace("Default that the umbrella overrides", "umbrella/charts/gpt/values.yaml", "workers: 4", "workers: 0")
    story.replace("Other chart", "umbrella/values.yaml", "eval: {workers: 8", "eval: {workers: 0")
    story.replace("Slow", "umbrella/values.yaml", "gpt: {workers: 8}", "gpt: {workers: 0}")
    return Truth(given(story, application(path="umbrella")), "Slow")


def part_of_an_umbrella_that_is_switched_off(story: Story) -> Truth:
    story.commit("Good", _umbrella())
    story.replace("Off", "umbrella/values.yaml", "enabled: true", "enabled: false")
    story.replace("Template", "umbrella/charts/eval/templates/job.yaml", "train.py", "evaluate.py")
    return Truth(given(story, application(path="umbrella")), None)


def value_that_production_deletes(story: Story) -> Truth:
    files = chart()
    files["charts/gpt/templates/job.yaml"] = job(
        "{{ .Release.Name }}",
        env='[{name: NUM_WORKERS, value: "{{ dig "loader" "workers" 8 (.Values | merge dict) }}"}]',
    )
    files["charts/gpt/values.yaml"] = "loader: {workers: 4}\n"
    story.commit(
        "Good", {**files, "charts/gpt/values-prod.yaml": "loader: null\n", "charts/gpt/values-eu.yaml": "region: eu\n"}
    )
    story.replace("Default", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    return Truth(
        given(story, application(path="charts/gpt", helm={"valueFiles": ["values-prod.yaml", "values-eu.yaml"]})), None
    )


def order_of_value_files(story: Story) -> Truth:
    story.commit(
        "Good", {**chart(), "charts/gpt/values-prod.yaml": "workers: 8\n", "charts/gpt/values-eu.yaml": "workers: 6\n"}
    )
    story.replace("Overridden", "charts/gpt/values-prod.yaml", "8", "0")
    story.replace("Slow", "charts/gpt/values-eu.yaml", "6", "0")
    story.replace("Seed", "charts/gpt/values.yaml", "seed: 1", "seed: 2")
    return Truth(
        given(story, application(path="charts/gpt", helm={"valueFiles": ["values-prod.yaml", "values-eu.yaml"]})),
        "Slow",
    )


def default_of_a_helper(story: Story) -> Truth:
    files = chart()
    files["charts/gpt/templates/_helpers.tpl"] = (
        '{{- define "gpt.workers" -}}\n{{- /* eight by default */ -}}\n{{ default 8 .Values.loaderWorkers }}\n{{- end }}\n'
    )
    files["charts/gpt/templates/job.yaml"] = job(
        "{{ .Release.Name }}", env='[{name: NUM_WORKERS, value: {{ include "gpt.workers" . | quote }}}]'
    )
    story.commit("Good", files)
    story.replace("Comment", "charts/gpt/templates/_helpers.tpl", "eight by default", "0 would be slow")
    story.replace("Slow", "charts/gpt/templates/_helpers.tpl", "default 8", "default 1")
    return Truth(given(story, application(path="charts/gpt")), "Slow")


def file_of_a_chart(story: Story) -> Truth:
    files = {**chart(), "charts/gpt/files/train.yaml": TRAIN, "charts/gpt/files/eval.yaml": TRAIN}
    files["charts/gpt/templates/config.yaml"] = (
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gpt-config}\ndata:\n{{ (.Files.Glob "files/train.yaml").AsConfig | indent 2 }}\n'
    )
    story.commit("Good", files)
    story.commit("Evaluate", {"charts/gpt/files/eval.yaml": SLOW})
    story.commit("Slow", {"charts/gpt/files/train.yaml": SLOW})
    return Truth(given(story, application(path="charts/gpt")), "Slow")


def values_repository_that_overrides_the_chart_s(story: Story) -> Truth:
    values = Story(story.folder / "values")
    story.commit("Good", chart())
    values.commit("V good", {"prod.yaml": "workers: 8\n"})
    story.replace("Default", "charts/gpt/values.yaml", "workers: 4", "workers: 0")
    values.commit("V slow", {"prod.yaml": "workers: 0\n"})
    story.shas |= values.shas
    other = "https://git.example/ml/values"
    sources = [
        {"repoURL": URL, "path": "charts/gpt", "targetRevision": "main", "helm": {"valueFiles": ["$v/prod.yaml"]}},
        {"repoURL": other, "targetRevision": "main", "ref": "v"},
    ]
    options = (*given(story, application(sources=sources)), "--values", f"{other}={values.repo}",
               "--good", f"{other}={values.shas['V good']}", "--bad", f"{other}={values.shas['V slow']}")  # fmt: skip
    return Truth(options, "V slow")


def set_of_applications_by_clusters(story: Story) -> Truth:
    each = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: gpt}\nspec:\n  goTemplate: true\n  generators:\n    - list:\n        elements:\n          - {cluster: prod, workers: '%s'}\n          - {cluster: staging, workers: '%s'}\n  template:\n    metadata: {name: 'gpt-{{.cluster}}'}\n    spec:\n      project: default\n      source: {repoURL: "
        + URL
        + ", path: charts/gpt, targetRevision: main, helm: {releaseName: gpt, parameters: [{name: workers, value: '{{.workers}}'}]}}\n      destination: {name: '{{.cluster}}', namespace: ml}\n"
    )
    story.commit("Good", {**chart(), "apps/gpt.yaml": each % (8, 8)})
    story.commit("Staging", {"apps/gpt.yaml": each % (8, 0)})
    story.commit("Slow", {"apps/gpt.yaml": each % (0, 0)})
    source = {
        "repoURL": URL,
        "path": "charts/gpt",
        "targetRevision": "main",
        "helm": {"releaseName": "gpt", "parameters": [{"name": "workers", "value": "0"}]},
    }
    ours = application("gpt-prod", source=source)
    ours["metadata"]["ownerReferences"] = [
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "gpt", "uid": "1"}
    ]
    parent = application("apps", source={"repoURL": URL, "path": "apps", "targetRevision": "main"})
    return Truth(given(story, parent, ours), "Slow")


def defaults_of_variables(story: Story) -> Truth:
    env = '[{name: NUM_WORKERS, value: "${WORKERS:=8}"}, {name: PREFETCH_FACTOR, value: "${PREFETCH:=4}"}]'
    story.commit("Good", {"prod/job.yaml": job(env=env)})
    story.replace("Default that is set", "prod/job.yaml", "WORKERS:=8", "WORKERS:=0")
    story.replace("Slow", "prod/job.yaml", "PREFETCH:=4", "PREFETCH:=1")
    ours = kustomization(postBuild={"substitute": {"WORKERS": "8"}})
    return Truth(given(story, REPOSITORY, ours), "Slow")


def another_kustomization_of_flux(story: Story) -> Truth:
    story.commit(
        "Good",
        {
            "prod/job.yaml": job(args=["--num-workers=8"]),
            "infra/job.yaml": job("gpt", args=["--num-workers=8"]).replace(
                "  name: gpt\n", "  name: gpt\n  namespace: infra\n", 1
            ),
        },
    )
    story.replace("Infra", "infra/job.yaml", "workers=8", "workers=0")
    others = flux("Kustomization", "infra", path="./infra", sourceRef={"kind": "GitRepository", "name": "models"})
    return Truth(given(story, REPOSITORY, kustomization(), others), None, said=("rendered 2 times", "namespace"))


def jsonnet(story: Story) -> Truth:
    text = '{ apiVersion: "batch/v1", kind: "Job", metadata: { name: "gpt" }, workers:: %d }\n'
    story.commit("Good", {"gpt/main.jsonnet": text % 8})
    story.commit("Slow", {"gpt/main.jsonnet": text % 0})
    return Truth(
        given(story, application(path="gpt")), None, said=("gpt/main.jsonnet (Jsonnet, which is not rendered)",)
    )


def jsonnet_beside_manifests(story: Story) -> Truth:
    story.commit("Good", {**PLAIN, "gpt/more.jsonnet": "{ workers: 8 }\n"})
    story.commit("Slow", {"gpt/more.jsonnet": "{ workers: 0 }\n"})
    return Truth(
        given(story, application(path="gpt")),
        None,
        said=("gpt/more.jsonnet (Jsonnet, which is not rendered)",),
        unsaid=("the same",),
    )


def shared_base_of_three_applications(story: Story) -> Truth:
    apps = {
        f"apps/{name}/kustomization.yaml": f"resources: [../../base]\nnamePrefix: {name}-\n" for name in ("a", "b", "c")
    }
    story.commit("Good", {**BASE, **apps})
    story.replace(
        "Only b",
        "apps/b/kustomization.yaml",
        "namePrefix: b-\n",
        "namePrefix: b-\nconfigMapGenerator:\n  - name: gpt-config\n    behavior: replace\n    literals: [x=1]\n",
    )
    story.commit("Slow", {"base/train.yaml": SLOW})
    return Truth(("--path", "apps/a"), "Slow", workload="Job/a-gpt")


def name_that_no_table_knows(story: Story) -> Truth:
    story.commit(
        "Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN + "telemetry:\n  flush_every: 100\n")}
    )
    story.replace("Telemetry", "gpt/config.yaml", "flush_every: 100", "flush_every: 1")
    return Truth(("--path", "gpt"), None, said=("flush_every", "not known to cause"))


def name_that_only_resembles(story: Story) -> Truth:
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN + "use_timestamp: true\n")})
    story.replace("Names", "gpt/config.yaml", "use_timestamp: true", "use_timestamp: false")
    return Truth(
        ("--path", "gpt"), None, cause="PrecisionLost", said=("use_timestamp", "look at it", "No commit is blamed")
    )


def name_that_resembles_beside_the_guilty_one(story: Story) -> Truth:
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN + "use_timestamp: true\n")})
    story.replace("Slow", "gpt/config.yaml", "precision: bf16", "precision: fp32")
    story.replace("Names", "gpt/config.yaml", "use_timestamp: true", "use_timestamp: false")
    return Truth(("--path", "gpt"), "Slow", cause="PrecisionLost")


def commits_that_change_nothing(story: Story) -> Truth:
    story.commit("Good", PLAIN)
    story.commit("Empty", {})
    story.commit("Docs", {"gpt/README.md": "x\n"})
    return Truth(("--path", "gpt"), None)


def namesake_of_another_namespace(story: Story) -> Truth:
    def of(namespace: str, workers: int) -> str:
        return job(args=[f"--num-workers={workers}"]).replace(
            "  name: gpt\n", f"  name: gpt\n  namespace: {namespace}\n", 1
        )

    story.commit("Good", {"gpt/a.yaml": of("team-a", 8), "gpt/b.yaml": of("team-b", 8)})
    story.commit("Theirs", {"gpt/b.yaml": of("team-b", 0)})
    (story.folder / "ours.yaml").write_text(of("team-a", 8))
    return Truth(("--path", "gpt"), None, workload=str(story.folder / "ours.yaml"))


def configmap_of_the_same_name_elsewhere(story: Story) -> Truth:
    theirs = config_map(TRAIN).replace("  name: gpt-config\n", "  name: gpt-config\n  namespace: other\n")
    story.commit("Good", {**PLAIN, "gpt/theirs.yaml": theirs})
    story.replace("Theirs", "gpt/theirs.yaml", "num_workers: 8", "num_workers: 0")
    options = given(
        story,
        application(
            path="gpt",
            source={"repoURL": URL, "path": "gpt", "targetRevision": "main"},
            destination={"namespace": "ml"},
        ),
    )
    return Truth(options, None)


def submodule_of_the_folder(story: Story) -> Truth:
    story.commit("Good", PLAIN)
    for subject, sha in (("Add", "1" * 40), ("Bump", "2" * 40)):
        story.upstream.git("update-index", "--add", "--cacheinfo", f"160000,{sha},gpt/common")
        story.upstream.git("commit", "--quiet", "-m", subject)
        story.shas[subject] = story.upstream.push()
    return Truth(
        ("--path", "gpt"), None, said=("gpt/common (a submodule, which is not fetched)",), unsaid=("the same",)
    )


def secret_that_was_encrypted_anew(story: Story) -> Truth:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: gpt-keys}\nstringData: {WANDB_API_KEY: 'ENC[AES256_GCM,data:%s,type:str]'}\nsops: {version: 3.9.0, mac: %s}\n"
    body = job().replace("env: []", "envFrom: [{secretRef: {name: gpt-keys}}]")
    story.commit("Good", {**PLAIN, "gpt/job.yaml": body, "gpt/secret.yaml": secret % ("aaaa", "m1")})
    story.commit("Rotate", {"gpt/secret.yaml": secret % ("bbbb", "m2")})
    return Truth(("--path", "gpt"), None)


def restart_annotation(story: Story) -> Truth:
    story.commit(
        "Good",
        {
            **PLAIN,
            "gpt/job.yaml": job().replace(
                "      labels:", "      annotations: {kubectl.kubernetes.io/restartedAt: '2026-01-01'}\n      labels:"
            ),
        },
    )
    story.replace("Restart", "gpt/job.yaml", "2026-01-01", "2026-02-01")
    return Truth(("--path", "gpt"), None)


def variables_of_nccl_in_both_directions(story: Story) -> Truth:
    env = '[{name: NCCL_IB_DISABLE, value: "%s"}, {name: NCCL_SOCKET_IFNAME, value: %s}, {name: NCCL_DEBUG, value: %s}]'
    story.commit("Good", {"gpt/job.yaml": job(env=env % (1, "eth1", "WARN"))})
    story.commit("Debug", {"gpt/job.yaml": job(env=env % (1, "eth1", "INFO"))})
    story.commit("Better", {"gpt/job.yaml": job(env=env % (0, "eth1", "INFO"))})
    story.commit("Slow", {"gpt/job.yaml": job(env=env % (0, "eth0", "INFO"))})
    return Truth(("--path", "gpt"), "Slow", cause="SlowLink")


def key_that_is_taken_out(story: Story) -> Truth:
    story.commit("Good", overlay())
    story.replace("Seed", "base/train.yaml", "seed: 1", "seed: 1.0")
    story.replace("Clean up", "base/train.yaml", "  num_workers: 8\n", "")
    return Truth(("--path", "prod"), "Clean up")


def numbers_in_another_spelling(story: Story) -> Truth:
    train = TRAIN + "lr: 0.0001\nlimits: {cpu: 8}\n"
    story.commit(
        "Good", {"gpt/job.yaml": job(env='[{name: OMP_NUM_THREADS, value: "8"}]'), "gpt/config.yaml": config_map(train)}
    )
    story.commit("Numbers", {"gpt/config.yaml": config_map(train.replace("0.0001", "1.0e-4"))})
    story.replace(
        "Quotes", "gpt/job.yaml", '{name: OMP_NUM_THREADS, value: "8"}', "{value: '8', name: OMP_NUM_THREADS}"
    )
    return Truth(("--path", "gpt"), None, cause="ThreadOversubscription")


def tag_that_was_moved(story: Story) -> Truth:
    story.commit("Good", PLAIN)
    story.upstream.git("tag", "prod")
    story.commit("Docs", {"README.md": "x\n"})
    story.commit("Slow", {"gpt/config.yaml": config_map(SLOW)})
    story.upstream.git("tag", "--force", "prod")
    story.upstream.push("--force", "--tags")
    source = {"repoURL": URL, "path": "gpt", "targetRevision": "prod"}
    status = {
        "history": [
            {"id": number, "revision": story.shas[each], "deployedAt": f"2026-01-0{number}T00:00:00Z", "source": source}
            for number, each in enumerate(("Good", "Slow"), 1)
        ]
    }
    return Truth(given(story, application(source=source, status=status)), "Slow")


def linked_file(story: Story) -> Truth:
    story.commit("Good", {"common/config.yaml": config_map(TRAIN), "gpt/job.yaml": job()})
    (story.repo / "gpt/config.yaml").symlink_to("../common/config.yaml")
    story.commit("Good", {})
    story.commit("Docs", {"README.md": "x\n"})
    story.commit("Slow", {"common/config.yaml": config_map(SLOW)})
    return Truth(("--path", "gpt"), "Slow")


def production_and_staging_in_one_commit(story: Story) -> Truth:
    overlays = {
        f"{name}/kustomization.yaml": "resources: [../base]\npatches:\n  - target: {kind: Job}\n    patch: |\n      - {op: add, path: /spec/template/spec/containers/0/args/-, value: --num-workers=8}\n"
        for name in ("prod", "staging")
    }
    story.commit("Good", {**BASE, **overlays})
    story.replace("Staging", "staging/kustomization.yaml", "workers=8", "workers=1")
    story.commit("Both", {path: text.replace("workers=8", "workers=0") for path, text in overlays.items()})
    return Truth(("--path", "prod"), "Both")


def layouts() -> list[Callable[[Story], Truth]]:
    """Every layout of this file, in its order."""
    return [
        each
        for each in globals().values()
        if callable(each) and getattr(each, "__annotations__", {}).get("return") is Truth
    ]


def asked(layout: Callable[[Story], Truth], folder: Path) -> tuple[Truth, Told]:
    """A layout's truth and what the command says of it."""
    story = Story(folder)
    truth = layout(story)
    return truth, story.ask(truth.cause, *truth.options, workload=truth.workload)


@pytest.mark.parametrize("layout", layouts(), ids=lambda layout: layout.__name__)
def test_a_history_gets_its_truth_and_a_true_reason(layout: Callable[[Story], Truth], tmp_path: Path) -> None:
    truth, told = asked(layout, tmp_path)
    assert told.chosen == truth.chosen, told.because
    for each in truth.said:
        assert each in told.because
    for each in truth.unsaid:
        assert each not in told.because
