"""A person fetches the traces that a Job holds: what a hostile pod says fills no memory, disk or terminal."""

import os
import time
import tracemalloc
from pathlib import Path

import pytest

from mfu_operator.cli.capture import held_traces
from mfu_operator.cli.capture.held_traces import HeldTraces
from mfu_operator.errors import Retry

ANSWERS = """#!/bin/sh
for last; do :; done
case "$*" in
*" ls "*) {listing} ;;
*" cat "*) {content} ;;
esac
"""
ENDLESS = "yes rank-0.json.gz"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_traces, "MOST_LISTED", 1 << 20)
    monkeypatch.setattr(held_traces, "LARGEST_TRACE", 1 << 20)
    monkeypatch.setattr(held_traces, "LOOK_S", 5.0)


def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listing: str, content: str = "echo trace") -> None:
    """What kubectl is told in it."""
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(ANSWERS.format(listing=listing, content=content))
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{kubectl.parent}{os.pathsep}{os.environ['PATH']}")


def fetched(tmp_path: Path) -> tuple[list[str], list[str]]:
    """The files that are there afterwards, and what the person was told."""
    into, told = tmp_path / "traces", list[str]()
    into.mkdir()
    try:
        HeldTraces(into, told.append).fetch("team-a", "mfu-hand-gpt-1")
    except Retry as error:
        told.append(error.message)
    return sorted(each.name for each in into.iterdir()), told


def test_a_list_without_end_takes_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod(tmp_path, monkeypatch, ENDLESS)
    tracemalloc.start()
    began_s = time.monotonic()
    fetched(tmp_path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 << 20 and time.monotonic() - began_s < 5


def test_words_of_failure_without_end_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod(tmp_path, monkeypatch, "echo rank-0.json.gz complete", "yes >&2; exit 1")
    tracemalloc.start()
    files, told = fetched(tmp_path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert files == [] and most < 4 << 20 and len(told[-1]) < 500


def test_a_trace_without_end_fills_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod(tmp_path, monkeypatch, "echo rank-0.json.gz complete", "cat /dev/zero")
    files, told = fetched(tmp_path)
    assert files == [] and "rank-0.json.gz" in told[-1]


@pytest.mark.parametrize(
    "name", ["rank-\033]0;owned\007", "rank-../../.bashrc", "rank-0.json.gz/../x", "rank-\u202egz", "rank-0"]
)
def test_a_name_that_no_trace_has_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pod(tmp_path, monkeypatch, f"printf '%s\\n' '{name}' complete")
    files, told = fetched(tmp_path)
    assert files == [] and name not in "".join(told)


def test_a_list_that_is_no_text_names_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod(tmp_path, monkeypatch, "printf '\\377\\376 rank-0.json.gz complete'")
    assert fetched(tmp_path)[0] == ["rank-0.json.gz"]


def test_no_more_traces_are_fetched_than_a_capture_asks_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod(tmp_path, monkeypatch, "seq -f 'rank-%g.json.gz' 0 200; echo complete")
    assert len(fetched(tmp_path)[0]) == 64
