"""Histories of layouts that nobody had looked at when their truth was written: what is composed before the job reads it."""

# ruff: noqa: E501 - manifests as people write them
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.layouts import URL, application, given
from tests.support.suspect_story import Story, config_map, job
from tests.unit.investigate.test_fresh_eyes import HELM, KUSTOMIZE, Truth, asked, engines

__all__ = ["engines"]
pytestmark = [] if HELM and KUSTOMIZE else [pytest.mark.cluster]
CHART = {
    "charts/train/Chart.yaml": "apiVersion: v2\nname: train\nversion: 0.3.0\n",
    "charts/train/values.yaml": "workers: 8\nextraArgs: []\n",
    "charts/train/templates/_helpers.tpl": '{{- define "args" -}}\n- --num_workers={{ .Values.workers }}\n{{- range .Values.extraArgs }}\n- {{ tpl . $ | quote }}\n{{- end }}\n{{- end }}\n',
    "charts/train/templates/job.yaml": """apiVersion: batch/v1
kind: Job
metadata: {name: {{ .Chart.Name }}}
spec:
  template:
    spec:
      containers:
      - name: trainer
        image: registry.example/gpt:v1
        command: [python, train.py]
        args:
        {{- include "args" . | nindent 8 }}
""",
}


def hydra(words: Sequence[str] = ()) -> dict[str, str]:
    """A tree of Hydra's, each group a ConfigMap, and the job that composes it."""
    started = job(args=["--config-dir=/etc/gpt", *words]).replace("--config=/etc/gpt/train.yaml", "--config-name=train")
    group = "            - {name: data, mountPath: /etc/gpt/data}\n"
    mounted = started.replace(
        "      volumes:\n", f"{group}      volumes:\n        - {{name: data, configMap: {{name: gpt-data}}}}\n"
    )
    return {
        "hydra/kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator:\n- {name: gpt-config, files: [train.yaml]}\n- {name: gpt-data, files: [small.yaml, large.yaml]}\n",
        "hydra/job.yaml": mounted,
        "hydra/train.yaml": "defaults:\n  - _self_\n  - data: large\noptim: {lr: 0.1}\n",
        "hydra/small.yaml": "loader: {num_workers: 1}\n",
        "hydra/large.yaml": "loader: {num_workers: 8}\n",
    }


def group_that_is_selected(story: Story) -> Truth:
    story.commit("Good", hydra())
    story.replace("Small", "hydra/small.yaml", "1", "0")
    story.replace("Large", "hydra/large.yaml", "8", "0")
    return Truth(("--path", "hydra"), "Large")


def group_that_is_not_selected(story: Story) -> Truth:
    story.commit("Good", hydra())
    story.replace("Small", "hydra/small.yaml", "1", "0")
    return Truth(("--path", "hydra"), None, said=("select large, train and not small",))


def group_that_the_command_selects(story: Story) -> Truth:
    story.commit("Good", hydra(["data=small"]))
    story.replace("Large", "hydra/large.yaml", "8", "0")
    story.replace("Small", "hydra/small.yaml", "1", "0")
    return Truth(("--path", "hydra"), "Small")


def value_that_the_command_gives_too(story: Story) -> Truth:
    story.commit("Good", hydra(["data.loader.num_workers=8"]))
    story.replace("Large", "hydra/large.yaml", "8", "0")
    return Truth(("--path", "hydra"), None, said=("gives data.loader.num_workers too",))


def patch_by_number_that_hits_another_word(story: Story) -> Truth:
    patch = "- {op: replace, path: /spec/template/spec/containers/0/args/3, value: --num_workers=8}"
    files = {
        "base/kustomization.yaml": "resources: [job.yaml]\n",
        "prod/kustomization.yaml": f"resources: [../base]\npatches:\n- target: {{kind: Job}}\n  patch: |\n    {patch}\n",
    }
    story.commit("Good", {**files, "base/job.yaml": job(args=["--batch=8", "--num_workers=1"])})
    story.commit("Docs", {"README.md": "x\n"})
    story.commit("Seed", {"base/job.yaml": job(args=["--seed=1", "--batch=8", "--num_workers=1"])})
    return Truth(("--path", "prod"), "Seed")


def alias_of_an_umbrella(story: Story) -> Truth:
    once = "{name: train, version: 0.3.0, repository: 'file://charts/train', alias: %s}"
    story.commit("Good", {
        "all/Chart.yaml": f"apiVersion: v2\nname: all\nversion: 1.0.0\ndependencies: [{once % 'gpt'}, {once % 'bert'}]\n",
        "all/values.yaml": "gpt: {workers: 8}\nbert: {workers: 8}\n", "all/prod.yaml": "gpt: {workers: 16}\n",
        **{f"all/{path}": text for path, text in CHART.items()},
    })  # fmt: skip
    story.replace("Bert", "all/values.yaml", "bert: {workers: 8}", "bert: {workers: 0}")
    story.replace("Default", "all/values.yaml", "gpt: {workers: 8}", "gpt: {workers: 0}")
    story.replace("Prod", "all/prod.yaml", "16", "1")
    return Truth(given(story, application(path="all", helm={"valueFiles": ["values.yaml", "prod.yaml"]})), "Prod")


