"""What is asked for: the PromQL of every kind of reading, of the series that a selector selects."""

from mfu_operator.adapters.metric_names import MetricNames
from mfu_operator.detect.samples import MFU, PHASE, SCRAPED_AT, STEP_TIME, STEPS, THROUGHPUT
from mfu_operator.detect.vital_samples import MEMORY

RATE_WINDOW_S = 180
"""Of counters: three scrapes of the slowest common interval, 60 s, so that one may fail."""

FLOOR_KIND = "mfu_kind"
"""The label that tells the series of a history of memory apart, which have lost their names."""


def kinds(names: MetricNames) -> list[str]:
    """Every kind of sample that the names hold, and the time at which they were scraped."""
    return [*names.names, *([SCRAPED_AT] if _clocks(names) else [])]


def query(kind: str, selected: str, names: MetricNames) -> str:
    """The query for one kind. The time of a scrape is that of the first of the signals that a process exports."""
    if kind == SCRAPED_AT:
        return " or ".join(f"timestamp({name}{selected})" for name in _clocks(names))
    return _promql(kind, f"{names.names[kind]}{selected}", names)


def vitals_query(selected: str, names: MetricNames) -> str:
    """Memory and streaks, all in one."""
    metrics = "|".join(sorted(names.vitals.values()))
    return f'{{__name__=~"{metrics}",{selected[1:]}'


def floors_query(selected: str, names: MetricNames, step_s: float) -> str:
    """The least memory within each `step_s`; "" where none is exported.

    min_over_time drops a metric's name, so each kind is put into a label of its own.
    """
    return " or ".join(
        f'label_replace(min_over_time({name}{selected}[{step_s:.0f}s]), "{FLOOR_KIND}", "{kind}", "", "")'
        for kind, name in names.vitals.items()
        if kind in MEMORY
    )


def _clocks(names: MetricNames) -> dict[str, None]:
    """The metrics that tell when a process was scraped, each once, the first one first."""
    return dict.fromkeys(names.names[kind] for kind in (STEPS, MFU, STEP_TIME, THROUGHPUT) if kind in names.names)


def _promql(kind: str, selector: str, names: MetricNames) -> str:
    """What is asked for one kind. Prometheus' rate() knows a counter that began again."""
    if kind == PHASE:
        return f"{selector} == 1"
    if kind not in names.counters:
        return selector
    rate = f"rate({selector}[{RATE_WINDOW_S}s])"
    return f"1 / {rate}" if kind == STEP_TIME else rate
