"""Which format a file is in, told by its content."""

import csv
import io
import sys
from pathlib import Path

from mfu_operator.cli.replay.history import History, read_csv
from mfu_operator.cli.replay.series.columns import Record, history_of
from mfu_operator.cli.replay.series.megatron import is_megatron, megatron_records
from mfu_operator.cli.replay.series.tensorboard import is_event_file, tensorboard_records
from mfu_operator.cli.replay.series.trainer_state import json_records
from mfu_operator.errors import Unreadable
from mfu_operator.model.baseline import Signal

LARGEST = 256 * 2**20
"""Bytes of a file that are read: an hour's log of a thousand ranks is rarely larger."""


def read_series(path: Path, signal: Signal, column: str | None = None) -> History:
    """The readings of a file: a CSV file of `time,value[,phase]`, one of a logger (Lightning, Weights & Biases), a
    `trainer_state.json` of Hugging Face, a TensorBoard event file, or a log of Megatron-LM.

    Args:
        path: the file; "-" is the standard input.
        signal: what the values are.
        column: the column, key or tag with the values; None: the one whose name says so.

    Raises:
        Unreadable: (UnreadableSeries) naming the place and what is expected there.
    """
    content = _content(path)
    if is_event_file(content):
        return history_of(tensorboard_records(content, path), path, signal, column)
    text = _text(content, path)
    if text.lstrip()[:1] in ("{", "["):
        return history_of(json_records(text, path), path, signal, column)
    if is_megatron(text):
        return history_of(megatron_records(text, path), path, signal, column)
    names = {name.strip().lower() for name in text.partition("\n")[0].split(",")}
    if column is None and ({"time", "value"} <= names or len(names) < 2):
        return read_csv(path, signal, text)
    return history_of(_table(text, path), path, signal, column)


def _content(path: Path) -> bytes:
    try:
        stream = sys.stdin.buffer if str(path) == "-" else path.open("rb")
        with stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise Unreadable("UnreadableSeries", f"{path}: {error}") from None
    if len(content) > LARGEST:
        raise Unreadable("UnreadableSeries", f"{path}: larger than {LARGEST >> 20} MiB: give a part of it")
    return content


def _text(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable("UnreadableSeries", f"{path}: {error}: save it as UTF-8") from None


def _table(text: str, path: Path) -> list[Record]:
    """The rows of a CSV file, by the names in its first line."""
    rows = csv.reader(io.StringIO(text), skipinitialspace=True)
    found: list[Record] = []
    try:
        head = next(rows)
        runs = {name.rpartition(" - ")[0] for name in head if " - " in name}
        if len(runs) > 1:
            raise Unreadable("UnreadableSeries", f"{path}: holds {len(runs)} runs: export one")
        for row in rows:
            cells = {name: cell for name, cell in zip(head, row, strict=False) if cell.strip()}
            if cells:
                found.append(Record(f"{path}, line {rows.line_num}", cells))
    except csv.Error as error:
        raise Unreadable("UnreadableSeries", f"{path}, line {rows.line_num}: {error}: is a quote not closed?") from None
    return found
