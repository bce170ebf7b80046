"""`kubectl mfu replay`: what the operator would have said about a series, and when."""

import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mfu_operator.api import status as codec
from mfu_operator.api.quantities import duration_s, unix_s
from mfu_operator.cli.connection import connection_options
from mfu_operator.cli.manifest import MANIFEST, read_manifest, spec_of
from mfu_operator.cli.printing.objects import yaml_of
from mfu_operator.cli.printing.options import output_option, refused_option
from mfu_operator.cli.printing.page import as_html, page
from mfu_operator.cli.replay.history import History
from mfu_operator.cli.replay.series import read_series
from mfu_operator.cli.replay.told import Story, as_json, as_markdown, as_text
from mfu_operator.cli.source import Asked, opened, prometheus_options
from mfu_operator.detect.chart import chart_of
from mfu_operator.detect.cleaning import STRENGTH, level_of
from mfu_operator.detect.climb import climb_of
from mfu_operator.detect.formatting import name_of
from mfu_operator.detect.record import FirstLevel, record_first
from mfu_operator.detect.replay import replay
from mfu_operator.detect.statistics import UNKNOWN_SPREAD, tolerance_of
from mfu_operator.detect.utilisation import with_mfu
from mfu_operator.errors import Stall, Unreadable
from mfu_operator.model.baseline import Baseline, BaselineSpec, Level, Provenance, Signal
from mfu_operator.model.series import Reading
from mfu_operator.picture import Chart, Loss, png, svg
from mfu_operator.ports import MOST_POINTS
from mfu_operator.process.wiring import fleet_of
from mfu_operator.reconcile.level import as_recorded
from mfu_operator.settings import from_environment

_SIGNALS = {"mfu": Signal.MFU, "throughput": Signal.THROUGHPUT, "step-time": Signal.STEP_TIME}


@click.command("replay")
@click.argument("series", required=False,
                type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))  # fmt: skip
@click.option("--baseline", "manifest", required=True, type=MANIFEST,
              help="A TrainingBaseline manifest (-: the standard input): its level, tolerance and horizons are used, "
                   "and of one that kubectl shows the recorded level.")  # fmt: skip
@click.option("--signal", type=click.Choice(sorted(_SIGNALS)),
              help="What the values are; default: the strongest that the baseline declares.")  # fmt: skip
@click.option("--column", metavar="NAME",
              help="The column, key or tag with the values; default: the one whose name says so.")  # fmt: skip
@click.option("--record", metavar="DURATION",
              help='Take the level from the first hours of the series instead ("3h").')  # fmt: skip
@click.option("--earlier", multiple=True, metavar="SERIES",
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="The log of an earlier run, from its beginning; repeatable. SERIES, which then is one from its "
                   "beginning too, is compared in its first hour with earlier runs at the same age.")  # fmt: skip
@prometheus_options("Read the workload's history there.")
@connection_options
@click.option("--since", default="24h", show_default=True, metavar="DURATION|TIME",
              help='With --prometheus ("30d", "36h", "2026-11-21T06:00:00Z").')  # fmt: skip
@output_option("text", "json", "yaml", "markdown", "html", "svg", "png", about="What to print or draw.")
@refused_option("-w", "--watch", because="the past does not change; kubectl mfu status NAME -w watches the present")
@refused_option("-n", "--namespace", because="the workload is the one that --baseline names, in its own namespace")
def replay_command(
    series: Path | None,
    manifest: Path,
    signal: str | None,
    column: str | None,
    record: str | None,
    earlier: tuple[Path, ...],
    asked: Asked,
    since: str,
    output: str,
) -> None:
    """Run the operator's own rule over history and print what it would have said.

    SERIES (-: the standard input) is a CSV file with the columns time (RFC 3339, Unix seconds, or seconds from the
    start), value and, optionally, phase (starting, running, checkpoint, evaluation, paused); a CSV file of Lightning's
    CSVLogger or exported from Weights & Biases; trainer_state.json of Hugging Face; a TensorBoard event file; or a log
    of Megatron-LM. It says nothing that the operator could not have known then: before a level is recorded nothing is
    judged.
    """
    if (series is None) == (asked.address is None):
        raise click.UsageError("give either SERIES.csv or --prometheus URL")
    if series is not None and (asked.tenant or asked.folder):
        raise click.UsageError("--tenant and --credentials are for --prometheus URL")
    if earlier and series is None:
        raise click.UsageError("--earlier is for SERIES; with --prometheus the climb that the baseline recorded counts")
    if str(series) == str(manifest) == "-":
        raise click.UsageError("the standard input holds the baseline or the series, not both")
    spec, held = declared(read_manifest(manifest))
    recorded_s = _span_s(record) if record else None
    chosen = _SIGNALS[signal] if signal else _strongest(held)
    history = (
        _from_prometheus(spec, asked, _span_since(since)) if series is None else read_series(series, chosen, column)
    )
    story = told(spec, held, history, chosen, recorded_s, [read_series(each, chosen, column) for each in earlier])
    if output in ("json", "yaml"):
        text = json.dumps(as_json(story), indent=2, allow_nan=False)
        print(text if output == "json" else yaml_of(text))
    elif output == "text":
        print(as_text(story))
    elif output == "svg":
        print(svg(_chart(story)))
    elif output == "markdown":
        print(as_markdown(story))
    elif output == "html":
        print(page(f"Replay of {spec.workload.name}", as_html(as_markdown(story)) + svg(_chart(story))))
    else:
        sys.stdout.buffer.write(_painted(_chart(story)))


