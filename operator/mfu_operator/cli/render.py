"""Accounts and diagnoses on a terminal: a bar of the step, a table, the evidence. Plain text in a pipe."""

import io
import sys
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.diagnosis import Diagnosis
from mfu_operator.model.terminal_text import for_terminal
from mfu_operator.trace import answer
from mfu_operator.trace.answer import Answer, DeviceRow, KernelDelta, OpportunityRow
from mfu_operator.trace.markdown import LABELS, grid_change

BAR_CELLS = 60
MOST_KERNELS = 5
MOST_STEPS = 200
MUCH = 0.05
"""Of the step: less communication than that is worth no line of its own."""

EXPOSED = 0.1
"""Of the step: with less communication exposed, how fast it is matters little."""

MOST = 0.5
"""Of the communication: where sizes are known of less, the line would describe the wrong collectives."""

STYLES: Mapping[str, tuple[str, str]] = {
    "compute": ("green", "█"),
    "communication": ("blue", "▓"),
    "h2d": ("cyan", "▒"),
    "d2h": ("cyan", "▒"),
    "d2d": ("cyan", "▒"),
    "memset": ("cyan", "▒"),
    "idleInput": ("red", "i"),
    "idleSync": ("magenta", "s"),
    "idleAlloc": ("magenta", "a"),
    "idleHost": ("yellow", "h"),
    "idleLaunch": ("yellow", "l"),
    "idleUnknown": ("white", "?"),
}
"""Colour and letter of each part: the letters carry the meaning where there is no colour."""


def answer_text(found: Answer) -> str:
    """The whole answer for a terminal."""
    console = _console()
    print_answer(console, found)
    return _text(console)


def print_answer(console: Console, found: Answer) -> None:
    """Print the whole answer."""
    before = answer.before(found)
    devices = answer.counted_devices(found)
    alone = before if len(devices) == 1 else None
    for device in devices:
        _title(console, device, found.traces[device.trace].path)
        console.print(durations(device), highlight=False, markup=False)
        _account(console, device.step.mean_ns, device.step.account_ns, alone, answer.of_what(device))
        _overlap(console, device)
        _bandwidth(console, device)
        _kernels(console, [(one.total_ns, one.calls, one.category, one.name) for one in device.step.kernels], before)
    if before and not alone:
        console.print(f"mean of {len(devices)} devices", style="bold", highlight=False)
        _account(console, *answer.mean_parts(found), before, answer.of_what(devices[0]))
    if found.difference is not msgspec.UNSET:
        _changes(console, found.difference.kernels)
    if found.ranks is not msgspec.UNSET:
        console.print(f"ranks: {found.ranks.evidence}", highlight=False, markup=False)
    _span(console, found)
    if found.opportunities is not msgspec.UNSET:
        _opportunities(console, found.opportunities)
    row = found.diagnosis
    _diagnosis(console, row.bottleneck, row.cause, row.confidence, row.evidence, row.advice)
    for warning in answer.remarks(found):
        console.print(f"! {warning}", style="yellow", highlight=False, markup=False)


def account_text(now: StepAccount, baseline: StepAccount | None, found: Diagnosis | None) -> str:
    """The same from an account and a diagnosis, as a status holds them."""
    console = _console()
    before = None if baseline is None else (baseline.mean_ns, baseline.parts_ns)
    _account(console, now.mean_ns, now.parts_ns, before)
    if found is not None:
        bottleneck = found.bottleneck.value if found.bottleneck else None
        _diagnosis(console, bottleneck, found.cause, found.confidence, found.evidence, found.advice)
    return _text(console) + "\n"


class _Harmless(Console):
    """Prints the names that a trace gives to its kernels, and nothing of them that is meant for the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(for_terminal(segment.text), segment.style)


def _console() -> Console:
    """Colour where standard output is a terminal that has it."""
    return _Harmless(
        file=io.StringIO(), force_terminal=sys.stdout.isatty(), width=120 if not sys.stdout.isatty() else None
    )


def _text(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().rstrip("\n")


def _kernels(
    console: Console,
    kernels: Sequence[tuple[float, float, str, str]],
    before: tuple[float, Mapping[str, float]] | None,
) -> None:
    """The most expensive kernels; with a baseline what changed is told instead."""
    for total_ns, calls, category, name in kernels[: 0 if before else MOST_KERNELS]:
        _line(console, f"  {total_ns / 1e6:9.3f} ms  {calls:6g}×  {category:14} {name}")


def _changes(console: Console, kernels: Sequence[KernelDelta]) -> None:
    for one in [each for each in kernels if each.delta_ns][:MOST_KERNELS]:
        calls = f"{one.calls_baseline:g} → {one.calls_now:g}×{grid_change(one)}"
        _line(console, f"  {one.delta_ns / 1e6:+9.3f} ms  {calls:>15}  {one.category:14} {one.name}")


def _line(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, no_wrap=True, overflow="ellipsis")


def _title(console: Console, device: DeviceRow, path: str) -> None:
    where = f"device {device.device}" if device.device is not None else "training thread (host ranges)"
    named = f"{where}, {device.gpu}" if device.gpu else where
    console.print(f"{path}: {named}, {answer.meant(device)}", style="bold", highlight=False, markup=False)


def durations(device: DeviceRow) -> str:
    """Every step's length; those that the mean is not over stand in brackets."""
    counted = [one for one in device.steps if one.interior and not one.left_out] or device.steps
    shown = [(f"{(one.end_ns - one.start_ns) / 1e6:.1f}", one in counted) for one in device.steps]
    said = " ".join(length if inside else f"({length})" for length, inside in shown[:MOST_STEPS])
    if len(shown) > MOST_STEPS:
        said += f" … and {len(shown) - MOST_STEPS} more"
    outside = "" if len(counted) == len(device.steps) else "; in brackets: not in the mean"
    return f"{'recorded span' if answer.is_span(device) else 'steps'}, ms: {said}{outside}"


