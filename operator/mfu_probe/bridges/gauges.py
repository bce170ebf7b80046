"""Gauges named for the tags that a framework logs, and the page that shows them."""

from __future__ import annotations

import functools
import logging
import os
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mfu_probe.identity import PORT_VARIABLE, configured_port

log = logging.getLogger("mfu_probe")

MOST_GAUGES = 2000
"""The operator refuses a page with more wanted samples; a framework logs some hundred tags."""


class Mirror:
    """The last value of each tag, by its name for Prometheus: every character but letters, digits and _ is made a _."""

    def __init__(self) -> None:
        self._gauges: dict[str, float] = {}
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    def set(self, metrics: Mapping[str, Any], step: float | None = None) -> None:
        """Note the numbers among `metrics`, and `step` as `global_step`; what is no number is left out."""
        for tag, value in {**metrics, **({} if step is None else {"global_step": step})}.items():
            name = re.sub(r"[^a-zA-Z0-9_]", "_", tag)
            try:
                number = float(value)
            except (TypeError, ValueError, RuntimeError):
                continue
            with self._lock:
                if name in self._gauges or len(self._gauges) < MOST_GAUGES:
                    self._gauges[f"_{name}" if name[:1].isdigit() else name] = number

    def page(self) -> str:
        """Prometheus' text format 0.0.4."""
        with self._lock:
            gauges = sorted(self._gauges.items())
        return "".join(f"# TYPE {name} gauge\n{name} {_written(value)}\n" for name, value in gauges)

    def serve(self, port: int) -> int:
        """Serve the page at /metrics from a thread of its own; 0: any free port.

        Returns:
            The port.
        """
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 5.0

            def do_GET(self) -> None:
                found = self.path.partition("?")[0] == "/metrics"
                body = mirror.page().encode() if found else b""
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: a scrape is not the training's news."""

        self._server = ThreadingHTTPServer(("", port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="mfu_probe.bridges", daemon=True).start()
        return int(self._server.server_address[1])

    def stop(self) -> None:
        """No longer serve the page."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@functools.lru_cache(maxsize=1)
def _served() -> Mirror:
    """This process's own, which serves its page from its first metric on."""
    made = Mirror()
    try:
        made.serve(configured_port(os.environ))
    except (OSError, ValueError, OverflowError) as error:
        said = os.environ.get(PORT_VARIABLE, "")
        log.warning("mfu_probe: the bridge serves no page (%s=%s): %s", PORT_VARIABLE, said, error)
    return made


def mirror(metrics: Mapping[str, Any], step: float | None = None) -> None:
    """Show what a framework logs. Call it where it logs: in `log_metrics`, `add_scalar` or `on_log`."""
    _served().set(metrics, step)


def of_tensorboard(writer: Any = None) -> None:
    """Mirror every scalar that a `SummaryWriter` of this process is given from now on, with its step.

    Args:
        writer: the class; None: torch's `torch.utils.tensorboard.SummaryWriter`.
    """
    if writer is None:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter
    before = writer.add_scalar
    if getattr(before, "mirrored", False):
        return

    @functools.wraps(before)
    def add_scalar(self: Any, tag: str, scalar_value: Any, global_step: Any = None, *rest: Any, **named: Any) -> Any:
        mirror({tag: scalar_value}, global_step)
        return before(self, tag, scalar_value, global_step, *rest, **named)

    add_scalar.mirrored = True  # type: ignore[attr-defined]
    writer.add_scalar = add_scalar


def _written(value: float) -> str:
    if value != value:
        return "NaN"
    return ("+Inf" if value > 0 else "-Inf") if value in (float("inf"), float("-inf")) else repr(value)
