"""What a workload's own object says about the run: its labels, its pod template, the options of its command.

A fact that the object says twice and differently is none.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from mfu_operator.api.group import GROUP
from mfu_operator.detect.precision import KNOWN, precision_of
from mfu_operator.model.whole_number import whole_number
from mfu_operator.model.workload import Workload

_GPU_RESOURCE = re.compile(r"^(nvidia\.com/(gpu|mig-.+)|amd\.com/gpu|gpu\.intel\.com/.+)$")
_MIG = "nvidia.com/mig-"
_GPU_NODE_LABELS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)
_PREFIX = f"{GROUP}/"
_AXES = ("tp", "pp", "cp", "ep")
_PARTS = ("ranks_per_pod", "batch_per_rank", "accumulated_batches")
"""What world size and batch are counted from."""

_COUNTS = ("global_batch", "sequence_length", "world_size", *_PARTS)
_KEY = re.compile(r"^[+~]*(?:--?)?([A-Za-z_][\w.-]*)(?:=(.*))?$", re.DOTALL)
_ELSEWHERE = frozenset({"eval", "evaluation", "val", "valid", "validation", "test", "inference", "matmul"})
"""Parts of a dotted key that make it an option of something else than the training step."""
_OFF = ("false", "0", "no", "off", "none", "")
_ON = ("true", "1", "yes", "on")


def facts_of(workload: Workload, container: str | None = None) -> dict[str, str]:
    """Facts by the names of mfu_probe's info labels (model, gpu, gpu_count, world_size, …), and `pods`.

    Args:
        workload: the object. Labels and annotations `mfu-operator.io/<field>` (global-batch, …) of it or of its pod
            template stand above what template and command say.
        container: the one that trains; None: the first.
    """
    template = workload.template
    metadata = template.get("metadata") or {}
    facts = _of_template(template)
    facts.update(_of_options(_container(template, container)))
    if workload.pod_count is not None:
        facts["pods"] = str(workload.pod_count)
    parts = {part: int(facts.pop(part)) for part in _PARTS if part in facts}
    if "ranks_per_pod" in parts and workload.pod_count is not None:
        facts.setdefault("world_size", str(workload.pod_count * parts["ranks_per_pod"]))
    if "batch_per_rank" in parts and "world_size" in facts:
        batch = parts["batch_per_rank"] * parts.get("accumulated_batches", 1) * int(facts["world_size"])
        facts.setdefault("global_batch", str(batch))
    for marks in (metadata.get("annotations"), metadata.get("labels"), workload.annotations, workload.labels):
        facts.update(_of_marks(marks or {}))
    return facts


def _of_marks(marks: Mapping[str, str]) -> dict[str, str]:
    return {
        mark.removeprefix(_PREFIX).replace("-", "_"): value
        for mark, value in marks.items()
        if mark.startswith(_PREFIX) and value
    }


def _of_template(template: Mapping[str, Any]) -> dict[str, str]:
    spec = template.get("spec") or {}
    facts = {}
    asked = sum(_gpus(container) for container in spec.get("containers") or ())
    if asked:
        facts["gpu_count"] = str(asked)
    selector = spec.get("nodeSelector") or {}
    product = next((str(selector[label]) for label in _GPU_NODE_LABELS if label in selector), None)
    product = product or _by_affinity(spec)
    known = " ".join(part for part in (product, _slice(spec)) if part)
    if known:
        facts["gpu"] = known
    return facts


def _gpus(container: Mapping[str, Any]) -> int:
    return sum(whole_number(str(count)) or 0 for name, count in _asked(container).items() if _GPU_RESOURCE.match(name))


def _asked(container: Mapping[str, Any]) -> Mapping[str, Any]:
    resources_asked = container.get("resources") or {}
    return {**(resources_asked.get("requests") or {}), **(resources_asked.get("limits") or {})}


def _slice(spec: Mapping[str, Any]) -> str | None:
    """What the one kind of slice that the pod asks for is called by the driver: "MIG 1g.10gb"."""
    kinds = {name for container in spec.get("containers") or () for name in _asked(container) if _MIG in name}
    return f"MIG {kinds.pop().removeprefix(_MIG)}" if len(kinds) == 1 else None


def _by_affinity(spec: Mapping[str, Any]) -> str | None:
    """The one GPU product that the required node affinity allows."""
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    allowed = {
        value
        for term in affinity.get("nodeSelectorTerms") or ()
        for expression in term.get("matchExpressions") or ()
        if expression.get("key") in _GPU_NODE_LABELS and expression.get("operator") == "In"
        for value in expression.get("values") or ()
    }
    return allowed.pop() if len(allowed) == 1 else None


def _container(template: Mapping[str, Any], name: str | None) -> Mapping[str, Any]:
    containers: Sequence[Mapping[str, Any]] = (template.get("spec") or {}).get("containers") or ()
    return next((each for each in containers if name in (None, each.get("name"))), {})


def _of_options(container: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for key, value in _options(container):
        group, _, name = key.lower().replace("-", "_").rpartition(".")
        rule = _rules().get(name)
        if rule is None or _ELSEWHERE.intersection(re.split(r"[._]", group)):
            continue
        field, flag = rule
        told = _told(value, flag)
        if told is not None and (field != "precision" or precision_of(told) in KNOWN):
            found.setdefault(field, set()).add(told)
    facts = {field: values.pop() for field, values in found.items() if len(values) == 1}
    axes = {axis: facts.pop(axis) for axis in _AXES if axis in facts}
    if axes:
        facts["parallelism"] = ",".join(f"{axis}={degree}" for axis, degree in axes.items())
    return {field: value for field, value in facts.items() if field not in _COUNTS or whole_number(value) is not None}


def _told(value: str | None, flag: str) -> str | None:
    """What an option says: its value, or what its being there means. None: nothing that can be known here."""
    if flag.startswith("="):
        return None if value is not None and value.lower() in _OFF else flag[1:]
    if flag:
        return flag if value is None or value.lower() in _ON else None
    return None if value is None or value.lower() in _OFF or "$" in value else value


def _options(container: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    for variable in container.get("env") or ():
        if isinstance(variable.get("value"), str):
            yield variable["name"], variable["value"]
    words = [word for part in (*_list(container, "command"), *_list(container, "args")) for word in _words(str(part))]
    for index, word in enumerate(words):
        match = _KEY.match(word)
        if match is None or not (word.startswith("-") or match[2] is not None):
            continue
        follows = words[index + 1] if index + 1 < len(words) else "-"
        yield match[1], match[2] if match[2] is not None else None if follows.startswith("-") else follows


def _list(container: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = container.get(name)
    return value if isinstance(value, list | tuple) else ()


def _words(text: str) -> list[str]:
    """A shell's script is many words; what is not a script is one."""
    try:
        return shlex.split(text, comments=True) if re.search(r"\s", text) else [text]
    except ValueError:
        return text.split()


@cache
def _rules() -> Mapping[str, tuple[str, str]]:
    text = resources.files(__package__).joinpath("workload_options.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {key: (field, flag) for key, field, flag, _ in rows}
