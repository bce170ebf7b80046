"""/metrics and /capture on one port, from threads that never hold the loop. Plain HTTP, as metrics pages are."""

from __future__ import annotations

import json
import os
import shutil
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable

from mfu_probe.identity import RankIdentity
from mfu_probe.live.pod import pod_uid
from mfu_probe.live.session import LONGEST_SECONDS, MOST_STEPS, CaptureSession, Refused
from mfu_probe.live.storage import MOST_BYTES
from mfu_probe.live.token import allows, configured_token
from mfu_probe.metrics import Snapshot, page_of

LONGEST_BODY = 4096
TIMEOUT_SECONDS = 20.0
"""A client that sends or reads nothing for so long is given up."""

MOST_AT_ONCE = 8
"""Requests served together: Prometheus, the coordinator, and a person."""

MOST_CONNECTIONS = 64
"""Each has a thread of the training process, whose container may be allowed a few thousand: further ones are closed."""

POD_HEADER = "Mfu-Pod-Uid"
"""On every answer, one without a token among them: who asks checks it before it sends the token."""

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class CaptureServer(ABC):
    """The port of one rank: its metrics, and the capture API of its process.

    Args:
        environment: where the token is named.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.environment = os.environ if environment is None else environment
        self.places = threading.BoundedSemaphore(MOST_AT_ONCE)
        self.pod = pod_uid(self.environment)
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def start(self, port: int, address: str) -> int:
        """Listen; the port that is listened on (another one than asked for only with 0). Raises OSError."""
        probe = self

        class Handler(_Handler):
            served = probe

        server = _Server((address, port), Handler)
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, name="mfu-probe", daemon=True)
        self._thread.start()
        return int(server.server_address[1])

    def stop(self) -> None:
        """Listen no longer."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    @abstractmethod
    def page(self) -> str:
        """The metrics."""

    @abstractmethod
    def description(self) -> dict[str, Any]:
        """The answer to GET /capture. Raises Refused, as the other ones do."""

    @abstractmethod
    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Take a request for a capture."""

    @abstractmethod
    def state(self, capture: str) -> dict[str, Any]:
        """How far a capture is."""

    @abstractmethod
    def trace(self, capture: str) -> Path:
        """The compressed trace."""

    @abstractmethod
    def forget(self, capture: str) -> None:
        """Stop and forget a capture."""


class ProbeServer(CaptureServer):
    """Serves the process that it is in.

    Args:
        snapshot: the readings of this moment.
        session: the captures.
        identity: who this process is.
        environment: where the token is named.
    """

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        session: CaptureSession,
        identity: RankIdentity,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(environment)
        self.snapshot = snapshot
        self.session = session
        self.identity = identity

    def page(self) -> str:
        """The readings of this moment."""
        return page_of(self.snapshot())

    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Take a request."""
        return self.session.request(body, self.snapshot().step_seconds)

    def state(self, capture: str) -> dict[str, Any]:
        """How far a capture is."""
        return self.session.state(capture)

    def trace(self, capture: str) -> Path:
        """Its trace."""
        return self.session.trace(capture)

    def forget(self, capture: str) -> None:
        """Stop and forget it."""
        self.session.forget(capture)

    def description(self) -> dict[str, Any]:
        """Who this process is, and where it is."""
        now = self.snapshot()
        return {
            "schemaVersion": 1,
            "recorder": self.session.recorder,
            "rank": self.identity.rank,
            "worldSize": self.identity.world_size,
            "localRank": self.identity.local_rank,
            "step": self.session.step,
            "phase": now.phase,
            "stepSeconds": now.step_seconds,
            "busy": self.session.busy,
            "limits": {"steps": MOST_STEPS, "seconds": LONGEST_SECONDS, "bytes": MOST_BYTES},
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._connections = threading.BoundedSemaphore(MOST_CONNECTIONS)
        own = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _let_go(own()))

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread, or close it where there are too many, or no thread can be had."""
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:
            self._connections.release()
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that went away is no business of the training script's log."""


