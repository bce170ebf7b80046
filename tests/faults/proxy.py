"""A TCP proxy before a server that does to connections what networks and overloaded servers do."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum

LATENCY_S = 0.5
PIECE = 65536


class Fault(Enum):
    """What becomes of a connection. A number: the HTTP status that is answered in the server's place."""

    NONE = "none"
    LATENCY = "latency"
    BLACK_HOLE = "black hole"
    RESET = "reset"
    HALF = "half an answer"
    CONFLICT = 409
    GONE = 410
    THROTTLED = 429
    BROKEN = 500


class FaultProxy:
    """Listens on `port` of loopback before the server on `upstream`; `become` changes what it does at once."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._fault = Fault.NONE
        self._ending = threading.Event()
        self._open: set[socket.socket] = set()
        self._lost = threading.Event()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.asked = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def become(self, fault: Fault) -> None:
        """Do this to every connection from now on; those that are open end."""
        self._fault = fault
        self._drop()

    def silence(self) -> None:
        """Swallow whatever is sent, on the connections that are open for good and on others until told otherwise; all
        stay open."""
        self._fault = Fault.BLACK_HOLE
        self._lost.set()

    def speak(self) -> None:
        """Serve connections that are made from now on."""
        self._lost, self._fault = threading.Event(), Fault.NONE

    def close(self) -> None:
        """End it and every connection."""
        self._ending.set()
        self._listener.close()
        self._drop()

    def _drop(self) -> None:
        with self._lock:
            dropped, self._open = self._open, set()
        for each in dropped:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.asked += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)
        with connection, suppress(OSError):
            match self._fault:
                case Fault.RESET:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                case Fault.BLACK_HOLE:
                    while connection.recv(PIECE):
                        pass
                case Fault.NONE | Fault.LATENCY | Fault.HALF as fault:
                    self._relay(connection, fault)
                case status:
                    connection.recv(PIECE)
                    head = (
                        f"HTTP/1.1 {status.value} Fault",
                        "Retry-After: 1",
                        "Content-Length: 0",
                        "Connection: close",
                    )
                    connection.sendall("\r\n".join((*head, "", "")).encode())
        with self._lock:
            self._open.discard(connection)

    def _relay(self, connection: socket.socket, fault: Fault) -> None:
        if fault is Fault.LATENCY:
            self._ending.wait(LATENCY_S)
        with socket.create_connection(("127.0.0.1", self._upstream)) as upstream:
            with self._lock:
                self._open.add(upstream)
            lost = self._lost
            asking = threading.Thread(target=_pump, args=(connection, upstream, lost), daemon=True)
            asking.start()
            if fault is Fault.HALF:
                connection.sendall(_half(upstream))
                connection.shutdown(socket.SHUT_RDWR)
            else:
                _pump(upstream, connection, lost)
            asking.join()
        with self._lock:
            self._open.discard(upstream)


def _half(upstream: socket.socket) -> bytes:
    """The head of an HTTP answer and half of the first piece of what follows it."""
    answer = upstream.recv(PIECE)
    while not answer.partition(b"\r\n\r\n")[2]:
        answer += upstream.recv(PIECE)
    head, end, body = answer.partition(b"\r\n\r\n")
    return head + end + body[: len(body) // 2]


def _pump(source: socket.socket, sink: socket.socket, lost: threading.Event) -> None:
    """Pass on what is sent until either side ends; where it is lost, neither hears of the other's end."""
    with suppress(OSError):
        while piece := source.recv(PIECE):
            if not lost.is_set():
                sink.sendall(piece)
    if lost.is_set():
        return
    for each in (source, sink):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def before(upstream: int) -> Iterator[FaultProxy]:
    """A proxy before a port of loopback."""
    proxy = FaultProxy(upstream)
    try:
        yield proxy
    finally:
        proxy.close()
