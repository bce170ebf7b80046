"""Families of hard cases: loops and changes as the physics has them, with the answers that are right.

Each takes a die and gives two loops. `right` holds the answers that are right, `abstains` those that are honest:
"InputStarved/SlowStorage", "KernelBound/None" (no cause), "nothing" or "Inconclusive". Anything else is wrong.
"""

import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mfu_operator.trace.analyze import profile
from mfu_operator.trace.diagnose import diagnose
from tests.accuracy.trial import prepared, random_loop, recorded_ranks, step_us
from tests.support.synthetic.altered import Lacking
from tests.support.synthetic.faults import FAULTS
from tests.support.synthetic.kineto_file import VERSIONS, KinetoFile
from tests.support.synthetic.loop import FLASH, GEMM, SGEMM, SOFTMAX, Kernel, Loop, Recorder
from tests.support.synthetic.nsys_file import SCHEMAS, NsysFile

Loops = Loop | tuple[Loop, ...]
"""One loop, or one for each of several ranks."""

Pair = tuple[Loops | None, Loops]
"""Before and after; None before where there is no baseline."""

NOTHING = "nothing"
TF32 = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>(int)"


@dataclass(frozen=True)
class Family:
    """Loops before and after a change, what is right to say of it, and what the recordings lack."""

    name: str
    pair: Callable[[random.Random], Pair]
    right: frozenset[str]
    abstains: frozenset[str] = frozenset()
    lacking: Mapping[str, bool] | None = None
    forms: tuple[str, ...] = ("nsys", "kineto")
    other_version: bool = False


@dataclass(frozen=True)
class Answer:
    family: str
    said: str

    @property
    def verdict(self) -> str:
        family = BY_NAME[self.family]
        return "right" if self.said in family.right else "abstained" if self.said in family.abstains else "wrong"


def healthy(dice: random.Random, cause: str = "") -> Loop:
    """A loop of any depth, with steps that vary."""
    loop = random_loop(dice, cause)
    return replace(loop, layers=dice.randrange(4, 24), steps=dice.randrange(8, 20), step_noise=dice.uniform(0, 0.01))


def answer(name: str, seed: int) -> Answer:
    family = BY_NAME[name]
    dice = random.Random(f"{name} {seed}")
    before, after = family.pair(dice)
    form = family.forms[seed % len(family.forms)]
    versions = sorted(SCHEMAS) if form == "nsys" else VERSIONS
    first = dice.choice(versions)
    second = dice.choice([one for one in versions if one != first]) if family.other_version else first
    with tempfile.TemporaryDirectory(prefix="mfu-accuracy-") as folder:
        now = profile([_recorded(after, family, form, second, Path(folder) / "after", dice)])
        baseline = before and profile([_recorded(before, family, form, first, Path(folder) / "before", dice)])
        found = diagnose(now, baseline or None)
    return Answer(name, said(found.bottleneck.value if found.bottleneck else None, found.cause))


def said(bottleneck: str | None, cause: str | None) -> str:
    if bottleneck in (None, "Inconclusive"):
        return bottleneck or NOTHING
    return f"{bottleneck}/{cause}"


def _recorded(loops: Loops, family: Family, form: str, version: str, path: Path, dice: random.Random) -> Path:
    if isinstance(loops, tuple):
        return recorded_ranks(loops, form, version, path, dice)
    file = NsysFile(version) if form == "nsys" else KinetoFile(version)
    recorder: Recorder = Lacking(file, **family.lacking) if family.lacking else file
    loops.record(recorder, dice.randrange(1 << 30))
    return file.write(path)


def label(cause: str) -> str:
    return f"{FAULTS[cause][0]}/{cause}"


def faulty(loop: Loop, cause: str, size: float) -> Loop:
    return FAULTS[cause][1](loop, size * step_us(loop))


def single(cause: str, change: Callable[[Loop, random.Random], Loop] = lambda loop, _: loop) -> Callable[..., Pair]:
    """The fault `cause` at 5 to 20 % in a healthy loop that `change` made special beforehand."""

    def pair(dice: random.Random) -> Pair:
        size = dice.uniform(0.05, 0.2)
        loop = prepared(change(healthy(dice, cause), dice), cause, size)
        return loop, faulty(loop, cause, size)

    return pair


