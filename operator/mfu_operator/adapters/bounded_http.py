"""HTTP requests with one deadline for everything: connect, TLS, sending, and the answer to its last byte.

httpx and httpcore bound each operation on a socket, so a server that sends a byte every few seconds is never given up.
Here a request's timeout is a moment, and each operation gets what is left until then.
"""

import ssl
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import httpcore
import httpx

SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]

_PIECE = 16 * 1024
"""Bytes that are written at once: a server that reads a few of them at a time gets no more time by it."""

_CODINGS = ("identity", "gzip", "x-gzip", "deflate")
_ANY_HEADER = 32 + zlib.MAX_WBITS
"""Of gzip or of zlib, as zlib itself finds it."""

_UNPACKED = 256 * 1024
"""Bytes that are unpacked at once."""

_ONE_OF = {
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.WriteTimeout: httpx.WriteTimeout,
    httpcore.PoolTimeout: httpx.PoolTimeout,
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ReadError: httpx.ReadError,
    httpcore.WriteError: httpx.WriteError,
    httpcore.ProxyError: httpx.ProxyError,
    httpcore.UnsupportedProtocol: httpx.UnsupportedProtocol,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
}


class Until(float):
    """A timeout in seconds that ends at a moment: `left_s` is less each time it is read.

    httpcore hands the timeouts of a request to its network streams as they are.
    """

    ends_s: float

    def __new__(cls, seconds: float) -> "Until":
        """So many seconds from now."""
        made = super().__new__(cls, seconds)
        made.ends_s = time.monotonic() + seconds
        return made

    @property
    def left_s(self) -> float:
        """Seconds until it ends; 0 from then on."""
        return max(0.0, self.ends_s - time.monotonic())


def begin_deadline(request: httpx.Request, seconds: float) -> None:
    """Give a request so many seconds from now, for everything and however many addresses it is sent to."""
    timeouts = dict.fromkeys(("connect", "read", "write", "pool"), Until(seconds))
    request.extensions = {**request.extensions, "timeout": timeouts}


class BoundedTransport(httpx.BaseTransport):
    """HTTP/1.1 over connections that are kept, for requests whose deadline has begun.

    Args:
        context: checks the server's certificate.
        proxy: the address of the HTTP proxy before the server; None: none.
    """

    def __init__(self, context: ssl.SSLContext, proxy: str | None = None) -> None:
        self._pool = (
            httpcore.ConnectionPool(ssl_context=context, network_backend=_Network())
            if proxy is None
            else _proxied(httpx.Proxy(proxy), context)
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, whose content is read until the same deadline.

        Raises:
            httpx.HTTPError: httpx.TimeoutException where the deadline ended it.
        """
        assert isinstance(request.stream, httpx.SyncByteStream)
        asked = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _errors_of_httpx():
            answer = self._pool.handle_request(asked)
        assert isinstance(answer.stream, Iterable)
        headers = httpx.Headers(answer.headers)
        coding = headers.pop("content-encoding", "identity").strip().lower()
        return httpx.Response(answer.status, headers=headers, stream=_Content(answer, coding))

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


class _Content(httpx.SyncByteStream):
    """The answer, unpacked in pieces: httpx unpacks whatever came at once, by as many codings as the server names, and
    600 bytes that are packed twice are 256 MiB."""

    def __init__(self, answer: httpcore.Response, coding: str) -> None:
        self._answer = answer
        self._coding = coding

    def __iter__(self) -> Iterator[bytes]:
        if self._coding not in _CODINGS:
            raise httpx.DecodingError(f"the answer is packed as {self._coding[:64]!r}, which was not asked for")
        with _errors_of_httpx():
            chunks = self._answer.iter_stream()
            yield from chunks if self._coding == "identity" else _unpacked(chunks)

    def close(self) -> None:
        self._answer.close()


def _unpacked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    unpack = zlib.decompressobj(_ANY_HEADER)
    try:
        for chunk in chunks:
            left = chunk
            while True:
                piece = unpack.decompress(left, _UNPACKED)
                left = unpack.unconsumed_tail
                yield piece
                if not left and len(piece) < _UNPACKED:
                    break
    except zlib.error as error:
        raise httpx.DecodingError(str(error)) from None


def _proxied(proxy: httpx.Proxy, context: ssl.SSLContext) -> httpcore.HTTPProxy:
    return httpcore.HTTPProxy(
        httpcore.URL(str(proxy.url)),
        proxy_auth=proxy.raw_auth,
        proxy_headers=proxy.headers.raw,
        ssl_context=context,
        proxy_ssl_context=proxy.ssl_context,
        network_backend=_Network(),
    )


@contextmanager
def _errors_of_httpx() -> Iterator[None]:
    try:
        yield
    except tuple(_ONE_OF) as error:
        raise _ONE_OF[type(error)](str(error)) from error


class _Network(httpcore.NetworkBackend):
    """Connects, and gives streams whose timeouts may end at a moment."""

    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore.NetworkStream:
        left_s = _left_s(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(host, port, left_s, local_address, socket_options))


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left_s(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for begin in range(0, len(buffer), _PIECE):
            self._inner.write(buffer[begin : begin + _PIECE], _left_s(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left_s = _left_s(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left_s))

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


def _left_s(timeout: float | None, over: type[httpcore.TimeoutException]) -> float:
    """What is left of a request's time. A timeout that is no moment is a bug: it bounds one operation alone."""
    assert isinstance(timeout, Until)
    left_s = timeout.left_s
    if left_s <= 0:
        raise over("the deadline of the request is over")
    return left_s
