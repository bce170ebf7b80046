"""The training loop, rank by rank. A collective hands control back until every rank has reached it."""

from collections.abc import Generator, Sequence

from tests.accuracy.events import body
from tests.accuracy.events.machine import Loader, Machine
from tests.accuracy.events.recording import MAIN, Recording, Work
from tests.accuracy.events.setup import Setup

Arrival = tuple[Machine, int, Work]
"""Whose collective, how many bytes, and the kernel without its end."""


def run(setup: Setup, *, recorded: bool = True) -> tuple[list[Recording], float]:
    """The ranks' recordings and the mean step in nanoseconds."""
    recordings = [Recording(rank, setup.ranks, setup.program.gpu) for rank in range(setup.ranks)]
    machines = [Machine(setup.of_rank(one.rank), one.rank, one) for one in recordings]
    loops = [_loop(one, recorded) for one in machines]
    arrived = [next(one, None) for one in loops]
    while any(one is not None for one in arrived):
        ends = _meet([one for one in arrived if one is not None])
        arrived = [_on(loop, end) for loop, end in zip(loops, ends, strict=True)]
    for one in recordings:
        low, high = one.steps[0][1], one.steps[-1][2]
        one.calls = [call for call in one.calls if call.end > low and call.start < high]
    spans = [(one.steps[-1][2] - one.steps[0][1]) / len(one.steps) for one in recordings]
    return recordings, sum(spans) / len(spans)


def _on(loop: Generator[Arrival, int, None], end: int) -> Arrival | None:
    try:
        return loop.send(end)
    except StopIteration:
        return None


def _meet(arrived: Sequence[Arrival]) -> list[int]:
    """When each rank's kernel ends: a transfer after the last one has come."""
    machine, size, _ = arrived[0]
    setup = machine.setup
    wire = size * 2 * (setup.ranks - 1) / setup.ranks
    efficient = size / (size + 2_000_000)
    transfer = setup.latency_us * 1e3 + wire / (setup.gbps * max(efficient, 0.02))
    transfer *= machine.random.gauss(1.0, 0.02)
    last = max(work.start for _, _, work in arrived)
    return [int(last + transfer + one.random.uniform(0, 2_000)) for one, _, _ in arrived]


def _loop(machine: Machine, recorded: bool) -> Generator[Arrival, int, None]:
    setup = machine.setup
    loader = Loader(machine, setup)
    for step in range(setup.before + setup.steps):
        machine.recorded = recorded and step >= setup.before
        start = machine.now
        yield from body.step(machine, loader, step)
        if step >= setup.before:
            machine.recording.steps.append((step + 100, start, machine.now))
            machine.thread = MAIN
            machine.call(f"ProfilerStep#{step + 100}", start, "range")
