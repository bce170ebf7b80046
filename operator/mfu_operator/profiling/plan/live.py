"""Whether the running job can be captured as its manifest stands, and which half is missing where it cannot."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mfu_operator.profiling.plan.commands import command_of
from mfu_operator.profiling.plan.kinds import Role
from mfu_operator.profiling.plan.manifest import (
    Manifest,
    containers_of,
    mapping_at,
    mappings_at,
    sidecars_of,
    text_at,
    variables_of,
)
from mfu_operator.profiling.plan.training import Training

PORT = "mfu-probe"
SIDECAR = "mfu-capture"
SECRET = "mfu-capture"  # noqa: S105 - the name of a Secret
TOKEN_FILE = "MFU_PROBE_TOKEN_FILE"  # noqa: S105 - the name of a variable
TOKEN = "MFU_PROBE_TOKEN"  # noqa: S105 - the name of a variable
DAEMON = "KINETO_USE_DAEMON"
SHARED_FOLDERS = ("KINETO_IPC_SOCKET_DIR", "KINETO_ONDEMAND_TRACE_DIR")
OFF = "mfu-operator.io/capture"
"""The annotation with which a pod says that it must not be captured: "off"."""


class Recorder(StrEnum):
    """What records the steps."""

    TORCH = "torch.profiler"
    KINETO = "kineto"
    NSYS = "nsys"


@dataclass(frozen=True, slots=True)
class Missing:
    """Why one recorder cannot capture the running job; None is never one of these."""

    reason: str
    message: str


def capture_is_off(template: Manifest, workload: Manifest) -> bool:
    """Whether the pods, or their workload, say that they must not be captured."""
    marks = (mapping_at(each, "metadata", "annotations") for each in (template, workload))
    return any(str(each.get(OFF)).lower() in ("off", "false", "no") for each in marks)


def probe_missing(training: Training, template: Manifest, roles: Sequence[Role]) -> Missing | None:
    """What mfu_probe in the training process still needs; None where it can be asked.

    Args:
        training: which container trains.
        template: the pod as it runs where that is known, else the manifest's.
        roles: every role of the workload, to tell a probe that sits in the wrong one.
    """
    container = _same(template, training)
    launchers = [each for role in training.launchers for each in containers_of(role.template)]
    serves = _declares_port(container) or any(command_of(each).runs_probe for each in (container, *launchers))
    token = any(_has_token(container, template, each) for each in (container, *launchers))
    if serves and token:
        return _launcher_missing(training)
    if serves:
        return Missing(
            "TokenMissing",
            f"container {training.container_name} serves the capture API and mounts no token, so every request is "
            f"refused; mount key token of Secret {SECRET} and name it in {TOKEN_FILE}",
        )
    if token:
        return Missing(
            "PortMissing",
            f"container {training.container_name} has a token and neither declares port {PORT} nor runs "
            "`mfu_probe run`, so nobody answers",
        )
    elsewhere = _instrumented_elsewhere(training, roles)
    if elsewhere:
        return Missing("WrongRole", f"mfu_probe is in {', '.join(elsewhere)}, which does not train")
    told = f"container {training.container_name} neither declares port {PORT} nor runs `mfu_probe run`"
    return Missing("NotInstrumented", told + _of_image(container))


def daemon_missing(training: Training, template: Manifest) -> Missing | None:
    """What Kineto's daemon protocol still needs; None where the sidecar can be asked."""
    container = _same(template, training)
    variables = dict(variables_of(container))
    on = DAEMON in variables and (variables[DAEMON] or "1").lower() not in ("0", "false", "")
    sidecar = _sidecar(template)
    if not on and sidecar is None:
        told = f"neither {DAEMON}=1 in container {training.container_name} nor a sidecar {SIDECAR}"
        return Missing("NotInstrumented", told)
    if sidecar is None:
        told = f"{DAEMON} is set and no sidecar {SIDECAR} listens: the process takes ten seconds longer to exit"
        return Missing("SidecarMissing", told)
    if not on:
        told = f"sidecar {SIDECAR} listens and {DAEMON} is not 1 in container {training.container_name}"
        return Missing("DaemonVariableMissing", told)
    unshared = [name for name in SHARED_FOLDERS if not _is_shared(variables.get(name), container, sidecar, template)]
    if unshared:
        told = f"{' and '.join(unshared)} must lie on one memory-backed emptyDir with a size limit that both mount"
        return Missing("FolderNotShared", told)
    if not _has_token(sidecar, template):
        told = f"sidecar {SIDECAR} mounts no token, so every request is refused; name it in {TOKEN_FILE}"
        return Missing("TokenMissing", told)
    return None


