"""A server on loopback that sends a byte at a time, for as long as somebody listens."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PAUSE_S = 0.02


@contextmanager
def trickling(at_once: bytes, then: bytes) -> Iterator[int]:
    """The port of a server that answers every connection with some bytes at once, and then with others again and again,
    one by one."""
    ending = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(at_once)
            while not ending.is_set():
                for byte in then:
                    connection.sendall(bytes([byte]))
                    if ending.wait(PAUSE_S):
                        return

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        ending.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
