"""An answer as one self-contained HTML page: bars, tables and evidence, light or dark, without scripts."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import msgspec

from mfu_operator.model.account import PARTS
from mfu_operator.trace.answer import (
    NOTHING_SAID,
    Answer,
    DeviceRow,
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
from mfu_operator.trace.markdown import LABELS, grid_change

MOST_KERNELS = 12
MOST_STEPS = 400
LONGEST_NAME = 160

COLOURS: Mapping[str, tuple[str, str]] = {
    "compute": ("#2f7d4f", "#56b37f"),
    "communication": ("#2f5fb3", "#6f9bea"),
    "h2d": ("#0e7c86", "#46b5c0"),
    "d2h": ("#3d93a0", "#79c9d3"),
    "d2d": ("#6aa6ad", "#9cd3da"),
    "memset": ("#93b8bc", "#bfdfe2"),
    "idleInput": ("#b3382f", "#ec7a70"),
    "idleSync": ("#8a3f9e", "#c485d6"),
    "idleAlloc": ("#b565a7", "#dfa3d5"),
    "idleHost": ("#b07a00", "#e0b04d"),
    "idleLaunch": ("#d3a33c", "#f0cf8a"),
    "idleUnknown": ("#777777", "#a5a5a5"),
}
"""Of each part, on a light and on a dark page; its name stands beside it wherever it is drawn."""

STYLE = """
:root{color-scheme:light dark;--text:#1c1e21;--page:#ffffff;--soft:#5b626b;--line:#d8dce1;--card:#f5f6f8;
--bar:#2f5fb3%s}
@media (prefers-color-scheme:dark){:root{--text:#e7e9ec;--page:#16181b;--soft:#a0a7b0;--line:#33383e;--card:#1e2125;
--bar:#6f9bea%s}}
body{margin:2rem auto;max-width:66rem;padding:0 1rem;font:15px/1.5 system-ui,sans-serif;color:var(--text);
background:var(--page)}
h1{font-size:1.5rem;margin:0 0 .5rem}h2{font-size:1.1rem;margin:2rem 0 .6rem}p,ul{margin:.4rem 0}
.soft{color:var(--soft)}.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:1rem}
.bar{display:flex;height:26px;border-radius:4px;overflow:hidden;background:var(--line)}.bar span{display:block}
.row{display:grid;grid-template-columns:5.5rem 1fr 6rem;gap:.7rem;align-items:center;margin:.35rem 0}
.row b{text-align:right;font-variant-numeric:tabular-nums}
table{border-collapse:collapse;width:100%%}td,th{padding:.3rem .6rem;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line)}th{font-weight:600}td.n,th.n{text-align:right;white-space:nowrap;
font-variant-numeric:tabular-nums}td.name{overflow-wrap:anywhere}
.key{display:inline-block;width:.8rem;height:.8rem;border-radius:2px;margin-right:.5rem}
.meter{height:8px;background:var(--line);border-radius:4px;min-width:6rem}.meter i{display:block;height:8px;
border-radius:4px;background:var(--bar)}
.steps{display:flex;align-items:flex-end;height:90px;gap:2px}.steps i{flex:1;background:var(--bar);min-width:1px}
.steps i.out{opacity:.35}.warn{border-left:4px solid #b07a00;padding-left:.8rem}
@media (max-width:48rem){table{display:block;overflow-x:auto}p,li{overflow-wrap:anywhere}}
"""


def html_page(found: Answer) -> str:
    """The whole answer as one document that loads nothing from elsewhere."""
    sections = [
        _verdict(found),
        *_bars(found),
        *_opportunities(found),
        *_span(found),
        *(part for device in counted_devices(found) for part in _device(found, device)),
        *_changes(found),
        *_ranks(found),
        *_warnings(found),
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{_text(_title(found))}</title><style>{_style()}</style>"
    )
    body = "\n".join(sections)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>'


def _style() -> str:
    light, dark = ("".join(f";--{part}:{COLOURS[part][shade]}" for part in PARTS) for shade in (0, 1))
    return STYLE % (light, dark)


def _text(value: str) -> str:
    cut = value if len(value) <= LONGEST_NAME else value[: LONGEST_NAME - 1] + "…"
    return escape(cut)


def _title(found: Answer) -> str:
    row = found.diagnosis
    if row.bottleneck is None:
        return "No bottleneck stands out"
    return row.bottleneck + (f" / {row.cause}" if row.cause else "")


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(one)}</li>" for one in items) + "</ul>"


def _verdict(found: Answer) -> str:
    row = found.diagnosis
    sure = "" if row.bottleneck in (None, "Inconclusive") else f'<p class="soft">confidence {row.confidence:.0%}</p>'
    advice = "".join(
        f"<p>{'First' if not index else 'Then'}: {escape(one)}.</p>" for index, one in enumerate(row.advice)
    )
    paths = ", ".join(_text(one.path) for one in found.traces)
    return (
        f'<p class="soft">{paths}</p><div class="card"><h1>{_text(_title(found))}</h1>{sure}'
        f"{_list(row.evidence)}{advice}</div>"
    )


def _bars(found: Answer) -> tuple[str, ...]:
    """The mean step, beside the baseline's where there is one, and what its colours mean."""
    baseline, (step_ns, parts) = before(found), mean_parts(found)
    longest = max(step_ns, baseline[0] if baseline else 0.0)
    rows = [_bar("now", step_ns, parts, longest)]
    if baseline:
        rows.append(_bar("baseline", *baseline, longest))
    devices = counted_devices(found)
    what = of_what(devices[0])
    head = f"<tr><th>{what}</th><th class=n>ms</th><th class=n>share</th>"
    head += "<th class=n>baseline, ms</th><th class=n>change, ms</th></tr>" if baseline else "</tr>"
    lines = [_part(part, step_ns, parts, baseline) for part in PARTS if parts[part] or (baseline and baseline[1][part])]
    many = "" if len(devices) == 1 else f", mean of {len(devices)} devices"
    named = "The recorded span" if is_span(devices[0]) else "The mean step"
    return (f"<h2>{named}{many}</h2>", *rows, f"<table>{head}{''.join(lines)}</table>")


def _bar(label: str, step_ns: float, parts: Mapping[str, float], longest: float) -> str:
    spans = "".join(
        f'<span style="width:{100 * parts[part] / longest:.3f}%;background:var(--{part})" '
        f'title="{LABELS[part]}: {parts[part] / 1e6:.2f} ms"></span>'
        for part in PARTS
        if longest and parts[part] > 0
    )
    return f'<div class="row"><span>{label}</span><div class="bar">{spans}</div><b>{step_ns / 1e6:.1f} ms</b></div>'


def _part(
    part: str, step_ns: float, parts: Mapping[str, float], baseline: tuple[float, Mapping[str, float]] | None
) -> str:
    key = f'<span class="key" style="background:var(--{part})"></span>'
    share = f"{parts[part] / step_ns:.1%}" if step_ns else "–"
    cells = f"<td>{key}{LABELS[part]}</td>{_number(parts[part])}<td class=n>{share}</td>"
    if baseline:
        cells += _number(baseline[1][part]) + f"<td class=n>{_signed(parts[part] - baseline[1][part])}</td>"
    return f"<tr>{cells}</tr>"


def _number(ns: float) -> str:
    return f"<td class=n>{ns / 1e6:.2f}</td>"


def _signed(ns: float) -> str:
    return f"{ns / 1e6:+.2f}".replace("-", "−")


def _meter(share: float) -> str:
    return f'<div class="meter"><i style="width:{100 * min(max(share, 0.0), 1.0):.1f}%"></i></div>'


def _opportunities(found: Answer) -> tuple[str, ...]:
    if found.opportunities is msgspec.UNSET or not found.opportunities:
        return ()
    rows = "".join(
        f"<tr><td>{_text(one.cause)}</td><td class=n>{one.ms:.2f}</td>"
        f"<td class=n>{one.share:.1%}{_meter(one.share)}</td>"
        f"<td>{escape('; '.join(one.evidence))}</td><td>{escape(one.remedy)}</td></tr>"
        for one in found.opportunities
    )
    head = "<tr><th>what</th><th class=n>ms, at most</th><th class=n>share</th><th>evidence</th><th>first</th></tr>"
    return ("<h2>To be gained</h2>", f"<table>{head}{rows}</table>")


def _span(found: Answer) -> tuple[str, ...]:
    """What a recorded span holds that no loop does."""
    sections: list[str] = []
    if found.startup is not msgspec.UNSET:
        calls = _list(f"{one.ms:.2f} ms {one.name}" for one in found.startup.calls)
        sections += [f"<h2>{beginning(found, found.startup).capitalize()}</h2>", calls]
    if gaps := gaps_of_spans(found):
        idle = _list(f"{one.ms:.2f} ms {since(found, one)}: {one.call or NOTHING_SAID}" for one in gaps)
        sections.append(f"<p>The longest times in which the device did nothing:</p>{idle}")
    return tuple(sections)


def _device(found: Answer, device: DeviceRow) -> tuple[str, ...]:
    """Its steps by length, and its kernels."""
    name = f"Device {device.device}" if device.device is not None else "Training thread (host ranges)"
    gpu = f", {_text(device.gpu)}" if device.gpu else ""
    trace = found.traces[device.trace]
    rank = "" if trace.rank is None else f", rank {trace.rank}"
    sections = [f"<h2>{name}{gpu}{rank}: {meant(device)}</h2>", _steps(device)]
    kernels = device.step.kernels[:MOST_KERNELS]
    if kernels:
        most = max(one.total_ns for one in kernels) or 1.0
        rows = "".join(
            f'<tr><td class="name">{_text(one.name)}</td><td>{one.category}</td><td class=n>{one.calls:g}</td>'
            f"<td class=n>{one.total_ns / 1e6:.3f}{_meter(one.total_ns / most)}</td></tr>"
            for one in kernels
        )
        head = f"<tr><th>kernel</th><th>category</th><th class=n>calls</th><th class=n>ms {of_what(device)}</th></tr>"
        sections.append(f"<table>{head}{rows}</table>")
    return tuple(sections)


def _steps(device: DeviceRow) -> str:
    if is_span(device):
        return ""
    shown = device.steps[:MOST_STEPS]
    longest = max((one.end_ns - one.start_ns for one in shown), default=0) or 1
    inner = any(one.interior and not one.left_out for one in device.steps)
    bars = "".join(
        f"<i{'' if (one.interior and not one.left_out) or not inner else ' class=out'} "
        f'style="height:{100 * (one.end_ns - one.start_ns) / longest:.1f}%" '
        f'title="{_text(one.name)}: {(one.end_ns - one.start_ns) / 1e6:.1f} ms"></i>'
        for one in shown
    )
    said = f"{len(device.steps)} steps, the longest {longest / 1e6:.1f} ms; pale: not in the mean"
    return f'<div class="steps">{bars}</div><p class="soft">{said}</p>'


def _changes(found: Answer) -> tuple[str, ...]:
    if found.difference is msgspec.UNSET:
        return ()
    rows = "".join(
        f'<tr><td class="name">{_text(one.name)}{grid_change(one)}</td><td class=n>{one.calls_baseline:g}</td>'
        f"<td class=n>{one.calls_now:g}</td><td class=n>{_signed(one.delta_ns)}</td></tr>"
        for one in found.difference.kernels[:MOST_KERNELS]
        if one.delta_ns
    )
    head = (
        "<tr><th>kernel</th><th class=n>calls, baseline</th><th class=n>calls, now</th><th class=n>change, ms</th></tr>"
    )
    return ("<h2>Kernels that changed</h2>", f"<table>{head}{rows}</table>") if rows else ()


def _ranks(found: Answer) -> tuple[str, ...]:
    if found.ranks is msgspec.UNSET:
        return ()
    waits: Sequence[tuple[str, float]] = sorted(found.ranks.wait_ns.items(), key=lambda one: int(one[0]))
    most = max((wait for _, wait in waits), default=0.0) or 1.0
    rows = "".join(
        f"<tr><td>rank {escape(rank)}</td><td class=n>{wait / 1e6:.2f}</td><td>{_meter(wait / most)}</td></tr>"
        for rank, wait in waits
    )
    head = "<tr><th>rank</th><th class=n>waits, ms per step</th><th></th></tr>"
    return (f"<h2>Ranks</h2><p>{escape(found.ranks.evidence)}.</p>", f"<table>{head}{rows}</table>" if rows else "")


def _warnings(found: Answer) -> tuple[str, ...]:
    return tuple(f'<p class="warn">{escape(one)}</p>' for one in remarks(found))