def _same(template: Manifest, training: Training) -> Manifest:
    """The training container in the pod as it runs."""
    found = (each for each in containers_of(template) if text_at(each, "name") == training.container_name)
    return next(found, training.container)


def _of_image(container: Manifest) -> str:
    """What no patch can add where the image alone says what runs."""
    if command_of(container).words:
        return ""
    return (
        "; its image says the command, so that no patch can begin it with `mfu_probe run --`: write the command in the "
        "manifest, or call mfu_probe.start() in the program"
    )


def _launcher_missing(training: Training) -> Missing | None:
    """Ranks that sshd starts have nothing of their container's environment: their launcher must pass it on."""
    every = [command_of(each) for role in training.launchers for each in containers_of(role.template)]
    if not training.launchers or any(each.runs_probe or TOKEN_FILE in each.words for each in every):
        return None
    return Missing(
        "LauncherNotInstrumented",
        f"ranks are started without their container's environment; run the launcher as `mfu_probe run -- mpirun …`, or "
        f"pass {TOKEN_FILE} on with `-x`",
    )


def _instrumented_elsewhere(training: Training, roles: Sequence[Role]) -> list[str]:
    return [
        f"{role.name}/{text_at(each, 'name')}"
        for role in roles
        for each in containers_of(role.template)
        if each is not training.container and (_declares_port(each) or command_of(each).runs_probe)
    ]


def _declares_port(container: Manifest) -> bool:
    return any(text_at(port, "name") == PORT for port in mappings_at(container, "ports"))


def _has_token(container: Manifest, template: Manifest, telling: Manifest | None = None) -> bool:
    """A token by the variable itself, or by a file that lies on a mounted Secret or projected volume; the variable is
    that of another container where a launcher passes it on."""
    variables = dict(variables_of(telling or container))
    if TOKEN in variables:
        return True
    return _volume_of(variables.get(TOKEN_FILE), container, template, "secret", "projected") is not None


def _sidecar(template: Manifest) -> Manifest | None:
    every = (*sidecars_of(template), *containers_of(template))
    return next((each for each in every if text_at(each, "name") == SIDECAR), None)


def _is_shared(path: str | None, container: Manifest, sidecar: Manifest, template: Manifest) -> bool:
    volume = _volume_of(path, container, template, "emptyDir")
    if volume is None:
        return False
    folder = mapping_at(volume, "emptyDir")
    mounted = any(text_at(mount, "name") == text_at(volume, "name") for mount in mappings_at(sidecar, "volumeMounts"))
    return mounted and folder.get("medium") == "Memory" and folder.get("sizeLimit") is not None


def _volume_of(path: str | None, container: Manifest, template: Manifest, *kinds: str) -> Manifest | None:
    """The volume of one of these kinds on which a path of a container lies."""
    if not path:
        return None
    mounts = [each for each in mappings_at(container, "volumeMounts") if _lies_in(path, text_at(each, "mountPath"))]
    if not mounts:
        return None
    deepest = max(mounts, key=lambda each: len(text_at(each, "mountPath") or ""))
    volumes = (each for each in mappings_at(template, "spec", "volumes") if each.get("name") == deepest.get("name"))
    return next((each for each in volumes if any(kind in each for kind in kinds)), None)


def _lies_in(path: str, folder: str | None) -> bool:
    return folder is not None and (path == folder or path.startswith(folder.rstrip("/") + "/"))
