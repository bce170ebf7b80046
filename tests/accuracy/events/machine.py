"""A host with its threads, a device with its streams, and a loader with its queue: who waits for whom."""

import random
from collections import deque

from tests.accuracy.events.recording import FIRST_WORKER, MAIN, PINNING, Call, Message, Recording, Work
from tests.accuracy.events.setup import Setup

QUEUE = 1000
"""Launches that a device accepts before the host has to wait."""

FORK_US = 600
"""What it takes at least to start a process of a few hundred megabytes."""

COMPUTE, COMMUNICATION, COPIES = 7, 20, 24
START_NS, GAP_NS = 2_600, 900
"""From launch to start on an idle device, and between kernels of one stream."""


class Machine:
    """One rank's. Time is a number: each call moves the clock of its thread on."""

    def __init__(self, setup: Setup, rank: int, recording: Recording) -> None:
        self.setup, self.recording = setup, recording
        self.random = random.Random(f"{setup.seed}/{rank}")
        self.now = rank * 40_000
        self.thread = MAIN
        self.ready = {COMPUTE: 0, COMMUNICATION: 0, COPIES: 0}
        self.pending: deque[int] = deque()
        self.correlation = 1000
        self.recorded = False

    def spend(self, us: float) -> None:
        """The host works: now and then it is interrupted."""
        factor = self.random.lognormvariate(0.0, 0.12)
        if self.random.random() < 0.002:
            us += self.random.uniform(20, 120)
        self.now += int(us * 1e3 * factor * self.setup.host)

    def call(self, name: str, start: int, kind: str, correlation: int | None = None, thread: int | None = None) -> None:
        """Write down what ran from `start` until now."""
        self.said(Call(thread or self.thread, name, start, max(self.now, start + 1), kind, correlation))

    def said(self, call: Call) -> None:
        """Write it down while recording."""
        if self.recorded:
            self.recording.calls.append(call)

    def cuda(self, name: str, us: float) -> int:
        """A call to the driver; its correlation."""
        start = self.now
        self.spend(us)
        self.correlation += 1
        self.call(name, start, "cuda", self.correlation)
        return self.correlation

    def launch(
        self, kind: str, name: str, ns: float, *, stream: int = COMPUTE, after: int = 0, blocks: int = 0, size: int = 0,
        pinned: bool = True, correlation: int | None = None, call: str = "cudaLaunchKernel",
    ) -> int:  # fmt: skip
        """Hand work to a stream; when it ends."""
        while len(self.pending) >= QUEUE:
            self.now = max(self.now, self.pending.popleft())
        if correlation is None:
            correlation = self.cuda(call, self.setup.launch_us)
        start = max(self.now + START_NS, self.ready[stream] + GAP_NS, after)
        end = start + max(800, int(ns * self.random.gauss(1.0, 0.01)))
        self.work(Work(stream, name, start, end, correlation, kind, blocks, size, pinned))
        return end

    def work(self, work: Work) -> None:
        """What a stream runs."""
        self.ready[work.stream] = work.end
        self.pending.append(work.end)
        if self.recorded:
            self.recording.works.append(work)

    def collective(self, name: str, kernel: str, size: int, stream: int = COMMUNICATION) -> tuple[int, int, Message]:
        """Launch a collective: its correlation, when it could start, what it carries."""
        start = self.now
        self.spend(10)
        correlation = self.cuda("cudaLaunchKernelExC", self.setup.launch_us)
        self.spend(4)
        self.call(f"nccl:{name}", start, "range")
        self.call("record_param_comms", start, "op")
        at = max(self.now + START_NS, self.ready[stream] + GAP_NS, self.ready[COMPUTE] + 1_500)
        return correlation, at, Message(name.removeprefix("_"), size // 2, "BFloat16")

    def wait_for_device(self, until: int, name: str = "cudaStreamSynchronize") -> None:
        """Block until the device is there."""
        start = self.now
        self.now = max(self.now + 2_500, until + 3_000)
        self.correlation += 1
        self.call(name, start, "cuda", self.correlation)

    def copy(self, kind: str, size: int, *, pinned: bool, stream: int = COMPUTE, after: int = 0) -> int:
        """A copy over PCIe; one from pageable memory is staged, and holds the calling thread."""
        rate = self.setup.pcie_gbps if pinned else min(6.5, self.setup.pcie_gbps)
        correlation = self.cuda("cudaMemcpyAsync", 6)
        end = self.launch(
            kind,
            kind,
            1_800 + size / rate,
            stream=stream,
            after=after,
            size=size,
            pinned=pinned,
            correlation=correlation,
        )
        if not pinned:
            self.now = max(self.now, end - 4_000)
            self.wait_for_device(end)
        return end


class Loader:
    """torch's DataLoader: workers take indices in turn, batches come in order, so many may be under way.

    Workers that started together deliver together; those of a long run have drifted apart (odd seeds).
    """

    def __init__(self, machine: Machine, setup: Setup) -> None:
        self.machine, self.setup = machine, setup
        self.next = 0
        batch = (setup.read_ms + setup.transform_ms) * 1e6
        apart = setup.seed % 2 * batch
        self.free = [int(machine.random.uniform(0, apart)) for _ in range(max(1, setup.workers))]
        self.made: dict[int, int] = {}
        self.pinning_free = 0
        for index in range(setup.workers * setup.prefetch):
            self._hand_out(index, 0)

    def batch(self, step: int) -> int:
        """Wait for the next batch on the training thread; since when it waits."""
        setup, machine = self.setup, self.machine
        index, self.next = self.next, self.next + 1
        asked = machine.now
        if not setup.workers:
            machine.now = self._load(index, MAIN, machine.now)
            machine.spend(60)
            return asked
        if step == setup.restart_at:
            asked = self._restart(index)
        at = self.pinning_free = max(self.made.pop(index), self.pinning_free) + 200_000
        self.note(Call(PINNING, "read", at - 200_000, at - 160_000, "os"))
        start = machine.now
        if at > start:
            machine.now = at + 25_000
            machine.call("pthread_cond_timedwait", start, "os")
        machine.spend(90)
        self._hand_out(index + setup.workers * setup.prefetch, machine.now)
        return asked

    def _restart(self, index: int) -> int:
        """An epoch's end: asked once more, the iterator has none, and a new one starts its workers one by one.

        As torch 2.15 was recorded: the new iterator draws a seed before it forks, outside of what is marked.
        """
        setup, machine = self.setup, self.machine
        start = machine.now
        machine.spend(300)
        machine.call("next batch", start, "range")
        start = machine.now
        for name in ("aten::random_", "aten::item"):
            drawn = machine.now
            machine.spend(12)
            machine.call(name, drawn, "op")
        for worker in range(setup.workers):
            forked = machine.now
            machine.spend(max(FORK_US, setup.restart_ms * 1e3 / setup.workers / 2))
            machine.call("fork", forked, "os")
            self.free[worker] = machine.now + int(setup.restart_ms * 0.5e6)
        machine.call("_MultiProcessingDataLoaderIter.__init__", start, "python")
        for later in range(index, index + setup.workers * setup.prefetch):
            self._hand_out(later, machine.now)
        return machine.now

    def _hand_out(self, index: int, at: int) -> None:
        worker = index % self.setup.workers
        self.made[index] = self.free[worker] = self._load(index, FIRST_WORKER + worker, max(self.free[worker], at))

    def note(self, call: Call) -> None:
        """What other threads do is known before it is: the writers cut it to what was recorded."""
        self.machine.recording.calls.append(call)

    def _load(self, index: int, thread: int, at: int) -> int:
        """Read and transform each sample of a batch."""
        setup, machine = self.setup, self.machine
        heavy = setup.heavy_ms if setup.heavy_every and index % setup.heavy_every == 0 else 0.0
        for _ in range(setup.samples):
            read = (setup.read_ms + heavy) * 1e6 / setup.samples * machine.random.lognormvariate(0.0, 0.2)
            own = setup.transform_ms * 1e6 / setup.samples * machine.random.lognormvariate(0.0, 0.1)
            self.note(Call(thread, "open64", at, at + 4_000, "os"))
            self.note(Call(thread, "read", at + 4_000, at + 4_000 + int(read), "os"))
            at += 4_000 + int(read)
            if thread == MAIN:
                self.note(Call(thread, "aten::to", at + 1_000, at + int(own * 0.7), "op"))
            at += int(own)
        return at
