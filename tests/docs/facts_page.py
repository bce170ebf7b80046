"""operator/FACTS.md, from the table of facts: `python -m tests.docs.facts_page` writes it."""

from pathlib import Path

from mfu_operator.model.fact import Fact, Section
from mfu_operator.model.facts import SECTIONS

PAGE = Path(__file__).parents[2] / "operator" / "FACTS.md"

HEAD = """\
# Facts of an account

The `facts` that `kubectl mfu analyze -o json` shows, from which the causes are derived. Times (ns), calls, bytes and
blocks are those of the mean counted step. A mark is 1 where it holds. A fact that the recording cannot show is absent,
which is not zero. This page is made from `mfu_operator/model/facts.py` (`make generate`).
"""


def made() -> str:
    """The page as the table is now."""
    return "\n".join([HEAD, *map(_section, SECTIONS)])


def _section(section: Section) -> str:
    rows = [f"| `{one.name}` | {one.unit} | {_cell(one)} |" for one in section.facts]
    return "\n".join([f"## {section.title}", "", "| fact | unit | meaning |", "|---|---|---|", *rows, ""])


def _cell(fact: Fact) -> str:
    return fact.meaning.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(made(), encoding="utf-8")
