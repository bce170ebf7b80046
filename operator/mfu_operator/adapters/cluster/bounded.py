"""Requests to the API server with one deadline for everything, as `adapters/bounded_http.py` gives those of httpx.

urllib3 bounds each operation on a socket, so a server that sends a byte every few seconds is never given up. It hands a
pair of timeouts to its connections as they are: here both are the same moment.
"""

import io
import socket
from typing import Any, cast

from kubernetes.client import ApiClient, Configuration
from kubernetes.client.rest import RESTClientObject
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError

from mfu_operator.adapters.bounded_http import Until

_PIECE = 16 * 1024
"""Bytes that are written at once: a server that reads a few of them at a time gets no more time by it."""


def bounded(configuration: Configuration, request_s: float) -> ApiClient:
    """A client whose requests end so many seconds after they began, with their retries and the last byte of the answer.

    Args:
        configuration: where the API server is, and who asks.
        request_s: for a request that has no `_request_timeout` of its own.
    """
    api = ApiClient(configuration)
    api.rest_client = _Rest(configuration, request_s)
    return api


class _Rest(RESTClientObject):
    """Begins each request's deadline. A SOCKS proxy has connections of its own, which bound each operation alone."""

    def __init__(self, configuration: Configuration, request_s: float) -> None:
        super().__init__(configuration)
        self._request_s = request_s
        if type(self.pool_manager) in (PoolManager, ProxyManager):
            self.pool_manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}

    def request(
        self,
        method: str,
        url: str,
        headers: Any = None,
        body: Any = None,
        post_params: Any = None,
        _request_timeout: Any = None,
    ) -> Any:
        until = Until(self._request_s if _request_timeout is None else _request_timeout)
        return super().request(method, url, headers, body, post_params, (until, until))  # type: ignore[no-untyped-call]


class _Bounded(HTTPConnection):
    """Connects, and gives its socket a timeout that ends at a moment."""

    def _new_conn(self) -> socket.socket:
        until = self.timeout
        try:
            self.timeout = self._left_s(until)
            made = super()._new_conn()
        finally:
            self.timeout = until
        made.settimeout(self._left_s(until))
        return made

    def connect(self) -> None:
        super().connect()
        assert isinstance(self.timeout, Until)
        self.sock = cast(socket.socket, _Socket(self.sock, self.timeout))

    def _left_s(self, until: object) -> float:
        assert isinstance(until, Until)
        if until.left_s <= 0:
            raise ConnectTimeoutError(self, "the deadline of the request is over")
        return until.left_s


class _TlsBounded(_Bounded, HTTPSConnection):
    """The same, with TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Bounded


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsBounded


class _Socket:
    """A connected socket each of whose operations gets what is left until the request's moment."""

    def __init__(self, inner: Any, until: Until) -> None:
        self._inner = inner
        self._until = until

    def settimeout(self, timeout: float) -> None:
        """Take the moment of the next request."""
        assert isinstance(timeout, Until)
        self._until = timeout

    def recv_into(self, *arguments: Any) -> int:
        """Read some of the answer."""
        self._begin()
        return int(self._inner.recv_into(*arguments))

    def sendall(self, data: bytes) -> None:
        """Send some of the request."""
        for begin in range(0, len(data), _PIECE):
            self._begin()
            self._inner.sendall(data[begin : begin + _PIECE])

    def makefile(self, mode: str) -> io.BufferedReader:
        """The answer, as http.client reads it."""
        assert mode == "rb"
        self._inner._io_refs += 1
        return io.BufferedReader(socket.SocketIO(cast(socket.socket, self), "r"))

    def _begin(self) -> None:
        left_s = self._until.left_s
        if left_s <= 0:
            raise TimeoutError("the deadline of the request is over")
        self._inner.settimeout(left_s)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
