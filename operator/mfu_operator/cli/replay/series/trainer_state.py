"""`trainer_state.json` of Hugging Face, and exports of a logger's history as JSON: a list, or a line for each step."""

import json
from pathlib import Path
from typing import Any

from mfu_operator.cli.replay.series.columns import Record
from mfu_operator.errors import Unreadable


def json_records(text: str, path: Path) -> list[Record]:
    """The entries of `log_history`, of a list, or of a file with an object in each line."""
    try:
        body = json.loads(text)
    except ValueError:
        return _lines(text, path)
    except RecursionError:
        raise Unreadable("UnreadableSeries", f"{path}: the JSON is nested too deeply") from None
    entries = body.get("log_history", [body]) if isinstance(body, dict) else body
    if not isinstance(entries, list):
        raise Unreadable("UnreadableSeries", f"{path}: log_history is not a list")
    return [_record(entry, f"{path}, entry {number}") for number, entry in enumerate(entries, 1)]


def _lines(text: str, path: Path) -> list[Record]:
    found: list[Record] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                found.append(_record(json.loads(line), where))
            except (ValueError, RecursionError) as error:
                raise Unreadable("UnreadableSeries", f"{where}: not JSON: {error}") from None
    return found


def _record(entry: Any, where: str) -> Record:
    if not isinstance(entry, dict):
        raise Unreadable("UnreadableSeries", f"{where}: not an object")
    return Record(where, {name: str(cell) for name, cell in entry.items() if isinstance(cell, (int, float, str))})
