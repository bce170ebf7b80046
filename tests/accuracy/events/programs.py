"""Three models as frameworks run them: which operator launches which kernels, for how long, on which grid.

Names and lengths are in the manner of the public traces in tests/data; forward and backward products of one layer share
a tile and differ in the layout of their operands (tn, nn, nt), as cuBLAS calls them.
"""

from dataclasses import dataclass, replace
from pathlib import Path

NAMES = dict(
    line.split("	")
    for line in (Path(__file__).parent / "kernels.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch. `kind`: matrix, memory (bound by memory), attention. Microseconds at full clock."""

    name: str
    us: float
    blocks: int
    kind: str = "memory"


@dataclass(frozen=True, slots=True)
class Op:
    """An operator of the framework and what it launches."""

    name: str
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """Forward, backward, and the gradients that follow it."""

    forward: tuple[Op, ...]
    backward: tuple[Op, ...]
    gradient_bytes: int


@dataclass(frozen=True, slots=True)
class Program:
    """A model and its optimizer."""

    gpu: str
    layers: tuple[Layer, ...]
    loss: tuple[Op, ...]
    optimizer: tuple[Op, ...]
    batch_bytes: int
    sharded: bool = False
    """Parameters are gathered before each layer and gradients scattered after it (FSDP), else all-reduced (DDP)."""


def _one(op: str, name: str, us: float, blocks: int, kind: str = "memory") -> Op:
    return Op(op, (Kernel(name, us, blocks, kind),))


def _ampere(tile: str, layout: str) -> str:
    return f"ampere_bf16_s16816gemm_bf16_{tile}_ldg8_f2f_stages_64x3_{layout}"


def _linear(tile: str, us: float, blocks: int, name: str = "aten::addmm") -> tuple[Op, tuple[Op, Op]]:
    forward = _one(name, _ampere(tile, "tn"), us, blocks, "matrix")
    back = tuple(_one("aten::mm", _ampere(tile, one), us * 1.04, blocks, "matrix") for one in ("nn", "nt"))
    return forward, (back[0], back[1])


def transformer(layers: int = 4) -> Program:
    """A GPT in eager mode, bf16, fused AdamW."""
    qkv, qkv_back = _linear("128x256", 170, 768)
    out, out_back = _linear("128x128", 65, 512)
    up, up_back = _linear("256x128", 230, 1024)
    down, down_back = _linear("128x256", 225, 512)
    norm, add = _one("aten::native_layer_norm", NAMES["NORM"], 14, 8192), _one("aten::add", NAMES["ADD"], 16, 4096)
    forward = (
        norm, qkv, _one("aten::_scaled_dot_product_flash_attention", NAMES["FLASH"], 140, 1536, "attention"), out, add,
        norm, up, _one("aten::gelu", NAMES["GELU"], 34, 16384), down, add,
    )  # fmt: skip
    norm_back = Op(
        "aten::native_layer_norm_backward", (Kernel(NAMES["NORM_BACK"], 26, 8192), Kernel(NAMES["NORM_GRAD"], 18, 32))
    )
    backward = (
        *down_back, _one("aten::gelu_backward", NAMES["GELU_BACK"], 42, 16384), *up_back, norm_back, add, *out_back,
        _one("aten::_scaled_dot_product_flash_attention_backward", NAMES["FLASH_BACK"], 360, 2048, "attention"),
        *qkv_back, norm_back, add,
    )  # fmt: skip
    return Program(
        gpu="NVIDIA A100-SXM4-80GB",
        layers=(Layer(forward, backward, 50_000_000),) * layers,
        loss=(_one("aten::_log_softmax", NAMES["LOSS"], 300, 8192), _one("aten::div_", NAMES["MUL"], 4, 1)),
        optimizer=tuple(_one("aten::_fused_adamw_", NAMES["ADAM"], 110, 640) for _ in range(layers)),
        batch_bytes=8 * 1024 * 8 * 40,
    )


def convolutions(layers: int = 8) -> Program:
    """A ResNet with autocast and channels last; many small kernels, SGD by foreach."""

    def convolution(kind: str) -> str:
        return (
            f"sm80_xmma_{kind}_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_"
            "warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn"
        )

    forward = (
        _one("aten::copy_", NAMES["CAST"], 6, 512),
        _one("aten::cudnn_convolution", convolution("fprop"), 150, 784, "matrix"),
        _one("aten::cudnn_batch_norm", NAMES["BATCH_NORM"], 60, 256),
        _one("aten::clamp_min_", NAMES["RELU"], 28, 6272),
    )
    backward = (
        _one("aten::threshold_backward", NAMES["RELU_BACK"], 36, 6272),
        _one("aten::cudnn_batch_norm_backward", NAMES["BATCH_NORM_BACK"], 95, 256),
        Op(
            "aten::convolution_backward",
            (
                Kernel(convolution("dgrad"), 160, 784, "matrix"),
                Kernel(convolution("wgrad"), 170, 288, "matrix"),
            ),
        ),
        _one("aten::copy_", NAMES["CAST"], 5, 288),
    )
    return Program(
        gpu="NVIDIA A100-SXM4-40GB",
        layers=(Layer(forward, backward, 8_000_000),) * layers,
        loss=(
            _one("aten::_log_softmax", NAMES["LOSS"], 9, 256),
            _one("aten::nll_loss_forward", NAMES["SOFTMAX"], 5, 1),
        ),
        optimizer=tuple(_one("aten::_foreach_add_", NAMES["ADAM"], 40, 320) for _ in range(4)),
        batch_bytes=256 * 3 * 224 * 224,
    )


def compiled(layers: int = 5) -> Program:
    """A Llama under torch.compile on H100 with FSDP: Triton kernels between nvjet products."""

    def product(layout: str, tile: str = "128x256_64x4_2x1_v_bz_coopA") -> str:
        return f"nvjet_tst_{tile}_{layout}"

    def triton(what: str, us: float, blocks: int) -> Op:
        return _one(what, what, us, blocks)

    name = "aten::mm"
    forward = (
        triton("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_2", 18, 4096),
        _one(name, product("TNT"), 150, 132, "matrix"),
        triton("triton_poi_fused_cat_mul_neg_slice_3", 14, 8192),
        _one(
            "aten::_scaled_dot_product_cudnn_attention",
            "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3i_128x128x128_4x1x1_kernel0_0",
            110, 768, "attention",
        ),
        _one(name, product("TNT", "256x128_64x4_1x2_h_bz_coopB"), 60, 132, "matrix"),
        triton("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_5", 19, 4096),
        _one(name, product("TNN"), 280, 132, "matrix"),
        triton("triton_poi_fused_mul_silu_6", 40, 28672),
        _one(name, product("TNT", "192x192_64x4_1x2_h_bz_coopB"), 150, 132, "matrix"),
    )  # fmt: skip
    backward = (
        _one(name, product("NNT"), 150, 132, "matrix"),
        _one(name, product("NTT"), 150, 132, "matrix"),
        triton("triton_poi_fused_mul_silu_silu_backward_11", 62, 28672),
        _one(name, product("NNN"), 285, 132, "matrix"),
        _one(name, product("NTN"), 290, 132, "matrix"),
        triton("triton_red_fused__to_copy_add_mul_native_layer_norm_backward_12", 33, 4096),
        _one(name, product("NNT", "256x128_64x4_1x2_h_bz_coopB"), 60, 132, "matrix"),
        _one(
            "aten::_scaled_dot_product_cudnn_attention_backward",
            "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0",
            290, 768, "attention",
        ),
        triton("triton_poi_fused_cat_mul_neg_slice_backward_14", 17, 8192),
        _one(name, product("NTT", "192x192_64x4_1x2_h_bz_coopB"), 155, 132, "matrix"),
        triton("triton_red_fused__to_copy_add_div_mul_sum_15", 36, 4096),
    )  # fmt: skip
    return Program(
        gpu="NVIDIA H100 80GB HBM3",
        layers=(Layer(forward, backward, 110_000_000),) * layers,
        loss=(triton("triton_red_fused__log_softmax_nll_loss_forward_20", 240, 8192),),
        optimizer=tuple(_one("aten::_fused_adamw_", NAMES["ADAM"], 70, 640) for _ in range(layers)),
        batch_bytes=16 * 4096 * 8,
        sharded=True,
    )


PROGRAMS = (transformer, convolutions, compiled)


def scaled(program: Program, factor: float) -> Program:
    """The same model with so much less or more to compute, launched by as many calls."""

    def ops(some: tuple[Op, ...]) -> tuple[Op, ...]:
        return tuple(
            replace(op, kernels=tuple(replace(one, us=max(1.5, one.us * factor)) for one in op.kernels)) for op in some
        )

    layers = tuple(
        replace(
            one, forward=ops(one.forward), backward=ops(one.backward), gradient_bytes=int(one.gradient_bytes * factor)
        )
        for one in program.layers
    )
    return replace(program, layers=layers, loss=ops(program.loss), optimizer=ops(program.optimizer))
