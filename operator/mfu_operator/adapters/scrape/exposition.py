"""The wanted samples of a metrics page, by prometheus-client's parsers, line by line.

A page is a tenant's text, and pure Python reads it: lines that nobody wants are skipped before they are parsed, and
what is wrong with a page is told by its line's number, never by its words.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from mfu_operator.adapters.metric_names import MetricNames
from mfu_operator.errors import Unreadable

MOST_SAMPLES = 2000
"""Wanted ones of one page: a process shows a few dozen, a page for all GPUs of a node a few hundred."""

OLD_SAMPLE_S = 300.0
"""A sample that carries a time of its own and is older is of the past: Prometheus' own look-back."""

_OPENMETRICS = "application/openmetrics-text"
_NATIVE_HISTOGRAM = " {count:"
"""Its samples have no single value. https://prometheus.io/docs/specs/native_histograms/#openmetrics-text-format"""

_LINE = re.compile(r"\s*(?:$|[#a-zA-Z_:{])")
_COUNTER = "_total"

_Sample = tuple[str, Mapping[str, str], float, float | None]
"""Name, labels, value, and the time that it carries, Unix seconds."""


def samples_of(
    content_type: str, text: str, names: MetricNames, at_s: float
) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """(kind, labels, value) of the wanted samples of a page, as they are.

    Args:
        content_type: says which of the two formats it is.
        text: the page.
        names: what is wanted.
        at_s: when it was read, Unix seconds; samples that say that they are much older are left out.

    Raises:
        Unreadable: (PodPageUnreadable) no metrics page, cut off, or too many samples.
    """
    kinds: dict[str, list[str]] = {}
    for kind, name in (*names.names.items(), *names.vitals.items()):
        kinds.setdefault(name, []).append(kind)
    is_openmetrics = content_type.startswith(_OPENMETRICS)
    if is_openmetrics and text.rstrip().rpartition("\n")[2] != "# EOF":
        raise Unreadable("PodPageUnreadable", "it is cut off: no # EOF at its end")
    for name, labels, value, told_s in _samples(text, frozenset(kinds), is_openmetrics):
        if told_s is not None and at_s - told_s > OLD_SAMPLE_S:
            continue
        for kind in kinds.get(name, ()):
            yield kind, labels, value


def _samples(text: str, wanted: frozenset[str], is_openmetrics: bool) -> Iterator[_Sample]:
    count, begins = 0, _beginning_with(wanted)
    for number, line in enumerate(text.split("\n"), 1):
        match = begins.match(line)
        if match is None:
            if not _LINE.match(line):
                raise Unreadable("PodPageUnreadable", f"it is not a metrics page: line {number} is not a sample")
            continue
        if _NATIVE_HISTOGRAM in line:
            continue
        count += 1
        if count > MOST_SAMPLES:
            raise Unreadable("PodPageUnreadable", f"it has more than {MOST_SAMPLES} samples of the wanted metrics")
        try:
            yield from _parsed(line, match[1], is_openmetrics)
        except (ValueError, OverflowError, KeyError, IndexError) as error:
            told = f"it is not a metrics page: {type(error).__name__} in line {number}"
            raise Unreadable("PodPageUnreadable", told) from None


def _parsed(line: str, name: str, is_openmetrics: bool) -> list[_Sample]:
    """The sample of a line. An OpenMetrics counter is told to be one, for only then it may have an exemplar."""
    if is_openmetrics:
        is_counter = name.endswith(_COUNTER)
        head = f"# TYPE {name.removesuffix(_COUNTER)} counter\n" if is_counter else ""
        families: Iterable[Metric] = openmetrics_families(f"{head}{line}\n# EOF\n")  # type: ignore[no-untyped-call]
    else:
        families = text_families(line)
    return [
        (each.name, each.labels, float(each.value), None if each.timestamp is None else float(each.timestamp))
        for family in families
        for each in family.samples
    ]


@cache
def _beginning_with(names: frozenset[str]) -> re.Pattern[str]:
    """Lines of these metrics, the name in group 1; it may be written in quotes within the braces."""
    either = "|".join(re.escape(name) for name in sorted(names))
    return re.compile(rf'[ \t]*(?:{{[ \t]*")?({either})(?=[ \t{{"])')
