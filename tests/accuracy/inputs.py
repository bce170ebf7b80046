"""Changes of the input: what workers read and transform, and whether the device feels it."""

import random
from dataclasses import replace

from tests.accuracy.family import Pair
from tests.accuracy.pairs import healthy
from tests.accuracy.trial import step_us


def slow_store_of_workers(dice: random.Random) -> Pair:
    loop = replace(healthy(dice), worker_threads=4, worker_read_us=2000.0)
    lost = dice.uniform(0.06, 0.2) * step_us(loop)
    return loop, replace(loop, input_us=loop.input_us + lost, worker_read_us=2000.0 + 4 * lost)


def slow_transform_of_workers(dice: random.Random) -> Pair:
    loop = replace(healthy(dice), worker_threads=4, worker_read_us=2000.0)
    return loop, replace(loop, input_us=loop.input_us + dice.uniform(0.06, 0.2) * step_us(loop))


def fewer_workers(dice: random.Random) -> Pair:
    loop = replace(healthy(dice), worker_threads=4, worker_read_us=2000.0)
    return loop, replace(loop, input_us=loop.input_us + dice.uniform(0.06, 0.2) * step_us(loop), worker_threads=1)


def hidden(dice: random.Random) -> Pair:
    loop = replace(healthy(dice), waits_for_device=False)
    kernels = sum(one.us for one in loop.forward) * loop.layers * 3
    host = (len(loop.forward) * loop.layers * 2 + 8) * (loop.op_us + loop.launch_us)
    return loop, replace(loop, input_us=max(40.0, 0.6 * (kernels - host)))


def partly_hidden(dice: random.Random) -> Pair:
    """What of the wait the device feels is 6 to 20 % of the step."""
    loop = replace(healthy(dice), waits_for_device=False)
    kernels = sum(one.us for one in loop.forward) * loop.layers * 3 + 320 + loop.h2d_us + loop.bucket_us
    host = (len(loop.forward) * loop.layers * 2 + 8) * (loop.op_us + loop.launch_us)
    return loop, replace(loop, loader="inline", input_us=kernels - host + dice.uniform(0.1, 0.25) * kernels)


def every_second(dice: random.Random) -> Pair:
    loop = replace(healthy(dice), worker_threads=4, worker_read_us=2000.0)
    lost = dice.uniform(0.1, 0.3) * step_us(loop)
    return loop, replace(
        loop, input_by_step=tuple(loop.input_us + (lost if index % 2 else 0.0) for index in range(loop.steps))
    )