def _painted(chart: Chart) -> bytes:
    """The picture as PNG. Raises ClickException where matplotlib is not installed."""
    try:
        return png(chart)
    except ImportError as missing:
        message = "a PNG needs matplotlib: run `pip install 'mfu-operator[png]'`, or take `-o svg`"
        raise click.ClickException(message) from missing


def declared(body: Mapping[str, Any]) -> tuple[BaselineSpec, Baseline | None]:
    """What a manifest asks for, and the level that is held: declared, or recorded as its status says."""
    spec = spec_of(body)
    if spec.declared is not None:
        return spec, Baseline(spec.declared, spec.declared_spread or UNKNOWN_SPREAD, Provenance.DECLARED)
    held = codec.decode(body.get("status")).baseline
    if held is None or spec.record is None or held.generation != spec.record.generation:
        return spec, None
    return as_recorded(spec, held), held


def _span_s(text: str) -> float:
    """A duration as manifests write it, and days besides ("30d")."""
    try:
        days, _, rest = text.rpartition("d")
        span_s = (float(days) * 86_400 if days else 0.0) + (duration_s(rest) if rest else 0.0)
    except ValueError:
        span_s = 0.0
    if not 0 < span_s < math.inf:
        raise click.UsageError(f'{text!r} is not a span of time; write for example "3h", "90m" or "30d"')
    return span_s


def _span_since(text: str) -> float:
    """Until now, from a moment or for a duration."""
    try:
        return max(1.0, time.time() - unix_s(text))
    except ValueError:
        return _span_s(text)


def _strongest(held: Baseline | None) -> Signal:
    levels = held.level if held else Level()
    return next((signal for signal in STRENGTH if level_of(levels, signal) is not None), Signal.MFU)


def _from_prometheus(spec: BaselineSpec, asked: Asked, span_s: float) -> History:
    """As often as the operator would have read it, in as many queries as that takes."""
    settings = from_environment()
    metrics = opened(spec, fleet_of(settings), asked)
    now_s = time.time()
    readings: list[Reading] = []
    for start_s, end_s in _portions(now_s - span_s, now_s, settings.sweep_interval_s * MOST_POINTS):
        found = metrics.history([spec.workload], start_s, end_s, settings.sweep_interval_s).get(spec.workload, ())
        readings += [reading for reading in found if not readings or reading.time_s > readings[-1].time_s]
    if metrics.lacking is not None:
        click.echo(f"{metrics.address} answers without a part of its data: {metrics.lacking}", err=True)
    if not readings:
        raise Unreadable(
            "NoSeries",
            f"{metrics.address} has no series of {spec.workload.kind} {spec.workload.namespace}/{spec.workload.name}; "
            "`kubectl mfu doctor` shows each query",
        )
    return History(tuple(with_mfu(reading, spec) for reading in readings), dated=True)


def _portions(start_s: float, end_s: float, most_s: float) -> Iterator[tuple[float, float]]:
    while start_s < end_s:
        yield start_s, min(start_s + most_s, end_s)
        start_s += most_s


def told(
    spec: BaselineSpec,
    held: Baseline | None,
    history: History,
    signal: Signal,
    recorded_s: float | None,
    earlier: Sequence[History] = (),
) -> Story:
    """What the operator would have said about a series.

    Args:
        spec: what the baseline asks for.
        held: the level to judge by; None: it is recorded from the series.
        history: the series.
        signal: what its values are.
        earlier: runs before it, each from its beginning, as the series then is.
        recorded_s: take the level from the first seconds of the series instead; None: as the baseline has it.

    Raises:
        Stall: (SignalNotDeclared) there is no level for the signal.
    """
    first: FirstLevel | None = None
    detection = spec.detection
    if recorded_s is None and held is None and spec.record is not None:
        recorded_s = spec.record.duration_s
    if recorded_s is not None:
        first = record_first(history.readings, recorded_s, detection)
    baseline = first.baseline if first else held
    if baseline is None or level_of(baseline.level, signal) is None:
        raise Stall(
            "SignalNotDeclared",
            f"the baseline declares no {name_of(signal)}: say with --signal what the values are, or use --record 3h",
        )
    if first is None and not history.dated:
        baseline = replace(baseline, recorded_at=None)
    born_s: float | None = None
    if earlier and history.readings:
        born_s = history.readings[0].time_s
        baseline = replace(baseline, climb=climb_of([each.readings for each in earlier], baseline.level))
    found = replay(history.readings, baseline, detection, spec.comparable, born_s=born_s)
    return Story(signal, history, baseline, spec, found, first)


def _chart(story: Story) -> Chart:
    tolerance = tolerance_of(story.baseline.spread, story.spec.detection)
    level = level_of(story.baseline.level, story.signal)
    assert level is not None
    return chart_of(
        story.spec.workload.name,
        story.signal,
        level,
        tolerance.ratio,
        story.history.readings,
        story.replayed.gated,
        [(said.time_s, said.event) for said in story.replayed.said],
        list(_losses(story)),
        dated=story.history.dated,
    )


def _losses(story: Story) -> Iterator[Loss]:
    """From onset to recovery; a loss that grew is one from the onset of what it grew to."""
    onset_s: float | None = None
    for said in story.replayed.said:
        if said.event in ("Regressed", "Confirmed") and said.onset_s is not None:
            onset_s = said.onset_s
        elif said.event == "Recovered" and onset_s is not None:
            yield Loss(onset_s, said.time_s)
            onset_s = None
    if onset_s is not None:
        yield Loss(onset_s, story.history.readings[-1].time_s)
