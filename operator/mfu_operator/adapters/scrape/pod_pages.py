"""Reading a pod's page over HTTP. The pod is a tenant's: it may send anything, at any speed, and costs no more."""

import http.client
import socket
import time
from collections.abc import Callable
from typing import Any

from mfu_operator.adapters.egress import ANYWHERE, Egress
from mfu_operator.adapters.scrape.pod_targets import Target
from mfu_operator.errors import Retry, Unreadable

PAGE_DEADLINE_S = 5.0
"""For one page, from connecting to its last byte; a pod of the same cluster answers in milliseconds."""

LARGEST_PAGE = 1024 * 1024
"""Bytes. A training process exports kilobytes."""

_HEADERS = {
    "Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "Accept-Encoding": "identity",
    "Connection": "close",
}
_POLICY = "do the NetworkPolicies of its namespace and of the operator's let the operator in?"

Fetch = Callable[[Target], tuple[str, str]]
"""(content type, text) of a page. Raises MfuError."""


class HttpPages:
    """Reads pages over HTTP, each on a connection of its own: no proxy, no redirect, no compression, no more than
    `largest` bytes, no longer than `deadline_s` whatever is being waited for, of no address that `egress` refuses."""

    def __init__(
        self, deadline_s: float = PAGE_DEADLINE_S, largest: int = LARGEST_PAGE, egress: Egress = ANYWHERE
    ) -> None:
        self._deadline_s = deadline_s
        self._largest = largest
        self._egress = egress

    def fetch(self, target: Target) -> tuple[str, str]:
        """(content type, text). Raises Retry(PodUnreachable), Unreadable(PodPageUnreadable), Stall(AddressRefused)."""
        self._egress.require_address(target.ip, target.port, f"pod {target.pod}")
        where = f"{target.url} of pod {target.pod}"
        connection = _Connection(target.ip, target.port, time.monotonic() + self._deadline_s)
        try:
            connection.request("GET", target.path, headers=_HEADERS)
            response = connection.getresponse()
            if response.status != http.client.OK:
                raise Retry("PodUnreachable", f"{where} answered {response.status}: check metrics.pods.ports and path")
            return response.getheader("content-type", ""), self._body(response).decode(errors="replace")
        except TimeoutError:
            raise Retry("PodUnreachable", f"{where} did not answer within {self._deadline_s:g} s: {_POLICY}") from None
        except (OSError, http.client.HTTPException) as error:
            raise Retry(
                "PodUnreachable",
                f"{where} cannot be reached ({type(error).__name__}): does the training process listen there, on all "
                f"addresses? {_POLICY}",
            ) from None
        finally:
            connection.close()

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        if response.getheader("content-encoding", "identity").strip().lower() != "identity":
            raise Unreadable("PodPageUnreadable", "it is compressed, which was not asked for")
        try:
            body = response.read(self._largest + 1)
        except TimeoutError:
            raise Unreadable("PodPageUnreadable", f"it did not end within {self._deadline_s:g} s") from None
        if len(body) > self._largest:
            raise Unreadable("PodPageUnreadable", f"it is larger than {self._largest >> 20} MiB")
        if response.length:
            raise Unreadable("PodPageUnreadable", "it is cut off: shorter than its Content-Length")
        return body


class _Connection(http.client.HTTPConnection):
    """A connection to an address, with one deadline for all that is sent and read on it."""

    def __init__(self, ip: str, port: int, ends_s: float) -> None:
        super().__init__(ip, port)
        self._ends_s = ends_s

    def connect(self) -> None:
        self.sock = _Socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET, self._ends_s)
        self.sock.connect((self.host, self.port))


class _Socket(socket.socket):
    """A socket that waits no longer than until `ends_s` (monotonic), however little comes at a time."""

    def __init__(self, family: int, ends_s: float) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        self._ends_s = ends_s

    def connect(self, address: Any) -> None:
        self._wait_for_the_rest()
        super().connect(address)

    def sendall(self, data: Any, flags: int = 0) -> None:
        self._wait_for_the_rest()
        super().sendall(data, flags)

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        self._wait_for_the_rest()
        return super().recv_into(buffer, nbytes, flags)

    def _wait_for_the_rest(self) -> None:
        left_s = self._ends_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self.settimeout(left_s)
