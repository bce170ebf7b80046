"""The daemon's socket, and the capture API of each rank on a port of its own."""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from mfu_probe.daemon.processes import Processes
from mfu_probe.daemon.protocol import (
    LONGEST_MESSAGE,
    SOCKET,
    NotUnderstood,
    Registered,
    answer,
    decoded,
    registered,
)
from mfu_probe.identity import configured_port
from mfu_probe.live.server import CaptureServer
from mfu_probe.live.session import LONGEST_SECONDS, MOST_STEPS
from mfu_probe.live.storage import MOST_BYTES

SOCKET_FOLDER_VARIABLE = "KINETO_IPC_SOCKET_DIR"
TRACE_FOLDER_VARIABLE = "KINETO_ONDEMAND_TRACE_DIR"
LOOKS_EVERY_SECONDS = 0.5
MOST_RANKS = 64
LONGEST_FOLDER = 54
"""Bytes: of the 107 that the kernel takes for a socket's path, Kineto's `/dynoconfigclient` with an id takes 53. With a
longer one torch's processes poll nobody, and say so in a log that is off by default."""
SCM_CREDENTIALS = 2
"""Of Linux; Python 3.9 to 3.13 name it only where they were built with it."""

_CREDENTIALS = struct.Struct("=3i")
EVERYBODY = 0o666
"""The training container's user may be another one than ours."""

CONTROL_BYTES = 256

Address = Any  # a path, or the bytes of an abstract name


class Service:
    """Answers what polls, and serves rank k of this pod on `port` + k.

    Args:
        folder: where the daemon's socket lies; None: the abstract name that older versions of torch ask.
        traces: where Kineto writes.
        port: of the first rank.
        address: to listen on.
    """

    def __init__(self, folder: Path | None, traces: Path, port: int, address: str = "0.0.0.0") -> None:  # noqa: S104 - others than the pod ask
        self.processes = Processes(traces)
        self._socket = _bound(folder)
        self._port, self._address = port, address
        self._servers: list[RankServer] = []
        self._looked_s = 0.0
        self._serve()

    def run(self) -> NoReturn:
        """Until the process is ended."""
        while True:
            self.turn()

    def turn(self) -> None:
        """One message, or none for half a second, and a look at what was written."""
        with suppress(socket.timeout, OSError):
            message, control, _, address = self._socket.recvmsg(LONGEST_MESSAGE, CONTROL_BYTES)
            self._answer(message, address, sender_of(control))
        if time.monotonic() >= self._looked_s + LOOKS_EVERY_SECONDS:
            self._looked_s = time.monotonic()
            self.processes.look()
            self._serve()

    def close(self) -> None:
        """Listen no longer, and leave nothing."""
        for server in self._servers:
            server.stop()
        self.processes.close()
        self._socket.close()

    def _answer(self, message: bytes, address: Address, sender: int | None) -> None:
        if not address:
            return  # nobody to answer
        try:
            said = decoded(message)
        except NotUnderstood:
            return
        if isinstance(said, Registered):
            reply = registered(self.processes.count)
        else:
            reply = answer(self.processes.polled(said, address, sender))
        with suppress(OSError):  # it ended, or does not read
            self._socket.sendto(reply, socket.MSG_DONTWAIT, address)

    def _serve(self) -> None:
        """A port for each rank that there is, and one for the first before there is any."""
        wanted = min(MOST_RANKS, max(1, len(self.processes.ranks())))
        while len(self._servers) < wanted:
            server = RankServer(self.processes, len(self._servers))
            try:
                server.start(self._port + len(self._servers), self._address)
            except OSError as error:
                print(f"mfu-capture: port {self._port + len(self._servers)}: {error}", file=sys.stderr)  # noqa: T201
                return
            self._servers.append(server)


class RankServer(CaptureServer):
    """The capture API of the rank that is the `local_rank`th of this pod at the moment."""

    def __init__(self, processes: Processes, local_rank: int, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(environment)
        self._processes = processes
        self._local_rank = local_rank

    def page(self) -> str:
        """How many processes poll."""
        return f"# TYPE mfu_capture_processes gauge\nmfu_capture_processes {self._processes.count}\n"

    def description(self) -> dict[str, Any]:
        """What the protocol says; what it does not is None."""
        process = self._processes.rank(self._local_rank)
        session, identity = process.session, process.identity
        return {
            "schemaVersion": 1,
            "recorder": "kineto",
            "rank": None if identity is None else identity.rank,
            "worldSize": None if identity is None else identity.world_size,
            "localRank": self._local_rank,
            "step": None,
            "phase": None,
            "stepSeconds": session.step_seconds,
            "busy": session.busy,
            "limits": {"steps": MOST_STEPS, "seconds": LONGEST_SECONDS, "bytes": MOST_BYTES},
        }

    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Take a request. Raises Refused."""
        return self._processes.rank(self._local_rank).session.request(body)

    def state(self, capture: str) -> dict[str, Any]:
        """How far a capture is. Raises Refused."""
        return self._processes.rank(self._local_rank).session.state(capture)

    def trace(self, capture: str) -> Path:
        """Its trace. Raises Refused."""
        return self._processes.rank(self._local_rank).session.trace(capture)

    def forget(self, capture: str) -> None:
        """Forget it. Raises Refused."""
        self._processes.rank(self._local_rank).session.forget(capture)


def sender_of(control: Iterable[tuple[int, int, bytes]]) -> int | None:
    """The process id of a message's sender as this process sees it; None where it does not see it."""
    for level, kind, data in control:
        if (level, kind) == (socket.SOL_SOCKET, SCM_CREDENTIALS) and len(data) >= _CREDENTIALS.size:
            pid, _, _ = _CREDENTIALS.unpack_from(data)
            return pid or None
    return None


def _bound(folder: Path | None) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    made.settimeout(LOOKS_EVERY_SECONDS)
    if folder is None:
        made.bind(f"\0{SOCKET}\0".encode())
        return made
    path = folder / SOCKET
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
    made.bind(str(path))
    path.chmod(EVERYBODY)
    return made


def main() -> int:
    """Serve until SIGTERM. Nothing but the two folders and the token is taken from the environment."""
    if sys.argv[1:]:
        print("usage: mfu-capture\n\nSee mfu_probe's README: the capture sidecar.", file=sys.stderr)  # noqa: T201
        return 2
    traces = os.environ.get(TRACE_FOLDER_VARIABLE)
    if not traces:
        print(f"mfu-capture: {TRACE_FOLDER_VARIABLE} must name the folder of the traces", file=sys.stderr)  # noqa: T201
        return 2
    folder = os.environ.get(SOCKET_FOLDER_VARIABLE)
    if folder and len(os.fsencode(folder)) > LONGEST_FOLDER:
        said = f"{SOCKET_FOLDER_VARIABLE} is too long for a socket: it may have {LONGEST_FOLDER} bytes"
        print(f"mfu-capture: {said}", file=sys.stderr)  # noqa: T201
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    port = configured_port(os.environ)
    service = Service(Path(folder) if folder else None, Path(traces), port)
    try:
        service.run()
    finally:
        service.close()
