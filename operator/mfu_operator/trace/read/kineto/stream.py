"""The bytes of a Kineto trace, in pieces that each hold whole events, so that no document is ever held in objects."""

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from isal import igzip, igzip_lib

from mfu_operator.errors import Unreadable

GZIP = b"\x1f\x8b"

DAMAGED: tuple[type[Exception], ...] = (OSError, cast("type[Exception]", igzip_lib.IsalError))

_open_gzip: Callable[[Path, str], BinaryIO] = igzip.open

PIECE_BYTES = 1 << 20
"""What becomes of a piece of this size, 3,000 events or so, stays in a processor's cache: that halves the time."""

SALVAGE_BYTES = 64 << 10
"""Read at a time from a cut file: what the read that meets the cut had decompressed is lost."""

LARGEST_PIECE_BYTES = 512 << 20
"""Of text in which no event ends and another begins: it would be held in memory as a whole."""

BEGIN = re.compile(rb'"traceEvents"\s*:\s*\[')
LONGEST_BEGIN = 64
"""Bytes of it, white space and all, that one block may end with and the next go on."""

BRACKET = re.compile(rb"\s*\[")
FIRST_KEY = re.compile(rb'\[?\s*\{\s*"(\w+)"')
"""Of the first event. The profiler's events begin with "ph", what other tools have written again may not."""

WIDEST_GAP = 256
"""Bytes between the end of an event and the first key of the next one."""

ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb'|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
    rb"|(?P<bare>\\)"
)
"""A backslash with what it escapes: a pair of surrogates, one alone (which is not text), anything else, or nothing."""

CONTROL = re.compile(rb"[\x00-\x1f]")

NOT_A_NUMBER = re.compile(rb"(?<=[:,\[\s])-?(?:nan|inf|NaN|Infinity)(?=\s*[,}\]])")


@dataclass
class KinetoStream:
    """Reads one file. `header` is what stood before the events, `truncated` whether the gzip stream ended too early;
    both are known once `pieces` is exhausted."""

    path: Path
    header: bytes = b""
    truncated: bool = False
    _rest: bytearray = field(default_factory=bytearray, repr=False)

    def pieces(self) -> Iterator[bytes]:
        """JSON of arrays of events; the last one may be followed by `]` and more keys, as it stands in the file.

        Raises:
            Unreadable: CorruptTrace, NotATrace, TooLarge.
        """
        begun = False
        enough = PIECE_BYTES
        for block in self._blocks():
            seen = len(self._rest)
            self._rest += block
            if len(self._rest) > LARGEST_PIECE_BYTES:
                raise Unreadable(
                    "TooLarge",
                    f"{self.path}: more than {LARGEST_PIECE_BYTES >> 20} MiB without two events that follow each other;"
                    " check that it is a torch.profiler trace",
                )
            begun = begun or self._cut_header(max(0, seen - LONGEST_BEGIN))
            if begun and len(self._rest) >= enough:
                yield from self._whole_events()
                enough = max(PIECE_BYTES, 2 * len(self._rest))
        if not begun:
            raise Unreadable("NotATrace", f"{self.path}: JSON without traceEvents; expected a torch.profiler trace")
        yield b"[" + self._rest

    def blocks(self) -> Iterator[bytes]:
        """The whole text as it is, decompressed, as far as it can be read."""
        with contextlib.suppress(EOFError, *DAMAGED):
            yield from self._read(0, PIECE_BYTES)

    def _cut_header(self, after: int) -> bool:
        found = BEGIN.search(self._rest, after)
        if found is None:
            return self._cut_bracket()
        self.header = bytes(self._rest[: found.start()])
        del self._rest[: found.end()]
        return True

    def _cut_bracket(self) -> bool:
        """Of a file that is an array of events and nothing else."""
        found = BRACKET.match(self._rest)
        if found is None:
            return False
        del self._rest[: found.end()]
        return True

    def _whole_events(self) -> Iterator[bytes]:
        last = last_boundary(self._rest)
        if last is not None:
            with memoryview(self._rest) as rest:
                piece = b"".join((b"[", rest[: last[0]], b"]"))
            yield piece
            del self._rest[: last[1]]

    def _blocks(self) -> Iterator[bytes]:
        total = 0
        try:
            for block in self._read(0, PIECE_BYTES):
                total += len(block)
                yield block
        except EOFError:
            self.truncated = True
            yield from self._salvage(total)
        except DAMAGED as error:
            raise Unreadable("CorruptTrace", f"{self.path}: cannot be decompressed ({error}); copy it again") from error

    def _salvage(self, offset: int) -> Iterator[bytes]:
        """What a cut gzip file still holds after `offset`; a large read would lose all of it."""
        blocks: list[bytes] = []
        with contextlib.suppress(EOFError, *DAMAGED):
            for block in self._read(offset, SALVAGE_BYTES):
                blocks.append(block)
        yield b"".join(blocks)

    def _read(self, offset: int, size: int) -> Iterator[bytes]:
        with self._open() as file:
            file.seek(offset)
            while block := file.read(size):
                yield block

    def _open(self) -> BinaryIO:
        file = self.path.open("rb")
        if file.read(len(GZIP)) != GZIP:
            file.seek(0)
            return file
        file.close()
        return _open_gzip(self.path, "rb")


def last_boundary(text: bytes | bytearray) -> tuple[int, int] | None:
    """Where the last two events of the text part: (the end of the one, the start of the other)."""
    found = _last_boundary(text, b"ph")
    if found is None and (first := FIRST_KEY.match(text)):
        found = _last_boundary(text, first[1])
    return found


def _last_boundary(text: bytes | bytearray, key: bytes) -> tuple[int, int] | None:
    """Between events that begin with `key`. It cannot match in a string, where the quotes would be escaped."""
    boundary = re.compile(rb'\}\s*,\s*(?=\{\s*"' + key + b'")')
    end = len(text)
    while (place := text.rfind(b'"' + key + b'"', 0, end)) >= 0:
        found = list(boundary.finditer(text, max(0, place - WIDEST_GAP), place + len(key) + 2))
        if found:
            return found[-1].start() + 1, found[-1].end()
        end = place
    return None


def cleaned(text: bytes) -> bytes:
    """The text with what JSON does not allow, and profilers write, put right: bad UTF-8, numbers that are none, control
    characters and backslashes in names."""
    mended = ESCAPE.sub(_mended, text.decode("utf-8", "replace").encode())
    return CONTROL.sub(b" ", NOT_A_NUMBER.sub(b"0", mended))


def _mended(escape: re.Match[bytes]) -> bytes:
    if escape["lone"]:
        return rb"\ufffd"
    return rb"\\" if escape["bare"] else escape[0]
