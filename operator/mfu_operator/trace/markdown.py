"""Accounts and diagnoses as Markdown, for pull requests. Pure: from plain values to text."""

from collections.abc import Mapping, Sequence

import msgspec

from mfu_operator.model.account import PARTS, KernelTotal
from mfu_operator.trace.answer import (
    NOTHING_SAID,
    Answer,
    DeviceRow,
    KernelDelta,
    before,
    beginning,
    counted_devices,
    gaps_of_spans,
    is_span,
    mean_parts,
    meant,
    of_what,
    remarks,
    since,
)

LABELS: Mapping[str, str] = {
    "compute": "compute",
    "communication": "communication, exposed",
    "h2d": "copies to the device, exposed",
    "d2h": "copies to the host, exposed",
    "d2d": "copies on the device, exposed",
    "memset": "memset, exposed",
    "idleInput": "waiting for input",
    "idleSync": "synchronisation",
    "idleAlloc": "memory allocation",
    "idleHost": "other host work",
    "idleLaunch": "launch latency",
    "idleUnknown": "unknown",
}
"""Each part in a reader's words."""

MOST_KERNELS = 8
LONGEST_NAME = 80


def parts_table(
    step_ns: float,
    parts_ns: Mapping[str, float],
    baseline_step_ns: float | None = None,
    baseline_parts_ns: Mapping[str, float] | None = None,
) -> str:
    """The step's parts as a table in milliseconds, from nanoseconds; parts that are zero in both are left out."""
    if baseline_parts_ns is None or baseline_step_ns is None:
        rows = [(LABELS[part], parts_ns.get(part, 0.0)) for part in PARTS if parts_ns.get(part)]
        lines = ["| per step | ms | share |", "|---|---:|---:|"]
        lines += [f"| {label} | {_ms(value)} | {value / step_ns:.1%} |" for label, value in rows]
        return "\n".join([*lines, f"| **step** | **{_ms(step_ns)}** | 100 % |"])
    lines = ["| per step | baseline, ms | now, ms | change, ms |", "|---|---:|---:|---:|"]
    for part in PARTS:
        before, after = baseline_parts_ns.get(part, 0.0), parts_ns.get(part, 0.0)
        if before or after:
            lines.append(f"| {LABELS[part]} | {_ms(before)} | {_ms(after)} | {_signed(after - before)} |")
    total = (
        f"| **step** | **{_ms(baseline_step_ns)}** | **{_ms(step_ns)}** | **{_signed(step_ns - baseline_step_ns)}** |"
    )
    return "\n".join([*lines, total])


def kernel_table(kernels: Sequence[KernelTotal], what: str = "per step") -> str:
    """The most expensive kernels; empty text where there are none. `what` says of what the time is."""
    if not kernels:
        return ""
    ordered = sorted(kernels, key=lambda one: -one.total_ns)[:MOST_KERNELS]
    rows = [f"| `{_cell(one.name)}` | {one.category} | {one.calls:g} | {_ms(one.total_ns)} |" for one in ordered]
    return "\n".join([f"| kernel | category | calls | ms {what} |", "|---|---|---:|---:|", *rows])


def answer_page(found: Answer) -> str:
    """The whole answer: the diagnosis, then each device's step, then what changed."""
    row = found.diagnosis
    sections = [_diagnosis(row.bottleneck, row.cause, row.confidence, row.evidence, row.advice, row.runbook)]
    for device in counted_devices(found):
        title = f"Device {device.device}" if device.device is not None else "Training thread"
        named = f"{title}, {device.gpu}" if device.gpu else title
        sections += [f"### {named}: {meant(device)}", _step_table(found, device)]
        sections += [
            kernel_table(
                [KernelTotal(one.name, one.category, one.calls, one.total_ns) for one in device.step.kernels],
                of_what(device),
            )
        ]
    sections += _mean_table(found)
    sections += _opportunities(found)
    sections += _span(found)
    if found.ranks is not msgspec.UNSET:
        sections += [f"### Ranks\n\n{found.ranks.evidence}."]
    if found.difference is not msgspec.UNSET:
        deltas = [one for one in found.difference.kernels if one.delta_ns][:MOST_KERNELS]
        if deltas:
            rows = [
                f"| `{_cell(one.name)}`{grid_change(one)} | {one.calls_baseline:g} | {one.calls_now:g} "
                f"| {_signed(one.delta_ns)} |"
                for one in deltas
            ]
            head = [
                "### Kernels that changed",
                "| kernel | calls, baseline | calls, now | change, ms |\n|---|---:|---:|---:|",
            ]
            sections += [head[0], "\n".join([head[1], *rows])]
    sections += [f"> {warning}" for warning in remarks(found)]
    return "\n\n".join(one for one in sections if one)


