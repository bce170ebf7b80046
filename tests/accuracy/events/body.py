"""One step: input, copy to the device, forward, backward on autograd's thread, optimizer, the loss read back."""

from collections.abc import Generator, Iterator
from dataclasses import replace

from tests.accuracy.events import programs
from tests.accuracy.events.machine import COMMUNICATION, COMPUTE, COPIES, Loader, Machine
from tests.accuracy.events.programs import Kernel, Layer, Op
from tests.accuracy.events.recording import AUTOGRAD, MAIN, Work
from tests.accuracy.events.setup import Setup

REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SCATTER = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
BOUND_BY_MEMORY = 0.25
"""Of a slowdown of the core clock: what kernels that wait for memory see of it."""

Collectives = Generator[tuple[Machine, int, Work], int, None]


def step(machine: Machine, loader: Loader, number: int) -> Collectives:
    """From the loader to the loss."""
    setup = machine.setup
    machine.thread = MAIN
    machine.call("next batch", loader.batch(number), "range")
    machine.copy("h2d", int(setup.program.batch_bytes * setup.batch_factor * setup.larger), pinned=setup.pinned)
    if setup.compile_ms and number % setup.compile_every == 0:
        start = machine.now
        machine.spend(setup.compile_ms * 1e3)
        machine.call("entire_frame_compile (dynamo_timed)", start, "op")
    layers = list(enumerate(setup.program.layers))
    start = machine.now
    for index, layer in layers:
        yield from _forward(machine, index, layer)
    _operators(machine, setup.program.loss)
    machine.call("forward", start, "range")
    start = machine.now
    machine.thread = AUTOGRAD
    machine.spend(60)
    yield from _backward(machine, layers[::-1])
    machine.thread = MAIN
    machine.call("backward", start, "range")
    start = machine.now
    machine.ready[COMPUTE] = max(machine.ready[COMPUTE], machine.ready[COMMUNICATION])
    _operators(machine, setup.program.optimizer)
    machine.call("Optimizer.step#AdamW.step", start, "range")
    for _ in range(_of(setup.allocations, number, 0)):
        start = machine.now
        machine.spend(setup.allocation_us)
        machine.call("cudaFree" if machine.random.random() < 0.5 else "cudaMalloc", start, "cuda", machine.correlation)
    if setup.reads_loss:
        _read(machine)
    machine.spend(setup.bookkeeping_us)


def _of(share: float, number: int, place: int) -> int:
    """A share as a count that comes out over steps."""
    return int(share) + (((number * 7 + place * 3) % 20) / 20 < share - int(share))


def _chosen(share: float, index: int, machine: Machine) -> bool:
    return index < round(share * len(machine.setup.program.layers))


def _read(machine: Machine) -> None:
    start = machine.now
    correlation = machine.cuda("cudaMemcpyAsync", 6)
    end = machine.launch("d2h", "d2h", 1_400, size=4, pinned=False, correlation=correlation)
    machine.wait_for_device(end)
    machine.call("aten::item", start, "op")


def _length(setup: Setup, kernel: Kernel) -> float:
    bound = setup.clock - 1 if kernel.kind != "memory" else BOUND_BY_MEMORY * (setup.clock - 1)
    return kernel.us * 1e3 * (1 + bound) * setup.larger


def _operators(machine: Machine, ops: tuple[Op, ...], correlation: int | None = None) -> None:
    setup = machine.setup
    for op in ops:
        start = machine.now
        if correlation is None:
            machine.spend(setup.op_us)
        for one in op.kernels:
            machine.launch(
                "kernel",
                one.name,
                _length(setup, one),
                blocks=max(1, round(one.blocks * setup.larger)),
                correlation=correlation,
            )
        if correlation is None:
            machine.spend(setup.op_us * 0.3)
            machine.call(op.name, start, "op")


def _layer(machine: Machine, index: int, ops: tuple[Op, ...]) -> None:
    """The operators of a layer as it is configured, by one graph or one by one."""
    setup = machine.setup
    made = tuple(_made(machine, index, ops))
    graph = setup.graphs and not _chosen(setup.single_launches, index, machine)
    correlation = machine.cuda("cudaGraphLaunch", 14) if graph else None
    _operators(machine, made, correlation)


def _made(machine: Machine, index: int, ops: tuple[Op, ...]) -> Iterator[Op]:
    setup = machine.setup
    for op in ops:
        first = op.kernels[0]
        if first.kind == "matrix" and _chosen(setup.wide, index, machine):
            yield replace(op, kernels=tuple(_wide(one) for one in op.kernels))
        elif first.kind == "attention" and _chosen(setup.unflashed, index, machine):
            yield from _parts_of_attention(first)
        elif _chosen(setup.pieces, index, machine) and _fused(first.name):
            yield from _parts(first)
        else:
            yield op


def _fused(name: str) -> bool:
    return any(one in name for one in ("Gelu", "silu", "clamp", "threshold"))


def _wide(kernel: Kernel) -> Kernel:
    if kernel.kind != "matrix":
        return kernel
    name = "ampere_sgemm_128x64_" + (kernel.name[-2:] if kernel.name[-2:] in ("tn", "nn", "nt") else "tn")
    return replace(kernel, name=name, us=kernel.us * 4)


