"""The log of Megatron-LM (and of NeMo, which prints the same line): a line for each logged iteration."""

import re
from pathlib import Path

from mfu_operator.cli.replay.series.columns import Record

_MARK = "elapsed time per iteration (ms):"
_ITERATION = re.compile(r"iteration\s+(\d+)\s*/\s*\d+ \|")
_WHEN = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)?\]")
_PART = re.compile(r"\| ([^|:]{1,60}): ([-+.\dEe]{1,40}) (?=\|)")


def is_megatron(text: str) -> bool:
    """Whether the text has a line of an iteration."""
    return _MARK in text


def megatron_records(text: str, path: Path) -> list[Record]:
    """A record for each iteration that was logged. Every other line of the log says nothing of speed."""
    found: list[Record] = []
    for number, line in enumerate(text.splitlines(), 1):
        iteration = _ITERATION.search(line) if _MARK in line else None
        if iteration is None:
            continue
        cells = {name.strip(): cell for name, cell in _PART.findall(line + " |")}
        cells["iteration"] = iteration[1]
        when = _WHEN.search(line)
        if when is not None:
            cells["time"] = when[1]
        found.append(Record(f"{path}, line {number}", cells))
    return found
