"""Answers that are made to harm whoever reads them: packed beyond measure, nested beyond every stack."""

import gzip
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from mfu_operator.adapters.forges import Web, forge
from mfu_operator.adapters.prometheus.api import INSTANT, LARGEST_OF_A_BASELINE, PrometheusApi
from mfu_operator.errors import MfuError, Unreadable
from mfu_operator.gitops.manifests import NotStructuredError, leaves
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.ports import Credentials
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.termination_message import decode as account_of

MIB = 1 << 20
DEEP = {"lists": b"[" * 200_000, "objects": b'{"a":' * 100_000, "closed": b"[" * 100_000 + b"]" * 100_000}


@contextmanager
def answering(body: bytes, coding: str | None = None) -> Iterator[str]:
    """The address of a server that says the same to everybody."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            if coding is not None:
                self.send_header("Content-Encoding", coding)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def asks_forge(base: str) -> object:
    return forge(ForgeKind.GITEA, f"{base}/a/b", base, Credentials(password="t"), Web()).find("b")


def asks_prometheus(base: str) -> object:
    api = PrometheusApi(base, None, None, None, time.time, largest=LARGEST_OF_A_BASELINE)
    with api.rows(INSTANT, {"query": "up"}) as rows:
        return rows


both = pytest.mark.parametrize("ask", [asks_forge, asks_prometheus])


def zeros(mib: int) -> bytes:
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packing.compress(b"\0" * MIB) for _ in range(mib)), packing.flush()])


@both
@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip", "br", "identity, gzip"])
def test_what_is_packed_takes_no_more_memory_than_it_may_unpacked(ask: Callable[[str], object], coding: str) -> None:
    bomb = zeros(128)
    packed = gzip.compress(bomb) if coding == "gzip, gzip" else bomb
    with answering(packed, coding) as base:
        tracemalloc.start()
        try:
            with pytest.raises(MfuError):
                ask(base)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert most < 64 * MIB, f"{len(packed)} bytes took {most // MIB} MiB"


@both
@pytest.mark.parametrize("body", DEEP.values(), ids=DEEP)
def test_what_is_nested_beyond_every_stack_is_no_answer(ask: Callable[[str], object], body: bytes) -> None:
    with answering(body) as base, pytest.raises(MfuError):
        ask(base)


NESTED = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
EVENT = b'{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"correlation": %s}}'


@pytest.mark.parametrize(
    "trace",
    [
        b'{"traceEvents": [%s]}' % (EVENT % NESTED),
        b'{"traceEvents": [%s, %s' % (EVENT % b"1", EVENT % NESTED),
        b'{"deviceProperties": %s, "traceEvents": [%s]}' % (NESTED, EVENT % NESTED),
        b"[%s]" % (EVENT % NESTED),
    ],
    ids=["in an event", "in one that is cut", "before the events", "in a bare list"],
)
def test_a_trace_that_is_nested_beyond_every_stack_is_none(trace: bytes, tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(trace)
    with pytest.raises(Unreadable):
        analyze([tmp_path / "trace.json"])


def test_a_result_of_a_profiling_pod_that_is_nested_is_none() -> None:
    with pytest.raises(Unreadable, match="not an account"):
        account_of('{"a":' + "[" * 1900 + "]" * 1900 + "}")


@pytest.mark.parametrize("text", ["a = " + "[" * 5000 + "]" * 5000, "a = " + "{b = " * 5000 + "1" + "}" * 5000])
def test_a_file_of_a_repository_that_is_nested_has_no_keys(text: str) -> None:
    with pytest.raises(NotStructuredError):
        leaves("config.toml", text)


@pytest.mark.parametrize("packing", [gzip.compress, zlib.compress])
def test_what_is_packed_as_servers_do_is_read(packing: Callable[[bytes], bytes]) -> None:
    body = b'{"status": "success", "data": {"result": [{"metric": {"pod": "' + b"a" * 3 * MIB + b'"}}]}}'
    coding = "gzip" if packing is gzip.compress else "deflate"
    with answering(packing(body), coding) as base:
        found = asks_prometheus(base)
    assert isinstance(found, list) and len(found[0].metric["pod"]) == 3 * MIB
