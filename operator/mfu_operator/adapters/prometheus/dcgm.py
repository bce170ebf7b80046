"""What dcgm-exporter says about the GPUs of a job, from Prometheus. Both naming schemes of its fields are read."""

from collections.abc import Iterable, Mapping
from typing import Any

from mfu_operator.model.series import HardwareReading

_FIELDS = {
    "DCGM_FI_DEV_PCIE_LINK_GEN": "link_generation",
    "DCGM_FI_DEV_PCIE_MAX_LINK_GEN": "link_max_generation",
    "DCGM_FI_DEV_PCIE_LINK_WIDTH": "link_width",
    "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH": "link_max_width",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": "throttle_bits",
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": "throttle_bits",
    "DCGM_FI_DEV_XID_ERRORS": "xid",
    "DCGM_FI_DEV_XID_ERROR": "xid",
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": "ecc_errors",
    "DCGM_FI_PROF_SM_ACTIVE": "sm_active",
    "DCGM_FI_PROF_SM_UTIL_RATIO": "sm_active",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": "tensor_active",
    "DCGM_FI_PROF_TENSOR_UTIL_RATIO": "tensor_active",
}
"""The exporter's metric → the reading's field. Fields 237, 235, 238, 236, 112, 230, 311, 1002 and 1004, under their
names until DCGM 4.5 and since; the fields of links, clocks and ECC kept theirs."""

FIELD_NAMES = {
    "link_generation": "link generation",
    "link_max_generation": "its maximum",
    "link_width": "link width",
    "link_max_width": "its maximum",
    "throttle_bits": "throttling",
    "xid": "XID errors",
    "ecc_errors": "ECC errors",
    "sm_active": "SM activity",
    "tensor_active": "tensor activity",
}
"""The reading's fields in words."""

_RATIOS = frozenset({"sm_active", "tensor_active"})

_BLANK = 2.0**47
"""From here on DCGM means "unknown", "not supported", …: DCGM_FP64_BLANK, and far above it DCGM_INT64_BLANK. Exporters
let some of them through (https://github.com/NVIDIA/gpu-monitoring-tools/pull/92)."""

_LABELS = (("exported_namespace", "exported_pod"), ("namespace", "pod"))
"""Where the job's pod stands: dcgm-exporter's own ServiceMonitor honours no labels, so its `pod` is the exporter."""


def query(namespaces: str, names: str) -> str:
    """One query for the GPUs of many jobs, given alternatives of their namespaces and names as regular expressions."""
    fields = "|".join(_FIELDS)
    return " or ".join(
        f'{{__name__=~"{fields}",{namespace}=~"{namespaces}",{pod}=~"({names})-.*"}}' for namespace, pod in _LABELS
    )


def name_of(field: str) -> str:
    """The exporter's metric for a reading's field, by its first name, which every version accepts in its list."""
    return next(name for name, each in _FIELDS.items() if each == field)


def pod_of(labels: Mapping[str, str]) -> tuple[str, str]:
    """(namespace, pod) of the process that uses the GPU."""
    for namespace, pod in _LABELS:
        if labels.get(pod):
            return labels.get(namespace, ""), labels[pod]
    return "", ""


def readings(rows: Iterable[tuple[Mapping[str, str], float]]) -> tuple[HardwareReading, ...]:
    """One reading per GPU from the samples of one job, ordered by node and GPU."""
    gpus: dict[tuple[str, str], dict[str, Any]] = {}
    for labels, value in rows:
        field = _FIELDS.get(labels.get("__name__", ""))
        if field is None or not value < _BLANK:
            continue
        node = labels.get("Hostname") or labels.get("hostname") or labels.get("node") or labels.get("instance", "")
        name = f"{labels.get('modelName', 'GPU')} {labels.get('gpu', '?')}"
        if labels.get("GPU_I_ID"):
            name += f" slice {labels['GPU_I_ID']}"
        gpus.setdefault((node, name), {})[field] = value if field in _RATIOS else int(value)
    return tuple(HardwareReading(node=node, gpu=gpu, **fields) for (node, gpu), fields in sorted(gpus.items()))
