"""Ways in which a trace file gets damaged. Each takes the file's bytes and dice, and gives the damaged bytes."""

import gzip
import random
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

GZIP = b"\x1f\x8b"
SQLITE = b"SQLite format 3\x00"

Way = Callable[[bytes, random.Random], bytes]


def cut(data: bytes, dice: random.Random) -> bytes:
    """The file's beginning."""
    return data[: dice.randrange(1, len(data))]


def flipped(data: bytes, dice: random.Random) -> bytes:
    """A few bytes changed."""
    damaged = bytearray(data)
    for _ in range(dice.randrange(1, 40)):
        damaged[dice.randrange(len(damaged))] = dice.randrange(256)
    return bytes(damaged)


def cut_inside(data: bytes, dice: random.Random) -> bytes:
    """A document that ends too early, stored plain or, one time in four, well compressed."""
    return _packed(cut(_unpacked(data), dice), dice)


def flipped_inside(data: bytes, dice: random.Random) -> bytes:
    """A few bytes of what gzip holds changed: the damage that no checksum finds."""
    return _packed(flipped(_unpacked(data), dice), dice)


NUMBERS = re.compile(rb"(?<=[:\[,\s])-?\d+(?:\.\d+)?(?=[,}\]\s])")
ABSURD = (
    *(b"null", b"-1", b"0", b"1e308", b"-9.5e17", b"9223372036854775807", b"123456789012345678901234567890", b"NaN"),
    *(b'"7"', b'"x"', b"[]", b"{}", b"true", b"-0.0", b"1e400"),
)


def absurd_numbers(data: bytes, dice: random.Random) -> bytes:
    """A document, well formed, of which a few numbers are anything but what belongs there."""
    text = _unpacked(data)
    pieces, end = [], 0
    for at in sorted(dice.randrange(len(text)) for _ in range(dice.randrange(1, 40))):
        found = NUMBERS.search(text, max(at, end), at + 4096)
        if found is not None:
            pieces += [text[end : found.start()], dice.choice(ABSURD)]
            end = found.end()
    return _packed(b"".join([*pieces, text[end:]]), dice)


WAYS_OF_JSON: tuple[Way, ...] = (cut, flipped, cut_inside, flipped_inside, absurd_numbers)
WAYS_OF_SQLITE: tuple[Way, ...] = (cut, flipped)


def ways_of(data: bytes) -> tuple[Way, ...]:
    """The ways that make sense for a file that begins so."""
    return WAYS_OF_SQLITE if data.startswith(SQLITE) else WAYS_OF_JSON


def _unpacked(data: bytes) -> bytes:
    return gzip.decompress(data) if data.startswith(GZIP) else data


def _packed(text: bytes, dice: random.Random) -> bytes:
    return gzip.compress(text, 1) if dice.random() < 0.25 else text


VALUES = (None, "", "text", -1, 0, -(2**62), 2**62, 2**63 - 1, -(2**63), 1e308, 0.5, b"\xff\xfe", "9" * 30)


def absurd_values(path: Path, target: Path, dice: random.Random) -> Path:
    """A copy of an export in which some values of a few columns are anything but what belongs there."""
    target.write_bytes(path.read_bytes())
    tables = columns_of(path)
    connection = sqlite3.connect(target)
    for _ in range(dice.randrange(1, 6)):
        table = dice.choice(sorted(tables))
        name = dice.choice([one for one in tables[table] if one not in _keys(path, table)])
        share = dice.choice((1, 2, 50))
        connection.execute(
            f'UPDATE OR IGNORE "{table}" SET "{name}" = ? WHERE rowid % {share} = 0', (dice.choice(VALUES),)
        )
    connection.commit()
    connection.close()
    return target


def without_tables(path: Path, folder: Path) -> Iterator[Path]:
    """Copies of an export, each lacking one table."""
    for table in columns_of(path):
        yield _changed(path, folder / f"no-{table}", f'DROP TABLE "{table}"')


def without_columns(path: Path, folder: Path) -> Iterator[Path]:
    """Copies of an export, each lacking one column. A primary key cannot be dropped."""
    for table, columns in columns_of(path).items():
        for name in columns:
            if name not in _keys(path, table):
                yield _changed(path, folder / "no-column", f'ALTER TABLE "{table}" DROP COLUMN "{name}"')


def columns_of(path: Path) -> Mapping[str, list[str]]:
    """Every table that holds rows, with its columns; a table of one column cannot lose it."""
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    full = [name for name in tables if connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()]
    found = {name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')] for name in full}
    connection.close()
    return {name: columns for name, columns in found.items() if len(columns) > 1}


def _keys(path: Path, table: str) -> frozenset[str]:
    connection = sqlite3.connect(path)
    keys = frozenset(row[1] for row in connection.execute(f'PRAGMA table_info("{table}")') if row[5])
    connection.close()
    return keys


def _changed(path: Path, target: Path, statement: str) -> Path:
    target.write_bytes(path.read_bytes())
    connection = sqlite3.connect(target)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute(statement)
    connection.commit()
    connection.close()
    return target
