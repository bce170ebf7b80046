"""Turns nsys' own recordings into SQLite exports, with the nsys on PATH. The recording itself is never changed."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from mfu_operator.errors import Unreadable
from mfu_operator.trace.read import formats
from mfu_operator.trace.read.formats import TraceFile

EXPORT_SECONDS = 600.0
"""A report of several gigabytes takes minutes; more means that it hangs."""

IMPORTER = "QdstrmImporter"
LIBRARY_FOLDERS = (
    Path("/usr/lib/nsight-systems"),
    Path("/usr/lib/x86_64-linux-gnu/nsight-systems"),
    Path("/opt/nvidia/nsight-systems"),
)
"""Where packages put nsys' host part: Debian's nsys does not find its importer by itself."""


def exported(paths: Sequence[Path], folder: Path) -> tuple[TraceFile, ...]:
    """The files to read, with every report (.nsys-rep, .qdstrm) exported to `folder` and still called by its own name.

    A folder among the paths is replaced by what it holds: its exports, and reports of which there is no export yet.

    Raises:
        Unreadable: NsysMissing, ExportFailed, and those of `formats.expand`.
    """
    files = [(file, path.is_dir()) for path in paths for file in _files(path)]
    return tuple(_file(file, folder / str(index), listed=listed) for index, (file, listed) in enumerate(files))


def _file(path: Path, folder: Path, *, listed: bool) -> TraceFile:
    """The file to read; one of a folder that cannot be exported ends nothing but itself."""
    try:
        return TraceFile(_exported(path, folder), path, listed=listed)
    except Unreadable as error:
        if not listed:
            raise
        return TraceFile(path, path, listed=True, refused=error)


def _files(path: Path) -> tuple[Path, ...]:
    if not path.is_dir():
        return (path,)
    best: dict[str, Path] = {}
    for file in sorted((one for one in path.iterdir() if one.is_file()), key=_readiness):
        if formats.is_report(file) or formats.is_trace(file) or formats.is_meant(file):
            best.setdefault(_stem(file), file)
    return tuple(best[stem] for stem in sorted(best)) or tuple(one.path for one in formats.expand([path]))


def _readiness(file: Path) -> tuple[bool, bool, str]:
    return (formats.is_report(file), formats.is_stream(file), file.name)


def _stem(file: Path) -> str:
    """What an export shares with its report; other traces are known by their whole name."""
    return file.stem if file.suffix in (*formats.REPORT_SUFFIXES, ".sqlite") else file.name


def _exported(path: Path, folder: Path) -> Path:
    if not path.is_file() or not formats.is_report(path):
        return path
    folder.mkdir()
    report = _imported(path, folder) if formats.is_stream(path) else _with_suffix(path, folder)
    target = folder / f"{path.stem}.sqlite"
    _run(
        [_nsys(path), "export", "--type=sqlite", "--force-overwrite=true", f"--output={target}", str(report)],
        path,
        target,
    )
    return target


def _with_suffix(path: Path, folder: Path) -> Path:
    """The report under a name by which nsys knows it for one."""
    if path.suffix in formats.REPORT_SUFFIXES:
        return path
    link = folder / "report.nsys-rep"
    link.symlink_to(path.resolve())
    return link


def _imported(path: Path, folder: Path) -> Path:
    target = folder / f"{path.stem}.nsys-rep"
    _run([str(_importer(path)), "-i", str(path), "-o", str(target)], path, target)
    return target


def _nsys(path: Path) -> str:
    found = shutil.which("nsys")
    if found is None:
        raise Unreadable(
            "NsysMissing",
            f"{path}: needs nsys to be exported, and none is on PATH; install the version that recorded "
            f"it, or a newer one, or run there: nsys export --type=sqlite {path.name}",
        )
    return found


def _importer(path: Path) -> Path:
    """nsys' importer of raw streams, which stands beside its host programs. Raises Unreadable (NsysMissing)."""
    found = next(_importers(Path(_nsys(path)).resolve()), None)
    if found is None:
        raise Unreadable(
            "NsysMissing",
            f"{path}: a raw stream needs nsys' {IMPORTER}, which was not found; import it where nsys is whole",
        )
    return found


def _importers(nsys: Path) -> Iterator[Path]:
    for root in (nsys.parent.parent, nsys.parent, *LIBRARY_FOLDERS):
        yield from sorted(root.glob(f"host-linux-*/{IMPORTER}"))
        yield from sorted(root.glob(f"*/host-linux-*/{IMPORTER}"))


def _run(command: Sequence[str], path: Path, target: Path) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=EXPORT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unreadable("ExportFailed", f"{path}: {Path(command[0]).name} could not run ({error})") from error
    if done.returncode or not target.is_file():
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1][:200]
        raise Unreadable(
            "ExportFailed",
            f"{path}: {Path(command[0]).name} failed ({said}); an older nsys cannot read a newer report: use "
            "the version that recorded it or a newer one",
        )
