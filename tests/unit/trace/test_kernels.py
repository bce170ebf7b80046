from collections import Counter
from pathlib import Path

import pytest

from mfu_operator.trace import kernels

NAMES = Path("tests/data/traces/kernel_names.tsv")


def real_names() -> list[tuple[float, str]]:
    rows = (line.split("\t") for line in NAMES.read_text(encoding="utf-8").splitlines()[1:])
    return [(float(row[0]), row[3]) for row in rows]


@pytest.mark.parametrize("rule", kernels.rules(), ids=lambda rule: f"{rule.column} {rule.pattern.pattern[:40]}")
def test_every_rule_is_the_first_to_match_its_example(rule: kernels.KernelRule) -> None:
    assert kernels.rule_for(rule.column, rule.example) == rule


def test_almost_every_real_kernel_has_a_category() -> None:
    counted = Counter(kernels.category(name) for _, name in real_names())
    assert counted["other"] <= 12
    assert len(real_names()) == 1143


def test_real_tensor_core_work_is_rarely_unknown() -> None:
    eligible = [name for _, name in real_names() if kernels.category(name) in kernels.ELIGIBLE_CATEGORIES]
    unknown = [name for name in eligible if kernels.tensor_core(name) == kernels.UNKNOWN]
    assert len(eligible) > 480
    assert len(unknown) <= 16


@pytest.mark.parametrize(
    "name",
    [
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)",
        "nvshmemi_transfer_rma_put_kernel(void*)",
        "void deep_ep::internode::combine<true, 4>(void)",
        "void deep_ep::internode_ll::dispatch<true, 3, 7168>(void*)",
        "mscclKernel_Sum_float_Simple_Simple(ncclDevComm*)",
        "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)",
        "void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
        "void one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(c10::BFloat16**)",
    ],
)
def test_all_families_of_communication_are_known(name: str) -> None:
    assert kernels.category(name) == "communication"


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        (
            "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute",
            "not used",
        ),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute", "used"),
        ("volta_sgemm_128x64_nt", "not used"),
        ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", "used"),
        ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "used"),
        ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NTN", "used"),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>", "not used"),
        ("sm80_xmma_something_new", "unknown"),
    ],
)
def test_tensor_core_use_is_told_from_the_name_or_not_at_all(name: str, verdict: str) -> None:
    assert kernels.tensor_core(name) == verdict
