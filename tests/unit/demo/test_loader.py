"""The demo's data loader: the same batches in the same order, however many processes make them."""

import os
from itertools import islice

import numpy as np
import pytest

from tests.demo.workload.loader import (
    BatchRecipe,
    InlineLoader,
    LoaderError,
    StoreClient,
    WorkerLoader,
    open_loader,
)
from tests.demo.workload.text import generate_object

RECIPE = BatchRecipe(
    shards=3, objects_per_shard=5, objects_per_batch=2, batch_size=4, sequence_length=16, seed=9, first_shard=0
)


def fetch(shard: int, index: int) -> bytes:
    return generate_object(shard, index, 256)


def fetch_nothing(shard: int, index: int) -> bytes:
    raise LoaderError("the store is gone")


def end_the_process(shard: int, index: int) -> bytes:
    os._exit(7)


def test_workers_and_the_training_process_make_the_same_batches_in_the_same_order() -> None:
    with open_loader(RECIPE, fetch, num_workers=0, prefetch_factor=2) as inline:
        expected = list(islice(inline, 7))
    with open_loader(RECIPE, fetch, num_workers=3, prefetch_factor=2) as workers:
        found = list(islice(workers, 7))
    assert isinstance(inline, InlineLoader)
    assert isinstance(workers, WorkerLoader)
    assert all(np.array_equal(one, other) for one, other in zip(expected, found, strict=True))


def test_a_resumed_run_goes_on_where_it_was() -> None:
    expected = list(islice(InlineLoader(RECIPE, fetch), 7))[5:]
    with WorkerLoader(RECIPE, fetch, 3, 1, first_batch=5) as resumed:
        found = list(islice(resumed, 2))
    assert all(np.array_equal(one, other) for one, other in zip(expected, found, strict=True))


def test_a_batch_takes_its_objects_one_after_the_other() -> None:
    asked: list[tuple[int, int]] = []

    def recording(shard: int, index: int) -> bytes:
        asked.append((shard, index))
        return fetch(shard, index)

    batch = RECIPE.make(0, recording)
    assert len(asked) == RECIPE.objects_per_batch
    assert batch.shape == (4, 17)


def test_held_out_batches_come_from_other_shards() -> None:
    held_out = BatchRecipe(3, 5, 2, 4, 16, seed=9, first_shard=3)
    shards: set[int] = set()

    def recording(shard: int, index: int) -> bytes:
        shards.add(shard)
        return fetch(shard, index)

    for number in range(20):
        held_out.make(number, recording)
    assert shards == {3, 4, 5}


def test_closing_ends_every_worker_and_may_be_repeated() -> None:
    loader = WorkerLoader(RECIPE, fetch, 2, 2)
    processes = [worker.process for worker in loader._workers]
    next(iter(loader))
    loader.close()
    loader.close()
    assert not any(process.is_alive() for process in processes)


def test_what_stops_a_worker_is_told_in_the_training_process() -> None:
    with WorkerLoader(RECIPE, fetch_nothing, 1, 1) as loader, pytest.raises(LoaderError, match="the store is gone"):
        next(iter(loader))


def test_a_worker_that_dies_is_named_with_its_exit_code() -> None:
    with (
        WorkerLoader(RECIPE, end_the_process, 1, 1) as loader,
        pytest.raises(LoaderError, match="loader-0 ended with exit code 7"),
    ):
        next(iter(loader))


def test_a_batch_that_objects_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not a multiple of data\.objects_per_batch"):
        BatchRecipe(1, 1, objects_per_batch=3, batch_size=4, sequence_length=16, seed=0)


def test_an_address_that_is_not_http_is_refused() -> None:
    with pytest.raises(ValueError, match=r"data\.store_url"):
        StoreClient("s3://bucket")
