from collections import Counter
from pathlib import Path

import pytest

from mfu_operator.trace.names import kernels

NAMES = Path("tests/data/traces/kernel_names.tsv")


def real_names() -> list[tuple[float, str]]:
    rows = (line.split("\t") for line in NAMES.read_text(encoding="utf-8").splitlines()[1:])
    return [(float(row[0]), row[3]) for row in rows]


@pytest.mark.parametrize("rule", kernels.rules(), ids=lambda rule: f"{rule.column} {rule.pattern.regex.pattern[:40]}")
def test_every_rule_is_the_first_to_match_its_example(rule: kernels.KernelRule) -> None:
    assert kernels.rule_for(rule.column, rule.example) == rule


def test_almost_every_real_kernel_has_a_category() -> None:
    counted = Counter(kernels.category(name) for _, name in real_names())
    assert counted["other"] <= 3
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
        "ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)",
        "ncclSymkDevKernel_AllGather_LLMC",
        "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop",
        "kuserbuffers_pushsend",
        "executor_kernel(ucc_ec_rocm_executor volatile*, int)",
        "void ucc_reduce_cuda_SUM<float, float, false, false, 4, 1, 1>(ucc_eee_task_reduce_t)",
    ],
)
def test_all_families_of_communication_are_known(name: str) -> None:
    assert kernels.category(name) == "communication"


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("void mscclpp::allreduce_nvls<__half>", "communication"),
        ("kernel_cutlass_elementwise_apply_kernel__builtinadd_tensorptrf16gmem_0", "elementwise"),
        ("kernel_cutlass_kernel_liger_kernelopsswiglu_cutedslSiLUMulForward_object_at__tensorptrbf16", "elementwise"),
        ("kernel_cutlass__convert_kernel_tensorptrf16gmemalign16o125611101000256_tensorptrf32gmem_0", "elementwise"),
        ("kernel_cutlass_kernel_TiledMMA_ThrLayoutVMNK11110000_PermutationMNK____MMAAtom_ThrID10_0", "gemm"),
        ("kernel_cutlass_kernel___main__PersistentDenseGemmKernel_object_at__TiledMMA_ThrLayoutVMNK1_0", "gemm"),
        ("kernel_cutlass_kernel___main__RMSNormKernel_object_at__tensorptrbf16gmemalign16o4096_0", "normalization"),
        ("kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__0", "attention"),
        ("kernel_cutlass_my_own_kernel_tensorptrf16gmem_0", "other"),
        ("void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>", "communication"),
        ("void transformer_engine::gated_act_kernel<4, __nv_bfloat16>", "elementwise"),
        ("void transformer_engine::unary_kernel<8, true, float, __nv_bfloat16>", "elementwise"),
        ("void transformer_engine::mxfp8_kernel::cast_mxfp8_2D_kernel<true, false>", "elementwise"),
        ("void transformer_engine::amax_kernel<8, true, __nv_bfloat16>", "reduction"),
        ("triton_red_fused_native_batch_norm_backward_threshold_backward_4", "normalization"),
        ("triton_spl_fused_cumsum_0", "reduction"),
        ("void cuComputeGradInput<float, float, float>", "normalization"),
        ("void at::native::(anonymous namespace)::weight_norm_fwd_first_dim_kernel<float, float>", "normalization"),
        ("void kInt8VectorQuant<__half, 1024, 0>", "elementwise"),
        ("void deep_gemm::transpose_fp32<512, 64, 2>", "copy"),
        ("void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u>", "gemm"),
        ("_triton_rope", "elementwise"),
        ("_rope_embedding", "elementwise"),
        ("void attention_kernel_backward_batched_impl<float, float4, 8>", "attention"),
        ("_hstu_attn_fwd", "attention"),
        ("cutlass::fmha::kernel::XeFMHAFwdKernel", "attention"),
        ("void cudnn::fusion::compute_dot_do_o_specialized<true, __nv_bfloat16, float>", "attention"),
        ("void ck::kernel_batched_gemm_softmax_gemm_xdl_cshuffle_v1<>", "attention"),
        ("gen_conv", "convolution"),
        ("_ZN5aiter37fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256E", "gemm"),
        ("void marlin::Marlin<__half, 1125899907892224l, 256, 1, 8, 8, 4>", "gemm"),
        ("void at::native::(anonymous namespace)::chunk_cat_cuda_kernel<float, c10::BFloat16>", "copy"),
        ("void at::native::(anonymous namespace)::split_with_sizes_copy_out_contiguous_no_cast_kernel", "copy"),
        ("void LSTM_elementWise_fp<__half, __half, float, (cudnnRNNBiasMode_t)2>", "elementwise"),
    ],
)
def test_kernels_of_libraries_that_the_recorded_traces_lack_have_a_category(name: str, category: str) -> None:
    assert kernels.category(name) == category


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("void deep_gemm::fp8_gemm_kernel<4096u, 7168u, 128u, 128u, 128u, 1u, 5u>", "used"),
        ("void marlin::Marlin<__half, 1125899907892224l, 256, 1, 8, 8, 4>", "used"),
        ("_ZN7ck_tile6kentryILi2ENS_20FmhaBwdDQDKDVKernelINS_32BlockFmhaBwdDQDKDVPipeline", "used"),
        ("_ZN7ck_tile6kentryILi2ENS_22FmhaBwdOGradDotOKernelINS_22BlockFmhaBwdOGradDotO", "not used"),
        ("void cudnn::fusion::compute_dot_do_o_specialized<true, __nv_bfloat16, float>", "not used"),
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
        ("cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x64x16_1x1x1_3_tnn_align1_bias_f32_relu", "not used"),
        ("triton_tem_fused_mm_1688", "unknown"),
        ("void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<128, 64, cutlass::bfloat16_t>>", "not used"),
        ("void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cutlass::bfloat16_t>>", "not used"),
        ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::Coll", "used"),
        ("kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__", "used"),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm75(PyTorchMemEffAttention::AttentionKernel<float>)", "not used"),
        ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<c)", "used"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x128_1x1x1_kernel0_0", "used"),
        ("ampere_dgemm_64x64_nn", "unknown"),
    ],
)
def test_tensor_core_use_is_told_from_the_name_or_not_at_all(name: str, verdict: str) -> None:
    assert kernels.tensor_core(name) == verdict


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("triton_tem_fused_flex_attention_backward_2", "attention"),
        ("triton_tem_fused_convolution_view_2", "convolution"),
        ("triton_tem_fused_addmm_3", "gemm"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1", "attention"),
        ("kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__", "attention"),
        ("void transformer_engine::normalization::rmsnorm_fwd_general_kernel<transformer_engine::nor", "normalization"),
        ("Custom_Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT64x16x64_MI16x16x1_SN_LDSB0", "gemm"),
        ("miopenSp3AsmConv_v21_1_3_gfx9_fp32_f2x3_stride1", "convolution"),
        ("void kOptimizerStatic8bit2StateBlockwise<float, 0, 256, 1>(float*, float*)", "optimizer"),
        ("void kQuantizeBlockwise<float, 4096, 4, 0, 0>(float*, float*)", "elementwise"),
        ("void moe_align_block_size_kernel<int>(int*)", "reduction"),
        ("fused_moe_kernel", "gemm"),
        ("triton_gemm_dot.6", "gemm"),
        ("triton_softmax_computation.64", "reduction"),
        ("input_reduce_fusion_92", "reduction"),
        ("loop_add_fusion_4", "elementwise"),
        ("_causal_conv1d_fwd_kernel", "convolution"),
    ],
)
def test_families_that_the_recorded_names_do_not_hold_have_a_category(name: str, wanted: str) -> None:
    assert kernels.category(name) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("nvjet_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT", "fp8"),
        ("nvjet_sm90_hss_64x8_64x16_1x1_h_bz_splitK_NNT", "half"),
        ("nvjet_sss_tf32_128x256_TNT", "tf32"),
        ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", "half"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>", "tf32"),
        ("Cijk_Ailk_Bjlk_SB_Bias_AS_SAV_UserArgs_MT64x16x16_MI16x16x1_SN", "single"),
        ("volta_sgemm_128x64_nt", "single"),
        ("something_new_gemm", "unknown"),
    ],
)
def test_the_numbers_that_a_matrix_kernel_reads_are_told_from_its_name(name: str, wanted: str) -> None:
    assert kernels.number_format(name) == wanted
