"""A modelled training loop on one device: a host that issues work, streams that run it, a loader, collectives.

The host runs ahead of the device until something blocks it. Times are integer nanoseconds, lengths in the
configuration are microseconds.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

US = 1_000
COMPUTE_STREAM, SIDE_STREAM, COMM_STREAM = 7, 13, 20
TRAINER, LOADER, COLLECTIVE_THREAD = 1, 2, 60

GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize2x1x1_execute_kernel"
SGEMM = "ampere_sgemm_128x64_tn"
FLASH = "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t>>()"
NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float)"
POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>(int)"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>(int)"
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*)"
ADAM = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>(int)"
ISNAN = "void at::native::vectorized_elementwise_kernel<4, at::native::isnan_kernel_impl(at::TensorIterator&)>(int)"
ANY = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<bool, at::native::func_wrapper_t<bool, or>>>(bool)"
ALLREDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


class Recorder(Protocol):
    """What a trace file of either format takes."""

    def range(self, name: str, start: int, end: int | None, thread: int = 1) -> None: ...
    def host_op(self, name: str, start: int, end: int, thread: int = 1) -> None: ...
    def os_call(self, name: str, start: int, end: int, thread: int = 1) -> None: ...
    def call(self, name: str, start: int, end: int, thread: int = 1) -> int: ...
    def kernel(
        self, name: str, start: int, end: int, correlation: int | None, stream: int = 7, device: int = 0, grid: int = 1
    ) -> None: ...
    def copy(
        self, kind: int, start: int, end: int, correlation: int | None, size: int = 4096, pageable: bool = False
    ) -> None: ...
    def gpu(self, device: int, name: str) -> None: ...


Meet = Callable[[int], int]
"""From when this rank is ready for a collective to when the last rank is, ns."""

BOUND_BY_MEMORY = (NORM, POINTWISE, ADD, ADAM, SOFTMAX)


@dataclass(frozen=True)
class Kernel:
    """One kernel of a layer: its length in microseconds and its launch grid."""

    name: str
    us: float
    grid: int = 132


@dataclass(frozen=True)
class Loop:
    """The loop's shape, then what faults change. Extra work is placed where nothing hides it unless said otherwise.

    `noise` is that of each operation, `step_noise` one factor for everything in a step. `items` are `.item()` calls
    (a copy of 4 bytes to pageable memory and a blocking wait), `checked_layers` backward layers whose gradients anomaly
    detection looks at, `thrashing_layers` those that free and allocate. `memory_scale` is for kernels that are bound by
    memory, where it is not `device_scale`. `worker_threads` read for `worker_read_us` a step and are seen by nsys only.
    """

    steps: int = 9
    layers: int = 6
    forward: tuple[Kernel, ...] = (Kernel(GEMM, 90), Kernel(FLASH, 60), Kernel(NORM, 15), Kernel(POINTWISE, 20))
    backward_factor: float = 2.0
    optimizer: tuple[Kernel, ...] = (Kernel(ADAM, 80),) * 4
    launch_us: float = 5.0
    op_us: float = 3.0
    latency_us: float = 4.0
    host_scale: float = 1.0
    noise: float = 0.015
    input_us: float = 40.0
    input_by_step: tuple[float, ...] = ()
    restarts: tuple[int, ...] = ()
    """Steps in which the loader's workers are started again."""
    loader: str = "workers"
    transform_us: float = 0.0
    batch_bytes: int = 4 << 20
    h2d_us: float = 160.0
    pageable: bool = False
    buckets: int = 4
    bucket_us: float = 120.0
    serial_buckets: int = 0
    split: int = 1
    extra_collectives: tuple[float, ...] = ()
    recomputed_layers: int = 0
    extra_kernels: tuple[Kernel, ...] = ()
    extra_copies: tuple[tuple[int, float, int], ...] = ()
    syncs: int = 1
    after_sync_us: float = 0.0
    allocations: int = 0
    allocation_us: float = 0.0
    python_us: float = 0.0
    compile_us: float = 0.0
    host_collective_us: float = 0.0
    checks: int = 0
    check_us: float = 0.0
    waits_for_device: bool = True
    step_noise: float = 0.0
    side_kernels: tuple[Kernel, ...] = ()
    items: int = 0
    checked_layers: int = 0
    thrashing_layers: int = 0
    compile_steps: tuple[int, ...] = ()
    checkpoint_step: int | None = None
    checkpoint_us: float = 0.0
    memory_scale: float | None = None
    micro_batches: int = 1
    worker_threads: int = 0
    worker_read_us: float = 0.0
    gpu: str = "NVIDIA H100 80GB HBM3"
    device_scale: float = 1.0

    def record(self, file: Recorder, seed: int, meet: "Meet | None" = None) -> "Run":
        """Run the loop into the file; with `meet` it is one rank of several."""
        run = Run(self, file, random.Random(seed), meet)
        run.all_steps()
        return run


