"""Whether one pod of a run may run a second time beside it: every way in which a copy could reach the live run or its
world, refused by name."""

import re
from collections.abc import Iterator
from itertools import chain

from mfu_operator.profiling.plan.commands import Command, command_of
from mfu_operator.profiling.plan.copy_table import is_remote, table, uploads_in
from mfu_operator.profiling.plan.live import Missing
from mfu_operator.profiling.plan.manifest import (
    Manifest,
    containers_of,
    mapping_at,
    mappings_at,
    sidecars_of,
    text_at,
    value_at,
    variables_of,
    words_at,
)
from mfu_operator.profiling.plan.training import Training
from mfu_operator.profiling.surgery import command_read_with

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a host path that manifests mount, not a file of ours
_CACHE_PATH = re.compile(r"(^|/)\.?(cache|tmp|scratch)(/|$)")
_RENDEZVOUS = re.compile(
    r"^--(?:rdzv[-_]endpoint|master[-_]addr(?:ess)?|coordinator[-_]address|main[-_]process[-_]ip|head[-_]node[-_]ip"
    r"|dist[-_]url|init[-_]method|dist[-_]init[-_]method)$"
)
_LOCAL = re.compile(
    r"^(env|file|(tcp://)?(localhost|127\.0\.0\.1|\[?::1\]?|0\.0\.0\.0|\$\(?\{?MASTER_ADDR\}?\)?))(:\S*)?$"
)
_RAY_ADDRESS = re.compile(r"^--address$")
_TRACKER = re.compile(
    r"mlflow|wandb|comet|neptune|clearml|swanlab|tensorboard|track(ing|er)|webhook|slack|notif|report"
    r"|pushgateway"
)
"""In the name of an option or a variable: what it addresses notes what runs do, or tells people of it."""

_GANG_MARKS = (
    "scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group.scheduling.sigs.k8s.io",
    "scheduling.x-k8s.io/pod-group", "kai.scheduler/pod-group", "scheduling.run.ai/pod-group",
)  # fmt: skip
"""Labels and annotations that make a pod a member of a gang: a copy would be counted as one of the run's."""

_GANG_FIELDS = ("workloadRef", "schedulingGroup", "podGroup")
_HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")


def not_copied(training: Training, template: Manifest, workload: Manifest, running: int | None) -> tuple[Missing, ...]:
    """Why a copy of the training pod is not taken; empty where it is safe.

    Args:
        training: which container trains, of how many pods.
        template: the pod as it runs where that is known, else the manifest's.
        workload: the object, for the marks that it hands down.
        running: pods of the run that run now; None where that is not known.
    """
    return tuple(_refusals(training, template, workload, running))


def converted_host_path(path: str) -> str | None:
    """The medium of the emptyDir that takes a host path's place; None where none may."""
    if path.rstrip("/") == SHARED_MEMORY:
        return "Memory"
    return "" if _CACHE_PATH.search(path) and not path.startswith("/dev") else None


def _refusals(training: Training, template: Manifest, workload: Manifest, running: int | None) -> Iterator[Missing]:
    yield from _of_pods(training, running)
    spec = mapping_at(template, "spec")
    yield from _of_scheduling(spec, template, workload)
    yield from _of_host(spec)
    for container in (*containers_of(template), *mappings_at(spec, "initContainers")):
        yield from _of_privilege(container)
    yield from _of_volumes(spec)
    yield from _of_command(training.container, template)
    for container in (*containers_of(template), *mappings_at(spec, "initContainers")):
        yield from _of_uploads(container)
    for container in (*containers_of(template), *sidecars_of(template)):
        yield from _of_storage(container)


def _of_pods(training: Training, running: int | None) -> Iterator[Missing]:
    if training.pods is None:
        yield Missing("PodCountUnknown", "the manifest does not say how many pods train")
    elif training.pods != 1:
        yield Missing(
            "MultiPodWorkload", f"{training.pods} pods train together, and a copy of one cannot run without the others"
        )
    elif running is not None and running > 1:
        yield Missing("MultiPodWorkload", f"{running} pods of the run are active, more than the manifest declares")
    if training.pods is not None and running is not None and running < training.pods:
        yield Missing(
            "PodsMissing", f"{running} of {training.pods} declared pods run, so there is nothing to compare with"
        )


def _of_scheduling(spec: Manifest, template: Manifest, workload: Manifest) -> Iterator[Missing]:
    for claim in mappings_at(spec, "resourceClaims"):
        if text_at(claim, "resourceClaimName") is not None:
            name = text_at(claim, "name")
            yield Missing(
                "ResourceClaimByName", f"resource claim {name!r} belongs to the live run: a copy would share it"
            )
    marks = [mapping_at(each, "metadata", kind) for each in (template, workload) for kind in ("labels", "annotations")]
    gang = [name for each in marks for name in each if str(name) in _GANG_MARKS]
    gang += [name for name in _GANG_FIELDS if value_at(spec, name) is not None]
    if gang:
        yield Missing("GangMember", f"{gang[0]} makes the pod a member of a gang that a copy would join")


