"""The tour's picture and the pull request in README.md: `python -m tests.docs.tour` writes both."""

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from mfu_operator.cli.tour.screen import WIDEST, show
from mfu_operator.cli.tour.stages import Tour, toured

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PICTURE = ROOT / "runbooks" / "tour.svg"
BEGIN, END = "<!-- The tour's pull request: python -m tests.docs.tour writes it. -->", "<!-- The tour's end. -->"

_FORMAT = re.sub(r"@font-face \{\{.*?\}}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""rich's own, without the fonts that it would fetch."""


def picture(tour: Tour) -> str:
    """The tour on a terminal, as SVG."""
    console = Console(record=True, width=WIDEST, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    show(console, tour)
    svg = console.export_svg(title="kubectl mfu tour", code_format=_FORMAT, unique_id="tour")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def quoted(tour: Tour) -> str:
    """The beginning of the pull request as README.md quotes it."""
    lines = [f"**{tour.proposal.title}**", "", *tour.first_sight.splitlines()]
    return "\n".join([BEGIN, "", *(f"> {line}".rstrip() for line in lines), "", END])


def with_request(readme: str, tour: Tour) -> str:
    """README.md with the pull request as the tour has it now."""
    before, _, rest = readme.partition(BEGIN)
    return before + quoted(tour) + rest.partition(END)[2]


if __name__ == "__main__":
    now = toured()
    PICTURE.write_text(picture(now))
    README.write_text(with_request(README.read_text(), now))