@dataclass
class Run:
    """One simulated run: the host's clock and the streams'."""

    loop: Loop
    file: Recorder
    dice: random.Random
    meet: Meet | None = None
    now: int = 5_000_000
    finished: int = 0
    pace: float = 1.0
    free: dict[int, int] = field(default_factory=lambda: {COMPUTE_STREAM: 0, SIDE_STREAM: 0, COMM_STREAM: 0})
    marks: list[int] = field(default_factory=list)

    def all_steps(self) -> None:
        self.file.gpu(0, self.loop.gpu)
        for index in range(self.loop.steps):
            begin = self.now
            self.marks.append(begin)
            self.pace = self.dice.lognormvariate(0.0, self.loop.step_noise)
            self._step(index)
            self.file.range(f"ProfilerStep#{index}", begin, self.now)
        self.marks.append(self.now)

    def _noisy(self, us: float) -> int:
        return max(1, round(us * US * self.pace * self.dice.lognormvariate(0.0, self.loop.noise)))

    def _host(self, us: float) -> None:
        self.now += self._noisy(us * self.loop.host_scale) if us else 0

    def _step(self, index: int) -> None:
        loop = self.loop
        self._input(index)
        self._host_faults(index)
        for kernel in loop.extra_kernels:
            self._kernel(kernel)
        self._copy(1, loop.h2d_us, loop.batch_bytes, loop.pageable)
        for kind, us, size in loop.extra_copies:
            self._copy(kind, us, size, False)
        for _ in range(loop.micro_batches):
            for layer in range(loop.layers):
                self._layer(layer)
            self._backward()
        self._collectives()
        for kernel in loop.optimizer:
            self._kernel(kernel)
        if loop.waits_for_device:
            self._synchronise()
        else:
            self._wait_for_step_before()
        if index == loop.checkpoint_step:
            self._checkpoint()

    def _checkpoint(self) -> None:
        """The weights to the host, then to a file."""
        self._copy(2, self.loop.checkpoint_us / 2, 1 << 30, True)
        begin = self.now
        self._host(self.loop.checkpoint_us / 2)
        self.file.os_call("write", begin, self.now)

    def _input(self, index: int) -> None:
        """The batch: waited for, or made by the training thread itself."""
        loop = self.loop
        wait = loop.input_by_step[index] if loop.input_by_step else loop.input_us
        begin = self.now
        name = "_SingleProcessDataLoaderIter" if loop.loader == "inline" else "_MultiProcessingDataLoaderIter"
        waited = self._noisy(wait)
        if loop.loader == "inline":
            self.file.os_call("recv", begin + 200, begin + waited)
        else:
            self.file.os_call("pthread_cond_timedwait", begin + 200, begin + waited)
        if index in loop.restarts:
            self.file.os_call("fork", begin, begin + 150)
            self.file.range("torch/utils/data/dataloader.py(1046): __init__", begin, begin + waited // 2)
        self.now += waited
        self._workers(begin)
        if loop.transform_us:
            each = self._noisy(loop.transform_us / 8)
            for one in range(8):
                self.file.host_op("aten::normal_", self.now + one * each, self.now + (one + 1) * each)
            self.now += 8 * each
        self.file.range(f"enumerate(DataLoader)#{name}.__next__", begin, self.now + 500)
        self.now += 1_000

    def _workers(self, begin: int) -> None:
        """What loader threads do for a batch, spread over them."""
        for thread in range(self.loop.worker_threads):
            read = self._noisy(self.loop.worker_read_us / self.loop.worker_threads)
            self.file.os_call("read", begin - read, begin, LOADER + thread)

    def _host_faults(self, index: int) -> None:
        loop = self.loop
        if loop.compile_us and (not loop.compile_steps or index in loop.compile_steps):
            begin = self.now
            self._host(loop.compile_us)
            self.file.range("TorchDynamo: compile_fx (inductor)", begin, self.now)
        if loop.host_collective_us:
            begin = self.now
            self._host(loop.host_collective_us)
            self.file.range("gloo:all_reduce", begin, self.now, COLLECTIVE_THREAD)
        for _ in range(loop.allocations):
            begin = self.now
            self._host(loop.allocation_us / loop.allocations)
            self.file.call("cudaMalloc", begin, self.now)
        for _ in range(loop.checks):
            begin = self.now
            self._host(loop.check_us / loop.checks)
            self.file.host_op("aten::isnan", begin, self.now)
        self._host(loop.python_us)

    def _kernel(self, kernel: Kernel) -> None:
        begin = self.now
        self._host(self.loop.op_us)
        call = self.now
        self._host(self.loop.launch_us)
        self.file.host_op("aten::mm", begin, self.now)
        correlation = self.file.call("cudaLaunchKernel", call, self.now)
        start = max(call + round(self.loop.latency_us * US), self.free[COMPUTE_STREAM])
        end = start + self._noisy(kernel.us * self._scale(kernel))
        self.file.kernel(kernel.name, start, end, correlation, COMPUTE_STREAM, grid=kernel.grid)
        self.free[COMPUTE_STREAM] = end

    def _scale(self, kernel: Kernel) -> float:
        slower = self.loop.memory_scale
        return self.loop.device_scale if slower is None or kernel.name not in BOUND_BY_MEMORY else slower

    def _copy(self, kind: int, us: float, size: int, pageable: bool) -> None:
        call = self.now
        start = max(call + round(self.loop.latency_us * US), self.free[COMPUTE_STREAM])
        end = start + self._noisy(us)
        self.now = end if pageable else self.now + self._noisy(self.loop.launch_us)
        correlation = self.file.call("cudaMemcpyAsync", call, self.now)
        self.file.copy(kind, start, end, correlation, size, pageable)
        self.free[COMPUTE_STREAM] = end

    def _layer(self, layer: int) -> None:
        for kernel in self.loop.forward:
            self._kernel(kernel)
        for kernel in self.loop.side_kernels:
            self._beside(kernel)
        if layer < self.loop.items:
            self._item()
        if layer < self.loop.thrashing_layers:
            self._thrash()
        if self.loop.syncs > 1 and layer < self.loop.syncs - 1:
            self._synchronise()
            self._host(self.loop.after_sync_us / (self.loop.syncs - 1))

    def _beside(self, kernel: Kernel) -> None:
        """A kernel on a stream of its own."""
        call = self.now
        self._host(self.loop.launch_us)
        correlation = self.file.call("cudaLaunchKernel", call, self.now)
        start = max(call + round(self.loop.latency_us * US), self.free[SIDE_STREAM])
        self.free[SIDE_STREAM] = start + self._noisy(kernel.us)
        self.file.kernel(kernel.name, start, self.free[SIDE_STREAM], correlation, SIDE_STREAM, grid=kernel.grid)

    def _item(self) -> None:
        self._copy(2, 1.5, 4, True)
        self._synchronise()

    def _thrash(self) -> None:
        """The caching allocator gives memory back, which waits for the device, and takes it again."""
        for name, us in (("cudaFree", 12.0), ("cudaMalloc", self.loop.allocation_us)):
            begin = self.now
            self.now = max(self.now, *self.free.values()) if name == "cudaFree" else self.now
            self._host(us)
            self.file.call(name, begin, self.now)

    def _check(self) -> None:
        """As anomaly detection looks for NaN in a gradient."""
        begin = self.now
        for name in (ISNAN, ANY):
            self._kernel(Kernel(name, 4.0, 64))
        self._item()
        self.file.host_op("aten::isnan", begin, self.now)

    def _backward(self) -> None:
        loop = self.loop
        for layer in range(loop.layers):
            if layer < loop.recomputed_layers:
                for kernel in loop.forward:
                    self._kernel(kernel)
            for kernel in loop.forward:
                self._kernel(
                    replace(kernel, name=kernel.name.replace("fwd", "bwd"), us=kernel.us * loop.backward_factor)
                )
            if layer < loop.checked_layers:
                self._check()
            for bucket in range(loop.buckets):
                if layer == loop.layers - 1 - bucket * (loop.layers // loop.buckets):
                    self._bucket(serial=loop.buckets - 1 - bucket < loop.serial_buckets)

    def _bucket(self, serial: bool) -> None:
        """One bucket of gradients, in one collective or in several."""
        for _ in range(self.loop.split):
            self._collective(self.loop.bucket_us / self.loop.split, serial)

    def _collectives(self) -> None:
        for us in self.loop.extra_collectives:
            self._collective(us, serial=True)
        self.free[COMPUTE_STREAM] = max(self.free.values())

    def _collective(self, us: float, serial: bool) -> None:
        call = self.now
        self._host(self.loop.launch_us)
        correlation = self.file.call("cudaLaunchKernelExC", call, self.now)
        start = max(call + round(self.loop.latency_us * US), self.free[COMM_STREAM], self.free[COMPUTE_STREAM])
        last = self.meet(start) if self.meet else start
        end = last + (round(us * US) if self.meet else self._noisy(us))
        self.file.kernel(ALLREDUCE, start, end, correlation, COMM_STREAM, grid=24)
        self.free[COMM_STREAM] = end
        if serial:
            self.free[COMPUTE_STREAM] = end

    def _wait_for_step_before(self) -> None:
        """The launch queue holds one step: the host is that far ahead, and no farther."""
        call = self.now
        self.now = max(self.now + 2 * US, self.finished)
        self.file.call("cudaEventSynchronize", call, self.now)
        self.finished = max(self.free.values())

    def _synchronise(self) -> None:
        call = self.now
        self.now = max(self.now + 2 * US, max(self.free.values()) + 3 * US)
        self.file.call("cudaStreamSynchronize", call, self.now)
