"""A pod's metrics page on loopback, by the standard library's web server."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.certificates import Pair
from tests.support.loopback import running

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Page:
    """What is served: `text` and its `content_type`, with `status`; `trickle` waits before each byte of it."""

    def __init__(self, text: str = "", content_type: str = TEXT, status: int = 200) -> None:
        self.text = text
        self.content_type = content_type
        self.status = status
        self.trickle: Callable[[], object] | None = None
        self.asked: list[str] = []


@contextmanager
def serving_page(page: Page, pair: Pair | None = None) -> Iterator[int]:
    """The port of a server that serves the page at every path, with TLS where there is a pair."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page.asked.append(self.path)
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            if page.status in (301, 302):
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            with suppress(OSError):  # the reader may have had enough
                self._send(page.text.encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))  # unread, it makes closing a reset
            self.do_GET()

        def _send(self, body: bytes) -> None:
            if page.trickle is None:
                self.wfile.write(body)
                return
            for index in range(len(body)):
                page.trickle()
                self.wfile.write(body[index : index + 1])
                self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if pair is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with running(server) as port:
        yield port