def _same(change: Callable[[Loop, random.Random], Loop]) -> Callable[[random.Random], Pair]:
    def pair(dice: random.Random) -> Pair:
        loop = healthy(dice)
        return loop, change(loop, dice)

    return pair


def _two(first: str, second: str) -> Callable[[random.Random], Pair]:
    """The first fault at three times the size of the second."""

    def pair(dice: random.Random) -> Pair:
        loop, lost = healthy(dice, first), dice.uniform(0.03, 0.08)
        return loop, faulty(FAULTS[first][1](loop, 3 * lost * step_us(loop)), second, lost)

    return pair


def _faster(cause: str) -> Callable[[random.Random], Pair]:
    """A fault of 12 to 25 %, and kernels that are faster by 5 %."""

    def pair(dice: random.Random) -> Pair:
        loop = healthy(dice, cause)
        return loop, replace(faulty(loop, cause, dice.uniform(0.12, 0.25)), device_scale=0.95)

    return pair


def _renamed(loop: Loop) -> Loop:
    """The same kernels under another version's names."""
    names = {GEMM: GEMM.replace("128x128x64", "128x256x64")}
    return replace(loop, forward=tuple(replace(one, name=names.get(one.name, one.name)) for one in loop.forward))


def _partly_single(dice: random.Random) -> Pair:
    """Two matrix products per layer, of which the smaller one falls to single precision."""
    loop = healthy(dice)
    small = Kernel(GEMM.replace("128x128x64", "64x64x64"), loop.forward[0].us * 0.3, 128)
    loop = replace(loop, forward=(*loop.forward, small))
    return loop, replace(loop, forward=(*loop.forward[:-1], replace(small, name=SGEMM, us=small.us * 3.5)))


def _tf32(dice: random.Random) -> Pair:
    loop = healthy(dice)
    gemm = loop.forward[0]
    return loop, replace(loop, forward=(replace(gemm, name=TF32, us=gemm.us * dice.uniform(1.5, 2)), *loop.forward[1:]))


def _single_throughout(dice: random.Random) -> Pair:
    """Autocast off: products in single precision, everything bound by memory twice as long under other names."""
    loop = healthy(dice)
    changed = tuple(
        replace(one, name=SGEMM, us=one.us * 3)
        if one.name == GEMM
        else replace(one, us=one.us * 2, name=one.name.replace("c10::BFloat16", "float").replace("<4,", "<2,"))
        for one in loop.forward
        if one.name != FLASH
    )
    flash = next(one for one in loop.forward if one.name == FLASH)
    mem_eff = Kernel("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>)", 1)
    return loop, replace(loop, forward=(*changed, replace(mem_eff, us=flash.us * 2.5, grid=flash.grid)))


def _math_attention_upcast(dice: random.Random) -> Pair:
    """Math attention multiplies in single precision, whatever its inputs are."""
    loop = healthy(dice)
    flash = next(one for one in loop.forward if one.name == FLASH)
    parts = (Kernel(SGEMM, flash.us), Kernel(SOFTMAX, 0.5 * flash.us), Kernel(SGEMM, flash.us))
    return loop, replace(loop, forward=(*parts, *(one for one in loop.forward if one.name != FLASH)))


def _throttled_core(dice: random.Random) -> Pair:
    """The core clock falls; what is bound by memory keeps its speed."""
    loop = replace(healthy(dice), memory_scale=1.0)
    return loop, replace(loop, device_scale=dice.uniform(1.12, 1.3))


def _larger_batch(dice: random.Random) -> Pair:
    """A larger batch, for which another tile is chosen and a persistent kernel keeps its grid."""
    loop = healthy(dice)
    factor = dice.uniform(1.1, 1.4)
    larger = tuple(
        replace(one, us=one.us * factor, grid=one.grid if one.name == FLASH else round(one.grid * factor))
        for one in loop.forward
    )
    after = replace(loop, forward=larger, h2d_us=loop.h2d_us * factor, batch_bytes=round(loop.batch_bytes * factor))
    return loop, _renamed(after) if dice.random() < 0.5 else after


