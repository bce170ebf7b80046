"""Archives that are the same bytes every time."""

import gzip
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in an archive."""

    content: bytes
    mode: int = 0o644


def tar_gz(files: Mapping[str, Entry], at_s: int) -> bytes:
    """A tar.gz of these files: by name, all of one time (Unix seconds) and owner."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(files[name].content), at_s, files[name].mode
            archive.addfile(entry, io.BytesIO(files[name].content))
    return gzip.compress(tar.getvalue(), mtime=at_s)
