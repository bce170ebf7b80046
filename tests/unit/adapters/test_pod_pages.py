"""Pages of pods that mean harm, or are broken: what they may cost."""

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from mfu_operator.adapters.scrape.pod_pages import LARGEST_PAGE, HttpPages
from mfu_operator.adapters.scrape.pod_targets import Target
from mfu_operator.errors import MfuError, Retry
from mfu_operator.model.baseline import WorkloadRef

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
Answer = Callable[[socket.socket], None]


@contextmanager
def answering(answer: Answer) -> Iterator[Target]:
    """A pod that answers every connection so, once it has been asked."""

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    def serve(asking: socket.socket) -> None:
        with asking, suppress(OSError):
            requests.append(asking.recv(65_536))
            answer(asking)

    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield Target(JOB, "gpt-0", "127.0.0.1", listener.getsockname()[1], "/metrics")
        listener.shutdown(socket.SHUT_RDWR)
    assert all(b"Accept-Encoding: identity" in request for request in requests)


def failure(answer: Answer, pages: HttpPages) -> MfuError:
    with answering(answer) as target, pytest.raises(MfuError) as caught:
        pages.fetch(target)
    return caught.value


def drip(head: bytes, more: bytes = b"a") -> Answer:
    """A byte every 50 ms for as long as anyone listens."""

    def answer(asking: socket.socket) -> None:
        asking.sendall(head)
        stopped = threading.Event()
        while not stopped.wait(0.05):
            asking.sendall(more)

    return answer


def body(text: bytes, *headers: bytes) -> Answer:
    lines = b"\r\n".join((b"HTTP/1.1 200 OK", b"Content-Type: text/plain", *headers))
    return lambda asking: asking.sendall(lines + b"\r\n\r\n" + text)


@pytest.mark.parametrize(
    ("head", "more"),
    [
        pytest.param(b"", b"H", id="the status line"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX-A: ", b"a", id="a header"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"X-A: a\r\n", id="headers"),
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", id="interim answers"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", b"a", id="the page"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n", id="chunks"),
    ],
)
def test_whatever_comes_too_slowly_the_deadline_holds(head: bytes, more: bytes) -> None:
    begun_s = time.monotonic()
    told = failure(drip(head, more), HttpPages(deadline_s=0.4)).message
    assert "within 0.4 s" in told
    assert time.monotonic() - begun_s < 10.0


def test_pages_that_hang_do_not_keep_others_from_being_asked() -> None:
    pages = HttpPages(deadline_s=20.0)
    hanging, released = threading.Semaphore(0), threading.Event()

    def hang(asking: socket.socket) -> None:
        hanging.release()
        released.wait(120)

    def ask(target: Target) -> None:
        with suppress(MfuError):
            pages.fetch(target)

    with answering(hang) as silent, answering(body(b"foo 1\n")) as good:
        threads = [threading.Thread(target=ask, args=(silent,)) for _ in range(40)]
        for thread in threads:
            thread.start()
        assert all(hanging.acquire(timeout=60) for _ in threads)
        assert pages.fetch(good) == ("text/plain", "foo 1\n")
        released.set()
        for thread in threads:
            thread.join(60)


def test_a_compressed_page_is_refused_and_not_unpacked() -> None:
    bomb = gzip.compress(b"\0" * (8 << 20))
    problem = failure(body(bomb, b"Content-Encoding: gzip"), HttpPages())
    assert (problem.reason, "compressed" in problem.message) == ("PodPageUnreadable", True)


@pytest.mark.parametrize("headers", [(), (b"Content-Length: 1048577",)])
def test_a_page_is_at_most_a_mebibyte(headers: tuple[bytes, ...]) -> None:
    assert "larger than 1 MiB" in failure(body(b"x" * (LARGEST_PAGE + 1), *headers), HttpPages()).message
    with answering(body(b"x" * LARGEST_PAGE)) as target:
        assert len(HttpPages().fetch(target)[1]) == LARGEST_PAGE


def test_a_page_that_is_shorter_than_it_says_is_cut_off() -> None:
    assert "cut off" in failure(body(b"mfu 0.4", b"Content-Length: 9"), HttpPages()).message


@pytest.mark.parametrize(
    "garbage", [b"", b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200, b"HTTP/1.1 2x0 OK\r\n\r\n"]
)
def test_what_is_no_http_is_unreachable(garbage: bytes) -> None:
    problem = failure(lambda asking: asking.sendall(garbage), HttpPages())
    assert isinstance(problem, Retry)
    assert problem.reason == "PodUnreachable"
