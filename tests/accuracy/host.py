"""Changes on the host: what Python, the allocator, the compiler and the launch queue do."""

import random
from dataclasses import replace

from tests.accuracy.family import Pair
from tests.accuracy.pairs import faulty, healthy
from tests.accuracy.trial import step_us
from tests.support.synthetic.loop import Kernel


def items(dice: random.Random) -> Pair:
    """.item() after layers of short kernels, so that each drains the launch queue."""
    loop = healthy(dice, "ThreadOversubscription")
    loop = replace(loop, forward=tuple(replace(one, us=one.us * 12) for one in loop.forward))
    return loop, replace(loop, items=loop.layers)


def anomaly(dice: random.Random) -> Pair:
    loop = healthy(dice, "ThreadOversubscription")
    loop = replace(loop, forward=tuple(replace(one, us=one.us * 8) for one in loop.forward))
    return loop, replace(loop, checked_layers=loop.layers)


def thrashing(dice: random.Random) -> Pair:
    loop = replace(healthy(dice), allocation_us=dice.uniform(150, 400))
    return loop, replace(loop, thrashing_layers=loop.layers)


def recompiles_once(dice: random.Random) -> Pair:
    loop = healthy(dice)
    length = dice.uniform(0.1, 0.3) * step_us(loop) * (loop.steps - 2)
    return loop, replace(loop, compile_us=length, compile_steps=(dice.randrange(1, loop.steps - 1),))


def unfused(dice: random.Random) -> Pair:
    loop = healthy(dice, "ThreadOversubscription")
    return loop, replace(loop, extra_kernels=(Kernel("void elementwise_kernel_new<float>(int)", 2.0, 8),) * loop.layers)


def noisy(dice: random.Random) -> Pair:
    """Python work in a loop that waits for its host, on a host that is 1.5 % off."""
    loop = healthy(dice, "ThreadOversubscription")
    return loop, replace(faulty(loop, "PythonOverhead", dice.uniform(0.08, 0.2)), host_scale=dice.uniform(0.985, 1.015))


def slower_launches(dice: random.Random) -> Pair:
    """Each launch call takes longer, where the host is the limit; operators themselves are as fast as before."""
    loop = healthy(dice, "ThreadOversubscription")
    return loop, replace(loop, launch_us=loop.launch_us * dice.uniform(1.2, 1.6))


def longer_latency(dice: random.Random) -> Pair:
    """From call to start it takes longer."""
    loop = replace(healthy(dice, "ThreadOversubscription"), syncs=4)
    return loop, replace(loop, latency_us=loop.latency_us + dice.uniform(0.1, 0.3) * step_us(loop) / 4)


def waits_every_step(dice: random.Random) -> Pair:
    """A blocking call at the step's end, after which the input wait is felt that the queue hid before."""
    loop = replace(healthy(dice), waits_for_device=False)
    loop = replace(loop, input_us=dice.uniform(0.12, 0.25) * step_us(replace(loop, waits_for_device=True)))
    return loop, replace(loop, waits_for_device=True, syncs=2)


def checkpoint(dice: random.Random) -> Pair:
    loop = healthy(dice)
    took_us = dice.uniform(0.5, 3) * step_us(loop)
    return loop, replace(loop, checkpoint_step=loop.steps // 2, checkpoint_us=took_us)
