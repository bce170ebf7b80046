"""The files for Git: a TrainingBaseline, the patch that instruments the workload, and a Kustomize component of both."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mfu_operator.api.group import GROUP_VERSION, KIND
from mfu_operator.cli.onboard.subject import Subject
from mfu_operator.errors import AskPerson
from mfu_operator.profiling.plan.instrument import Patch

BASELINE, PATCH, COMPONENT = "trainingbaseline.yaml", "capture-patch.yaml", "kustomization.yaml"

LONGEST_NAME = 63
"""Of a TrainingBaseline: Jobs are labelled with it."""

_BASELINE_HEAD = """\
# Measures, profiles and explains, and opens no pull request (the default, remediation.mode: Observe). Every field:
# kubectl explain tb.spec
"""
_PATCH_HEAD = """\
# A JSON patch (RFC 6902) of {kind} {name}: what lets its steps be captured while it runs.
"""


def baseline(subject: Subject, name: str, model: str | None) -> Mapping[str, Any]:
    """The TrainingBaseline: the level is recorded from the running job, and nothing is proposed.

    Raises:
        AskPerson: as `Subject.reference`.
    """
    container = {"container": subject.training.container_name} if subject.named_container else {}
    namespace = {} if subject.namespace is None else {"namespace": subject.namespace}
    return {
        "apiVersion": GROUP_VERSION,
        "kind": KIND,
        "metadata": {"name": name, **namespace},
        "spec": {
            "workload": {**subject.reference, **container},
            "comparable": {"model": model or name},
            "baseline": {"record": {"duration": "30m", "warmup": "5m", "runs": 1}},
        },
    }


def name_for(subject: Subject) -> str:
    """The workload's own name, as far as a TrainingBaseline's may be long."""
    return subject.name[:LONGEST_NAME].rstrip("-.")


def texts(made: Mapping[str, Any], patches: Sequence[Patch]) -> Mapping[str, str]:
    """The files by their names.

    Args:
        made: the TrainingBaseline.
        patches: of the workload, and of what else holds its pods' templates; none where nothing is missing.
    """
    found = {BASELINE: _BASELINE_HEAD + _yaml(made)}
    names = [PATCH if not index else f"capture-patch-{index + 1}.yaml" for index in range(len(patches))]
    for name, patch in zip(names, patches, strict=True):
        head = _PATCH_HEAD.format(kind=patch.target.kind, name=patch.target.name)
        found[name] = head + _yaml([dict(each) for each in patch.operations])
    found[COMPONENT] = _yaml(_component(names, patches))
    return found


def _component(names: Sequence[str], patches: Sequence[Patch]) -> Mapping[str, Any]:
    made: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "resources": [BASELINE],
    }
    if patches:
        made["patches"] = [{"path": name, "target": _target(patch)} for name, patch in zip(names, patches, strict=True)]
    return made


def _target(patch: Patch) -> Mapping[str, str]:
    group, _, version = patch.target.api_version.rpartition("/")
    said = {"group": group, "version": version, "kind": patch.target.kind, "name": patch.target.name}
    return {key: each for key, each in said.items() if each and not each.endswith("-")}


def together(patches: Sequence[Patch]) -> tuple[Patch, ...]:
    """Patches of one object as one, in their order."""
    found: dict[Any, tuple[Mapping[str, Any], ...]] = {}
    for each in patches:
        found[each.target] = (*found.get(each.target, ()), *each.operations)
    return tuple(Patch(target, operations) for target, operations in found.items())


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write them into a folder, made where it is missing; all of them or none.

    Raises:
        AskPerson: (FileExists) one of them is there already.
    """
    existing = [name for name in files if (folder / name).exists()]
    if existing:
        raise AskPerson(
            "FileExists",
            f"{folder} has {', '.join(existing)} already, and nothing is overwritten: write elsewhere with --to DIR, "
            "or delete them first",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)


def _yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=110)


class _Plain(yaml.SafeDumper):
    """Without anchors: what appears twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
