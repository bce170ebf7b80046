"""What a profiling pod may not have: the copy of a privileged run is a privileged pod that somebody else asked for.

What is refused is what the Pod Security Standard "baseline" refuses, and what gives the copy somebody's credentials
(https://kubernetes.io/docs/concepts/security/pod-security-standards/). An administrator permits single privileges for a
namespace.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from enum import StrEnum
from typing import Any

from mfu_operator.errors import Stall
from mfu_operator.model.baseline import CAPTURE_SECRET

Spec = Mapping[str, Any]


class Privilege(StrEnum):
    """What a namespace may be permitted. Each value is a word of the chart's profiling.permit."""

    PRIVILEGED = "privileged"
    CAPABILITIES = "capabilities"
    HOST_NAMESPACES = "hostNamespaces"
    HOST_PATH = "hostPath"
    TOKENS = "projectedTokens"
    SECRETS = "secrets"
    COPIED_SECRETS = "copiedSecrets"
    PROFILES = "securityProfiles"


HARMLESS_CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
        "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    }
)  # fmt: skip
"""Those that a container runtime gives anyway, by "baseline"."""

_HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
_PROFILES = ("RuntimeDefault", "Localhost")
_CREDENTIAL_DRIVERS = ("secrets-store.csi.k8s.io", "csi.cert-manager.io", "spiffe.csi.cert-manager.io", "csi.spiffe.io")
"""Drivers whose volumes are Secrets or identities, by whatever name the driver knows them."""


def require_permitted(pod: Spec, permitted: Set[Privilege], own_program: bool) -> None:
    """Refuse a pod that has more than its namespace is permitted.

    Args:
        pod: the profiling pod's spec.
        permitted: what the administrator permits the namespace.
        own_program: whether the baseline says what runs in it (command, image or environment): Secrets are then its
            author's to read. A copy that runs what the run does keeps the run's where that is permitted.

    Raises:
        Stall: ProfilingForbidden, naming each privilege and where it is.
    """
    secrets = Privilege.SECRETS if own_program or Privilege.SECRETS in permitted else Privilege.COPIED_SECRETS
    known = frozenset[str]() if own_program else frozenset({CAPTURE_SECRET})
    every = ((secrets if each is Privilege.SECRETS else each, where) for each, where in privileges(pod, known))
    found = [(privilege, where) for privilege, where in every if privilege not in permitted]
    if not found:
        return
    words = "+".join(dict.fromkeys(privilege.value for privilege, _ in found))
    raise Stall(
        "ProfilingForbidden",
        f"the profiling pod would have what its namespace is not permitted: {'; '.join(where for _, where in found)}. "
        f"Take it out of the workload's template, or ask an administrator to permit {words} in the chart's "
        "profiling.permit",
    )


def privileges(pod: Spec, known: Set[str] = frozenset()) -> Iterator[tuple[Privilege, str]]:
    """Every privilege of a pod, and where it is, for a person. Secrets of names that are `known` are none."""
    for field in _HOST_NAMESPACES:
        if pod.get(field):
            yield Privilege.HOST_NAMESPACES, f"{field} is true"
    yield from _of_profiles(pod.get("securityContext") or {}, "the pod")
    for container in [*(pod.get("initContainers") or []), *(pod.get("containers") or [])]:
        yield from _of_container(container, f"container {container.get('name')}", known)
    for volume in pod.get("volumes") or []:
        yield from _of_volume(volume, f"volume {volume.get('name')}", known)


def _of_container(container: Spec, who: str, known: Set[str]) -> Iterator[tuple[Privilege, str]]:
    context = container.get("securityContext") or {}
    if context.get("privileged"):
        yield Privilege.PRIVILEGED, f"{who} is privileged"
    added = sorted({_capability(each) for each in (context.get("capabilities") or {}).get("add") or []})
    if risky := [each for each in added if each not in HARMLESS_CAPABILITIES]:
        yield Privilege.CAPABILITIES, f"{who} adds the capabilities {', '.join(risky)}"
    yield from _of_profiles(context, who)
    if set(_secrets_read(container)) - known:
        yield Privilege.SECRETS, f"{who} reads a Secret into its environment"


def _of_profiles(context: Spec, who: str) -> Iterator[tuple[Privilege, str]]:
    """What takes a container out of the confinement that every other one has."""
    for field in ("seccompProfile", "appArmorProfile"):
        kind = (context.get(field) or {}).get("type")
        if kind is not None and kind not in _PROFILES:
            yield Privilege.PROFILES, f"{who} has the {field} {kind}"
    for field in ("procMount", "sysctls", "seLinuxOptions", "windowsOptions"):
        if context.get(field) not in (None, [], {}, "Default"):
            yield Privilege.PROFILES, f"{who} sets {field}"


def _of_volume(volume: Spec, which: str, known: Set[str]) -> Iterator[tuple[Privilege, str]]:
    if volume.get("hostPath") is not None:
        yield Privilege.HOST_PATH, f"{which} is {volume['hostPath'].get('path')} of the node"
    if volume.get("gitRepo") is not None:
        yield Privilege.HOST_PATH, f"{which} is a gitRepo, which git on the node clones as root"
    sources: Sequence[Spec] = (volume.get("projected") or {}).get("sources") or []
    if any("serviceAccountToken" in source or "podCertificate" in source for source in sources):
        yield Privilege.TOKENS, f"{which} holds a ServiceAccount's token"
    held = [volume["secret"].get("secretName")] if volume.get("secret") is not None else []
    held += [source["secret"].get("name") for source in sources if "secret" in source]
    held += _secrets_of_driver(volume)
    if (volume.get("csi") or {}).get("driver") in _CREDENTIAL_DRIVERS or set(held) - known:
        yield Privilege.SECRETS, f"{which} holds a Secret"


def _secrets_of_driver(volume: Spec) -> Iterator[str | None]:
    """The names of the Secrets that a volume's driver is handed or fetches (azureFile, csi, rbd, ...)."""
    for said in volume.values():
        if not isinstance(said, Mapping):
            continue
        for field in ("secretRef", "nodePublishSecretRef"):
            if isinstance(said.get(field), Mapping):
                yield said[field].get("name")
        attributes = said.get("volumeAttributes") or {}
        yield from (named for key, named in {**attributes, **said}.items() if key.lower() == "secretname")


def _secrets_read(container: Spec) -> Iterator[str | None]:
    """The names of the Secrets in a container's environment."""
    sources = [each.get("valueFrom") or {} for each in container.get("env") or []]
    for field, named in (("secretKeyRef", sources), ("secretRef", container.get("envFrom") or [])):
        yield from (each[field].get("name") for each in named if field in each)


def _capability(name: str) -> str:
    return name.upper().removeprefix("CAP_")
