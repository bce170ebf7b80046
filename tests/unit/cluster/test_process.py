"""Processes that are known by what was recorded about them."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cluster.process import (
    CommandFailed,
    Identity,
    NotReady,
    Process,
    await_condition,
    output_of,
    stop_recorded,
    write_atomically,
)

_LASTS = ("sleep", "60")


def test_a_process_is_found_again_by_another_object_of_the_same_name(tmp_path: Path) -> None:
    Process("lasting", _LASTS, state=tmp_path).start()
    again = Process("lasting", _LASTS, state=tmp_path)
    try:
        assert again.running()
    finally:
        again.stop()
    assert not again.running()


def test_starting_a_running_process_leaves_it_alone(tmp_path: Path) -> None:
    process = Process("lasting", _LASTS, state=tmp_path)
    process.start()
    first = process.pid
    try:
        process.start()
        assert process.pid == first
    finally:
        process.stop()


def test_another_process_with_the_recorded_pid_is_not_ours(tmp_path: Path) -> None:
    process = Process("ours", _LASTS, state=tmp_path)
    stranger = Identity(os.getpid(), start_ticks=1)
    write_atomically(process.folder / "pid", stranger.recorded())
    assert not process.running()
    process.stop()
    assert Identity.of(os.getpid()) is not None


def test_a_record_that_was_torn_is_no_process(tmp_path: Path) -> None:
    process = Process("torn", _LASTS, state=tmp_path)
    write_atomically(process.folder / "pid", "123")
    assert not process.running()


def test_a_signal_to_a_process_that_ended_a_moment_ago_is_nobodys() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    Identity(ended.pid, start_ticks=1).send(signal.SIGTERM)


def test_an_identity_survives_being_written_down() -> None:
    identity = Identity.of(os.getpid())
    assert identity is not None
    assert Identity.parse(identity.recorded()) == identity


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen(["true"])
    await_condition("the child's end", lambda: Identity.of(child.pid) is None, timeout_s=60, interval_s=0.01)
    child.wait()


def test_a_process_that_ignores_the_polite_request_is_killed(tmp_path: Path) -> None:
    process = Process("stubborn", ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 60; done"], state=tmp_path)
    process.start()
    process.await_ready("its word", lambda: "deaf" in process.log_tail(), timeout_s=60, interval_s=0.01)
    process.stop(timeout_s=0.05)
    assert not process.running()


def test_a_process_that_ends_while_awaited_says_its_last_words(tmp_path: Path) -> None:
    process = Process("brief", ["sh", "-c", "echo no such flag; exit 1"], state=tmp_path)
    with pytest.raises(NotReady, match=r"brief ended [\w ]+:\nno such flag"):
        process.start()
        process.await_ready("its port", lambda: "no such flag" in process.log_tail() and False, timeout_s=60)


def test_taking_down_ends_whatever_is_recorded(tmp_path: Path) -> None:
    processes = [Process(name, _LASTS, state=tmp_path / folder) for name, folder in (("one", "."), ("two", "deeper"))]
    for process in processes:
        process.start()
    stop_recorded(tmp_path)
    assert not any(process.running() for process in processes)


def test_what_does_not_come_about_is_named() -> None:
    with pytest.raises(NotReady, match=r"the moon did not come about within 0 s:\nlast words"):
        await_condition("the moon", lambda: False, timeout_s=0, interval_s=0, log_tail=lambda: "last words")


def test_a_failed_program_is_named_with_what_it_said() -> None:
    with pytest.raises(CommandFailed, match=r"ended with status 3:\nbecause"):
        output_of(["sh", "-c", "echo because >&2; exit 3"])
