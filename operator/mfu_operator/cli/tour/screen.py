"""The tour on a terminal."""

import textwrap
from statistics import median

from rich.console import Console
from rich.markdown import Markdown
from rich.rule import Rule
from rich.text import Text

from mfu_operator.cli.render import print_answer
from mfu_operator.cli.replay.told import Story, as_text
from mfu_operator.cli.tour.stages import BASELINE, DATA, FAST, SERIES, SLOW, Tour
from mfu_operator.model.series import Phase

WIDEST = 108
"""Characters of a line: longer ones are hard to follow, also on a wide terminal."""

BESIDE = f"""
The code is the operator's own, the data are in {DATA}. Next:

kubectl mfu tour -o markdown                 the whole text of this pull request
kubectl mfu analyze TRACE --baseline TRACE   two traces of your own
kubectl mfu replay --baseline B.yaml FILE    a log of your own
kubectl mfu suspects --help                  a repository of your own
make demo                                    a cluster, a job and a merge, in a checkout
"""
"""What a person may do after the tour."""

_BARS = "▁▂▃▄▅▆▇█"
_CELLS = 76


def show(console: Console, tour: Tour) -> None:
    """Print every stage."""
    _head(console, 1, "The series is judged", f"replay --baseline {BASELINE.name} --signal step-time {SERIES.name}")
    console.print(_line(tour.story), style="cyan", highlight=False)
    for line in as_text(tour.story).splitlines():
        console.print(_hanging(line, console.width), highlight=False, markup=False)
    _head(console, 2, "A few steps are explained", f"analyze {SLOW.name} --baseline {FAST.name}")
    print_answer(console, tour.explained)
    _head(console, 3, "The commit is found", "suspects --repo jobs.git --good fast --bad main …")
    _suspects(console, tour)
    _head(console, 4, "One pull request is opened", "tour -o markdown")
    _request(console, tour)


def _head(console: Console, number: int, title: str, command: str) -> None:
    console.print()
    console.print(Rule(Text(f"{number}/4  {title}", style="bold"), align="left", style="dim"))
    console.print(Text(f"$ kubectl mfu {command}", style="dim"), highlight=False)


def _hanging(line: str, width: int, indent: str = "") -> str:
    """A line of text, its continuations indented by four more."""
    words = " ".join(line.split())
    return textwrap.fill(words, width, initial_indent=indent, subsequent_indent=f"{indent}    ")


def _line(story: Story) -> str:
    """The step times while the job runs, from left to right: higher is slower."""
    values = [
        value
        for reading in story.history.readings
        if reading.phase is Phase.RUNNING
        for value in (reading.values.get(story.signal),)
        if value is not None
    ]
    cells = [median(values[at * len(values) // _CELLS : (at + 1) * len(values) // _CELLS]) for at in range(_CELLS)]
    least, most = min(cells), max(cells)
    bars = "".join(_BARS[round((cell - least) / (most - least) * (len(_BARS) - 1))] for cell in cells)
    return f"{bars} {least * 1e3:.0f} … {most * 1e3:.0f} ms a step"


def _suspects(console: Console, tour: Tour) -> None:
    ranking = tour.found.ranking
    for suspect in sorted(ranking.suspects, key=lambda each: each.commit.time_s):
        chosen = suspect is ranking.chosen
        mark = "→" if chosen else " "
        commit = suspect.commit
        console.print(
            Text(f"{mark} {commit.sha[:12]} {commit.author:<11} {commit.subject}", style="bold red" if chosen else ""),
            highlight=False,
        )
        for reason in suspect.because[:1]:
            console.print(Text(_hanging(reason, console.width, "    "), style="dim"), highlight=False)


def _request(console: Console, tour: Tour) -> None:
    console.print(Text(tour.proposal.title, style="bold"), highlight=False)
    console.print()
    console.print(Markdown(tour.first_sight))
