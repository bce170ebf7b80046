"""An API server that serves stored TrainingBaselines over HTTP."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mfu_operator.api import status as codec
from mfu_operator.api.group import GROUP, PLURAL, VERSION
from mfu_operator.model.incident import Status

PREFIX = f"/apis/{GROUP}/{VERSION}"


class ApiServer:
    """TrainingBaselines by (namespace, name), read over HTTP; `answers` is the status of every answer. `defined`: the
    definition is installed. `events` are those of any namespace, `of_events` is the status of an answer with them.
    `others` are objects and lists by their path."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        self.answers = 200
        self.events: list[dict[str, Any]] = []
        self.of_events = 200
        self.others: dict[str, dict[str, Any]] = {}
        self.defined = True
        self.patched: list[tuple[str, dict[str, Any]]] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                code, body = api.answer(self.path.split("?")[0])
                data = json.dumps(body).encode() if api.defined else b"404 page not found\n"
                code = code if api.defined else 404
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_PATCH(self) -> None:
                change = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                api.patched.append((self.path.split("?")[0], change))
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Silence."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True, kwargs={"poll_interval": 0.01}).start()

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        if self.answers != 200:
            return self.answers, {"kind": "Status", "message": "no"}
        if path in self.others:
            return 200, self.others[path]
        if path.startswith("/api") and not path.startswith(PREFIX):
            is_events = path.endswith("/events")
            code = self.of_events if is_events else 404
            return code, {"items": self.events} if code == 200 else {"kind": "Status", "message": "no"}
        parts = path.removeprefix(PREFIX).strip("/").split("/")
        if parts == [PLURAL]:
            return 200, {"items": list(self.objects.values())}
        if len(parts) == 3:
            return 200, {"items": [found for key, found in self.objects.items() if key[0] == parts[1]]}
        found = self.objects.get((parts[1], parts[3]))
        return (200, found) if found else (404, {"kind": "Status", "message": "not found"})

    def keep(self, status: Status | None, name: str = "gpt-small", namespace: str = "team-a") -> None:
        made: dict[str, Any] = {
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"comparable": {"model": f"model-of-{name}"}},
        }
        self.objects[namespace, name] = made | ({"status": codec.encode(status)} if status else {})

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
