"""The demo's object store: the same text at the latency of real storage."""

import asyncio
import random

import pytest

from tests.demo.workload.store import JITTER, ObjectStore
from tests.demo.workload.text import OBJECT_BYTES, UNKNOWN, generate_object, tokenize


def answer(request_line: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, bytes, list[float]]:
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", note)
    head, body = asyncio.run(ObjectStore(0.02, random.Random(0)).answer(request_line)).split(b"\r\n\r\n", 1)
    return head.split(b"\r\n")[0].decode(), body, waits


def test_an_object_comes_after_the_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    status, body, waits = answer("GET /shards/3/7 HTTP/1.1", monkeypatch)
    assert status == "HTTP/1.1 200 OK"
    assert body == generate_object(3, 7)
    assert waits == [pytest.approx(0.02, rel=JITTER)]


def test_health_is_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    status, _, waits = answer("GET /healthz HTTP/1.1", monkeypatch)
    assert (status, waits) == ("HTTP/1.1 200 OK", [])


@pytest.mark.parametrize("line", ["GET / HTTP/1.1", "POST /shards/1/2 HTTP/1.1", "GET /shards/1/x HTTP/1.1", "noise"])
def test_anything_else_is_not_found(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(line, monkeypatch)[0] == "HTTP/1.1 404 Not Found"


def test_text_is_always_the_same_and_all_of_it_is_known() -> None:
    text = generate_object(1, 2)
    assert text == generate_object(1, 2) != generate_object(1, 3)
    assert len(text) == OBJECT_BYTES
    assert UNKNOWN not in tokenize(text)
    assert UNKNOWN in tokenize("é".encode())
