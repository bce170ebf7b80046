"""What a copy of a pod changes so that it writes nowhere and speaks to nobody that the live run does.

The tables are what a platform team extends: a tracker, a switch or an address that is not here is not changed.
"""

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from mfu_operator.profiling.plan.copy_safety import converted_host_path
from mfu_operator.profiling.plan.manifest import Manifest, mappings_at, text_at, variables_of

PRIVATE = "/mfu/tmp"
"""A folder of the profiling pod's own: what the copy saves goes there and away with it."""

TRACKERS: Mapping[str, tuple[str, str]] = {
    "WANDB_MODE": ("disabled", "Weights & Biases"),
    "MLFLOW_TRACKING_URI": (f"file:{PRIVATE}/mlflow", "MLflow"),
    "COMET_START_ONLINE": ("false", "Comet"),
    "NEPTUNE_MODE": ("debug", "Neptune"),
    "CLEARML_OFFLINE_MODE": ("1", "ClearML"),
    "DISABLE_MLFLOW_INTEGRATION": ("TRUE", "the Trainer's MLflow callback"),
}
"""Variables that keep a tracker from recording the copy as a run, as each tracker's own documentation names them."""

RUN_IDENTITY = frozenset(
    {
        "WANDB_RUN_ID", "WANDB_RESUME", "WANDB_API_KEY", "MLFLOW_RUN_ID", "MLFLOW_TRACKING_TOKEN",
        "MLFLOW_TRACKING_PASSWORD", "NEPTUNE_CUSTOM_RUN_ID", "NEPTUNE_API_TOKEN", "COMET_EXPERIMENT_KEY",
        "COMET_API_KEY", "CLEARML_TASK_ID",
    }
)  # fmt: skip
"""Variables by which a copy would write into the live run's record: removed."""

RENDEZVOUS: Mapping[str, str] = {
    "MASTER_ADDR": "127.0.0.1",
    "PET_MASTER_ADDR": "127.0.0.1",
    "PET_RDZV_ENDPOINT": "127.0.0.1:29400",
    "JAX_COORDINATOR_ADDRESS": "127.0.0.1:29500",
    "COORDINATOR_ADDRESS": "127.0.0.1:29500",
    "PET_NODE_RANK": "0",
    "NODE_RANK": "0",
}
"""Where ranks meet: within the copy. Only those that the container declares are set."""

_SAVE_WORDS = (
    r"save|save[-_](?:dir|path|folder)|output[-_](?:dir|path|folder)|checkpoint[-_](?:dir|path|folder)|ckpt[-_](?:dir|path)"
    r"|default[-_]root[-_]dir|log[-_]?dir|tensorboard[-_](?:dir|log[-_]?dir)|logging[-_]dir|wandb[-_]save[-_]dir"
)
_RESUME_WORDS = (
    r"resume|auto[-_]resume|resume[-_]from(?:[-_]checkpoint)?|resume[-_]path|load|load[-_](?:dir|checkpoint)"
)
_SAVES = re.compile(rf"(?:--?|\+{{0,2}}(?:[\w]+\.)*)(?:{_SAVE_WORDS})")
_RESUMES = re.compile(rf"(?:--?|\+{{0,2}}(?:[\w]+\.)*)(?:{_RESUME_WORDS})")
_SAVE_VARIABLE = re.compile(r"(CHECKPOINT|CKPT|SAVE|OUTPUT)_?(DIR|PATH|FOLDER|URI|URL|BUCKET)?$")
_IN_SCRIPT = re.compile(rf"(?P<key>--?(?:{_SAVE_WORDS}))(?P<by>[ =]+)(?P<value>[^\s'\"\\;&|]+)")


@dataclass(frozen=True, slots=True)
class Change:
    """A field of the pod that the copy has otherwise. Values of Secrets never stand here: names alone."""

    field: str
    before: str | None
    after: str | None
    why: str


def changed_template(template: Manifest, container_name: str) -> tuple[dict[str, Any], tuple[Change, ...]]:
    """The template that a copy is made from, and what differs from the run's."""
    copy: dict[str, Any] = deepcopy(dict(template))
    changes: list[Change] = []
    spec = copy.setdefault("spec", {})
    if spec.pop("schedulingGates", None) is not None:
        changes.append(Change("spec.schedulingGates", "set", None, "a queue would wait for an admission of its own"))
    for volume in _own(spec, "volumes"):
        _convert_volume(volume, changes)
    for container in _own(spec, "containers"):
        if container.get("name") == container_name:
            _change_container(container, changes)
    return copy, tuple(changes)


