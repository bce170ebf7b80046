"""Families of hard cases: loops and changes as the physics has them, with the answers that are right.

Each takes a die and gives two loops. `right` holds the answers that are right, `abstains` those that are honest:
"InputStarved/SlowStorage", "KernelBound/None" (no cause), "nothing" or "Inconclusive". Anything else is wrong.
"""

from collections.abc import Mapping
from dataclasses import replace

from tests.accuracy import device, host, inputs, ranks
from tests.accuracy.family import CALM, Family
from tests.accuracy.pairs import alone, faster, label, same, single, small, two
from tests.support.synthetic.faults import FAULTS
from tests.support.synthetic.loop import Kernel

NO_EFFECT = {"LostOverlap": CALM}
"""Where the host is the limit, a serial bucket costs nothing."""

FAMILIES: tuple[Family, ...] = (
    Family("the same loop twice, steps vary by 3 %", same(lambda loop, _: replace(loop, step_noise=0.03)), CALM),
    Family("clock 2 % lower", same(lambda loop, _: replace(loop, device_scale=1.02)), CALM),
    Family("clock 2 % higher", same(lambda loop, _: replace(loop, device_scale=0.98)), CALM),
    Family("host 2 % slower", same(lambda loop, _: replace(loop, host_scale=1.02)), CALM),
    Family("kernels renamed", same(lambda loop, _: device.renamed(loop)), CALM),
    Family(
        "fewer steps recorded", same(lambda loop, dice: replace(loop, steps=dice.randrange(5, loop.steps + 1))), CALM
    ),
    Family("another profiler version", same(lambda loop, _: loop), CALM, other_version=True),
    Family(
        "work on a second stream",
        same(lambda loop, _: replace(loop, side_kernels=(Kernel("side_kernel", 0.2 * loop.forward[0].us),))),
        CALM,
    ),
    Family("input hidden behind the device", inputs.hidden, CALM),
    Family("a checkpoint in the window", host.checkpoint, CALM, frozenset({"Inconclusive"})),
    Family("input partly hidden", inputs.partly_hidden, frozenset({"InputStarved/DataLoaderWorkers"})),
    Family(
        "storage slower behind workers",
        inputs.slow_store_of_workers,
        frozenset({"InputStarved/SlowStorage"}),
        frozenset({"InputStarved/None"}),
    ),
    Family(
        "transform slower in workers",
        inputs.slow_transform_of_workers,
        frozenset({"InputStarved/CpuTransform"}),
        frozenset({"InputStarved/None"}),
    ),
    Family(
        "fewer workers",
        inputs.fewer_workers,
        frozenset({"InputStarved/DataLoaderWorkers"}),
        frozenset({"InputStarved/None"}),
    ),
    Family("one of two products in single precision", device.partly_single, frozenset({label("PrecisionLost")})),
    Family("bf16 to TF32", device.tf32, frozenset({label("PrecisionLost")})),
    Family("autocast off", device.single_throughout, frozenset({label("PrecisionLost")})),
    Family("math attention in single precision", device.math_attention_upcast, frozenset({label("AttentionFallback")})),
    Family("core clock lower, memory as before", device.throttled_core, frozenset({label("Throttled")})),
    Family("larger batch, other tiles", device.larger_batch, frozenset({label("ShapeChanged")})),
    Family(
        "twice the micro-batches",
        device.accumulates,
        frozenset({label("ShapeChanged")}),
        frozenset({"KernelBound/None"}),
    ),
    Family("a slower link under much communication", device.slow_link_much, frozenset({label("SlowLink")})),
    Family("short collectives added", device.small_collectives_added, frozenset({label("ExposedCollectives")})),
    Family(".item() in every layer", host.items, frozenset({label("Synchronisation")})),
    Family("anomaly detection", host.anomaly, frozenset({label("DebugInstrumentation")})),
    Family("the allocator frees and takes", host.thrashing, frozenset({label("Allocator")})),
    Family("one recompilation", host.recompiles_once, frozenset({label("Recompilation")}), CALM),
    Family("unfused where the host is the limit", host.unfused, frozenset({label("LaunchOverhead")})),
    Family("Python work on a noisy host", host.noisy, frozenset({label("PythonOverhead")})),
    Family(".cpu() of much", device.large_cpu, frozenset({label("ExtraCopies")})),
    *(
        Family(f"{cause} of 0.8 %, steps vary by 2 %", small(cause), CALM)
        for cause in ("DataLoaderWorkers", "SlowLink", "NewKernel", "Throttled", "PythonOverhead", "ExtraCopies")
    ),
    Family(
        "loads for itself half of the step, no baseline",
        alone("DataLoaderWorkers"),
        frozenset({label("DataLoaderWorkers")}),
    ),
    Family("compiles half of the step, no baseline", alone("Recompilation"), frozenset({label("Recompilation")})),
    Family("allocates half of the step, no baseline", alone("Allocator"), frozenset({label("Allocator")})),
    Family("copies half of the step, no baseline", alone("PageableCopies"), frozenset({label("PageableCopies")})),
    Family(
        "collectives half of the step, no baseline",
        alone("ExposedCollectives"),
        frozenset({label("ExposedCollectives")}),
    ),
    Family("each launch slower", host.slower_launches, frozenset({label("LaunchOverhead")})),
    Family("longer from launch to start", host.longer_latency, frozenset({label("LaunchOverhead")})),
    Family("a wait at the end of every step", host.waits_every_step, frozenset({label("Synchronisation")})),
    Family("input every second step", inputs.every_second, frozenset({label("PrefetchBursts")})),
    Family("four even ranks", ranks.even, CALM),
    Family("four ranks take turns in being late", ranks.take_turns, frozenset({"InputStarved/None"})),
    *(
        Family(
            f"{cause} on every rank",
            ranks.on_every_rank(cause),
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
        Family(f"{cause}, other parts 5 % faster", faster(cause), frozenset({label(cause)}), CALM)
        for cause in ("DataLoaderWorkers", "SlowLink", "NewKernel", "Unfused", "PythonOverhead", "ExtraCopies")
    ),
    *(
        Family(
            f"{first} and a third of {second}",
            two(first, second),
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
