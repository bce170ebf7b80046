"""An object store as the training sees one: GET /shards/<shard>/<index> answers text after the latency of real storage.

`/healthz` answers at once. It is one asyncio process, so that many loaders can wait at the same time without costing
CPU: what it imitates is latency, not load.
"""

import argparse
import asyncio
import functools
import random
import re
import signal
from dataclasses import dataclass, field

from .text import generate_object

DEFAULT_PORT = 8080
DEFAULT_LATENCY_SECONDS = 0.020
"""Time to first byte of a small object from storage in the same region is some 10 to 30 ms warm (S3 Express to S3)."""
JITTER = 0.3
"""Uniform ± share of the latency. Real storage varies more; with less, loader workers that started together would
answer together for minutes, and a capture of few steps would see bursts. A 10-second mean over some 1,900 objects moves
by 0.3/√3/√1900 = 0.4 %."""
REQUEST_SECONDS = 60.0
"""How long an idle connection is kept; a loader that comes later opens a new one."""

_TARGET = re.compile(r"GET /shards/(\d{1,9})/(\d{1,9}) HTTP/1\.[01]")
_cached_object = functools.lru_cache(maxsize=4096)(generate_object)


@dataclass
class ObjectStore:
    """Answers objects after `latency_seconds` ± JITTER; `dice` makes the jitter repeatable."""

    latency_seconds: float = DEFAULT_LATENCY_SECONDS
    dice: random.Random = field(default_factory=lambda: random.Random(0))

    async def serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one keep-alive connection until the client leaves or falls silent."""
        try:
            while True:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), REQUEST_SECONDS)
                writer.write(await self.answer(head.split(b"\r\n", 1)[0].decode("latin-1")))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, request_line: str) -> bytes:
        """The whole HTTP response to one request line."""
        if request_line.startswith("GET /healthz "):
            return _response("200 OK", b"ok\n")
        target = _TARGET.fullmatch(request_line)
        if target is None:
            return _response("404 Not Found", b"GET /shards/<shard>/<index> or /healthz\n")
        await asyncio.sleep(self.latency_seconds * (1 + JITTER * self.dice.uniform(-1, 1)))
        return _response("200 OK", _cached_object(int(target[1]), int(target[2])))


def _response(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode("latin-1") + body


async def serve(store: ObjectStore, address: str, port: int) -> None:
    """Serve `store` on `address`:`port` until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    server = await asyncio.start_server(store.serve_connection, address, port)
    print(f"object store on {address}:{port}, {store.latency_seconds * 1e3:g} ms an object", flush=True)
    await stop.wait()
    server.close()


def main() -> None:
    """The command line of the store's container."""
    parser = argparse.ArgumentParser(prog="python -m workload.store", description=__doc__)
    parser.add_argument("--address", default="0.0.0.0")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--latency-ms", type=float, default=DEFAULT_LATENCY_SECONDS * 1e3)
    options = parser.parse_args()
    asyncio.run(serve(ObjectStore(options.latency_ms / 1e3), options.address, options.port))


if __name__ == "__main__":
    main()
