"""What a copy of a pod changes so that it writes nowhere and speaks to nobody that the live run does.

What is changed stands in `copied.yaml`, which a platform team extends.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

from mfu_operator.profiling.plan.copy_safety import converted_host_path
from mfu_operator.profiling.plan.copy_table import table
from mfu_operator.profiling.plan.manifest import Manifest, mappings_at, text_at, variables_of

PRIVATE = "/mfu/tmp"
"""A folder of the profiling pod's own: what the copy saves goes there and away with it."""


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
        before = None if name in table().identity else declared[name]
        changes.append(Change(f"{at}.env[{name}]", before or "set", after, _why(name)))
        if after is not None:
            kept.append({"name": name, "value": after})
    for name, value in _always_set(container):
        if name not in declared:
            changes.append(Change(f"{at}.env[{name}]", None, value, _why(name)))
            kept.append({"name": name, "value": value})
    container["env"] = kept


def _always_set(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Variables that every copy has; those of ranks too where others come from a ConfigMap or a Secret unseen."""
    yield from ((name, value) for name, (value, _) in table().trackers.items())
    if mappings_at(container, "envFrom"):
        yield from table().rendezvous.items()


KEEP = "\0keep"
"""Stands for a variable that stays as it is; None stands for one that is removed."""


def _variable_after(name: str, declared: Mapping[str, str | None]) -> str | None:
    known = table()
    if name in known.identity:
        return None
    if name in known.trackers:
        return known.trackers[name][0]
    if name in known.rendezvous:
        return known.rendezvous[name]
    value = declared.get(name)
    return f"{PRIVATE}/saved" if value is not None and "/" in value and known.is_save_variable(name) else KEEP


def _why(name: str) -> str:
    known = table()
    if name in known.identity:
        return "a copy would write into the live run's record"
    if name in known.trackers:
        return f"{known.trackers[name][1]} would record the copy as a run"
    if name in known.rendezvous:
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
    if table().resumes_from(name) and (equals or name.startswith("-")):
        said = text if equals or taken is None else f"{text} {taken}"
        changes.append(Change(field, said, None, "a copy starts from scratch and publishes nothing"))
        return [], not equals and taken is not None
    if not table().is_saved_to(name) or not (equals or (name.startswith("-") and taken is not None)):
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
        if match["key"].lstrip("-+").replace("-", "_") in table().reads:
            return match[0]
        after = f"{match['key']}{match['by']}{PRIVATE}/saved"
        changes.append(Change(field, match[0], after, "a copy would write over the live run's files"))
        return after

    def unpublished(match: re.Match[str]) -> str:
        changes.append(Change(field, match[0].strip(), None, "a copy publishes nothing"))
        return " "

    return _PUBLISHES.sub(unpublished, _saves_in_script().sub(moved, text))


_PUBLISHES = re.compile(r"\s--push[-_]to[-_]hub(?:[= ](?:true|True|1))?(?=\s|$)")


@cache
def _saves_in_script() -> re.Pattern[str]:
    """An option with its value, or Hydra's key=value."""
    names = "|".join(sorted((re.escape(each).replace("_", "[-_]") for each in table().saves), key=len, reverse=True))
    section = r"(?:[A-Za-z_]\w{0,40}\.){0,6}"
    option, key = rf"--?{section}(?:{names})", rf"\+{{0,2}}{section}(?:{names})(?==)"
    return re.compile(rf"(?<![^\s'\"])(?P<key>{option}|{key})(?P<by>[ =]+)(?P<value>[^\s'\"\\;&|]+)")
