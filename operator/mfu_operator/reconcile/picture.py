"""The picture in the record of an incident that recovered: its readings against the baseline that proved it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mfu_operator.detect.chart import chart_of
from mfu_operator.detect.replay import Span as Gated
from mfu_operator.detect.replay import replay
from mfu_operator.detect.statistics import tolerance_of
from mfu_operator.gitops.message import SHOWN_BEFORE_S
from mfu_operator.model.baseline import BaselineSpec, Signal
from mfu_operator.model.incident import Incident, Status
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate
from mfu_operator.picture import Loss, svg
from mfu_operator.reconcile.effects import Record, Step
from mfu_operator.reconcile.level import declared_baseline
from mfu_operator.reconcile.world import World

PATIENCE_S = 900.0
"""For so long after a recovery its readings are asked for; a source that does not answer by then gives no picture."""

Span = tuple[float, float]
"""From one moment to another, Unix seconds."""


def awaited(status: Status, now_s: float) -> Incident | None:
    """The incident that recovered lately and has no picture yet."""
    newest = status.history[0] if status.history else None
    if newest is None or newest.recovery is None or newest.picture is not None:
        return None
    return newest if now_s - newest.recovery.recovered_at < PATIENCE_S else None


def span_of(incident: Incident, spec: BaselineSpec) -> Span:
    """What is drawn of it: as much of the time before the loss as it lasted, and two horizons at least."""
    assert incident.recovery is not None
    ends_s = incident.recovery.recovered_at
    before_s = max(ends_s - incident.onset_at, 2 * spec.detection.sustain_s)
    return incident.onset_at - min(SHOWN_BEFORE_S, before_s), ends_s


def draw(world: World) -> Step | None:
    """Draw it once its readings are there; a source that keeps none leaves it empty."""
    incident = awaited(world.status, world.now_s)
    if incident is None or world.past is None:
        return None
    drawn = replace(incident, picture=_picture(world, incident, world.past))
    return Record(replace(world.status, history=(drawn, *world.status.history[1:])))


def _picture(world: World, incident: Incident, readings: Sequence[Reading]) -> str:
    baseline = declared_baseline(world.spec) or world.status.baseline
    signal = Signal(incident.signal)
    if baseline is None or incident.recovery is None or not any(signal in reading.values for reading in readings):
        return ""
    said = [(incident.opened_at, "Regressed"), (incident.recovery.recovered_at, "Recovered")]
    if incident.confirmed_at is not None:
        said.insert(1, (incident.confirmed_at, "Confirmed"))
    rule = world.spec.detection
    chart = chart_of(
        world.spec.workload.name,
        signal,
        incident.baseline_value,
        tolerance_of(baseline.spread, rule).ratio,
        readings,
        [*replay(readings, baseline, rule).gated, *_profiled(incident)],
        said,
        [Loss(incident.onset_at, incident.recovery.recovered_at)],
        dated=True,
    )
    return svg(chart)


def _profiled(incident: Incident) -> Iterator[Gated]:
    """While our own Job recorded it; the readings themselves do not tell."""
    profile = incident.profile
    if profile is not None and profile.finished_at is not None:
        yield Gated(Gate.PROFILING, profile.created_at, profile.finished_at)