def _accumulates(dice: random.Random) -> Pair:
    loop = healthy(dice)
    return loop, replace(loop, micro_batches=2)


def _slow_link_much(dice: random.Random) -> Pair:
    """A loop that is mostly communication, whose link is a little slower."""
    loop = healthy(dice)
    loop = replace(loop, bucket_us=0.8 * step_us(loop) / loop.buckets, serial_buckets=loop.buckets)
    return loop, replace(loop, bucket_us=loop.bucket_us * dice.uniform(1.1, 1.2))


def _small_added(dice: random.Random) -> Pair:
    """Short collectives are added; the long ones stay."""
    loop = healthy(dice)
    count = 4 * loop.buckets
    return loop, replace(loop, extra_collectives=(dice.uniform(0.06, 0.15) * step_us(loop) / count,) * count)


def _items(dice: random.Random) -> Pair:
    """.item() after layers of short kernels, so that each drains the launch queue."""
    loop = healthy(dice, "ThreadOversubscription")
    loop = replace(loop, forward=tuple(replace(one, us=one.us * 12) for one in loop.forward))
    return loop, replace(loop, items=loop.layers)


def _anomaly(dice: random.Random) -> Pair:
    loop = healthy(dice, "ThreadOversubscription")
    loop = replace(loop, forward=tuple(replace(one, us=one.us * 8) for one in loop.forward))
    return loop, replace(loop, checked_layers=loop.layers)


def _thrashing(dice: random.Random) -> Pair:
    loop = replace(healthy(dice), allocation_us=dice.uniform(150, 400))
    return loop, replace(loop, thrashing_layers=loop.layers)


def _recompiles_once(dice: random.Random) -> Pair:
    loop = healthy(dice)
    length = dice.uniform(0.1, 0.3) * step_us(loop) * (loop.steps - 2)
    return loop, replace(loop, compile_us=length, compile_steps=(dice.randrange(1, loop.steps - 1),))


def _unfused_host_bound(dice: random.Random) -> Pair:
    loop = healthy(dice, "ThreadOversubscription")
    return loop, replace(loop, extra_kernels=(Kernel("void elementwise_kernel_new<float>(int)", 2.0, 8),) * loop.layers)


def _noisy_host(dice: random.Random) -> Pair:
    """Python work in a loop that waits for its host, on a host that is 1.5 % off."""
    loop = healthy(dice, "ThreadOversubscription")
    return loop, replace(faulty(loop, "PythonOverhead", dice.uniform(0.08, 0.2)), host_scale=dice.uniform(0.985, 1.015))


def _slow_store_of_workers(dice: random.Random) -> Pair:
    loop = replace(healthy(dice), worker_threads=4, worker_read_us=2000.0)
    lost = dice.uniform(0.06, 0.2) * step_us(loop)
    return loop, replace(loop, input_us=loop.input_us + lost, worker_read_us=2000.0 + 4 * lost)


def _slow_transform_of_workers(dice: random.Random) -> Pair:
    loop = replace(healthy(dice), worker_threads=4, worker_read_us=2000.0)
    return loop, replace(loop, input_us=loop.input_us + dice.uniform(0.06, 0.2) * step_us(loop))


def _fewer_workers(dice: random.Random) -> Pair:
    loop = replace(healthy(dice), worker_threads=4, worker_read_us=2000.0)
    return loop, replace(loop, input_us=loop.input_us + dice.uniform(0.06, 0.2) * step_us(loop), worker_threads=1)


def _large_cpu(dice: random.Random) -> Pair:
    """.cpu() of something large: new copies into pageable memory."""
    loop = healthy(dice)
    return loop, replace(loop, extra_copies=((2, dice.uniform(0.06, 0.2) * step_us(loop), 64 << 20),))


