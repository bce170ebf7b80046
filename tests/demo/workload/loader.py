"""The data loader: batch `k` is a pure function of the seed and `k`, made here or by worker processes, in order.

Semantics as in PyTorch's DataLoader: with `num_workers` 0 the training process fetches, tokenises and augments by
itself while the model waits; with n workers, worker `k mod n` makes batch `k` and may be `prefetch_factor` ahead.
"""

import http.client
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from multiprocessing.synchronize import Semaphore
from types import TracebackType
from typing import Protocol
from urllib.parse import urlsplit

import numpy as np

from .text import Tokens, augment, tokenize

FETCH_SECONDS = 30.0
"""How long one object is tried for before training gives up; a store that restarts is back well before."""
RETRY_SECONDS = 0.5


class LoaderError(RuntimeError):
    """No further batch can be made; the message says why."""


class Fetch(Protocol):
    """Where objects come from."""

    def __call__(self, shard: int, index: int) -> bytes:
        """The bytes of one object."""


class StoreClient:
    """Fetches objects over one kept-alive HTTP connection, and again over a new one when it breaks."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"data.store_url must be http://host[:port], not {url!r}")
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=5.0)

    def __call__(self, shard: int, index: int) -> bytes:
        """The bytes of one object. Raises LoaderError when the store does not answer for FETCH_SECONDS."""
        deadline = time.monotonic() + FETCH_SECONDS
        while True:
            try:
                return self._get(f"/shards/{shard}/{index}")
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if time.monotonic() > deadline:
                    raise LoaderError(f"object store {self._connection.host}: {error!r}") from error
                time.sleep(RETRY_SECONDS)

    def _get(self, path: str) -> bytes:
        self._connection.request("GET", path)
        response = self._connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise http.client.HTTPException(f"{path} answered {response.status}")
        return body


@dataclass(frozen=True, slots=True)
class BatchRecipe:
    """How batch `k` is made: which objects it takes and how its samples are cut from them."""

    shards: int
    objects_per_shard: int
    objects_per_batch: int
    batch_size: int
    sequence_length: int
    seed: int
    first_shard: int = 0

    def __post_init__(self) -> None:
        if self.batch_size % self.objects_per_batch:
            raise ValueError(
                f"training.batch_size {self.batch_size} is not a multiple of data.objects_per_batch "
                f"{self.objects_per_batch}"
            )

    def make(self, number: int, fetch: Fetch) -> Tokens:
        """Batch `number`, shape (batch_size, sequence_length + 1): its objects are fetched one after the other."""
        dice = np.random.default_rng((self.seed, number))
        samples = []
        for _ in range(self.objects_per_batch):
            shard = self.first_shard + int(dice.integers(self.shards))
            tokens = tokenize(fetch(shard, int(dice.integers(self.objects_per_shard))))
            samples += [
                augment(tokens, self.sequence_length, dice) for _ in range(self.batch_size // self.objects_per_batch)
            ]
        return np.stack(samples)


class InlineLoader:
    """Makes every batch in the process that asks for it."""

    def __init__(self, recipe: BatchRecipe, fetch: Fetch, *, first_batch: int = 0) -> None:
        self._recipe, self._fetch, self._next = recipe, fetch, first_batch

    def __iter__(self) -> Iterator[Tokens]:
        while True:
            yield self._recipe.make(self._next, self._fetch)
            self._next += 1

    def close(self) -> None:
        """Nothing to end."""

    def __enter__(self) -> "InlineLoader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class _Worker:
    process: ForkProcess
    batches: Connection
    room: Semaphore


class WorkerLoader:
    """Makes batches in `num_workers` processes; start it before any thread, because the processes are forked."""

    def __init__(
        self, recipe: BatchRecipe, fetch: Fetch, num_workers: int, prefetch_factor: int, *, first_batch: int = 0
    ) -> None:
        if num_workers < 1 or prefetch_factor < 1:
            raise ValueError("loader.num_workers and loader.prefetch_factor must be at least 1 here")
        self._next = first_batch
        self._workers = [
            _start_worker(recipe, fetch, first_batch, place, num_workers, prefetch_factor)
            for place in range(num_workers)
        ]

    def __iter__(self) -> Iterator[Tokens]:
        while True:
            worker = self._workers[self._next % len(self._workers)]
            try:
                batch = worker.batches.recv()
            except EOFError:
                worker.process.join(1.0)
                raise LoaderError(
                    f"loader worker {worker.process.name} ended with exit code {worker.process.exitcode}"
                ) from None
            if isinstance(batch, str):
                raise LoaderError(batch)
            worker.room.release()
            self._next += 1
            yield batch

    def close(self) -> None:
        """End the workers and wait for them; doing it twice is harmless."""
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
            worker.batches.close()
        self._workers = []

    def __enter__(self) -> "WorkerLoader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def open_loader(
    recipe: BatchRecipe, fetch: Fetch, *, num_workers: int, prefetch_factor: int, first_batch: int = 0
) -> InlineLoader | WorkerLoader:
    """The loader that the two numbers ask for."""
    if num_workers == 0:
        return InlineLoader(recipe, fetch, first_batch=first_batch)
    return WorkerLoader(recipe, fetch, num_workers, prefetch_factor, first_batch=first_batch)


def _start_worker(
    recipe: BatchRecipe, fetch: Fetch, first_batch: int, place: int, num_workers: int, prefetch_factor: int
) -> _Worker:
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    room = context.Semaphore(prefetch_factor)
    numbers = range(first_batch + (place - first_batch) % num_workers, 2**62, num_workers)
    process = context.Process(
        target=_work,
        args=(recipe, fetch, numbers, sending, room, os.getpid()),
        name=f"loader-{place}",
        daemon=True,
    )
    process.start()
    sending.close()
    return _Worker(process, receiving, room)


def _work(
    recipe: BatchRecipe,
    fetch: Fetch,
    numbers: range,
    sending: Connection,
    room: Semaphore,
    parent: int,
) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for number in numbers:
            while not room.acquire(timeout=1.0):
                if os.getppid() != parent:
                    return
            sending.send(recipe.make(number, fetch))
    except LoaderError as error:
        sending.send(str(error))
    except BrokenPipeError:
        return
