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

PIECE_BYTES = 64 << 20
"""A piece of this size is 200,000 events or so: 100 MB as objects, and large enough that joining costs nothing."""

SALVAGE_BYTES = 64 << 10

LARGEST_BYTES = 16 << 30
"""Of JSON: beyond it the trace is refused. 100 million events, of which the columns alone would take 10 GB."""

BEGIN = re.compile(rb'"traceEvents"\s*:\s*\[')
BOUNDARY = re.compile(rb'\}\s*,\s*(?=\{\s*"ph")')
"""Between two events. It cannot match in a string, where the quotes would be escaped."""

NOT_A_NUMBER = re.compile(rb"(?<=[:,\[\s])-?(?:nan|inf|NaN|Infinity)(?=\s*[,}\]])")


@dataclass
class KinetoStream:
    """Reads one file. `header` is what stood before the events, `truncated` whether the gzip stream ended too early;
    both are known once `pieces` is exhausted."""

    path: Path
    header: bytes = b""
    truncated: bool = False
    _rest: bytes = field(default=b"", repr=False)

    def pieces(self) -> Iterator[bytes]:
        """JSON of arrays of events; the last one may be followed by `]` and more keys, as it stands in the file.

        Raises:
            Unreadable: CorruptTrace, NotATrace, TooLarge.
        """
        begun = False
        for block in self._blocks():
            self._rest += block
            if not begun:
                begun = self._cut_header()
            if begun and len(self._rest) >= PIECE_BYTES:
                yield from self._whole_events()
        if not begun and not self._cut_header():
            raise Unreadable("NotATrace", f"{self.path}: JSON without traceEvents; expected a torch.profiler trace")
        yield b"[" + self._rest

    def whole(self) -> bytes | None:
        """The text of a file that fits into one piece and is not cut short; None where it is neither."""
        try:
            with self._open() as file:
                text = file.read(PIECE_BYTES)
                return text if len(text) < PIECE_BYTES and not file.read(1) else None
        except EOFError:
            return None
        except DAMAGED:
            return None

    def _cut_header(self) -> bool:
        found = BEGIN.search(self._rest)
        if found is None and self._rest.lstrip().startswith(b"["):
            self._rest = self._rest.lstrip()[1:]
            self.header = b""
            return True
        if found is None:
            return False
        self.header, self._rest = self._rest[: found.start()], self._rest[found.end() :]
        return True

    def _whole_events(self) -> Iterator[bytes]:
        last = last_boundary(self._rest)
        if last is not None:
            yield b"[" + self._rest[: last[0]] + b"]"
            self._rest = self._rest[last[1] :]

    def _blocks(self) -> Iterator[bytes]:
        total = 0
        try:
            for block in self._read(0, PIECE_BYTES):
                total += len(block)
                if total > LARGEST_BYTES:
                    raise Unreadable(
                        "TooLarge", f"{self.path}: more than {LARGEST_BYTES >> 30} GiB; record fewer steps"
                    )
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


def last_boundary(text: bytes) -> tuple[int, int] | None:
    """Where the last two events of the text part: (the end of the one, the start of the other)."""
    end = len(text)
    while end > 0:
        place = text.rfind(b'"ph"', 0, end)
        if place < 0:
            return None
        low = max(0, place - 256)
        found = list(BOUNDARY.finditer(text, low, place + 4))
        if found:
            return found[-1].start() + 1, found[-1].end()
        end = place
    return None


def cleaned(text: bytes) -> bytes:
    """The text with what JSON does not allow, and profilers write, put right: bad UTF-8, and numbers that are none."""
    return NOT_A_NUMBER.sub(b"0", text.decode("utf-8", "replace").encode())
