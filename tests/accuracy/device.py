"""Changes on the device: kernels, clocks, shapes, collectives and copies."""

import random
from dataclasses import replace

from tests.accuracy.family import Pair
from tests.accuracy.pairs import healthy
from tests.accuracy.trial import step_us
from tests.support.synthetic.loop import FLASH, GEMM, SGEMM, SOFTMAX, Kernel, Loop

TF32 = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>(int)"


def renamed(loop: Loop) -> Loop:
    """The same kernels under another version's names."""
    names = {GEMM: GEMM.replace("128x128x64", "128x256x64")}
    return replace(loop, forward=tuple(replace(one, name=names.get(one.name, one.name)) for one in loop.forward))


def partly_single(dice: random.Random) -> Pair:
    """Two matrix products per layer, of which the smaller one falls to single precision."""
    loop = healthy(dice)
    small = Kernel(GEMM.replace("128x128x64", "64x64x64"), loop.forward[0].us * 0.3, 128)
    loop = replace(loop, forward=(*loop.forward, small))
    return loop, replace(loop, forward=(*loop.forward[:-1], replace(small, name=SGEMM, us=small.us * 3.5)))


def tf32(dice: random.Random) -> Pair:
    loop = healthy(dice)
    gemm = loop.forward[0]
    return loop, replace(loop, forward=(replace(gemm, name=TF32, us=gemm.us * dice.uniform(1.5, 2)), *loop.forward[1:]))


def single_throughout(dice: random.Random) -> Pair:
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


def math_attention_upcast(dice: random.Random) -> Pair:
    """Math attention multiplies in single precision, whatever its inputs are."""
    loop = healthy(dice)
    flash = next(one for one in loop.forward if one.name == FLASH)
    parts = (Kernel(SGEMM, flash.us), Kernel(SOFTMAX, 0.5 * flash.us), Kernel(SGEMM, flash.us))
    return loop, replace(loop, forward=(*parts, *(one for one in loop.forward if one.name != FLASH)))


def throttled_core(dice: random.Random) -> Pair:
    """The core clock falls; what is bound by memory keeps its speed."""
    loop = replace(healthy(dice), memory_scale=1.0)
    return loop, replace(loop, device_scale=dice.uniform(1.12, 1.3))


def larger_batch(dice: random.Random) -> Pair:
    """A larger batch, for which another tile is chosen and a persistent kernel keeps its grid."""
    loop = healthy(dice)
    factor = dice.uniform(1.1, 1.4)
    larger = tuple(
        replace(one, us=one.us * factor, grid=one.grid if one.name == FLASH else round(one.grid * factor))
        for one in loop.forward
    )
    after = replace(loop, forward=larger, h2d_us=loop.h2d_us * factor, batch_bytes=round(loop.batch_bytes * factor))
    return loop, renamed(after) if dice.random() < 0.5 else after


def accumulates(dice: random.Random) -> Pair:
    loop = healthy(dice)
    return loop, replace(loop, micro_batches=2)


def slow_link_much(dice: random.Random) -> Pair:
    """A loop that is mostly communication, whose link is a little slower."""
    loop = healthy(dice)
    loop = replace(loop, bucket_us=0.8 * step_us(loop) / loop.buckets, serial_buckets=loop.buckets)
    return loop, replace(loop, bucket_us=loop.bucket_us * dice.uniform(1.1, 1.2))


def small_collectives_added(dice: random.Random) -> Pair:
    """Short collectives are added; the long ones stay."""
    loop = healthy(dice)
    count = 4 * loop.buckets
    return loop, replace(loop, extra_collectives=(dice.uniform(0.06, 0.15) * step_us(loop) / count,) * count)


def large_cpu(dice: random.Random) -> Pair:
    """.cpu() of something large: new copies into pageable memory."""
    loop = healthy(dice)
    return loop, replace(loop, extra_copies=((2, dice.uniform(0.06, 0.2) * step_us(loop), 64 << 20),))
