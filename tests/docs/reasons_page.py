"""runbooks/reasons.md and each page's line of reasons: `python -m tests.docs.reasons_page` writes them."""

import re
from pathlib import Path

from mfu_operator.cli.reasons import Reason, reasons

RUNBOOKS = Path(__file__).parents[2] / "runbooks"
PAGE = RUNBOOKS / "reasons.md"
LINE = re.compile(r"\n\nReasons: [^\n]*")

HEAD = """\
# Reasons

Every reason that a condition, an Event, a log line or a command of the operator gives. `kubectl mfu runbook REASON`
prints the same without a network. This page is made from `mfu_operator/cli/reasons.yaml` (`make generate`).

| then | what the operator does next |
|---|---|
"""
COLUMNS = """
| reason | where it appears | meaning | remedy | then | page |
|---|---|---|---|---|---|
"""


def made() -> str:
    """The page as the table is now."""
    table = reasons()
    legend = "".join(f"| {key} | {text} |\n" for key, text in table.next.items())
    return HEAD + legend + COLUMNS + "".join(map(_row, table.reasons.values()))


def with_line(page: Path) -> str:
    """A page with the line that names its reasons and alerts, under the title."""
    table = reasons()
    named = [f"[{each.name}](reasons.md#{each.anchor})" for each in table.reasons.values() if each.page == page.stem]
    named += [alert for alert, stem in table.alerts.items() if stem == page.stem]
    title, _, rest = LINE.sub("", page.read_text(encoding="utf-8"), count=1).partition("\n")
    return f"{title}\n\nReasons: {', '.join(named)}\n{rest}"


def pages() -> list[Path]:
    """The pages for the night: every one but the index, the table, the concepts and the references."""
    others = {"README.md", PAGE.name, "concepts.md", "reference-crd.md", "reference-cli.md"}
    return [page for page in sorted(RUNBOOKS.glob("*.md")) if page.name not in others]


def _row(one: Reason) -> str:
    cells = (
        f'<a id="{one.anchor}"></a>{one.name}',
        *(cell.replace("|", "\\|") for cell in (one.where, one.meaning, one.remedy)),
        one.then,
        f"[{one.page}]({one.page}.md)",
    )
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    PAGE.write_text(made(), encoding="utf-8")
    for each in pages():
        each.write_text(with_line(each), encoding="utf-8")
