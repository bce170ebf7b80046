"""What to add to this very manifest so that the running job can be captured, as JSON patches (RFC 6902).

A JSON patch reaches every field of every kind exactly; `kubectl patch --type=json` and Kustomize take it as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mfu_operator.profiling.plan.commands import command_of
from mfu_operator.profiling.plan.kinds import Path, Role
from mfu_operator.profiling.plan.live import PORT, SECRET, TOKEN, TOKEN_FILE
from mfu_operator.profiling.plan.manifest import Manifest, containers_of, mapping_at, mappings_at, text_at, variables_of
from mfu_operator.profiling.plan.training import Training

PORT_NUMBER = 9400
TOKEN_FOLDER = "/var/run/mfu-capture"  # noqa: S105 - a folder
VOLUME = "mfu-capture-token"
RUN = ("mfu_probe", "run", "--")


@dataclass(frozen=True, slots=True)
class Target:
    """The object that a patch is for."""

    api_version: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Patch:
    """The operations on one object, in order."""

    target: Target
    operations: tuple[Mapping[str, Any], ...]


def target_of(manifest: Manifest) -> Target:
    """The object as the target of a patch."""
    name = text_at(manifest, "metadata", "name") or text_at(manifest, "metadata", "generateName") or ""
    return Target(text_at(manifest, "apiVersion") or "", text_at(manifest, "kind") or "", name)


def instrumented(owners: Mapping[str, Manifest], training: Training) -> tuple[Patch, ...]:
    """The patches by which every role that trains can be captured with mfu_probe.

    Args:
        owners: by role's name, the object in which its template stands (a TrainJob's roles stand in its runtime).
        training: the roles and the container that train.
    """
    operations: dict[Target, list[Mapping[str, Any]]] = {}
    for role in training.roles:
        owner = owners.get(role.name)
        if owner is not None:
            operations.setdefault(target_of(owner), []).extend(_of_role(role, training.container_name))
    for role in training.launchers:
        if role.name in owners:
            operations.setdefault(target_of(owners[role.name]), []).extend(_of_launcher(role))
    return tuple(Patch(target, tuple(every)) for target, every in operations.items() if every)


def trainer_patch(train_job: Manifest, training: Training) -> Patch | None:
    """The patch of a TrainJob whose own `spec.trainer` says the command: overrides reach everything but ports, and
    `mfu_probe run` says its port by itself. None where the command stands in the runtime."""
    trainer = mapping_at(train_job, "spec", "trainer")
    if not mappings_or_words(trainer.get("command")):
        return None
    names = dict.fromkeys(role.name for role in (*training.roles, *training.launchers))
    spec = {
        "volumes": [_volume()],
        "containers": [{"name": training.container_name, "volumeMounts": [_mount()]}],
    }
    field = "podSpecOverrides" if "podSpecOverrides" in mapping_at(train_job, "spec") else "podTemplateOverrides"
    override: dict[str, Any] = {"targetJobs": [{"name": name} for name in names]}
    override |= spec if field == "podSpecOverrides" else {"spec": spec}
    at = "/spec/trainer"
    operations = [
        {"op": "replace", "path": f"{at}/command", "value": [*RUN, *trainer["command"]]},
        _into_list(trainer, "env", f"{at}/env", [_variable()]),
        _into_list(mapping_at(train_job, "spec"), field, f"/spec/{field}", [override]),
    ]
    return Patch(target_of(train_job), tuple(operations))


def mappings_or_words(value: Any) -> Sequence[Any]:
    """A list's items; none where it is not a list."""
    return value if isinstance(value, list) else ()


def _of_role(role: Role, container_name: str) -> list[Mapping[str, Any]]:
    every = containers_of(role.template)
    index = next((at for at, each in enumerate(every) if text_at(each, "name") == container_name), 0)
    container = every[index]
    at = f"{_pointer(role.path)}/spec/containers/{index}"
    operations: list[Mapping[str, Any]] = []
    if not any(text_at(port, "name") == PORT for port in mappings_at(container, "ports")):
        port = {"name": PORT, "containerPort": PORT_NUMBER}
        operations.append(_into_list(container, "ports", f"{at}/ports", [port]))
    if not {TOKEN, TOKEN_FILE} & {name for name, _ in variables_of(container)}:
        operations.append(_into_list(container, "env", f"{at}/env", [_variable()]))
        operations.append(_into_list(container, "volumeMounts", f"{at}/volumeMounts", [_mount()]))
        spec = mapping_at(role.template, "spec")
        operations.append(_into_list(spec, "volumes", f"{_pointer(role.path)}/spec/volumes", [_volume()]))
    command = command_of(container)
    if mappings_or_words(container.get("command")) and not command.runs_probe and not command.waits:
        operations.append({"op": "replace", "path": f"{at}/command", "value": [*RUN, *container["command"]]})
    return operations


def _of_launcher(role: Role) -> list[Mapping[str, Any]]:
    return [
        {
            "op": "replace",
            "path": f"{_pointer(role.path)}/spec/containers/{index}/{field}",
            "value": [*RUN, *each[field]],
        }
        for index, each in enumerate(containers_of(role.template))
        if command_of(each).launcher is not None and not command_of(each).runs_probe
        for field in ("command", "args")
        if mappings_or_words(each.get(field)) and (field == "command" or not mappings_or_words(each.get("command")))
    ]


def _into_list(owner: Manifest, field: str, path: str, items: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Append to a list that is there, or make it: appending to an absent list is an error of RFC 6902."""
    if mappings_or_words(owner.get(field)):
        assert len(items) == 1
        return {"op": "add", "path": f"{path}/-", "value": items[0]}
    return {"op": "add", "path": path, "value": items}


def _variable() -> Mapping[str, Any]:
    return {"name": TOKEN_FILE, "value": f"{TOKEN_FOLDER}/token"}


def _mount() -> Mapping[str, Any]:
    return {"name": VOLUME, "mountPath": TOKEN_FOLDER, "readOnly": True}


def _volume() -> Mapping[str, Any]:
    return {"name": VOLUME, "secret": {"secretName": SECRET, "optional": True}}


def _pointer(path: Path) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
