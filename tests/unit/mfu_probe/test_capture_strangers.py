"""Whatever strangers send to the port of a rank: an answer or a closed connection in time, and the loop goes on."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfu_probe.live.session import MOST_STEPS, CaptureSession, Refused
from mfu_probe.live.storage import Storage
from tests.unit.mfu_probe.test_capture_api import RIGHT, Served
from tests.unit.mfu_probe.test_capture_session import RecorderDouble, Run

LONGEST_S = 5.0
"""For an answer, on a machine with other work."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "id": JSON | st.from_regex(r"[a-z0-9-]{1,63}", fullmatch=True),
        "firstStep": JSON | st.integers(0, 10**6),
        "steps": JSON | st.integers(0, 40),
        "activities": JSON | st.lists(st.sampled_from(["cpu", "cuda", "gpu"]), max_size=3),
        "roundUp": JSON,
    },
)


@settings(max_examples=80)
@given(body=BODIES)
def test_any_body_is_taken_within_bounds_or_refused(body: dict[str, object]) -> None:
    session = CaptureSession(RecorderDouble(), Storage(Path("/nonexistent")))
    session.before_step(5)
    try:
        accepted = session.request(body, None)
    except Refused as refused:
        assert refused.status in (400, 412) and len(refused.message) < 300
        return
    assert 1 <= accepted["steps"] <= MOST_STEPS and accepted["firstStep"] > 5


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("traces")
    made = Served(Run(folder), tmp_path_factory.mktemp("token"))
    yield made
    made.server.stop()


def sent(served: Served, raw: bytes) -> bytes:
    """The first bytes of the answer; nothing where the connection was closed."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=LONGEST_S) as stranger:
        try:
            stranger.sendall(raw)
            stranger.shutdown(socket.SHUT_WR)
            return stranger.recv(4096)
        except (ConnectionResetError, BrokenPipeError):
            return b""


METHODS = st.sampled_from([b"GET", b"POST", b"DELETE", b"PUT", b"\xff"])
PATHS = st.sampled_from([b"/capture", b"/capture/a", b"/capture/../a/trace", b"/metrics", b"*"]) | st.binary(
    max_size=80
)
HEADERS = st.lists(
    st.sampled_from(
        [
            b"Authorization: Bearer s3cret",
            b"Authorization: Bearer \xe9",
            b"Content-Length: 5",
            b"Content-Length: -1",
            b"Content-Length: 99999999999999999999",
            b"Content-Length: \xb2",
            b"Transfer-Encoding: chunked",
            b"Expect: 100-continue",
        ]
    )
    | st.binary(max_size=60),
    max_size=6,
)


@settings(max_examples=80)
@given(method=METHODS, path=PATHS, headers=HEADERS, body=st.binary(max_size=200))
def test_any_request_is_answered_or_dropped_in_time(
    method: bytes, path: bytes, headers: list[bytes], body: bytes, served: Served
) -> None:
    begun_s = time.monotonic()
    answer = sent(served, b"\r\n".join([method + b" " + path + b" HTTP/1.1", *headers, b"", body]))
    assert time.monotonic() - begun_s < LONGEST_S
    assert not answer.startswith(b"HTTP/1.1 500")
    assert served.ask("GET", "/metrics")[0] == 200
    served.run.steps(1)


@settings(max_examples=80)
@given(raw=st.binary(max_size=5000))
def test_bytes_that_are_no_request_change_nothing(raw: bytes, served: Served) -> None:
    sent(served, raw)
    assert served.ask("GET", "/capture", headers=RIGHT)[0] == 200


def test_a_stranger_who_sends_a_byte_at_a_time_takes_one_place(served: Served) -> None:
    slow = [socket.create_connection(("127.0.0.1", served.port), timeout=LONGEST_S) for _ in range(7)]
    try:
        for each in slow:
            each.sendall(b"POST /capture HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
        assert served.ask("GET", "/metrics")[0] == 200
    finally:
        for each in slow:
            each.close()