def _let_go(server: _Server | None) -> None:
    """In a forked child, a loader's worker: it may outlive this process, and would keep the port from the next one."""
    if server is not None:
        server.socket.close()


class _Handler(BaseHTTPRequestHandler):
    served: CaptureServer
    timeout = TIMEOUT_SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "mfu_probe"
    sys_version = ""

    def do_GET(self) -> None:
        """Metrics, what can be captured, how far a capture is, and its trace."""
        self._answered(self._get)

    def do_POST(self) -> None:
        """Ask for a capture."""
        self._answered(self._post)

    def do_DELETE(self) -> None:
        """Stop and forget a capture."""
        self._answered(self._delete)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the log is the training script's."""

    def end_headers(self) -> None:
        """The headers of any answer, with the pod that answers."""
        if self.served.pod is not None:
            self.send_header(POD_HEADER, self.served.pod)
        super().end_headers()

    def _answered(self, act: Callable[[], None]) -> None:
        if not self.served.places.acquire(blocking=False):
            self._tell(503, {"error": "too many requests at once; ask again"})
            return
        try:
            act()
        except Refused as error:
            self._tell(error.status, {"error": error.message})
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True
        finally:
            self.served.places.release()

    def _get(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        if path in ("", "/metrics"):
            self._send(200, CONTENT_TYPE, self.served.page().encode())
            return
        self._authorize()
        if path == "/capture":
            self._tell(200, self.served.description())
            return
        capture, _, rest = self._capture_of(path)
        if rest == "trace":
            self._send_trace(capture)
        elif rest:
            raise Refused(404, f"there is no {path}")
        else:
            self._tell(200, self.served.state(capture))

    def _post(self) -> None:
        if self.path.rstrip("/") != "/capture":
            raise Refused(404, f"there is no {self.path}")
        body = self._body()
        self._authorize()
        accepted = self.served.request(body())
        self._tell(202, accepted)

    def _delete(self) -> None:
        self._authorize()
        capture, _, rest = self._capture_of(self.path.rstrip("/"))
        if rest:
            raise Refused(404, f"there is no {self.path}")
        self.served.forget(capture)
        self._tell(200, {"id": capture})

    def _capture_of(self, path: str) -> tuple[str, str, str]:
        if not path.startswith("/capture/"):
            raise Refused(404, f"there is no {path}")
        return path[len("/capture/") :].partition("/")

    def _authorize(self) -> None:
        token = configured_token(self.served.environment)
        if token is None:
            raise Refused(403, "no token is configured: name the mounted Secret's token in MFU_PROBE_TOKEN_FILE")
        if not allows(self.headers.get("Authorization"), token):
            raise Refused(401, "the token is missing or wrong")

    def _body(self) -> Callable[[], Mapping[str, Any]]:
        """Read the whole body, so that a refusal can be answered on the same connection; decoded when asked for."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            self.close_connection = True
            raise Refused(400, f"the body must have a length of at most {LONGEST_BODY} bytes")
        raw = self.rfile.read(int(length))

        def decoded() -> Mapping[str, Any]:
            try:
                body = json.loads(raw)
            except (ValueError, RecursionError):
                raise Refused(400, "the body is not JSON") from None
            if not isinstance(body, dict):
                raise Refused(400, "the body must be an object")
            return body

        return decoded

    def _send_trace(self, capture: str) -> None:
        path = self.served.trace(capture)
        try:
            file = path.open("rb")
        except OSError:
            raise Refused(410, f"the trace of capture {capture} is gone; ask for another capture") from None
        with file:
            self.send_response(200)
            self.send_header("Content-Type", "application/gzip")
            self.send_header("Content-Length", str(os.fstat(file.fileno()).st_size))
            self.end_headers()
            shutil.copyfileobj(file, self.wfile)

    def _tell(self, status: int, body: Mapping[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(body).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
