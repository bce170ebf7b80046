"""One incident on one page: its record, the step as bars, everything that happened, and the proposed change."""

import re
from collections.abc import Iterator
from html import escape

from mfu_operator.cli.printing.page import as_html, page
from mfu_operator.cli.timeline.story import Chapter
from mfu_operator.cli.timeline.text import moments_table
from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.trace.markdown import LABELS
from mfu_operator.trace.page import COLOURS

_STYLE = """
.step{display:grid;grid-template-columns:5.5rem 1fr 6rem;gap:.7rem;align-items:center;margin:.35rem 0}
.step b{text-align:right}.bar{display:flex;height:26px;background:var(--soft)}.bar i{display:block}
.key{display:inline-block;width:.8rem;height:.8rem;margin:0 .4rem 0 1rem}"""


def incident_page(chapter: Chapter, told: str, healthy: StepAccount | None) -> str:
    """The page.

    Args:
        chapter: the incident with what happened in it.
        told: its record as Markdown, with sections under headings of the second level.
        healthy: the account of the healthy step; None: not recorded.
    """
    head, *sections = re.split(r"^## ", told, flags=re.MULTILINE)
    body = [as_html(head)]
    for section in sections:
        title, _, text = section.partition("\n")
        if title == "When":
            text = moments_table(chapter)
        body.append(as_html(f"## {title}\n\n{text}"))
        if title == "Where the time went":
            body += _step(chapter, healthy)
    return page(f"Incident {chapter.incident.id}", "\n".join([*body, *_diff(chapter)]), _STYLE + _colours())


def _colours() -> str:
    light, dark = (";".join(f"--{part}:{COLOURS[part][shade]}" for part in PARTS) for shade in (0, 1))
    return f"\n:root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _step(chapter: Chapter, healthy: StepAccount | None) -> Iterator[str]:
    """The step before and now, each part as long as it takes, and what the colours mean."""
    profile = chapter.incident.profile
    if profile is None or profile.account is None:
        return
    steps = [(name, each) for name, each in (("before", healthy), ("now", profile.account)) if each is not None]
    longest_ns = max(each.mean_ns for _, each in steps)
    if longest_ns <= 0:
        return
    for name, each in steps:
        bar = "".join(_part(part, each.parts_ns.get(part, 0.0), longest_ns) for part in PARTS)
        length = f"{each.mean_ns / 1e6:.1f} ms"
        yield f'<div class="step"><span>{name}</span><div class="bar">{bar}</div><b>{length}</b></div>'
    used = [part for part in PARTS if any(each.parts_ns.get(part, 0.0) > 0 for _, each in steps)]
    keys = (f'<i class="key" style="background:var(--{part})"></i>{LABELS[part]}' for part in used)
    yield f"<p>{''.join(keys)}</p>"


def _part(part: str, part_ns: float, longest_ns: float) -> str:
    if part_ns <= 0:
        return ""
    width, tip = 100 * part_ns / longest_ns, f"{LABELS[part]}: {part_ns / 1e6:.2f} ms"
    return f'<i style="width:{width:.3f}%;background:var(--{part})" title="{tip}"></i>'


def _diff(chapter: Chapter) -> Iterator[str]:
    proposal = chapter.incident.proposal
    if proposal is not None and proposal.diff:
        yield f"<h2>The proposed change</h2>\n<pre><code>{escape(proposal.diff)}</code></pre>"
