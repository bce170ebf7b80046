"""A training run in slow motion: real steps, ranges and metrics of mfu_probe, and hardly any work in them.

A batch takes LOAD_S to be fetched from a store (a thread behind a socket), and the model takes WORK_S for it. Two
workers hide the fetching; without workers, or with a store that is too slow for them, each step waits for it.

`STORE_DELAY` is what the store takes longer, seconds.
"""

import argparse
import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

import mfu_probe

WORK_S = 0.2
LOAD_S = 0.3
TOKENS = 1024


def store(delay_s: float) -> socket.socket:
    """A store that the process serves to itself: it answers each byte after LOAD_S and `delay_s` seconds."""
    here, there = socket.socketpair()

    def serve() -> None:
        while there.recv(1):
            time.sleep(LOAD_S + delay_s)
            there.send(b"b")

    threading.Thread(target=serve, daemon=True).start()
    return here


def fetch(connection: socket.socket) -> bytes:
    """One batch."""
    connection.send(b"?")
    return connection.recv(1)


def batches(workers: int, delay_s: float) -> Iterator[bytes]:
    """Batches for ever: fetched one after the other by the loop itself, or ahead of it by threads."""
    if workers == 0:
        connection = store(delay_s)
        while True:
            yield fetch(connection)
    ready: queue.Queue[bytes] = queue.Queue(maxsize=2 * workers)

    def work() -> None:
        connection = store(delay_s)
        while True:
            ready.put(fetch(connection))

    for _ in range(workers):
        threading.Thread(target=work, daemon=True).start()
    while True:
        yield ready.get()


def workers_of(options: argparse.Namespace) -> int:
    """As the configuration file says, else the command line, else the image."""
    if options.config is not None:
        return int(yaml.safe_load(options.config.read_text())["loader"]["num_workers"])
    told = options.num_workers
    return int(os.environ["LOADER_WORKERS"] if told is None else told)


def main() -> None:
    """Train until somebody ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--num-workers", type=int)
    parser.add_argument("--prefetch-factor", type=int)
    parser.add_argument("--log-every", type=int)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    loader = batches(workers_of(options), float(os.environ.get("STORE_DELAY") or 0))
    with mfu_probe.start(
        flops_per_step=WORK_S * 4e8,
        tokens_per_step=TOKENS,
        peak_flops=1e9,
        model="slow-motion",
        gpu="none",
        global_batch=1,
        precision="fp32",
    ) as probe:
        for _ in probe.steps(loader):
            with probe.forward():
                time.sleep(WORK_S * 0.4)
            with probe.backward():
                time.sleep(WORK_S * 0.4)
            with probe.optimizer():
                time.sleep(WORK_S * 0.2)


if __name__ == "__main__":
    main()
