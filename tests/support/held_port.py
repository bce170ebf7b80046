"""A port for a server that has to be told its number before it starts."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """A free port of 127.0.0.1 that nobody else is given before the end.

    A server that sets SO_REUSEADDR, as those written in Go do, can listen on it meanwhile.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
