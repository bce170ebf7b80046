"""A judged series as a chart: its readings against the level, what was gated, what was said and what was lost."""

from collections.abc import Sequence

from mfu_operator.detect.formatting import bare, name_of, per_cent, quantity
from mfu_operator.detect.replay import Span
from mfu_operator.model.baseline import Signal
from mfu_operator.model.series import Reading
from mfu_operator.picture import Chart, Loss


def chart_of(
    workload: str,
    signal: Signal,
    level: float,
    tolerance: float,
    readings: Sequence[Reading],
    gated: Sequence[Span],
    events: Sequence[tuple[float, str]],
    losses: Sequence[Loss],
    *,
    dated: bool,
) -> Chart:
    """What is drawn of a series.

    Args:
        workload: the job's name.
        signal: what of the readings is drawn.
        level: the baseline's, in the signal's unit.
        tolerance: a ratio of speed.
        readings: oldest first.
        gated: spans that did not count.
        events: time in seconds and what was said then.
        losses: from onset to recovery.
        dated: whether times are Unix seconds, and not seconds from a start.
    """
    keeps = 1 - tolerance
    unit = quantity(signal, level).removeprefix(bare(signal, level)).strip()
    return Chart(
        title=f"{workload}: {name_of(signal)}{f' ({unit})' if unit else ''}",
        points=[(reading.time_s, reading.values[signal]) for reading in readings if signal in reading.values],
        level=level,
        level_text=f"baseline {bare(signal, level)}",
        limit=level / keeps if signal is Signal.STEP_TIME else level * keeps,
        limit_text=f"{per_cent(tolerance)} slower",
        gates=[(span.start_s, span.end_s, str(span.gate)) for span in gated],
        events=events,
        losses=losses,
        dated=dated,
    )
