"""Long-running processes that are known by what was recorded about them, never by their name."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_KILLED_S = 60.0
"""A killed process ends as soon as the machine has time for it; its ports are free only then."""
_STARTTIME_FIELD = 19
_STATE_FIELD = 0


class NotReady(RuntimeError):
    """Something that was awaited did not come about in time."""


class CommandFailed(RuntimeError):
    """A program that was run to its end did not succeed; the message holds the end of what it said."""


@dataclass(frozen=True)
class Identity:
    """A process that cannot be taken for another one that later got the same pid.

    Attributes:
        pid: The process id.
        start_ticks: When the process started, in clock ticks since boot (field 22 of ``/proc/<pid>/stat``).
    """

    pid: int
    start_ticks: int

    @classmethod
    def of(cls, pid: int) -> "Identity | None":
        """Return the identity of the live process with this pid, or None where there is none (a zombie is none)."""
        fields = _stat_fields(pid)
        if fields is None or fields[_STATE_FIELD] in "ZX":
            return None
        return cls(pid, int(fields[_STARTTIME_FIELD]))

    @classmethod
    def parse(cls, recorded: str) -> "Identity | None":
        """Return the identity that :meth:`recorded` wrote, or None where the text is none (a torn write)."""
        words = recorded.split()
        if len(words) != 2 or not all(word.isdigit() for word in words):
            return None
        return cls(int(words[0]), int(words[1]))

    def recorded(self) -> str:
        """Return the text that :meth:`parse` reads."""
        return f"{self.pid} {self.start_ticks}\n"

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process; does nothing where it ended a moment ago."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def alive(self) -> bool:
        """Tell whether exactly this process still runs."""
        return Identity.of(self.pid) == self


class Process:
    """A program in a session of its own, with its log and its identity below the state folder.

    It outlives the program that started it: another program that makes the same object finds it again.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        state: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
    ) -> None:
        """Describe the process; nothing is started yet.

        Args:
            name: The folder below ``state`` that holds ``log`` and ``pid``.
            argv: The program and its arguments.
            state: The folder of the running cluster.
            env: The whole environment; None inherits this program's.
            cwd: The working folder; None inherits this program's.
        """
        self.name = name
        self.argv = tuple(argv)
        self.folder = state / name
        self.log = self.folder / "log"
        self._env = None if env is None else dict(env)
        self._cwd = cwd
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The recorded process id while the process runs, else None."""
        identity = self._identity()
        return identity.pid if identity and identity.alive() else None

    def start(self) -> None:
        """Start the program; does nothing where the recorded process is alive."""
        if self.running():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._env,
                cwd=self._cwd,
                start_new_session=True,
            )
        self._record(self._child.pid)

    def running(self) -> bool:
        """Tell whether the recorded process is alive and still the one that was recorded."""
        return self.pid is not None

    def stop(self, timeout_s: float = 20.0) -> None:
        """End the recorded process: SIGTERM, and SIGKILL where it has not ended within ``timeout_s``."""
        identity = self._identity()
        if identity is not None and not self._ended_after(identity, signal.SIGTERM, timeout_s):
            self._ended_after(identity, signal.SIGKILL, _KILLED_S)
        self._pid_file.unlink(missing_ok=True)

    def log_tail(self, lines: int = 20) -> str:
        """Return the last lines that the program printed, or a note that there are none."""
        if not self.log.exists():
            return f"({self.name} has no log)"
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def await_ready(self, what: str, check: Callable[[], bool], timeout_s: float, interval_s: float = 0.2) -> None:
        """Wait for ``check``, and give up at once when the process ends; errors carry the end of the log.

        Raises:
            NotReady: The process ended, or ``check`` was not true within ``timeout_s``.
        """

        def alive_and_checked() -> bool:
            if not self.running():
                raise NotReady(f"{self.name} ended while {what} was awaited:\n{self.log_tail()}")
            return check()

        await_condition(what, alive_and_checked, timeout_s, interval_s, log_tail=self.log_tail)

    @property
    def _pid_file(self) -> Path:
        return self.folder / "pid"

    def _identity(self) -> Identity | None:
        return Identity.parse(self._pid_file.read_text()) if self._pid_file.exists() else None

    def _record(self, pid: int) -> None:
        identity = Identity.of(pid)
        if identity is None:
            raise NotReady(f"{self.name} ended as soon as it was started:\n{self.log_tail()}")
        write_atomically(self._pid_file, identity.recorded())

    def _ended_after(self, identity: Identity, signal_number: signal.Signals, timeout_s: float) -> bool:
        deadline_s = time.monotonic() + timeout_s
        if identity.alive():
            identity.send(signal_number)
        while identity.alive():
            self._reap()
            if time.monotonic() > deadline_s:
                return False
            time.sleep(0.02)
        self._reap()
        return True

    def _reap(self) -> None:
        if self._child is not None:
            self._child.poll()


def stop_recorded(state: Path, timeout_s: float = 20.0) -> None:
    """End every process that is recorded below the folder of a running cluster, whichever component it belongs to."""
    for recorded in state.rglob("pid"):
        if recorded.is_file():
            Process(recorded.parent.name, (), state=recorded.parent.parent).stop(timeout_s)


def await_condition(
    what: str,
    check: Callable[[], bool],
    timeout_s: float,
    interval_s: float = 0.2,
    *,
    log_tail: Callable[[], str] | None = None,
) -> None:
    """Wait until ``check`` returns true.

    Args:
        what: What is awaited, for the error message.
        check: The condition; what it raises goes through.
        timeout_s: How long to wait, in seconds.
        interval_s: How long to wait between two checks, in seconds.
        log_tail: Where the error message gets the end of a log from.

    Raises:
        NotReady: ``check`` was not true within ``timeout_s``.
    """
    deadline_s = time.monotonic() + timeout_s
    while not check():
        if time.monotonic() > deadline_s:
            tail = f":\n{log_tail()}" if log_tail else ""
            raise NotReady(f"{what} did not come about within {timeout_s:.0f} s{tail}")
        time.sleep(interval_s)


def output_of(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    stdin_text: str | None = None,
) -> str:
    """Run a program to its end and return what it printed on standard output.

    Raises:
        CommandFailed: It ended with another status than 0; the message names it and holds the end of its output.
    """
    ended = subprocess.run(
        argv,
        env=None if env is None else dict(env),
        cwd=cwd,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        input=stdin_text or "",
    )
    if ended.returncode != 0:
        said = "\n".join((ended.stdout + ended.stderr).splitlines()[-25:])
        raise CommandFailed(f"{' '.join(argv)} ended with status {ended.returncode}:\n{said}")
    return ended.stdout


def write_atomically(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file so that a reader sees all of it or nothing, whenever the writer is interrupted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(text)
    unfinished.chmod(mode)
    unfinished.replace(path)


def _stat_fields(pid: int) -> list[str] | None:
    """Return the fields of ``/proc/<pid>/stat`` after the program's name, which may itself hold blanks."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return stat.rpartition(")")[2].split()
