"""A training job simulated from its parts, event by event: an independent second opinion to `synthetic`.

Nothing is placed by hand. Workers load batches one after another and put them into a queue in the order in which they
were asked; the training thread takes them, launches kernels and runs ahead until the launch queue is full or it asks
for a number; a device runs each stream in order; ranks leave a collective together. What a change costs, and where it
shows, follows from that. Times are microseconds, written in nanoseconds.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.nsys_file import NsysFile

File = KinetoFile | NsysFile

MATMUL = "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNN"
BACKWARD = "nvjet_hsh_256x128_64x4_1x2_h_bz_coopB_NNT"
FUSED = "triton_poi_fused_add_gelu_mul_0"
PIECES = tuple(
    f"void at::native::vectorized_elementwise_kernel<4, at::native::{one}, std::array<char*, 3ul>>(int)"
    for one in ("CUDAFunctor_add<float>", "GeluCUDAKernelImpl", "BinaryFunctor<float, MulFunctor>", "copy_kernel")
)
NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
COMPUTE, COMMUNICATE = 7, 21
TRAIN, WORKER = 1, 40
QUEUE = 1024
"""Launches that may be outstanding before a launch call blocks."""


@dataclass(frozen=True)
class Job:
    """A job. `read_us` is what a worker waits for the store for each batch, `decode_us` what it computes; `shards`
    gives factors of `read_us` for the batches in turn. `pieces` is into how many kernels each fused one falls.
    `recompute` runs each layer's forward once more in the backward pass. `asks_every` is how often the loss is read.
    """

    steps: int = 12
    layers: int = 8
    matmul_us: float = 220.0
    fused_us: float = 60.0
    norm_us: float = 25.0
    launch_us: float = 5.0
    python_us: float = 4.0
    workers: int = 4
    prefetch: int = 2
    read_us: float = 4_000.0
    decode_us: float = 3_000.0
    shards: tuple[float, ...] = (1.0,)
    threads_marked: bool = False
    pieces: int = 1
    recompute: bool = False
    asks_every: int = 1
    ranks: int = 1
    buckets: int = 4
    bucket_us: float = 300.0
    split: int = 1
    split_overhead_us: float = 25.0
    device_factor: float = 1.0
    device_copies: int = 0
    device_copy_us: float = 60.0
    device_copy_bytes: int = 96 << 20
    noise: float = 0.01


@dataclass
class _Loader:
    """Worker processes, each of which loads every `workers`-th batch and is `prefetch` batches ahead at most."""

    job: Job
    dice: random.Random
    free: list[float] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)
    done: list[float] = field(default_factory=list)
    reads: list[tuple[int, float, float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.free = [0.0] * self.job.workers

    def ready(self, batch: int) -> float:
        """When the batch is in the queue."""
        while len(self.done) <= batch:
            self._load(len(self.done))
        return self.done[batch]

    def run_on(self, until: float) -> None:
        """What workers load ahead of the last batch that was taken."""
        while len(self.done) - self.job.workers * self.job.prefetch < len(self.taken) and min(self.free) < until:
            self._load(len(self.done))

    def _load(self, batch: int) -> None:
        job = self.job
        worker = batch % job.workers
        asked = batch - job.workers * job.prefetch
        start = max(self.free[worker], self.taken[asked] if 0 <= asked < len(self.taken) else 0.0)
        read = job.read_us * job.shards[batch % len(job.shards)] * self.dice.lognormvariate(0, job.noise)
        decode = job.decode_us * self.dice.lognormvariate(0, job.noise)
        self.reads.append((worker, start, start + read, start + read + decode))
        self.free[worker] = start + read + decode
        self.done.append(self.free[worker])


class Rank:
    """One process: its host clock, its device's streams, its file."""

    def __init__(self, job: Job, file: File, seed: int, leave: Callable[[int, float], float] | None) -> None:
        self.job, self.file, self.leave = job, file, leave
        self.dice = random.Random(seed)
        self.loader = _Loader(job, self.dice)
        self.now = 10_000.0
        self.free = {COMPUTE: 0.0, COMMUNICATE: 0.0}
        self.ends: list[float] = []
        self.met = 0
        self.file.gpu(0, "NVIDIA H100 80GB HBM3")

    def step(self, number: int) -> None:
        begin = self.now
        self._batch(number)
        self._copy(1, 180.0, 8 << 20)
        for _ in range(self.job.layers):
            self._forward()
        waits_for = []
        for layer in range(self.job.layers):
            if self.job.recompute:
                self._forward()
            for _ in range(2):
                self._kernel(BACKWARD, self.job.matmul_us, 264)
            self._elementwise()
            self._kernel(NORM, self.job.norm_us, 64)
            if self.job.buckets and (layer + 1) % max(1, self.job.layers // self.job.buckets) == 0:
                waits_for.append(self._bucket())
        self.free[COMPUTE] = max(self.free[COMPUTE], *waits_for, 0.0)
        for _ in range(self.job.device_copies):
            self._copy(8, self.job.device_copy_us, self.job.device_copy_bytes)
        self._kernel("void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>(int)", 350.0, 320)
        if number % self.job.asks_every == 0:
            self._ask()
        self.file.range(f"ProfilerStep#{number + 20}", _ns(begin), _ns(self.now))

    def finish(self) -> None:
        """What the workers did, as the recorder of system calls saw it."""
        self.loader.run_on(self.now)
        for worker, start, read, end in self.loader.reads:
            if start < 10_000.0 or start > self.now:
                continue
            self.file.os_call("pread64", _ns(start), _ns(read), WORKER + worker)
            if self.job.threads_marked:
                self.file.range("fetch", _ns(start), _ns(end), WORKER + worker)

    def _batch(self, number: int) -> None:
        begin = self.now
        ready = self.loader.ready(number + self.job.workers)
        if ready > self.now:
            self.file.os_call("pthread_cond_timedwait", _ns(self.now + 1), _ns(ready))
        self.now = max(self.now + 30.0, ready + 20.0)
        self.loader.taken += [self.now] * (number + self.job.workers + 1 - len(self.loader.taken))
        self.file.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", _ns(begin), _ns(self.now))

    def _forward(self) -> None:
        self._kernel(MATMUL, self.job.matmul_us, 264)
        self._elementwise()
        self._kernel(NORM, self.job.norm_us, 64)

    def _elementwise(self) -> None:
        """One fused kernel, or so many that each read and write what it kept in registers."""
        if self.job.pieces == 1:
            self._kernel(FUSED, self.job.fused_us, 512)
            return
        for piece in range(self.job.pieces):
            self._kernel(PIECES[piece % len(PIECES)], 0.8 * self.job.fused_us, 512)

    def _issue(self, name: str) -> tuple[float, int]:
        self.now += self.job.python_us * self.dice.lognormvariate(0, self.job.noise)
        outstanding = [end for end in self.ends[-QUEUE:] if end > self.now]
        if len(outstanding) >= QUEUE:
            self.now = outstanding[0]
        call = self.now
        self.now += self.job.launch_us
        self.file.host_op("aten::op", _ns(call - self.job.python_us / 2), _ns(self.now))
        return call, self.file.call(name, _ns(call), _ns(self.now))

    def _kernel(self, name: str, us: float, grid: int) -> None:
        call, correlation = self._issue("cudaLaunchKernel")
        start = max(call + 6.0, self.free[COMPUTE])
        end = start + us * self.job.device_factor * self.dice.lognormvariate(0, self.job.noise)
        self.file.kernel(name, _ns(start), _ns(end), correlation, COMPUTE, grid=grid)
        self.free[COMPUTE] = end
        self.ends.append(end)

    def _copy(self, kind: int, us: float, size: int) -> None:
        call, correlation = self._issue("cudaMemcpyAsync")
        start = max(call + 6.0, self.free[COMPUTE])
        end = start + us * self.dice.lognormvariate(0, self.job.noise)
        self.file.copy(kind, _ns(start), _ns(end), correlation, size)
        self.free[COMPUTE] = end
        self.ends.append(end)

    def _bucket(self) -> float:
        for _ in range(self.job.split):
            call, correlation = self._issue("cudaLaunchKernelExC")
            start = max(call + 6.0, self.free[COMMUNICATE], self.free[COMPUTE] if self.met % self.job.split == 0 else 0)
            last = start if self.leave is None else self.leave(self.met, start)
            us = self.job.bucket_us / self.job.split + (self.job.split_overhead_us if self.job.split > 1 else 0.0)
            end = last + us * (1 if self.leave else self.dice.lognormvariate(0, self.job.noise))
            self.file.kernel(REDUCE, _ns(start), _ns(end), correlation, COMMUNICATE, grid=24)
            self.free[COMMUNICATE] = end
            self.met += 1
        return self.free[COMMUNICATE]

    def _ask(self) -> None:
        call = self.now
        self.now = max(self.now, *self.free.values()) + 10.0
        self.file.call("cudaStreamSynchronize", _ns(call), _ns(self.now))


def _ns(us: float) -> int:
    return round(us * 1000)


def run(job: Job, file: File, seed: int = 1) -> File:
    """One rank by itself."""
    rank = Rank(job, file, seed, None)
    for number in range(job.steps):
        rank.step(number)
    rank.finish()
    return file


def run_ranks(jobs: Sequence[Job], files: Sequence[File], seed: int = 1) -> Sequence[File]:
    """Ranks that meet in every collective.

    When the last rank arrives at one is found by running all of them again, with what is known so far, until no rank
    arrives later than before: each can only be made later by the others.
    """
    arrived: list[list[float]] = [[] for _ in jobs]
    while True:
        seen: list[list[float]] = [[] for _ in jobs]
        for place, job in enumerate(jobs):
            silent = Rank(job, KinetoFile(), seed + place, _leave(arrived, seen[place], place))
            for number in range(job.steps):
                silent.step(number)
        if seen == arrived:
            break
        arrived = seen
    for place, (job, file) in enumerate(zip(jobs, files, strict=True)):
        rank = Rank(job, file, seed + place, _leave(arrived, [], place))
        for number in range(job.steps):
            rank.step(number)
        rank.finish()
    return files


def _leave(arrived: list[list[float]], seen: list[float], place: int) -> Callable[[int, float], float]:
    def leave(meeting: int, start: float) -> float:
        seen.append(start)
        others = [one[meeting] for rank, one in enumerate(arrived) if rank != place and meeting < len(one)]
        return max(start, *others) if others else start

    return leave