def template_inside_a_value(story: Story) -> Truth:
    story.commit(
        "Good",
        {**CHART, "prod.yaml": "global: {workers: 8}\nextraArgs: ['--num_workers={{ .Values.global.workers }}']\n"},
    )
    story.replace("Default", "charts/train/values.yaml", "workers: 8", "workers: 4")
    story.replace("Global", "prod.yaml", "{workers: 8}", "{workers: 0}")
    return Truth(
        given(story, application(path="charts/train", helm={"valueFiles": ["../../prod.yaml"]})),
        "Global",
        workload="Job/train",
    )


def file_that_generates_an_application(story: Story) -> Truth:
    files = {f"apps/{name}/config.json": json.dumps({"workers": "8", "seed": "1"}) for name in ("train", "bert")}
    story.commit("Good", {**CHART, **files})
    story.replace("Bert", "apps/bert/config.json", '"8"', '"0"')
    story.replace("Seed", "apps/train/config.json", '"1"', '"2"')
    story.replace("Train", "apps/train/config.json", '"8"', '"0"')
    source = {"repoURL": URL, "targetRevision": "main", "path": "charts/train"}
    template = {**source, "helm": {"parameters": [{"name": "workers", "value": "{{ .workers }}"}]}}
    generator = {"git": {"repoURL": URL, "revision": "main", "files": [{"path": "apps/*/config.json"}]}}
    spec = {
        "goTemplate": True,
        "generators": [generator],
        "template": {"metadata": {"name": "{{ .path.basename }}"}, "spec": {"source": template}},
    }
    parent = {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "all"}, "spec": spec}
    live = application("train", source={**source, "helm": {"parameters": [{"name": "workers", "value": "0"}]}})
    return Truth(given(story, live, parent), "Train", workload="Job/train")


def link_that_points_elsewhere(story: Story) -> Truth:
    link = story.repo / "prod" / "train.yaml"
    link.parent.mkdir(parents=True)
    link.symlink_to("fast.yaml")
    files = {
        "prod/kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator:\n- {name: gpt-config, files: [train.yaml]}\n",
        "prod/job.yaml": job(),
    }
    story.commit("Good", {**files, "prod/fast.yaml": "num_workers: 8\n", "prod/slow.yaml": "num_workers: 0\n"})
    story.commit("Comment", {"prod/slow.yaml": "num_workers: 0 # few\n"})
    link.unlink()
    link.symlink_to("slow.yaml")
    story.commit("Switch", {"README.md": "x\n"})
    return Truth(("--path", "prod"), "Switch")


def scripted(text: str, **variables: str) -> dict[str, str]:
    """A launch script in a ConfigMap, and the job that runs it."""
    env = json.dumps([{"name": name, "value": value} for name, value in variables.items()])
    words = (
        job(env=env)
        .replace("command: [python]", "command: [bash, /etc/gpt/run.sh]")
        .replace('"train.py", "--config=/etc/gpt/train.yaml"', "")
    )
    return {
        "gpt/kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator:\n- {name: gpt-config, files: [run.sh]}\n",
        "gpt/job.yaml": words,
        "gpt/run.sh": text,
    }


BRANCHES = 'if [ "$STAGE" = prod ]; then\n  exec python train.py --num_workers 16\nelse\n  exec python train.py --num_workers 8\nfi\n'
DEFAULT = 'WORKERS=${WORKERS:-8}\nexec python train.py --num_workers "$WORKERS"\n'


def branch_of_another_stage(story: Story) -> Truth:
    story.commit("Good", scripted(BRANCHES, STAGE="prod"))
    story.replace("Dev", "gpt/run.sh", "--num_workers 8", "--num_workers 0")
    return Truth(("--path", "gpt"), None, said=("not every time alike",))


def first_of_two_branches(story: Story) -> Truth:
    """Which branch is taken is not known, but something was changed, and it is said."""
    story.commit("Good", scripted(BRANCHES, STAGE="prod"))
    story.replace("Prod", "gpt/run.sh", "--num_workers 16", "--num_workers 0")
    return Truth(("--path", "gpt"), None, said=("num_workers 16 → 0", "not every time alike"))


def both_branches(story: Story) -> Truth:
    story.commit("Good", scripted(BRANCHES.replace("16", "8"), STAGE="prod"))
    story.commit("Docs", {"README.md": "x\n"})
    story.replace("Both", "gpt/run.sh", "--num_workers 8", "--num_workers 0")
    return Truth(("--path", "gpt"), "Both")


