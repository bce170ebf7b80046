"""Ready-made sets of metric names, and what a baseline changes in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from mfu_operator.detect.samples import INFO, MFU, PHASE, RUNNING_RATIO, STEP_TIME, STEPS, THROUGHPUT
from mfu_operator.detect.vital_samples import VITALS
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import MetricsSource

KINDS = (MFU, STEP_TIME, THROUGHPUT, STEPS, PHASE, INFO, RUNNING_RATIO)


@dataclass(frozen=True, slots=True)
class MetricNames:
    """The metric of each kind, the factor to the operator's unit, and the labels that hold namespace, pod, workload.

    `vitals` are those that say whether a run is broken; they are asked for apart from the others.
    """

    names: Mapping[str, str]
    vitals: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    namespace: str = "namespace"
    pod: str = "pod"
    workload: str = "job_name"


@cache
def _profiles() -> Mapping[str, Mapping[str, Any]]:
    text = files("mfu_operator.adapters").joinpath("metric_profiles.yaml").read_text(encoding="utf-8")
    profiles: Mapping[str, Mapping[str, Any]] = yaml.safe_load(text)
    return profiles


def profile_names() -> tuple[str, ...]:
    """The profiles that there are."""
    return tuple(_profiles())


def names_of(source: MetricsSource) -> MetricNames:
    """The source's profile with the baseline's own names over it; an empty name switches a metric off.

    Raises:
        Stall: (UnknownMetricsProfile, UnknownMetric) naming what there is.
    """
    profile = _profiles().get(source.profile)
    if profile is None:
        raise Stall(
            "UnknownMetricsProfile", f"metrics.profile {source.profile!r}: there are {', '.join(sorted(_profiles()))}"
        )
    unknown = set(source.names) - {*KINDS, *VITALS}
    if unknown:
        known = ", ".join((*KINDS, *VITALS))
        raise Stall("UnknownMetric", f"metrics.names has {', '.join(sorted(unknown))}: there are {known}")
    names = {**profile["names"], **source.names}
    labels = {**profile.get("labels", {}), **source.labels}
    return MetricNames(
        names={kind: name for kind, name in names.items() if name and kind in KINDS},
        vitals={kind: name for kind, name in names.items() if name and kind in VITALS},
        scales={kind: float(factor) for kind, factor in profile.get("scales", {}).items() if kind not in source.names},
        namespace=labels.get("namespace", "namespace"),
        pod=labels.get("pod", "pod"),
        workload=labels.get("workload", ""),
    )
