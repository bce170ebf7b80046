"""A real Git server over HTTP: git's own http-backend behind the standard library's web server, with one password."""

import base64
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.certificates import Pair, server_context


@contextmanager
def served(
    root: Path,
    password: str,
    asked: list[str] | None = None,
    shown: set[str] | None = None,
    pair: Pair | None = None,
) -> Iterator[str]:
    """The base URL of all repositories below `root`; an empty password lets everybody in. `asked` gets the path of each
    request that was let in, `shown` every password that came. With a certificate it speaks TLS."""
    handler = type("Handler", (_Handler,), {"root": root, "password": password, "asked": asked, "shown": shown})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        if pair is not None:
            server.socket = server_context(pair).wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"{'http' if pair is None else 'https'}://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def files_served(root: Path) -> Iterator[str]:
    """The address under which a folder's files are served to everybody."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    root: Path
    password: str
    asked: list[str] | None = None
    shown: set[str] | None = None

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _serve(self) -> None:
        if not self._allowed():
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.asked is not None:
            self.asked.append(self.path)
        head, _, body = self._backend().partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _allowed(self) -> bool:
        kind, _, pair = self.headers.get("Authorization", "").partition(" ")
        password = base64.b64decode(pair).decode().partition(":")[2] if kind == "Basic" else ""
        if self.shown is not None and password:
            self.shown.add(password)
        return password == self.password or not self.password

    def _backend(self) -> bytes:
        url = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": url.path,
            "QUERY_STRING": url.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(content)),
            "REMOTE_USER": "person",
        }
        return subprocess.run(["git", "http-backend"], input=content, env=env, capture_output=True, check=True).stdout
