"""Ways in which a trace file gets damaged."""

import gzip
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path


def cut(data: bytes, dice: random.Random) -> bytes:
    """The file's beginning."""
    return data[: dice.randrange(1, len(data))]


def flipped(data: bytes, dice: random.Random) -> bytes:
    """A few bytes changed."""
    damaged = bytearray(data)
    for _ in range(dice.randrange(1, 40)):
        damaged[dice.randrange(len(damaged))] = dice.randrange(256)
    return bytes(damaged)


def flipped_inside(data: bytes, dice: random.Random) -> bytes:
    """A few bytes of what gzip holds changed: the damage that no checksum finds."""
    if not data.startswith(b"\x1f\x8b"):
        return flipped(data, dice)
    return gzip.compress(flipped(gzip.decompress(data), dice), 1)


def cut_inside(data: bytes, dice: random.Random) -> bytes:
    """A document that ends too early, well compressed."""
    if not data.startswith(b"\x1f\x8b"):
        return cut(data, dice)
    return gzip.compress(cut(gzip.decompress(data), dice), 1)


def without_tables(path: Path, folder: Path) -> Iterator[Path]:
    """Copies of an export, each lacking one table or one column."""
    names = _names(path)
    for table, columns in names.items():
        yield _changed(path, folder / f"no-{table}", f'DROP TABLE "{table}"')
        for name in columns:
            yield _changed(path, folder / f"no-{table}-{name}", f'ALTER TABLE "{table}" DROP COLUMN "{name}"')


def _names(path: Path) -> dict[str, list[str]]:
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')] for name in tables}
    connection.close()
    return found


def _changed(path: Path, target: Path, statement: str) -> Path:
    target.write_bytes(path.read_bytes())
    connection = sqlite3.connect(target)
    try:
        connection.execute(statement)
        connection.commit()
    except sqlite3.OperationalError:
        connection.rollback()
    connection.close()
    return target
