"""Ready-made sets of metric names, and what the fleet and a baseline change in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from mfu_operator.detect.samples import INFO, MFU, PHASE, RUNNING_RATIO, STEP_TIME, STEPS, THROUGHPUT
from mfu_operator.detect.vital_samples import VITALS
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import MetricsSource

KINDS = (MFU, STEP_TIME, THROUGHPUT, STEPS, PHASE, INFO, RUNNING_RATIO)
DEFAULT_PROFILE = "mfu_probe"
COUNTED = (THROUGHPUT, STEP_TIME)
"""Signals that may be read from a counter: of tokens, and of steps."""

_COMPARED = {
    "model": "model",
    "gpu": "gpu",
    "gpus": "gpus",
    "gpuCount": "gpu_count",
    "worldSize": "world_size",
    "globalBatch": "global_batch",
    "sequenceLength": "sequence_length",
    "precision": "precision",
    "parallelism": "parallelism",
}
"""Keys of `labels` for what makes readings comparable → the field of a reading's info, which is mfu_probe's label."""


@dataclass(frozen=True, slots=True)
class MetricNames:
    """The metric of each kind, the factor to the operator's unit, and the labels that hold namespace, pod, workload.

    `vitals` say whether a run is broken; they are asked for apart from the others. `compared` maps labels that are read
    off any series of the job to fields of a reading's info. `counters` are the signals whose metric only rises, so
    that its rate is read.
    """

    names: Mapping[str, str]
    vitals: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, float] = field(default_factory=dict)
    namespace: str = "namespace"
    pod: str = "pod"
    workload: str = "job_name"
    compared: Mapping[str, str] = field(default_factory=dict)
    counters: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Profile:
    """A ready-made set: what carries these names to Prometheus, and where they are written down."""

    name: str
    about: str
    install: str
    sources: tuple[str, ...]
    names: Mapping[str, str]
    scales: Mapping[str, float]
    labels: Mapping[str, str]
    counters: frozenset[str]


@cache
def profiles() -> Mapping[str, Profile]:
    """The ready-made sets by name."""
    text = files("mfu_operator.adapters").joinpath("metric_profiles.yaml").read_text(encoding="utf-8")
    return {name: _profile(name, written) for name, written in yaml.safe_load(text).items()}


def _profile(name: str, written: Mapping[str, Any]) -> Profile:
    return Profile(
        name=name,
        about=written["about"],
        install=written["install"],
        sources=tuple(written["sources"]),
        names=written["names"],
        scales={kind: float(factor) for kind, factor in written.get("scales", {}).items()},
        labels=written.get("labels", {}),
        counters=frozenset(written.get("counters", ())),
    )


def of_fleet(source: MetricsSource, fleet: MetricsSource) -> MetricsSource:
    """What a baseline declares, and the fleet's choice where it declares nothing.

    A baseline that says anything of a Prometheus gets none of the operator's own tenant or credentials; one that
    chooses a profile gets none of the fleet's names.
    """
    return replace(
        source,
        address=source.address or fleet.address,
        tenant=source.tenant if source.own_prometheus else fleet.tenant,
        profile=source.profile or fleet.profile or DEFAULT_PROFILE,
        names=source.names if source.profile else {**fleet.names, **source.names},
        labels={**fleet.labels, **source.labels},
    )


def names_of(source: MetricsSource) -> MetricNames:
    """The source's profile with the baseline's own names over it; an empty name switches a metric off.

    Raises:
        Stall: (UnknownMetricsProfile, UnknownMetric) naming what there is.
    """
    profile = profiles().get(source.profile or DEFAULT_PROFILE)
    if profile is None:
        raise Stall(
            "UnknownMetricsProfile", f"metrics.profile {source.profile!r}: there are {', '.join(sorted(profiles()))}"
        )
    unknown = set(source.names) - {*KINDS, *VITALS}
    if unknown:
        known = ", ".join((*KINDS, *VITALS))
        raise Stall("UnknownMetric", f"metrics.names has {', '.join(sorted(unknown))}: there are {known}")
    names = {**profile.names, **source.names}
    if names.get(MFU, "").endswith("_total"):
        raise Stall("UnknownMetric", f"metrics.names.mfu is {names[MFU]}, a counter: name a gauge, or leave it out")
    labels = {**profile.labels, **source.labels}
    return MetricNames(
        names={kind: name for kind, name in names.items() if name and kind in KINDS},
        vitals={kind: name for kind, name in names.items() if name and kind in VITALS},
        scales={kind: factor for kind, factor in profile.scales.items() if kind not in source.names},
        namespace=labels.get("namespace", "namespace"),
        pod=labels.get("pod", "pod"),
        workload=labels.get("workload", ""),
        compared={labels[key]: name for key, name in _COMPARED.items() if labels.get(key)},
        counters=frozenset(
            kind
            for kind in COUNTED
            if names.get(kind, "").endswith("_total") or (kind in profile.counters and kind not in source.names)
        ),
    )
