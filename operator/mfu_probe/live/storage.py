"""Where a trace lies until it is fetched: memory-backed, bounded, and gone at the latest when the process ends."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

FOLDER_VARIABLE = "MFU_PROBE_TRACE_DIR"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - memory-backed in every container
MOST_BYTES = 256 * 1024 * 1024
"""Of one trace, uncompressed: thirty steps of a large model. A smaller folder limits it further."""

TAIL = 64
CHUNK = 1 << 20
"""zlib gives the interpreter's lock back while it compresses a chunk."""

PREFIX = "mfu-probe-"
HELD = "held"
"""A file in the folder of each process that is locked while the process lives: a killed one cannot remove its traces,
and the next one does. Process ids would not tell, because containers that share the memory do not share those."""

FASTEST = 1
"""The compression level: a fifth of the time of the default for a tenth more bytes."""


class StorageUnavailable(Exception):
    """No trace can be kept; the message says why."""


class Storage:
    """One folder of this process below a memory-backed one."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._folder: Path | None = None
        self._held: int | None = None
        self._process = os.getpid()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Storage:
        """Below MFU_PROBE_TRACE_DIR, or below /dev/shm."""
        return cls(Path(environment.get(FOLDER_VARIABLE) or SHARED_MEMORY))

    def path(self, capture: str) -> Path:
        """Where the trace of a capture is written. Raises StorageUnavailable."""
        if self._folder is None:
            try:
                self._remove_left_behind()
                self._folder, self._held = self._new_folder()
            except OSError as error:
                raise StorageUnavailable(f"{self._base} cannot be written ({error.strerror})") from error
        return self._folder / f"{capture}.json"

    def compressed(self, path: Path) -> Path:
        """The trace compressed, in place of the plain one. Raises OSError; StorageUnavailable where it is too large, or
        not whole."""
        if not path.exists():  # torch's writer says nothing of a full disk
            raise StorageUnavailable(f"torch wrote none: {self._base} is full, or not writable; ask for fewer steps")
        size = path.stat().st_size
        if not _complete(path, size):
            raise StorageUnavailable(f"{self._base} is full: the trace ends after {size} bytes; ask for fewer steps")
        if size > MOST_BYTES:
            raise StorageUnavailable(f"the trace has {size} bytes, more than {MOST_BYTES}; ask for fewer steps")
        packed = path.with_suffix(".json.gz")
        squeeze = zlib.compressobj(FASTEST, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
        with path.open("rb") as plain, packed.open("wb") as out:
            for chunk in iter(lambda: plain.read(CHUNK), b""):
                out.write(squeeze.compress(chunk))
            out.write(squeeze.flush())
        path.unlink()
        return packed

    def remove(self, capture: str) -> None:
        """Forget the files of a capture."""
        if self._folder is not None:
            for ending in ("json", "json.tmp", "json.gz"):  # torch writes beside the name, and renames in the end
                (self._folder / f"{capture}.{ending}").unlink(missing_ok=True)

    def close(self) -> None:
        """Remove everything; a forked child leaves its parent's."""
        if self._folder is not None and self._process == os.getpid():
            shutil.rmtree(self._folder, ignore_errors=True)
            if self._held is not None:
                os.close(self._held)
            self._folder = self._held = None

    def _new_folder(self) -> tuple[Path, int]:
        """A folder and its lock; it gets its name when it is locked, so that no other rank takes it for left behind."""
        made = Path(tempfile.mkdtemp(prefix="." + PREFIX, dir=self._base))
        held = _locked(made / HELD, os.O_CREAT)
        return made.rename(self._base / made.name[1:]), held

    def _remove_left_behind(self) -> None:
        """The folders of processes that were killed: nobody holds their lock."""
        for folder in self._base.glob(PREFIX + "*"):
            with suppress(OSError):
                held = _locked(folder / HELD)
                shutil.rmtree(folder, ignore_errors=True)
                os.close(held)


def _complete(path: Path, size: int) -> bool:
    """Whether the trace's last bytes close its JSON object."""
    with path.open("rb") as file:
        file.seek(max(0, size - TAIL))
        return file.read(TAIL).rstrip().endswith(b"}")


def _locked(path: Path, flags: int = 0) -> int:
    """An open file that is locked. Raises OSError where there is none, or somebody else holds it."""
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise
    return file