def _hidden_input(dice: random.Random) -> Pair:
    loop = replace(healthy(dice), waits_for_device=False)
    kernels = sum(one.us for one in loop.forward) * loop.layers * 3
    host = (len(loop.forward) * loop.layers * 2 + 8) * (loop.op_us + loop.launch_us)
    return loop, replace(loop, input_us=max(40.0, 0.6 * (kernels - host)))


def _partly_hidden_input(dice: random.Random) -> Pair:
    """What of the wait the device feels is 6 to 20 % of the step."""
    loop = replace(healthy(dice), waits_for_device=False)
    kernels = sum(one.us for one in loop.forward) * loop.layers * 3 + 320 + loop.h2d_us + loop.bucket_us
    host = (len(loop.forward) * loop.layers * 2 + 8) * (loop.op_us + loop.launch_us)
    return loop, replace(loop, loader="inline", input_us=kernels - host + dice.uniform(0.1, 0.25) * kernels)


def _slower_launches(dice: random.Random) -> Pair:
    """Each launch call takes longer, where the host is the limit; operators themselves are as fast as before."""
    loop = healthy(dice, "ThreadOversubscription")
    return loop, replace(loop, launch_us=loop.launch_us * dice.uniform(1.2, 1.6))


def _longer_latency(dice: random.Random) -> Pair:
    """From call to start it takes longer."""
    loop = replace(healthy(dice, "ThreadOversubscription"), syncs=4)
    return loop, replace(loop, latency_us=loop.latency_us + dice.uniform(0.1, 0.3) * step_us(loop) / 4)


def _waits_every_step(dice: random.Random) -> Pair:
    """A blocking call at the step's end, after which the input wait is felt that the queue hid before."""
    loop = replace(healthy(dice), waits_for_device=False)
    loop = replace(loop, input_us=dice.uniform(0.12, 0.25) * step_us(replace(loop, waits_for_device=True)))
    return loop, replace(loop, waits_for_device=True, syncs=2)