def _account(
    console: Console,
    step_ns: float,
    parts: Mapping[str, float],
    before: tuple[float, Mapping[str, float]] | None,
    what: str = "per step",
) -> None:
    longest = max(step_ns, before[0] if before else 0.0)
    console.print(_bar("now     ", step_ns, parts, longest))
    if before:
        console.print(_bar("baseline", before[0], before[1], longest))
    console.print(_table(step_ns, parts, before, what))


def _bar(label: str, step_ns: float, parts: Mapping[str, float], longest: float) -> Text:
    bar = Text(f"{label} ")
    reached, drawn = 0.0, 0
    for part in PARTS:
        reached += parts.get(part, 0.0)
        cells = round(BAR_CELLS * reached / longest) - drawn if longest else 0
        colour, letter = STYLES[part]
        bar.append(letter * cells, style=colour)
        drawn += cells
    bar.append(f" {step_ns / 1e6:.1f} ms")
    return bar


def _table(
    step_ns: float, parts: Mapping[str, float], before: tuple[float, Mapping[str, float]] | None, what: str
) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column(what)
    table.add_column("ms", justify="right")
    table.add_column("share", justify="right")
    if before:
        table.add_column("baseline", justify="right")
        table.add_column("change", justify="right")
    for part in PARTS:
        value = parts.get(part, 0.0)
        old = before[1].get(part, 0.0) if before else 0.0
        if value or old:
            colour, letter = STYLES[part]
            cells = [f"{value / 1e6:.2f}", f"{value / step_ns:.1%}" if step_ns else "–"]
            compared = [f"{old / 1e6:.2f}", f"{(value - old) / 1e6:+.2f}"] if before else []
            table.add_row(Text(letter, style=colour), LABELS[part], *cells, *compared)
    return table


def _overlap(console: Console, device: DeviceRow) -> None:
    """How much of the communication is hidden, where there is enough of it to matter."""
    mean = device.step
    if mean.overlap_efficiency is not msgspec.UNSET and mean.communication_total_ns > MUCH * mean.mean_ns:
        total = f"communication {mean.communication_total_ns / 1e6:.2f} ms in all"
        console.print(f"  {total}, {mean.overlap_efficiency:.0%} of it overlapped", highlight=False)


def _bandwidth(console: Console, device: DeviceRow) -> None:
    """What the links carry, where the step waits for them."""
    step = device.step
    if device.collectives is msgspec.UNSET or step.account_ns["communication"] <= EXPOSED * step.mean_ns:
        return
    if sum(one.total_ns for one in device.collectives) > MOST * step.communication_total_ns:
        said = ", ".join(f"{one.kind} {one.bus_bytes_per_second / 1e9:.2f} GB/s" for one in device.collectives)
        _wrapped(console, f"  bus bandwidth as nccl-tests has it, waits for other ranks included: {said}")


def _opportunities(console: Console, rows: Sequence[OpportunityRow]) -> None:
    for index, one in enumerate(rows):
        if not index:
            console.print("to be gained, at most:", style="bold", highlight=False)
        _wrapped(
            console, f"  {one.ms:9.3f} ms {one.share:6.1%}  {one.bottleneck} / {one.cause}: {'; '.join(one.evidence)}"
        )
        _wrapped(console, f"{'':22}→ {one.remedy}")


def _span(console: Console, found: Answer) -> None:
    """What a recorded span holds that no loop does."""
    if found.startup is not msgspec.UNSET:
        _wrapped(console, f"{answer.beginning(found, found.startup)}; the longest in it:")
        for call in found.startup.calls:
            _line(console, f"  {call.ms:9.3f} ms  {call.name}")
    if gaps := answer.gaps_of_spans(found):
        console.print("longest times in which the device did nothing:", highlight=False)
        for gap in gaps:
            _line(console, f"  {gap.ms:9.3f} ms  {answer.since(found, gap)}: {gap.call or answer.NOTHING_SAID}")


def _wrapped(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False)


def _diagnosis(
    console: Console,
    bottleneck: str | None,
    cause: str | None,
    confidence: float,
    evidence: tuple[str, ...],
    advice: tuple[str, ...],
) -> None:
    if bottleneck is None:
        said = "no bottleneck stands out"
    else:
        sure = "" if bottleneck == "Inconclusive" else f" (confidence {confidence:.0%})"
        said = bottleneck + (f" / {cause}" if cause else "") + sure
    console.print(said, style="bold", highlight=False, markup=False)
    for one in evidence:
        console.print(f"  · {one}", highlight=False, markup=False)
    for index, one in enumerate(advice):
        console.print(f"  {'first' if index == 0 else 'then '}: {one}", highlight=False, markup=False)
