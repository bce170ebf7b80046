"""The tables of an nsys export as columns of integers, with one numbering of names and one of threads.

Tables and columns are probed, never assumed.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from mfu_operator.errors import Unreadable
from mfu_operator.model.trace import NONE, Flags, Ints, Spans, column
from mfu_operator.trace.columns.distinct import with_places

HEADER_BYTES = 100
"""Of an SQLite database."""

FETCH_ROWS = 200_000
"""Rows turned into columns at a time: 25 MB for the widest query."""

LEAST_LIMIT_BYTES = 1 << 20
"""No text is longer than its file: a damaged one that claims so is refused before it fills the memory."""

LONGEST_NS = 10**15
"""Eleven days: a record that claims to last longer is damage."""

LATEST_NS = 2**62
"""Beyond it differences of times do not fit a column. Times count from the capture's start; 1970 is far within."""

SERIAL_BITS = 24
"""The low bits of a globalTid hold the thread, the rest is its globalPid."""


class connect:  # noqa: N801 - reads as the verb it is
    """A connection that cannot write, closed at the end of the block."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(path.stat().st_size, LEAST_LIMIT_BYTES))
        self._connection.execute("PRAGMA trusted_schema = OFF")
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def check_whole(path: Path, shown: Path) -> None:
    """Raises Unreadable (CorruptTrace) where the file is shorter than its header says (SQLite's file format, 1.3)."""
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    page = int.from_bytes(header[16:18], "big")
    whole = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    held = path.stat().st_size
    if len(header) < HEADER_BYTES or held < whole:
        raise Unreadable(
            "CorruptTrace",
            f"{shown}: cut short: {held:,} of {max(whole, HEADER_BYTES):,} bytes; copy or export it again",
        )


class Tables:
    """The tables that hold rows. `columns` are those of each table, `warnings` what of it could not be used."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.columns = _columns(connection)
        self.warnings: list[str] = []
        self._strings: Mapping[int, bytes] = {}
        self._names: dict[str, int] = {}
        self._spellings: dict[bytes, int] = {}
        self._threads: dict[int, int] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names that were met so far, by their index."""
        return tuple(self._names)

    @property
    def processes(self) -> Ints:
        """The process of each thread that was met so far."""
        return column([key >> SERIAL_BITS for key in self._threads])

    @property
    def has_strings(self) -> bool:
        """Whether names can be told from their numbers."""
        return bool(self._strings)

    def count(self, tables: Sequence[str]) -> int:
        """The rows of those of the tables that there are."""
        listed = [table for table in tables if table in self.columns]
        return sum(self.connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in listed)

    def read_strings(self) -> None:
        """Read the table that names refer to. As bytes: the few that are used are decoded when they are."""
        if {"id", "value"} <= self.columns.get("StringIds", frozenset()):
            self._strings = dict(self.connection.execute("SELECT id, CAST(value AS BLOB) FROM StringIds"))

    def integers(self, table: str, columns: Sequence[str], where: str = "") -> list[Ints]:
        """Columns as integers; one that the schema does not have, or a value that is absent, is NONE."""
        present = self.columns[table]
        listed = ", ".join(
            f'CAST(COALESCE("{name}", {NONE}) AS INTEGER)' if name in present else str(NONE) for name in columns
        )
        cursor = self.connection.execute(f'SELECT {listed} FROM "{table}" {where}')
        chunks = [np.empty((len(columns), 0), dtype=np.int64)]
        while len(flat := np.fromiter(chain.from_iterable(islice(cursor, FETCH_ROWS)), dtype=np.int64)):
            chunks.append(flat.reshape(-1, len(columns)).T)
        return list(np.concatenate(chunks, axis=1))

    def spans(self, table: str) -> Spans:
        """The records of a table whose names are string ids."""
        if table not in self.columns:
            return Spans()
        start, end, thread, name = self.integers(table, ("start", "end", "globalTid", "nameId"))
        keep = self.sound(table, start, end)
        return Spans(start[keep], end[keep], self.threads_of(thread[keep]), self.names_of(name[keep]))

    def sound(self, table: str, start: Ints, end: Ints) -> Flags:
        """Whether each record has times that can be true; those that have not are warned of."""
        keep = _sound(start, end)
        if not keep.all():
            self.warnings.append(f"{table}: {int((~keep).sum())} records have impossible times and are left out")
        return keep

    def string(self, key: int) -> bytes:
        """A string by its id; one that the string table lacks is named by its number."""
        found = self._strings.get(key)
        return b"string %d" % key if found is None else found

    def name(self, text: bytes) -> int:
        """The index of a name."""
        known = self._spellings.get(text)
        if known is None:
            known = self._names.setdefault(text.decode("utf-8", "replace"), len(self._names))
            self._spellings[text] = known
        return known

    def names_of(self, ids: Ints) -> Ints:
        """The names of string ids."""
        once, place = with_places(ids)
        return column([self.name(self.string(int(one))) for one in once])[place]

    def threads_of(self, global_tids: Ints) -> Ints:
        """The indices of threads."""
        once, place = with_places(global_tids)
        return column([self._threads.setdefault(int(one), len(self._threads)) for one in once])[place]


def _columns(connection: sqlite3.Connection) -> Mapping[str, frozenset[str]]:
    listed = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    present = [name for name in listed if connection.execute(f"SELECT 1 FROM {quoted(name)} LIMIT 1").fetchone()]
    return {
        name: frozenset(row[1] for row in connection.execute(f"PRAGMA table_info({quoted(name)})")) for name in present
    }


def quoted(name: str) -> str:
    """A name of the file's own as one identifier of SQL, whatever stands in it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _sound(start: Ints, end: Ints) -> Flags:
    within: Flags = (start != NONE) & (start > -LATEST_NS) & (end >= start) & (end < LATEST_NS)
    return within & (np.where(within, end, 0) - np.where(within, start, 0) <= LONGEST_NS)