def _parts_of_attention(kernel: Kernel) -> Iterator[Op]:
    name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_"
    yield Op("aten::bmm", (Kernel(name + "tn", kernel.us * 0.9, kernel.blocks, "matrix"),))
    yield Op("aten::mul", (Kernel(programs.NAMES["MUL"], kernel.us * 0.5, kernel.blocks * 8),))
    yield Op("aten::_softmax", (Kernel(programs.NAMES["SOFTMAX"], kernel.us * 0.9, kernel.blocks * 8),))
    yield Op("aten::bmm", (Kernel(name + "nn", kernel.us * 0.9, kernel.blocks, "matrix"),))


def _parts(kernel: Kernel) -> Iterator[Op]:
    """What was one pass over memory becomes one for each operation."""
    for op, name in (
        ("aten::pow", programs.NAMES["POW"]),
        ("aten::mul", programs.NAMES["MUL"]),
        ("aten::add", programs.NAMES["ADD"]),
        ("aten::tanh", programs.NAMES["TANH"]),
        ("aten::add", programs.NAMES["ADD_ONE"]),
        ("aten::mul", programs.NAMES["MUL"]),
    ):  # fmt: skip
        yield Op(op, (Kernel(name, kernel.us * 0.95, kernel.blocks),))


def _forward(machine: Machine, index: int, layer: Layer) -> Collectives:
    setup = machine.setup
    if setup.ranks > 1 and setup.program.sharded:
        yield from _communicate(machine, "_all_gather_base", GATHER, layer.gradient_bytes, index, wait=index == 0)
    _layer(machine, index, layer.forward)
    machine.spend(setup.python_us)
    _added(machine)
    for _ in range(_of(setup.extra_reads, index, 1)):
        _read(machine)
    if setup.offload_mb:
        end = machine.copy("d2h", int(setup.offload_mb * 1e6), pinned=True, stream=COPIES, after=machine.ready[COMPUTE])
        if setup.pcie_gbps < 1e9:
            machine.ready[COMPUTE] = max(machine.ready[COMPUTE], end - int(setup.offload_mb * 1e6 / 200))
    if setup.ranks > 1:
        for _ in range(_of(setup.extra_collectives, index, 2)):
            yield from _communicate(machine, "all_reduce", REDUCE, setup.extra_bytes, index, wait=True)


def _added(machine: Machine) -> None:
    """What was added to each layer on the device."""
    setup = machine.setup
    if setup.added_us:
        name = programs.NAMES["ENTROPY"]
        _operators(machine, (Op("mine::entropy", (Kernel(name, setup.added_us, 2048),)),))
    if setup.copies_us:
        size = int(setup.copies_us * 1e3 * 700)
        machine.launch("d2d", "d2d", setup.copies_us * 1e3, size=size, correlation=machine.cuda("cudaMemcpyAsync", 5))
    if setup.peer_mb:
        size = int(setup.peer_mb * 1e6)
        machine.launch("p2p", "p2p", 2_000 + size / 18, size=size, correlation=machine.cuda("cudaMemcpyAsync", 6))


def _backward(machine: Machine, layers: list[tuple[int, Layer]]) -> Collectives:
    setup, waiting = machine.setup, 0
    for index, layer in layers:
        if setup.ranks > 1 and setup.program.sharded:
            yield from _communicate(machine, "_all_gather_base", GATHER, layer.gradient_bytes, index)
        if setup.offload_mb:
            end = machine.copy("h2d", int(setup.offload_mb * 1e6), pinned=True, stream=COPIES)
            machine.ready[COMPUTE] = max(machine.ready[COMPUTE], end)
        if _chosen(setup.again, index, machine):
            _layer(machine, index, layer.forward)
        _layer(machine, index, layer.backward)
        machine.spend(setup.python_us)
        if _chosen(setup.checks, index, machine):
            _check(machine)
        if setup.ranks == 1:
            continue
        if setup.program.sharded:
            yield from _communicate(machine, "_reduce_scatter_base", SCATTER, layer.gradient_bytes, index)
            continue
        waiting += layer.gradient_bytes
        bucket = int(setup.bucket_mb * 1e6)
        while waiting >= bucket or (index == 0 and waiting):
            yield from _communicate(machine, "all_reduce", REDUCE, min(bucket, waiting), index)
            waiting -= min(bucket, waiting)


def _check(machine: Machine) -> None:
    """What detect_anomaly does to each gradient: isnan, any, item."""
    name = programs.NAMES["ISNAN"]
    for _ in range(3):
        _operators(
            machine,
            (Op("aten::isnan", (Kernel(name, 9, 4096),)), Op("aten::any", (Kernel(programs.NAMES["LOSS"], 8, 64),))),
        )
        _read(machine)


def _communicate(machine: Machine, name: str, kernel: str, size: int, index: int, *, wait: bool = False) -> Collectives:
    setup = machine.setup
    correlation, start, message = machine.collective(name, kernel, size)
    work = Work(COMMUNICATION, kernel, start, start, correlation, blocks=16, size=size, message=message)
    end = yield machine, size, work
    machine.work(replace(work, end=end))
    if wait or _chosen(setup.serial, index, machine):
        machine.ready[COMPUTE] = max(machine.ready[COMPUTE], end + 1_500)
