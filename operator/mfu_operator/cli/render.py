"""Accounts and diagnoses on a terminal: a bar of the step, a table, the evidence. Plain text in a pipe."""

import io
import sys
from collections.abc import Mapping, Sequence

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.diagnosis import Diagnosis
from mfu_operator.trace import answer
from mfu_operator.trace.answer import Answer, KernelDelta
from mfu_operator.trace.markdown import LABELS, grid_change

BAR_CELLS = 60
MOST_KERNELS = 5
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
    before = answer.before(found)
    devices = answer.counted_devices(found)
    alone = before if len(devices) == 1 else None
    for device in devices:
        _title(console, device.device, device.gpu, found.traces[device.trace].path, device.step.count)
        _account(console, device.step.mean_ns, device.step.account_ns, alone)
        _kernels(console, [(one.total_ns, one.calls, one.category, one.name) for one in device.step.kernels], before)
    if before and not alone:
        console.print(f"mean of {len(devices)} devices", style="bold", highlight=False)
        _account(console, *answer.mean_parts(found), before)
    if found.difference is not msgspec.UNSET:
        _changes(console, found.difference.kernels)
    if found.ranks is not msgspec.UNSET:
        console.print(f"ranks: {found.ranks.evidence}", highlight=False, markup=False)
    row = found.diagnosis
    _diagnosis(console, row.bottleneck, row.cause, row.confidence, row.evidence, row.advice)
    for warning in dict.fromkeys(warning for trace in found.traces for warning in trace.warnings):
        console.print(f"! {warning}", style="yellow", highlight=False, markup=False)
    return _text(console)


def account_text(now: StepAccount, baseline: StepAccount | None, found: Diagnosis | None) -> str:
    """The same from an account and a diagnosis, as a status holds them."""
    console = _console()
    before = None if baseline is None else (baseline.mean_ns, baseline.parts_ns)
    _account(console, now.mean_ns, now.parts_ns, before)
    if found is not None:
        bottleneck = found.bottleneck.value if found.bottleneck else None
        _diagnosis(console, bottleneck, found.cause, found.confidence, found.evidence, found.advice)
    return _text(console) + "\n"


def _console() -> Console:
    """Colour where standard output is a terminal that has it."""
    return Console(
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


def _title(console: Console, device: int | None, gpu: str | None, path: str, count: int) -> None:
    where = f"device {device}" if device is not None else "training thread (host ranges)"
    named = f"{where}, {gpu}" if gpu else where
    console.print(
        f"{path}: {named}, mean of {count} step{'' if count == 1 else 's'}", style="bold", highlight=False, markup=False
    )


def _account(
    console: Console, step_ns: float, parts: Mapping[str, float], before: tuple[float, Mapping[str, float]] | None
) -> None:
    longest = max(step_ns, before[0] if before else 0.0)
    console.print(_bar("now     ", step_ns, parts, longest))
    if before:
        console.print(_bar("baseline", before[0], before[1], longest))
    console.print(_table(step_ns, parts, before))


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


def _table(step_ns: float, parts: Mapping[str, float], before: tuple[float, Mapping[str, float]] | None) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("per step")
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
