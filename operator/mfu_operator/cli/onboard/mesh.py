"""The service mesh that the training pods are in. The profiling Job is in none: its plain requests must be let in."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from mfu_operator.cli.onboard.subject import Subject
from mfu_operator.profiling.plan.instrument import PORT_NUMBER, Patch, Target, target_of
from mfu_operator.profiling.plan.kinds import Role
from mfu_operator.profiling.plan.live import PORT
from mfu_operator.profiling.plan.manifest import Manifest, containers_of, count_at, mapping_at, mappings_at, text_at

Everywhere = Callable[[Mapping[str, str]], bool]

MOST_PORTS = 64
"""Ranks of a pod that are asked."""


class Mesh(StrEnum):
    """A mesh with a proxy beside each container. (Istio's ambient mode takes the profiling Job in as well.)"""

    ISTIO = "istio"
    LINKERD = "linkerd"


ANNOTATIONS: Mapping[Mesh, str] = {
    Mesh.ISTIO: "traffic.sidecar.istio.io/excludeInboundPorts",
    Mesh.LINKERD: "config.linkerd.io/skip-inbound-ports",
}
"""Of a pod: ports whose traffic goes past the proxy. Both take several with commas between them."""


def mesh_of(subject: Subject) -> Mesh | None:
    """The mesh that puts a proxy into the training pods; None where none is seen."""
    template = subject.training.role.template
    pod = _marks(template)
    namespace = _marks(subject.surroundings.namespace)
    if mapping_at(template, "spec").get("hostNetwork") is True:
        return None  # Istio injects none there, and Linkerd neither
    if _is_on(pod, namespace, "sidecar.istio.io/inject", "true", _istio_everywhere):
        return Mesh.ISTIO
    return Mesh.LINKERD if _is_on(pod, namespace, "linkerd.io/inject", "enabled", _linkerd_everywhere) else None


def exclusions(subject: Subject, mesh: Mesh) -> tuple[Patch, ...]:
    """What has the ports of a capture go past the proxies, for every role that trains.

    Empty for a TrainJob whose pods another object holds: its overrides do not reach annotations.
    """
    workload = subject.workload
    if text_at(workload, "kind") == "TrainJob":
        return ()
    ports = ",".join(map(str, ports_of(subject)))
    found: list[Mapping[str, Any]] = [
        operation for role in subject.training.roles for operation in _annotated(role, ANNOTATIONS[mesh], ports)
    ]
    target: Target = target_of(workload)
    return (Patch(target, tuple(found)),) if found else ()


def ports_of(subject: Subject) -> Sequence[int]:
    """One for each process of a pod, from the first one's on."""
    training = subject.training
    declared = (each for each in mappings_at(training.container, "ports") if text_at(each, "name") == PORT)
    first = next((port for each in declared if (port := count_at(each, "containerPort"))), PORT_NUMBER)
    processes = training.processes_per_pod or max(1, training.gpus_per_pod)
    return range(first, first + min(processes, MOST_PORTS))


def _annotated(role: Role, key: str, ports: str) -> Iterator[Mapping[str, Any]]:
    at = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in role.path)
    metadata = mapping_at(role.template, "metadata")
    annotations = mapping_at(metadata, "annotations")
    if not containers_of(role.template):
        return
    if not metadata:
        yield {"op": "add", "path": f"{at}/metadata", "value": {"annotations": {key: ports}}}
    elif not annotations:
        yield {"op": "add", "path": f"{at}/metadata/annotations", "value": {key: ports}}
    else:
        own = [each for each in str(annotations.get(key) or "").split(",") if each]
        wanted = [*own, *(each for each in ports.split(",") if each not in own)]
        if wanted != own:
            path = f"{at}/metadata/annotations/{key.replace('~', '~0').replace('/', '~1')}"
            yield {"op": "add", "path": path, "value": ",".join(wanted)}


def _is_on(pod: Mapping[str, str], namespace: Mapping[str, str], key: str, on: str, everywhere: Everywhere) -> bool:
    said = pod.get(key)
    return said == on if said is not None else everywhere(namespace)


def _istio_everywhere(namespace: Mapping[str, str]) -> bool:
    return namespace.get("istio-injection") == "enabled" or (
        "istio.io/rev" in namespace and namespace.get("istio-injection") != "disabled"
        and namespace.get("istio.io/dataplane-mode") != "ambient"
    )  # fmt: skip


def _linkerd_everywhere(namespace: Mapping[str, str]) -> bool:
    return namespace.get("linkerd.io/inject") == "enabled"


def _marks(thing: Manifest | None) -> Mapping[str, str]:
    """Annotations and labels together."""
    found = {**mapping_at(thing, "metadata", "annotations"), **mapping_at(thing, "metadata", "labels")}
    return {str(key): str(each) for key, each in found.items()}
