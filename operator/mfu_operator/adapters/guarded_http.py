"""The one HTTP client for addresses of others: no redirects, only to where the operator may go, and bounded in time and
size whatever the server sends."""

import ssl
from base64 import b64decode
from collections.abc import Mapping

import httpx

from mfu_operator.adapters.bounded_http import BoundedTransport, begin_deadline
from mfu_operator.adapters.egress import Egress, port_of, proxy_of

_NAME = "sni_hostname"
"""httpcore's extension: the name that the server's certificate is checked against, where the URL holds an address."""


def client(
    base: str,
    egress: Egress,
    headers: Mapping[str, str],
    deadline_s: float,
    *,
    auth: httpx.Auth | None = None,
    verify: ssl.SSLContext | None = None,
    proxied: bool = False,
    transport: httpx.BaseTransport | None = None,
) -> httpx.Client:
    """A client for one base address.

    Args:
        base: the address, which is judged here; every one that it resolves to is judged before it is connected to.
        deadline_s: for each request, from looking its host up to the last byte of the answer.
        proxied: whether the proxies of the environment are used. A proxy resolves for itself: behind one the host's
            name is judged, and an address that is written out.
        transport: another one, for tests; nothing is resolved then.

    Raises:
        Stall: AddressRefused, CredentialsUnencrypted.
    """
    secret = auth is not None or any(name.lower() in _SECRET for name in headers)
    egress.require(base, with_credentials=secret)
    inner = transport or _transport(base, egress, verify or ssl.create_default_context(), deadline_s, proxied)
    return httpx.Client(headers=dict(headers), auth=auth, timeout=None, transport=inner, trust_env=False)  # noqa: S113 - BoundedTransport


class AnswerTooLarge(httpx.HTTPError):
    """The answer is larger than it may be."""


def content(response: httpx.Response, largest: int) -> bytes:
    """All of a streamed answer. Raises AnswerTooLarge where that is more than `largest` bytes, uncompressed."""
    pieces, length = [], 0
    for piece in response.iter_bytes():
        pieces.append(piece)
        length += len(piece)
        if length > largest:
            raise AnswerTooLarge(f"the answer is larger than {largest >> 20} MiB")
    return b"".join(pieces)


_SECRET = ("authorization", "private-token")


def secrets_in(headers: Mapping[str, str]) -> tuple[str, ...]:
    """What must not stand in the words of whoever is sent these headers: tokens, and passwords of pairs."""
    found = [value.rpartition(" ")[2] for name, value in headers.items() if name.lower() in _SECRET]
    return (*found, *(each for token in found for each in _passwords(token)))


def _passwords(pair: str) -> tuple[str, ...]:
    try:
        password = b64decode(pair, validate=True).decode().partition(":")[2]
    except ValueError:
        return ()
    return (password,) if password else ()


def _transport(
    base: str, egress: Egress, context: ssl.SSLContext, deadline_s: float, proxied: bool
) -> httpx.BaseTransport:
    proxy = proxy_of(base) if proxied else None
    if proxy is not None:
        return _BehindProxy(BoundedTransport(context, proxy), egress, deadline_s)
    return Guarded(BoundedTransport(context), egress, deadline_s)


class Guarded(httpx.BaseTransport):
    """Resolves, judges, and connects to what was judged."""

    def __init__(self, inner: httpx.BaseTransport, egress: Egress, deadline_s: float) -> None:
        self._inner = inner
        self._egress = egress
        self._deadline_s = deadline_s

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Ask the first address that takes the connection. Raises Stall: AddressRefused."""
        begin_deadline(request, self._deadline_s)
        url, host = request.url, request.url.host
        try:
            addresses = self._egress.addresses(host, port_of(str(url)))
        except OSError as error:
            raise httpx.ConnectError(f"{host} cannot be resolved: {error}", request=request) from None
        request.extensions = {**request.extensions, _NAME: host}
        failed: httpx.HTTPError = httpx.ConnectError(f"{host} has no address", request=request)
        for address in addresses:
            request.url = url.copy_with(host=address)
            try:
                return self._inner.handle_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failed = error
        raise failed

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


class _BehindProxy(httpx.BaseTransport):
    """Judges an address that is written out; names the proxy resolves."""

    def __init__(self, inner: httpx.BaseTransport, egress: Egress, deadline_s: float) -> None:
        self._inner = inner
        self._egress = egress
        self._deadline_s = deadline_s

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        begin_deadline(request, self._deadline_s)
        host = request.url.host
        if host.replace(".", "").isdigit() or ":" in host:
            self._egress.require_address(host, port_of(str(request.url)), host)
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()