def _checkpoint(dice: random.Random) -> Pair:
    loop = healthy(dice)
    steps = {"checkpoint_step": loop.steps // 2, "checkpoint_us": dice.uniform(0.5, 3) * step_us(loop)}
    return loop, replace(loop, **steps)


def _on_every_rank(cause: str) -> Callable[[random.Random], Pair]:
    def pair(dice: random.Random) -> Pair:
        count, size = dice.choice((2, 4)), dice.uniform(0.08, 0.2)
        loop = prepared(healthy(dice, cause), cause, size)
        return (loop,) * count, (faulty(loop, cause, size),) * count

    return pair


def _even_ranks(dice: random.Random) -> Pair:
    """Ranks whose steps vary, and whose devices differ by up to 1 %."""
    loop = replace(healthy(dice), step_noise=0.02)
    return tuple(tuple(replace(loop, device_scale=dice.uniform(0.995, 1.005)) for _ in range(4)) for _ in range(2))  # type: ignore[return-value]


def _ranks_take_turns(dice: random.Random) -> Pair:
    """In every step another rank waits for its input."""
    loop = replace(healthy(dice), steps=14)
    lost = dice.uniform(0.08, 0.2) * step_us(loop)
    waits = [
        tuple(loop.input_us + (lost if index % 4 == rank else 0.0) for index in range(loop.steps)) for rank in range(4)
    ]
    return (loop,) * 4, tuple(replace(loop, input_by_step=wait) for wait in waits)


CALM = frozenset({NOTHING})


def _small(cause: str) -> Callable[[random.Random], Pair]:
    def pair(dice: random.Random) -> Pair:
        loop = replace(healthy(dice, cause), step_noise=0.02)
        return loop, faulty(loop, cause, 0.008)

    return pair


def _alone(cause: str) -> Callable[[random.Random], Pair]:
    """A fault of 1.5 times the rest of the step, and no baseline."""

    def pair(dice: random.Random) -> Pair:
        return None, faulty(healthy(dice, cause), cause, 1.5)

    return pair


def _every_second(dice: random.Random) -> Pair:
    loop = healthy(dice)
    lost = dice.uniform(0.1, 0.3) * step_us(loop)
    return loop, replace(
        loop, input_by_step=tuple(loop.input_us + (lost if index % 2 else 0.0) for index in range(loop.steps))
    )


NO_EFFECT = {"LostOverlap": CALM}
"""Where the host is the limit, a serial bucket costs nothing."""

FAMILIES: tuple[Family, ...] = (
    Family("the same loop twice, steps vary by 3 %", _same(lambda loop, _: replace(loop, step_noise=0.03)), CALM),
    Family("clock 2 % lower", _same(lambda loop, _: replace(loop, device_scale=1.02)), CALM),
    Family("clock 2 % higher", _same(lambda loop, _: replace(loop, device_scale=0.98)), CALM),
    Family("host 2 % slower", _same(lambda loop, _: replace(loop, host_scale=1.02)), CALM),
    Family("kernels renamed", _same(lambda loop, _: _renamed(loop)), CALM),
    Family(
        "fewer steps recorded", _same(lambda loop, dice: replace(loop, steps=dice.randrange(5, loop.steps + 1))), CALM
    ),
    Family("another profiler version", _same(lambda loop, _: loop), CALM, other_version=True),
    Family(
        "work on a second stream",
        _same(lambda loop, _: replace(loop, side_kernels=(Kernel("side_kernel", 0.2 * loop.forward[0].us),))),
        CALM,
    ),
    Family("input hidden behind the device", _hidden_input, CALM),
    Family("a checkpoint in the window", _checkpoint, CALM, frozenset({"Inconclusive"})),
    Family("input partly hidden", _partly_hidden_input, frozenset({"InputStarved/DataLoaderWorkers"})),
    Family(
        "storage slower behind workers",
        _slow_store_of_workers,
        frozenset({"InputStarved/SlowStorage"}),
        frozenset({"InputStarved/None"}),
    ),
    Family(
        "transform slower in workers",
        _slow_transform_of_workers,
        frozenset({"InputStarved/CpuTransform"}),
        frozenset({"InputStarved/None"}),
    ),
    Family(
        "fewer workers",
        _fewer_workers,
        frozenset({"InputStarved/DataLoaderWorkers"}),
        frozenset({"InputStarved/None"}),
    ),
    Family("one of two products in single precision", _partly_single, frozenset({label("PrecisionLost")})),
    Family("bf16 to TF32", _tf32, frozenset({label("PrecisionLost")})),
    Family("autocast off", _single_throughout, frozenset({label("PrecisionLost")})),
    Family("math attention in single precision", _math_attention_upcast, frozenset({label("AttentionFallback")})),
    Family("core clock lower, memory as before", _throttled_core, frozenset({label("Throttled")})),
    Family("larger batch, other tiles", _larger_batch, frozenset({label("ShapeChanged")})),
    Family(
        "twice the micro-batches",
        _accumulates,
        frozenset({label("ShapeChanged")}),
        frozenset({"KernelBound/None"}),
    ),
    Family("a slower link under much communication", _slow_link_much, frozenset({label("SlowLink")})),
    Family("short collectives added", _small_added, frozenset({label("ExposedCollectives")})),
    Family(".item() in every layer", _items, frozenset({label("Synchronisation")})),
    Family("anomaly detection", _anomaly, frozenset({label("DebugInstrumentation")})),
    Family("the allocator frees and takes", _thrashing, frozenset({label("Allocator")})),
    Family("one recompilation", _recompiles_once, frozenset({label("Recompilation")}), CALM),
    Family("unfused where the host is the limit", _unfused_host_bound, frozenset({label("LaunchOverhead")})),
    Family("Python work on a noisy host", _noisy_host, frozenset({label("PythonOverhead")})),
    Family(".cpu() of much", _large_cpu, frozenset({label("ExtraCopies")})),
    *(
        Family(f"{cause} of 0.8 %, steps vary by 2 %", _small(cause), CALM)
        for cause in ("DataLoaderWorkers", "SlowLink", "NewKernel", "Throttled", "PythonOverhead", "ExtraCopies")
    ),
    Family(
        "loads for itself half of the step, no baseline",
        _alone("DataLoaderWorkers"),
        frozenset({label("DataLoaderWorkers")}),
    ),
    Family("compiles half of the step, no baseline", _alone("Recompilation"), frozenset({label("Recompilation")})),
    Family("allocates half of the step, no baseline", _alone("Allocator"), frozenset({label("Allocator")})),
    Family("copies half of the step, no baseline", _alone("PageableCopies"), frozenset({label("PageableCopies")})),
    Family(
        "collectives half of the step, no baseline",
        _alone("ExposedCollectives"),
        frozenset({label("ExposedCollectives")}),
    ),
    Family("each launch slower", _slower_launches, frozenset({label("LaunchOverhead")})),
    Family("longer from launch to start", _longer_latency, frozenset({label("LaunchOverhead")})),
    Family("a wait at the end of every step", _waits_every_step, frozenset({label("Synchronisation")})),
    Family("input every second step", _every_second, frozenset({label("PrefetchBursts")})),
    Family("four even ranks", _even_ranks, CALM),
    Family("four ranks take turns in being late", _ranks_take_turns, frozenset({"Straggler/None"})),
    *(
        Family(
            f"{cause} on every rank",
            _on_every_rank(cause),
            frozenset({label(cause)}),
            NO_EFFECT.get(cause, frozenset()),
        )
        for cause in ("SlowLink", "DataLoaderWorkers", "LostOverlap", "PythonOverhead")
    ),
    *(
        Family(
            f"{cause}, steps vary by 4 %",
            single(cause, lambda loop, _: replace(loop, step_noise=0.04)),
            frozenset({label(cause)}),
            CALM,
        )
        for cause in FAULTS
    ),
    *(
        Family(f"{cause}, other parts 5 % faster", _faster(cause), frozenset({label(cause)}), CALM)
        for cause in ("DataLoaderWorkers", "SlowLink", "NewKernel", "Unfused", "PythonOverhead", "ExtraCopies")
    ),
    *(
        Family(
            f"{first} and a third of {second}",
            _two(first, second),
            frozenset({label(first), label(second)}),
            frozenset({"Inconclusive", f"{FAULTS[first][0]}/None", f"{FAULTS[second][0]}/None"}),
        )
        for first, second in (
            ("DataLoaderWorkers", "SlowLink"),
            ("SlowLink", "DataLoaderWorkers"),
            ("NewKernel", "DataLoaderWorkers"),
            ("Unfused", "NewKernel"),
            ("PrecisionLost", "Unfused"),
            ("Recompute", "AttentionFallback"),
            ("PythonOverhead", "Synchronisation"),
            ("Synchronisation", "PythonOverhead"),
            ("Allocator", "PythonOverhead"),
            ("PythonOverhead", "Recompilation"),
            ("PythonOverhead", "DebugInstrumentation"),
            ("ExtraCopies", "PageableCopies"),
            ("PageableCopies", "ExtraCopies"),
            ("LostOverlap", "ExposedCollectives"),
            ("Throttled", "NewKernel"),
        )
    ),
    *(
        Family(
            f"{cause} without calls",
            single(cause),
            frozenset({label(cause)}),
            frozenset({"Inconclusive", f"{FAULTS[cause][0]}/None"}),
            {"calls": True},
        )
        for cause in ("DataLoaderWorkers", "NewKernel", "SlowLink", "PythonOverhead", "ExtraCopies", "Allocator")
    ),
    *(
        Family(
            f"{cause} without operators and system calls",
            single(cause),
            frozenset({label(cause)}),
            frozenset({f"{FAULTS[cause][0]}/None"}),
            {"host_ops": True, "os_calls": True},
        )
        for cause in (
            *("DataLoaderWorkers", "SlowStorage", "CpuTransform", "Recompute", "Synchronisation"),
            *("ThreadOversubscription", "PythonOverhead"),
        )
    ),
    Family(
        "DataLoaderWorkers without ranges",
        single("DataLoaderWorkers"),
        frozenset({label("DataLoaderWorkers")}),
        frozenset({"HostBound/None"}),
        {"ranges": True},
        forms=("nsys",),
    ),
)

BY_NAME: Mapping[str, Family] = {one.name: one for one in FAMILIES}