def _opportunities(found: Answer) -> tuple[str, ...]:
    if found.opportunities is msgspec.UNSET or not found.opportunities:
        return ()
    rows = [
        f"| {one.cause} | {one.ms:.2f} | {one.share:.1%} | {'; '.join(one.evidence)} | {one.remedy} |"
        for one in found.opportunities
    ]
    head = "| what | ms, at most | share | evidence | first |\n|---|---:|---:|---|---|"
    return ("### To be gained", "\n".join([head, *rows]))


def _span(found: Answer) -> tuple[str, ...]:
    """What a recorded span holds that no loop does."""
    sections: list[str] = []
    if found.startup is not msgspec.UNSET:
        calls = [f"- {one.ms:.2f} ms `{_cell(one.name)}`" for one in found.startup.calls]
        sections += [f"### {beginning(found, found.startup).capitalize()}", "\n".join(calls)]
    if gaps := gaps_of_spans(found):
        idle = [f"- {one.ms:.2f} ms {since(found, one)}: `{_cell(one.call or NOTHING_SAID)}`" for one in gaps]
        sections += ["The longest times in which the device did nothing:", "\n".join(idle)]
    return tuple(sections)


def grid_change(delta: KernelDelta) -> str:
    """ ", 64 → 96 blocks" where the grid of the kernel's launches changed, ", 96 blocks" where only one side has it."""
    grids = [str(each) for each in (delta.blocks_baseline, delta.blocks_now) if each is not msgspec.UNSET]
    return f", {' → '.join(grids)} blocks" if grids else ""


def _step_table(found: Answer, device: DeviceRow) -> str:
    baseline = before(found) if len(counted_devices(found)) == 1 else None
    table = parts_table(device.step.mean_ns, device.step.account_ns, *(baseline or ()))
    return _of_span(device, table)


def _of_span(device: DeviceRow, table: str) -> str:
    """The table in words that fit what the account is of."""
    return table.replace("per step", of_what(device)).replace("**step**", "**span**") if is_span(device) else table


def _mean_table(found: Answer) -> tuple[str, ...]:
    """All devices together, where there are several and a baseline to compare them with."""
    baseline = before(found)
    count = len(counted_devices(found))
    if baseline is None or count == 1:
        return ()
    return (
        f"### Mean of {count} devices",
        _of_span(counted_devices(found)[0], parts_table(*mean_parts(found), *baseline)),
    )


def _diagnosis(
    bottleneck: str | None,
    cause: str | None,
    confidence: float,
    evidence: Sequence[str],
    advice: Sequence[str],
    runbook: str | None,
) -> str:
    title = "No bottleneck stands out" if bottleneck is None else f"**{bottleneck}**" + (f" / {cause}" if cause else "")
    said = f"{title} (confidence {confidence:.0%})" if bottleneck not in (None, "Inconclusive") else title
    lines = [said, "", *(f"- {one}" for one in evidence)]
    if advice:
        lines += ["", f"First: {advice[0]}.", *(f"Then: {one}." for one in advice[1:])]
    if runbook:
        lines += ["", f"Runbook: `{runbook}`"]
    return "\n".join(lines)


def _cell(name: str) -> str:
    cut = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
    return cut.replace("|", "\\|").replace("`", "'").replace("\n", " ")


def _ms(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:.2f}"


def _signed(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:+.2f}".replace("-", "−")
