"""The operator's own settings, read once from the environment (prefix `MFU_`). Helm sets them from values.yaml."""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network

from mfu_operator.errors import Stall
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.profiling.privileges import Privilege

LAST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Settings:
    """What a platform team sets once for the whole operator. Field by field: charts/mfu-operator/README.md."""

    prometheus_address: str | None = None
    prometheus_tenant: str | None = None
    prometheus_credentials: str | None = None
    metrics_profile: str | None = None
    metric_names: Mapping[str, str] = field(default_factory=dict)
    metric_labels: Mapping[str, str] = field(default_factory=dict)
    profiler_image: str | None = None
    namespace: str = "mfu-system"
    lease: str = "mfu-operator"
    installation: str | None = None
    egress_hosts: tuple[str, ...] = ()
    egress_refused: tuple[str, ...] = ()
    laboratory: bool = False
    admission_policy: tuple[str, ...] = ()
    accept_unguarded: bool = False
    remediation_modes: Mapping[str, RemediationMode] = field(default_factory=dict)
    watch_namespaces: tuple[str, ...] = ()
    pod_name: str = "mfu-operator"
    runbook_base_url: str | None = None
    priority_class: str | None = None
    priority_classes: tuple[str, ...] = ()
    profiling_permits: Mapping[str, frozenset[Privilege]] = field(default_factory=dict)
    captures_per_day: int | None = None
    copy_gpu_minutes_per_day: int | None = None
    sweep_interval_s: float = 30.0
    reconcile_interval_s: float = 15.0
    listen_address: str = "0.0.0.0"  # noqa: S104 - in a pod: the kubelet and Prometheus come from elsewhere
    health_port: int = 8080
    metrics_port: int = 9090


def from_environment(environment: Mapping[str, str] | None = None) -> Settings:
    """Settings from `MFU_*` variables; a variable that is absent or empty takes the default.

    Raises:
        Stall: (InvalidSetting) naming the variable and what it must look like.
    """
    env = os.environ if environment is None else environment
    defaults = Settings()
    return Settings(
        prometheus_address=env.get("MFU_PROMETHEUS_ADDRESS") or None,
        prometheus_tenant=env.get("MFU_PROMETHEUS_TENANT") or None,
        prometheus_credentials=env.get("MFU_PROMETHEUS_CREDENTIALS") or None,
        metrics_profile=env.get("MFU_METRICS_PROFILE") or None,
        metric_names=_pairs(env, "MFU_METRIC_NAMES"),
        metric_labels=_pairs(env, "MFU_METRIC_LABELS"),
        profiler_image=env.get("MFU_PROFILER_IMAGE") or None,
        namespace=env.get("MFU_NAMESPACE") or defaults.namespace,
        lease=env.get("MFU_LEASE") or defaults.lease,
        installation=_label(env, "MFU_INSTALLATION"),
        egress_hosts=_list(env, "MFU_EGRESS_HOSTS"),
        egress_refused=_networks(env, "MFU_EGRESS_REFUSED"),
        laboratory=_switch(env, "MFU_LABORATORY"),
        admission_policy=_list(env, "MFU_ADMISSION_POLICY"),
        accept_unguarded=_switch(env, "MFU_ACCEPT_UNGUARDED"),
        remediation_modes=_modes(env, "MFU_REMEDIATION_MODES"),
        watch_namespaces=_list(env, "MFU_WATCH_NAMESPACES"),
        pod_name=env.get("MFU_POD_NAME") or defaults.pod_name,
        runbook_base_url=env.get("MFU_RUNBOOK_BASE_URL") or None,
        priority_class=env.get("MFU_PRIORITY_CLASS") or None,
        priority_classes=_list(env, "MFU_PROFILING_PRIORITY_CLASSES"),
        profiling_permits=_permits(env, "MFU_PROFILING_PERMITS"),
        captures_per_day=_limit(env, "MFU_CAPTURES_PER_DAY"),
        copy_gpu_minutes_per_day=_limit(env, "MFU_COPY_GPU_MINUTES_PER_DAY"),
        sweep_interval_s=_positive(env, "MFU_SWEEP_INTERVAL", defaults.sweep_interval_s),
        reconcile_interval_s=_positive(env, "MFU_RECONCILE_INTERVAL", defaults.reconcile_interval_s),
        listen_address=env.get("MFU_LISTEN_ADDRESS") or defaults.listen_address,
        health_port=_port(env, "MFU_HEALTH_PORT", defaults.health_port),
        metrics_port=_port(env, "MFU_METRICS_PORT", defaults.metrics_port),
    )