def _own(spec: dict[str, Any], field: str) -> list[dict[str, Any]]:
    found = spec.get(field)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _convert_volume(volume: dict[str, Any], changes: list[Change]) -> None:
    path = text_at(volume, "hostPath", "path")
    medium = None if path is None else converted_host_path(path)
    if medium is None:
        return
    del volume["hostPath"]
    volume["emptyDir"] = {"medium": medium} if medium else {}
    field = f"spec.volumes[{volume.get('name')}]"
    changes.append(Change(field, f"hostPath {path}", "emptyDir", "the live run uses the node's folder"))


def _change_container(container: dict[str, Any], changes: list[Change]) -> None:
    at = f"spec.containers[{container.get('name')}]"
    for field in ("command", "args"):
        words = container.get(field)
        if isinstance(words, list):
            container[field] = _words(words, f"{at}.{field}", changes)
    declared = dict(variables_of(container))
    kept = [each for each in mappings_at(container, "env") if _variable_after(str(each.get("name")), declared) is KEEP]
    for name in declared:
        after = _variable_after(name, declared)
        if after is KEEP:
            continue
        why = _why(name)
        before = None if name in RUN_IDENTITY else declared[name]
        changes.append(Change(f"{at}.env[{name}]", before or "set", after, why))
        if after is not None:
            kept.append({"name": name, "value": after})
    for name, (value, tracker) in TRACKERS.items():
        if name not in declared:
            changes.append(Change(f"{at}.env[{name}]", None, value, f"{tracker} would record the copy as a run"))
            kept.append({"name": name, "value": value})
    container["env"] = kept


KEEP = "\0keep"
"""Stands for a variable that stays as it is; None stands for one that is removed."""


def _variable_after(name: str, declared: Mapping[str, str | None]) -> str | None:
    if name in RUN_IDENTITY:
        return None
    if name in TRACKERS:
        return TRACKERS[name][0]
    if name in RENDEZVOUS:
        return RENDEZVOUS[name]
    value = declared.get(name)
    saves = _SAVE_VARIABLE.search(name) is not None and value is not None and ("/" in value or "://" in value)
    return f"{PRIVATE}/saved" if saves else KEEP


def _why(name: str) -> str:
    if name in RUN_IDENTITY:
        return "a copy would write into the live run's record"
    if name in TRACKERS:
        return f"{TRACKERS[name][1]} would record the copy as a run"
    if name in RENDEZVOUS:
        return "a copy would meet the live run's ranks"
    return "a copy would write over the live run's checkpoints"


def _words(words: list[Any], field: str, changes: list[Change]) -> list[Any]:
    """The words of a command with its save and resume switches changed."""
    after: list[Any] = []
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
            continue
        text = str(word)
        follows = str(words[index + 1]) if index + 1 < len(words) else None
        if re.search(r"\s", text):
            after.append(_script(text, field, changes))
            continue
        kept, skip = _word(text, follows, field, changes)
        after += kept
    return after


def _word(text: str, follows: str | None, field: str, changes: list[Change]) -> tuple[list[str], bool]:
    name, equals, value = text.partition("=")
    taken = follows if follows is not None and not follows.startswith("-") else None
    if _RESUMES.fullmatch(name) and (equals or name.startswith("-")):
        said = text if equals or taken is None else f"{text} {taken}"
        changes.append(Change(field, said, None, "a copy begins anew: it would read or overwrite the live run's state"))
        return [], not equals and taken is not None
    if not _SAVES.fullmatch(name) or not (equals or (name.startswith("-") and taken is not None)):
        return [text], False
    before = value if equals else taken
    said = f"{name}{equals or ' '}{PRIVATE}/saved"
    changes.append(
        Change(field, f"{name}{equals or ' '}{before}", said, "a copy would write over the live run's files")
    )
    return ([f"{name}={PRIVATE}/saved"], False) if equals else ([name, f"{PRIVATE}/saved"], True)


def _script(text: str, field: str, changes: list[Change]) -> str:
    """A shell's script with the values of its save switches changed, everything else byte for byte."""

    def moved(match: re.Match[str]) -> str:
        after = f"{match['key']}{match['by']}{PRIVATE}/saved"
        changes.append(Change(field, match[0], after, "a copy would write over the live run's files"))
        return after

    replace: Callable[[re.Match[str]], str] = moved
    return _IN_SCRIPT.sub(replace, text)
