import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from mfu_operator.adapters import nsys
from mfu_operator.cli.analyze import analyze_command
from mfu_operator.errors import Unreadable
from mfu_operator.trace.read.formats import TraceFile
from tests.support.synthetic.host_loop import HostLoop

FAKE = """#!/bin/sh
for word in "$@"; do case "$word" in --output=*) target="${word#--output=}";; esac; done
cp "$EXPORT" "$target"
"""


@pytest.fixture
def path_with_nsys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH whose nsys exports one and the same trace: what is tested is what is asked of it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "nsys"
    program.write_text(FAKE)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("EXPORT", str(HostLoop().trace().write(tmp_path / "export")))
    return folder


def report(folder: Path, name: str = "trace.nsys-rep") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"\x00 a report")
    return folder / name


@pytest.mark.usefixtures("path_with_nsys")
def test_reports_of_one_name_in_several_folders_are_several_exports(tmp_path: Path) -> None:
    ranks = [report(tmp_path / "rank0"), report(tmp_path / "rank1")]
    into = tmp_path / "into"
    into.mkdir()
    exports = nsys.exported(ranks, into)
    assert len({one.path for one in exports}) == 2
    assert all(one.path.is_file() for one in exports)
    assert [one.shown for one in exports] == ranks


@pytest.mark.usefixtures("path_with_nsys")
def test_in_a_folder_an_export_stands_for_its_report_and_other_files_for_nothing(tmp_path: Path) -> None:
    folder = report(tmp_path / "out").parent
    (folder / "log").write_text("hello")
    export = HostLoop().trace().write(folder / "trace.sqlite")
    assert nsys.exported([folder], tmp_path) == (TraceFile(export, export, listed=True),)


@pytest.mark.usefixtures("path_with_nsys")
def test_a_report_is_known_by_its_content_and_handed_to_nsys_under_a_name_that_it_takes(tmp_path: Path) -> None:
    renamed = tmp_path / "yesterday"
    renamed.write_bytes(b"NVIDIA Tegra Profiler Report 1.\n and the rest of it")
    (one,) = nsys.exported([renamed], tmp_path)
    assert one.shown == renamed
    assert one.path.is_file()


@pytest.mark.usefixtures("path_with_nsys")
def test_an_answer_calls_a_report_what_the_user_typed(tmp_path: Path) -> None:
    path = report(tmp_path / "out")
    said = CliRunner().invoke(analyze_command, ["-o", "json", str(path)]).stdout
    assert json.loads(said)["traces"][0]["path"] == str(path)


@pytest.mark.usefixtures("path_with_nsys")
def test_a_report_whose_export_is_damaged_is_refused_under_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"SQLite format 3\x00 and nothing of it")
    monkeypatch.setenv("EXPORT", str(damaged))
    path = report(tmp_path / "out")
    result = CliRunner().invoke(analyze_command, [str(path)])
    assert result.exit_code == 3
    assert result.stderr.startswith(f"kubectl-mfu: {path}: ")


def test_without_nsys_the_error_says_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unreadable, match="nsys export --type=sqlite"):
        nsys.exported([report(tmp_path / "out")], tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no trace in this folder"):
        nsys.exported([tmp_path], tmp_path)