def _of_host(spec: Manifest) -> Iterator[Missing]:
    named = [name for name in _HOST_NAMESPACES if spec.get(name) is True]
    if named:
        yield Missing("HostNamespace", f"{', '.join(named)} gives a copy the ports and processes of the node")


def _of_privilege(container: Manifest) -> Iterator[Missing]:
    security, name = mapping_at(container, "securityContext"), text_at(container, "name")
    if security.get("privileged") is True:
        yield Missing("Privileged", f"container {name!r} is privileged")
    added = words_at(security, "capabilities", "add")
    if added:
        yield Missing("CapabilitiesAdded", f"container {name!r} adds capabilities {', '.join(added)}")


def _of_volumes(spec: Manifest) -> Iterator[Missing]:
    for volume in mappings_at(spec, "volumes"):
        path, name = text_at(volume, "hostPath", "path"), text_at(volume, "name")
        driver = text_at(volume, "csi", "driver")
        if driver is not None:
            yield Missing(
                "InlineVolume",
                f"volume {name!r} is made for the pod by {driver}, with the pod's account and what was injected into "
                "it, which a copy has not; mount a claim in its place",
            )
        if path is None or converted_host_path(path) is not None:
            continue
        if path.startswith("/dev"):
            yield Missing("HostDevice", f"volume {name!r} is the node's device {path}")
        else:
            yield Missing("HostPath", f"volume {name!r} is the node's folder {path}, which the live run uses as well")


def _of_command(container: Manifest, template: Manifest) -> Iterator[Missing]:
    command = command_of(container)
    if not command.words:
        pod = text_at(template, "metadata", "name") or "POD"
        yield Missing(
            "CommandUnknown",
            f"container {text_at(container, 'name')!r} takes its command from its image; "
            f"{command_read_with(container, pod)}, and write it in the manifest or in spec.profiling.command",
        )
    if command.waits:
        yield Missing("CommandWaits", "the container only waits, and what trains in it is started by others")
    endpoint = command.option(_RENDEZVOUS) or _ray_head(command)
    if endpoint is not None and not _LOCAL.match(endpoint):
        yield Missing(
            "RendezvousEndpoint", f"the command meets other ranks at {endpoint}: a copy would join the live run"
        )


def _ray_head(command: Command) -> str | None:
    """The address of the Ray cluster that a script joins before it trains; None where it joins none."""
    joins = (words for words in command.simple_commands() if words[:2] == ("ray", "start"))
    return next((found for words in joins if (found := Command(words).option(_RAY_ADDRESS)) is not None), None)


def _of_uploads(container: Manifest) -> Iterator[Missing]:
    for command in command_of(container).simple_commands():
        if uploads_in(command):
            told = f"container {text_at(container, 'name')!r} writes to a storage or another machine ({command[0]})"
            yield Missing("UploadsResults", f"{told}: a copy would do it as well")
            return


def _of_storage(container: Manifest) -> Iterator[Missing]:
    """Addresses of storages that are not known to be only read, and what lets the program write to one."""
    name, variables = text_at(container, "name"), dict(variables_of(container))
    found = [each for each in variables if each in table().credentials]
    if found:
        told = f"container {name!r} has {found[0]}, so a copy could write where the live run saves"
        yield Missing("StorageCredentials", f"{told}, by what the program's own files say")
    named = [*((key, value) for key, value in variables.items() if value), *_options(command_of(container))]
    telling = [key for key, value in named if _is_web(value) and _TRACKER.search(key.lower()) and not _is_changed(key)]
    if telling:
        yield Missing(
            "TrackerAddress",
            f"container {name!r} addresses a tracker or a chat by {telling[0]}, and nothing says that a copy is silent "
            "there; use the tracker's own variable (MLFLOW_TRACKING_URI), which a copy has otherwise",
        )
    unknown = [key for key, value in named if is_remote(value) and not _is_settled(key)]
    if unknown:
        yield Missing(
            "RemoteAddress",
            f"container {name!r} addresses a storage by {unknown[0] or 'an argument without a name'}, and nothing says "
            "that it is only read",
        )


def _is_web(value: str) -> bool:
    return value.startswith(("http://", "https://"))


def _is_changed(name: str) -> bool:
    """Whether a copy has something else under this name, so that the address is not used."""
    known = table()
    return name in known.trackers or name in known.identity or known.is_switched_off(name)


def _is_settled(name: str) -> bool:
    """Whether what a name addresses is only read, or is changed in a copy."""
    known = table()
    return bool(name) and (known.is_save_variable(name) or known.resumes_from(name) or known.is_read(name))


def _options(command: Command) -> Iterator[tuple[str, str]]:
    """Options and keys with their values; an empty name where a value stands alone."""
    before = ""
    fetches = table().uploads
    own = (each for each in command.simple_commands() if each[0].rpartition("/")[2] not in fetches)
    for word in chain.from_iterable(own):
        name, equals, value = word.partition("=")
        if equals and not is_remote(name):
            yield name, value
            before = ""
            continue
        if not word.startswith("-"):
            yield before, word
        before = word if word.startswith("-") else ""
