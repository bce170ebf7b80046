"""What is asked for: the PromQL of every kind of reading, for workloads that fit into one query."""

from collections.abc import Iterator, Sequence

from mfu_operator.adapters.metric_names import MetricNames
from mfu_operator.adapters.prometheus.selectors import matcher
from mfu_operator.detect.samples import MFU, PHASE, SCRAPED_AT, STEP_TIME, STEPS, THROUGHPUT
from mfu_operator.detect.vital_samples import MEMORY
from mfu_operator.model.baseline import WorkloadRef

RATE_WINDOW_S = 180
"""Of counters: three scrapes of the slowest common interval, 60 s, so that one may fail."""

FLOOR_KIND = "mfu_kind"
"""The label that tells the series of a history of memory apart, which have lost their names."""


def queries(workloads: Sequence[WorkloadRef], names: MetricNames) -> Iterator[tuple[str, str]]:
    """(kind, PromQL) of every signal that the names hold, and of the time at which they were scraped: that of the first
    of the signals that a process exports."""
    selected = matcher(workloads, names)
    for kind, name in names.names.items():
        yield kind, _promql(kind, f"{name}{selected}", names)
    clocks = dict.fromkeys(names.names[kind] for kind in (STEPS, MFU, STEP_TIME, THROUGHPUT) if kind in names.names)
    if clocks:
        yield SCRAPED_AT, " or ".join(f"timestamp({name}{selected})" for name in clocks)


def vitals_query(workloads: Sequence[WorkloadRef], names: MetricNames) -> str:
    """Memory and streaks, all in one."""
    metrics = "|".join(sorted(names.vitals.values()))
    return f'{{__name__=~"{metrics}",{matcher(workloads, names)[1:]}'


def floors_query(workloads: Sequence[WorkloadRef], names: MetricNames, step_s: float) -> str:
    """The least memory within each `step_s`; "" where none is exported.

    min_over_time drops a metric's name, so each kind is put into a label of its own.
    """
    selected = matcher(workloads, names)
    return " or ".join(
        f'label_replace(min_over_time({name}{selected}[{step_s:.0f}s]), "{FLOOR_KIND}", "{kind}", "", "")'
        for kind, name in names.vitals.items()
        if kind in MEMORY
    )


def _promql(kind: str, selector: str, names: MetricNames) -> str:
    """What is asked for one kind. Prometheus' rate() knows a counter that began anew."""
    if kind == PHASE:
        return f"{selector} == 1"
    if kind not in names.counters:
        return selector
    rate = f"rate({selector}[{RATE_WINDOW_S}s])"
    return f"1 / {rate}" if kind == STEP_TIME else rate