def _label(env: Mapping[str, str], name: str) -> str | None:
    text = env.get(name, "")
    if text and not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?", text):
        raise Stall(
            "InvalidSetting",
            f"{name}={text!r}: write at most 63 letters, digits, dots and dashes, for example eu-west-1",
        )
    return text or None


def _list(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in env.get(name, "").split(",") if each.strip())


def _networks(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    networks = _list(env, name)
    for each in networks:
        try:
            ip_network(each, strict=False)
        except ValueError:
            raise Stall("InvalidSetting", f"{name}: {each!r} is not a network; write one like 10.0.0.0/24") from None
    return networks


def _permits(env: Mapping[str, str], name: str) -> Mapping[str, frozenset[Privilege]]:
    """namespace=privilege+privilege, separated by commas."""
    try:
        return {
            namespace: frozenset(Privilege(word) for word in words.split("+"))
            for namespace, words in _pairs(env, name).items()
        }
    except ValueError as error:
        raise Stall("InvalidSetting", f"{name}: {error}; the privileges are {', '.join(Privilege)}") from None


_OBSERVE_OF_OLD = ("Off", "false")
"""What Observe was called, with and without quotes in a file of values."""


def _modes(env: Mapping[str, str], name: str) -> Mapping[str, RemediationMode]:
    """namespace=mode, separated by commas. To open pull requests is the word of who may propose, in the baseline."""
    modes = _pairs(env, name)
    for namespace, mode in modes.items():
        if mode not in (RemediationMode.OBSERVE, RemediationMode.DRY_RUN, *_OBSERVE_OF_OLD):
            raise Stall("InvalidSetting", f"{name}: {namespace}={mode}: write Observe or DryRun")
    return {
        namespace: RemediationMode.OBSERVE if mode in _OBSERVE_OF_OLD else RemediationMode(mode)
        for namespace, mode in modes.items()
    }


def _switch(env: Mapping[str, str], name: str) -> bool:
    text = env.get(name) or "false"
    if text not in ("true", "false"):
        raise Stall("InvalidSetting", f"{name}={text!r}: write true or false")
    return text == "true"


def _positive(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise Stall("InvalidSetting", f"{name}={text!r}: write a number above zero, for example {name}={default:g}")
    return value


def _limit(env: Mapping[str, str], name: str) -> int | None:
    """A whole number of at least 0; None where it is absent."""
    text = env.get(name) or None
    if text is not None and not (text.isdecimal() and len(text) < 10):
        raise Stall("InvalidSetting", f"{name}={text!r}: write a whole number, or remove it for no limit")
    return None if text is None else int(text)


def _pairs(env: Mapping[str, str], name: str) -> Mapping[str, str]:
    """key=value, separated by commas; an empty value is one."""
    pairs = [part.strip().partition("=") for part in env.get(name, "").split(",") if part.strip()]
    if not all(key and equals for key, equals, _ in pairs):
        raise Stall("InvalidSetting", f"{name}={env[name]!r}: write key=value, separated by commas")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _port(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, "")
    if not text:
        return default
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= LAST_PORT:
        raise Stall(
            "InvalidSetting",
            f"{name}={text!r}: write a whole number from 1 to {LAST_PORT}, for example {name}={default}",
        )
    return int(text)