def variable_that_is_set_again(story: Story) -> Truth:
    text = "export NCCL_IB_DISABLE=0\nexec python train.py\n"
    story.commit("Good", scripted(text))
    story.replace("Again", "gpt/run.sh", "exec", "export NCCL_IB_DISABLE=1\nexec")
    return Truth(("--path", "gpt"), "Again", cause="SlowLink")


def first_of_two_installations(story: Story) -> Truth:
    story.commit("Good", scripted("pip install torch==2.1\npip install wandb\nexec python train.py\n"))
    story.replace("Torch", "gpt/run.sh", "2.1", "2.2")
    return Truth(("--path", "gpt"), None, said=("most suspiciously",))


def default_of_a_variable_that_the_job_gives(story: Story) -> Truth:
    story.commit("Good", scripted(DEFAULT, WORKERS="8"))
    story.replace("Default", "gpt/run.sh", ":-8", ":-0")
    return Truth(("--path", "gpt"), None, said=("WORKERS is given",))


def default_of_a_variable_that_nobody_gives(story: Story) -> Truth:
    story.commit("Good", scripted(DEFAULT))
    story.replace("Default", "gpt/run.sh", ":-8", ":-0")
    return Truth(("--path", "gpt"), "Default")


def configuration_of_a_sidecar(story: Story) -> Truth:
    sidecar = "        - {name: log, image: registry.example/log:v1, volumeMounts: [{name: side, mountPath: /side}]}\n"
    beside = job().replace(
        "      volumes:\n", f"{sidecar}      volumes:\n        - {{name: side, configMap: {{name: side-config}}}}\n"
    )
    story.commit(
        "Good",
        {
            "gpt/job.yaml": beside,
            "gpt/ours.yaml": config_map("num_workers: 8\n"),
            "gpt/side.yaml": config_map("num_workers: 8\n", name="side-config"),
        },
    )
    story.replace("Side", "gpt/side.yaml", "num_workers: 8", "num_workers: 0")
    return Truth(("--path", "gpt"), None, said=("container log does not train",))


def anchor_whose_key_is_given_again(story: Story) -> Truth:
    text = "base: &base {num_workers: 8, pin: true}\nloader:\n  <<: *base\n  num_workers: 8\n"
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(text)})
    story.replace("Base", "gpt/config.yaml", "&base {num_workers: 8", "&base {num_workers: 0")
    return Truth(("--path", "gpt"), None, said=("is a default",))


def variable_that_the_script_sets(story: Story) -> Truth:
    story.commit("Good", scripted("export NCCL_IB_DISABLE=0\nexec python train.py\n", NCCL_IB_DISABLE="0"))
    story.replace(
        "Ib", "gpt/job.yaml", '{"name": "NCCL_IB_DISABLE", "value": "0"}', '{"name": "NCCL_IB_DISABLE", "value": "1"}'
    )
    return Truth(("--path", "gpt"), None, cause="SlowLink", said=("the script sets NCCL_IB_DISABLE itself",))


def variable_that_the_script_unsets(story: Story) -> Truth:
    story.commit("Good", scripted("unset NCCL_IB_DISABLE\nexec python train.py\n", NCCL_IB_DISABLE="0"))
    story.replace(
        "Ib", "gpt/job.yaml", '{"name": "NCCL_IB_DISABLE", "value": "0"}', '{"name": "NCCL_IB_DISABLE", "value": "1"}'
    )
    return Truth(("--path", "gpt"), None, cause="SlowLink", said=("the script sets NCCL_IB_DISABLE itself",))


def variable_that_the_script_only_has_a_default_for(story: Story) -> Truth:
    story.commit(
        "Good", scripted("export NCCL_IB_DISABLE=${NCCL_IB_DISABLE:-0}\nexec python train.py\n", NCCL_IB_DISABLE="0")
    )
    story.commit("Docs", {"README.md": "x\n"})
    story.replace(
        "Ib", "gpt/job.yaml", '{"name": "NCCL_IB_DISABLE", "value": "0"}', '{"name": "NCCL_IB_DISABLE", "value": "1"}'
    )
    return Truth(("--path", "gpt"), "Ib", cause="SlowLink")


def layouts() -> list[Callable[[Story], Truth]]:
    """Every layout of this file, in its order."""
    return [each for each in globals().values()
            if callable(each) and getattr(each, "__annotations__", {}).get("return") is Truth]  # fmt: skip


@pytest.mark.parametrize("layout", layouts(), ids=lambda layout: layout.__name__)
def test_a_history_gets_its_truth_and_a_true_reason(layout: Callable[[Story], Truth], tmp_path: Path) -> None:
    truth, told = asked(layout, tmp_path)
    assert told.chosen == truth.chosen, told.because
    for each in truth.said:
        assert each in told.because
