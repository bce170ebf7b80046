"""What proves each cause of longer kernels, and what falls just short of it. Times in nanoseconds."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.model import facts
from mfu_operator.model.account import KernelTotal
from mfu_operator.trace.diagnosis.causes import compute
from tests.support.cases import account_of, case_of

Named = Mapping[str, Any]

HALF = {
    "gemmNs": 100e6,
    "halfMatrixNs": 100e6,
    "halfMatrixCalls": 10.0,
    "singleMatrixNs": 0.0,
    "singleMatrixCalls": 0.0,
}
SINGLE = {
    **HALF,
    "compute": 100e6,
    "gemmNs": 150e6,
    "halfMatrixNs": 0.0,
    "halfMatrixCalls": 0.0,
    "singleMatrixNs": 150e6,
    "singleMatrixCalls": 10.0,
}


GONE = "{} matrix kernels per step that read {} precision are gone"
TAKE = "those of {} precision take {} more"


def wide(of: str) -> str:
    place = facts.FORMATS.index(of)
    return " or ".join(facts.FORMATS[place:])


def narrow(of: str) -> str:
    return " or ".join(facts.FORMATS[: facts.FORMATS.index(of)])


@pytest.mark.parametrize(
    ("changed", "baseline", "replaced"),
    [
        ({}, HALF, ("10", "150.0 ms")),
        ({}, None, None),
        ({"singleMatrixCalls": 5.0}, HALF, ("10", "150.0 ms")),
        ({"singleMatrixCalls": 4.9}, HALF, None),
        ({"halfMatrixCalls": 9.5, "halfMatrixNs": 95e6}, HALF, ("0.5", "150.0 ms")),
        ({"halfMatrixCalls": 9.6, "halfMatrixNs": 95e6}, HALF, None),
        # The matrix kernels together grew by three tenths of the compute, or by less.
        ({"singleMatrixNs": 130e6}, HALF, ("10", "130.0 ms")),
        ({"singleMatrixNs": 129e6}, HALF, None),
    ],
)
def test_precision_is_lost_where_wider_matrix_kernels_take_the_place_of_narrow_ones_and_longer(
    changed: Named, baseline: Named | None, replaced: tuple[str, str] | None
) -> None:
    found = compute._precision(case_of({**SINGLE, **changed}, baseline))
    if replaced is None:
        assert found == ()
        return
    gone, more = replaced
    first = facts.FORMATS[facts.FORMATS.index("half") + 1]
    assert found == (GONE.format(gone, narrow(first)), TAKE.format(wide(first), more))


def test_the_narrowest_format_has_wider_ones_too() -> None:
    narrowest = {"gemmNs": 100e6, "fp8MatrixNs": 100e6, "fp8MatrixCalls": 10.0}
    wider = {"gemmNs": 150e6, "halfMatrixNs": 150e6, "halfMatrixCalls": 10.0}
    said = (GONE.format("10", "fp8"), TAKE.format("half or tf32 or single", "150.0 ms"))
    assert compute._precision(case_of(wider, narrowest)) == said


@pytest.mark.parametrize(
    ("shown", "known"),
    [
        ({}, False),
        ({"halfMatrixNs": 1.0}, False),
        ({"gemmNs": 2.0, "halfMatrixNs": 1.0}, True),
        ({"gemmNs": 2.0, "halfMatrixNs": 0.9}, False),
        ({"gemmNs": 1.0, "convolutionNs": 1.0, "halfMatrixNs": 0.5, "singleMatrixNs": 0.5}, True),
        ({"gemmNs": 1.0, "convolutionNs": 1.1, "halfMatrixNs": 0.5, "singleMatrixNs": 0.5}, False),
        ({"convolutionNs": 1.0, "singleMatrixNs": 0.5}, True),
        ({"convolutionNs": 10.0}, False),
    ],
)
def test_formats_are_known_where_half_of_the_matrix_kernels_time_tells_its_own(shown: Named, known: bool) -> None:
    assert compute._formats_known(account_of(**shown)) is known


@pytest.mark.parametrize("unknown", ["now", "baseline"])
def test_where_either_side_does_not_tell_formats_the_tensor_cores_share_decides(unknown: str) -> None:
    told = {"now": SINGLE, "baseline": HALF}
    told[unknown] = {"compute": told[unknown].get("compute", 0.0)}
    fell = {
        "now": {**told["now"], "tensor_core": {"eligible": 100.0, "used": 50.0}},
        "baseline": {**told["baseline"], "tensor_core": {"eligible": 100.0, "used": 90.0}},
    }
    said = "tensor cores take part in 50% of matrix kernels' time, baseline 90%"
    assert compute._precision(case_of(fell["now"], fell["baseline"])) == (said,)


@pytest.mark.parametrize(
    ("now", "before", "attention", "fell"),
    [
        (0.5, 0.75, (1.0, 1.0), True),
        (0.60, 0.75, (1.0, 1.0), True),
        (0.625, 0.75, (1.0, 1.0), False),
        (0.0, 0.15, (1.0, 1.0), True),
        (0.5, 0.75, (0.0, 1.0), False),
        (0.5, 0.75, (2.0, 1.0), True),
        (None, 0.75, (1.0, 1.0), False),
        (0.5, None, (1.0, 1.0), False),
    ],
)
def test_less_tensor_core_time_is_told_where_no_fused_attention_went(
    now: float | None, before: float | None, attention: tuple[float, float], fell: bool
) -> None:
    def shown(share: float | None, calls: float) -> dict[str, Any]:
        return {
            "attentionCalls": calls,
            "tensor_core": {} if share is None else {"eligible": 100.0, "used": 100 * share},
        }

    said = f"tensor cores take part in {now or 0:.0%} of matrix kernels' time, baseline {before or 0:.0%}"
    found = compute._less_tensor_core(case_of(shown(now, attention[0]), shown(before, attention[1])))
    assert found == ((said,) if fell else ())


@pytest.mark.parametrize(
    ("tensor_core", "share"),
    [
        ({}, None),
        ({"eligible": 0.0, "used": 1.0}, None),
        ({"eligible": 100.0}, 0.0),
        ({"eligible": 100.0, "used": 30.0}, 0.3),
        ({"eligible": 100.0, "used": 30.0, "unknown": 50.0}, 0.3),
        ({"eligible": 100.0, "used": 30.0, "unknown": 51.0}, None),
        ({"eligible": 1.0, "used": 0.5}, 0.5),
    ],
)
def test_the_tensor_cores_share_is_of_eligible_time_of_which_half_is_known(
    tensor_core: dict[str, float], share: float | None
) -> None:
    assert compute._tensor_share(account_of(tensor_core=tensor_core)) == share
    assert compute._tensor_share(None) is None


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        (0.0, 12.0, "no fused attention kernel runs; the baseline's 12 per step are gone"),
        (None, 12.0, "no fused attention kernel runs; the baseline's 12 per step are gone"),
        (9.5, 10.0, "fused attention kernels per step 9.5, baseline 10"),
        (9.6, 10.0, None),
        (95.0, 100.0, "fused attention kernels per step 95, baseline 100"),
        (96.0, 100.0, None),
        (0.0, 0.0, None),
        (0.0, None, None),
    ],
)
def test_attention_falls_back_where_fewer_fused_kernels_run(
    now: float | None, before: float | None, said: str | None
) -> None:
    def shown(calls: float | None) -> dict[str, float]:
        return {} if calls is None else {"attentionCalls": calls}

    assert compute._attention(case_of(shown(now), shown(before))) == (() if said is None else (said,))


def kernel(name: str, calls: float, ms: float, category: str = "gemm") -> KernelTotal:
    return KernelTotal(name, category, calls, ms * 1e6)


FORWARD = kernel("gemm_fwd", 10, 10)
BACKWARD = kernel("gemm_bwd", 10, 20)
ADD = kernel("add", 10, 2, "elementwise")
ALL = (FORWARD, BACKWARD, ADD)
AGAIN = "{} kernels run more often at the same cost each: +{} ms per step"
HFU = "HFU is {} times MFU: {} ms of matrix work per step is done again"


@pytest.mark.parametrize(
    ("kernels", "grown_ms", "said"),
    [
        ((kernel("gemm_fwd", 20, 20), BACKWARD, ADD), 20, (AGAIN.format(1, "10.0"), HFU.format("1.33", "10.0"))),
        ((kernel("gemm_fwd", 20, 20), BACKWARD, ADD), 20.1, ()),
        (
            (kernel("gemm_fwd", 20, 20), BACKWARD, kernel("add", 20, 4, "elementwise")),
            20,
            (AGAIN.format(2, "12.0"), HFU.format("1.33", "10.0")),
        ),
        # A backward kernel runs again in no recomputation, elementwise ones alone are none, nor is a collective.
        ((kernel("gemm_fwd", 20, 20), kernel("gemm_bwd", 20, 40), ADD), 20, ()),
        ((FORWARD, BACKWARD, kernel("add", 20, 4, "elementwise")), 2, ()),
        ((FORWARD, BACKWARD, ADD), 0, ()),
    ],
)
def test_recomputation_runs_forward_kernels_again_and_explains_half_of_the_growth(
    kernels: tuple[KernelTotal, ...], grown_ms: float, said: tuple[str, ...]
) -> None:
    case = case_of({"compute": 50e6 + grown_ms * 1e6, "kernels": kernels}, {"compute": 50e6, "kernels": ALL})
    assert compute._recompute(case) == said


def test_nothing_runs_again_where_there_is_nothing_to_compare_with() -> None:
    case = case_of({"kernels": ALL})
    assert compute._recompute(case) == ()
    assert compute._known(case) == []
    assert compute._pairs(case) == []
    assert compute._new_kernel(case) == ()
    assert compute._precision(case) == ()


def test_a_collective_is_no_kernel_that_computes() -> None:
    reduce = kernel("ncclAllReduce", 10, 10, "communication")
    case = case_of({"kernels": (*ALL, reduce)}, {"kernels": (*ALL, reduce)})
    assert compute._computing(case.now) == ALL
    assert compute._known(case) == [(one, one) for one in ALL]
    assert compute._pairs(case) == [(one, one) for one in ALL]


@pytest.mark.parametrize(
    ("calls", "ms", "before", "again"),
    [
        (20, 20.0, FORWARD, True),
        (10.2, 10.2, FORWARD, True),
        (10.1, 10.1, FORWARD, False),
        (22, 22.0, FORWARD, True),
        (22.1, 22.1, FORWARD, False),
        (20, 12.0, FORWARD, True),
        (20, 11.9, FORWARD, False),
        (20, 23.0, FORWARD, True),
        (20, 23.1, FORWARD, False),
        (20, 20.0, kernel("gemm_fwd", 0, 0), False),
        (40, 80.0, kernel("gemm_fwd", 20, 40), True),
        (40, 160.0, kernel("gemm_fwd", 20, 40), False),
    ],
)
def test_a_kernel_runs_again_where_its_further_calls_cost_about_as_much_each(
    calls: float, ms: float, before: KernelTotal, again: bool
) -> None:
    assert compute._again(kernel("gemm_fwd", calls, ms), before) is again


POINTWISE = {"compute": 100e6, "elementwiseCalls": 10.0, "elementwiseNs": 2e6, "kernels": (ADD,)}


@pytest.mark.parametrize(
    ("changed", "baseline", "told"),
    [
        ({}, POINTWISE, True),
        ({}, None, False),
        ({"elementwiseNs": 90e6}, None, False),
        ({"elementwiseCalls": 13.0}, POINTWISE, True),
        ({"elementwiseCalls": 12.9}, POINTWISE, False),
        ({"elementwiseCalls": 105.0}, {**POINTWISE, "elementwiseCalls": 100.0}, True),
        ({"elementwiseCalls": 104.0}, {**POINTWISE, "elementwiseCalls": 100.0}, False),
        ({"elementwiseNs": 7e6}, POINTWISE, True),
        ({"elementwiseNs": 6.9e6}, POINTWISE, False),
        ({"kernels": (ADD, kernel("rope", 2, 10, "elementwise"))}, POINTWISE, False),
        ({"elementwiseCalls": 4.0}, {"compute": 100e6}, True),
        ({"elementwiseCalls": 3.0}, {"compute": 100e6}, True),
    ],
)
def test_layers_are_unfused_where_many_more_elementwise_kernels_take_half_of_what_the_compute_grew(
    changed: Named, baseline: Named | None, told: bool
) -> None:
    now = {"compute": 110e6, "elementwiseCalls": 30.0, "elementwiseNs": 12e6, "kernels": (ADD,), **changed}
    case = case_of(now, baseline)
    said = (
        case.change("elementwise kernels per step", facts.ELEMENTWISE_CALLS),
        case.change("their time", facts.ELEMENTWISE_NS),
    )
    assert compute._unfused(case) == (said if told else ())


@pytest.mark.parametrize(
    ("added", "alone"),
    [
        ((), False),
        ((kernel("rope", 2, 10, "elementwise"),), True),
        ((kernel("rope", 2, 9, "elementwise"),), True),
        ((kernel("rope", 2, 8.9, "elementwise"),), False),
        ((kernel("rope", 2, 10, "reduction"),), False),
        ((kernel("rope", 25, 10, "elementwise"),), False),
        ((kernel("rope", 24, 10, "elementwise"),), True),
        ((kernel("mul", 2, 5, "elementwise"), kernel("pow", 2, 5, "elementwise")), False),
        ((kernel("mul", 2, 1, "elementwise"), kernel("rope", 2, 9, "elementwise")), True),
    ],
)
def test_one_elementwise_kernel_alone_is_new_long_and_nearly_all_that_grew(
    added: tuple[KernelTotal, ...], alone: bool
) -> None:
    now = {"elementwiseCalls": 30.0, "elementwiseNs": 12e6, "kernels": (ADD, *added)}
    assert compute._one_alone(case_of(now, POINTWISE)) is alone


def test_a_known_elementwise_kernel_is_not_new_and_without_any_before_a_new_one_is_not_longer_than_those() -> None:
    longer = {"elementwiseNs": 12e6, "kernels": (kernel("add", 10, 12, "elementwise"),)}
    assert compute._one_alone(case_of(longer, POINTWISE)) is False
    added = {"elementwiseNs": 10e6, "kernels": (kernel("rope", 2, 10, "elementwise"),)}
    assert compute._one_alone(case_of(added, {})) is False
    assert compute._one_alone(case_of(added, {"elementwiseCalls": 10.0})) is True
    assert compute._one_alone(case_of(added, {"elementwiseNs": 1.0})) is False
    shortest = {"elementwiseNs": 1.0, "kernels": (kernel("rope", 10, 1e-6, "elementwise"),)}
    assert compute._one_alone(case_of(shortest, {"elementwiseCalls": 10.0})) is True


GRIDS = {"compute": 32e6, "gridBlocks": 1000.0, "kernelCalls": 100.0, "kernels": ALL}
LARGER = {
    "compute": 42e6,
    "gridBlocks": 1100.0,
    "kernelCalls": 100.0,
    "kernels": (kernel("gemm_fwd", 10, 13), kernel("gemm_bwd", 10, 22), ADD),
}


@pytest.mark.parametrize(
    ("changed", "baseline", "larger"),
    [
        ({}, GRIDS, True),
        ({}, None, False),
        ({"gridBlocks": 1020.0}, GRIDS, True),
        ({"gridBlocks": 1019.0}, GRIDS, False),
        ({"gridBlocks": 0.0}, GRIDS, False),
        ({}, {**GRIDS, "gridBlocks": 0.0}, False),
        ({"kernelCalls": 105.0}, GRIDS, True),
        ({"kernelCalls": 106.0}, GRIDS, False),
        ({"kernels": (kernel("gemm_fwd", 10, 15), BACKWARD, ADD)}, GRIDS, False),
        ({"kernels": (kernel("gemm_fwd", 10, 13), kernel("gemm_bwd", 10, 20.4), ADD), "compute": 32e6}, GRIDS, False),
        ({"kernels": (kernel("gemm_fwd", 10, 13), kernel("gemm_bwd", 11, 22), ADD)}, GRIDS, False),
        ({"kernels": (kernel("gemm_fwd", 10, 13), kernel("gemm_bwd", 10, 21.9), ADD)}, GRIDS, False),
        # Another kernel in the place of one that is gone, as often, counts.
        ({"kernels": (kernel("gemm_other", 10, 13), kernel("gemm_bwd", 10, 22), ADD)}, GRIDS, True),
        ({"kernels": (kernel("gemm_more", 20, 13), kernel("gemm_bwd", 10, 22), ADD)}, GRIDS, False),
    ],
)
def test_a_shape_changed_where_two_kernels_take_longer_on_larger_grids(
    changed: Named, baseline: Named | None, larger: bool
) -> None:
    case = case_of({**LARGER, **changed}, baseline)
    said = (
        case.change("blocks launched per step", facts.GRID_BLOCKS),
        case.change("by as many kernels as before", facts.KERNEL_CALLS),
    )
    assert compute._larger_grids(case) == (said if larger else ())


OFTEN = "{} kernels, forward and backward, run more often: +{} ms per step"


@pytest.mark.parametrize(
    ("kernels", "grown_ms", "said"),
    [
        ((kernel("gemm_fwd", 20, 20), kernel("gemm_bwd", 20, 40), ADD), 60, OFTEN.format(2, "30.0")),
        ((kernel("gemm_fwd", 20, 20), kernel("gemm_bwd", 20, 40), ADD), 61, None),
        ((kernel("gemm_fwd", 20, 20), BACKWARD, ADD), 10, None),
        ((FORWARD, kernel("gemm_bwd", 20, 40), ADD), 20, OFTEN.format(1, "20.0")),
        (ALL, 0, None),
    ],
)
def test_a_shape_changed_where_backward_kernels_run_more_often_too(
    kernels: tuple[KernelTotal, ...], grown_ms: float, said: str | None
) -> None:
    case = case_of({"compute": 50e6 + grown_ms * 1e6, "kernels": kernels}, {"compute": 50e6, "kernels": ALL})
    assert compute._more_often(case) == (() if said is None else (said,))


def test_either_kind_of_another_shape_is_one() -> None:
    assert compute._shape(case_of(LARGER, GRIDS)) == compute._larger_grids(case_of(LARGER, GRIDS)) != ()
    often = case_of({"kernels": (FORWARD, kernel("gemm_bwd", 20, 40))}, {"kernels": ALL})
    assert compute._shape(often) == compute._more_often(often) != ()
    assert compute._shape(case_of(GRIDS, GRIDS)) == ()


NEW = "a kernel {} takes {} ms more per step: {}"


@pytest.mark.parametrize(
    ("kernels", "grown_ms", "cut", "said"),
    [
        (ALL, 0, 0.0, None),
        ((*ALL, kernel("scan", 3, 10)), 20, 0.0, NEW.format("new since the baseline", "10.0", "scan")),
        ((*ALL, kernel("scan", 3, 10)), 20.1, 0.0, None),
        ((*ALL, kernel("s" * 81, 3, 10)), 20, 0.0, NEW.format("new since the baseline", "10.0", "s" * 80)),
        ((*ALL, kernel("scan", 3, 10, "communication")), 10, 0.0, None),
        # In place of one that is gone, less what that took; of several the one that costs most more.
        ((kernel("gemm_slow", 10, 25), BACKWARD, ADD), 20, 0.0, NEW.format("in place of another", "15.0", "gemm_slow")),
        ((kernel("gemm_slow", 10, 25), BACKWARD, ADD), 30.1, 0.0, None),
        (
            (kernel("gemm_slow", 10, 25), BACKWARD, ADD, kernel("scan", 3, 16)),
            20,
            0.0,
            NEW.format("new since the baseline", "16.0", "scan"),
        ),
        (
            (kernel("gemm_slow", 10, 25), BACKWARD, ADD, kernel("scan", 3, 14)),
            20,
            0.0,
            NEW.format("in place of another", "15.0", "gemm_slow"),
        ),
        (
            (kernel("scan", 3, 15), kernel("gemm_slow", 10, 25), BACKWARD, ADD),
            20,
            0.0,
            NEW.format("new since the baseline", "15.0", "scan"),
        ),
        ((*ALL, kernel("scan", 3, 5e-7)), 0, 0.0, NEW.format("new since the baseline", "5e-07", "scan")),
        # A list that was cut holds the longest only: a shorter one may have been there.
        ((*ALL, kernel("scan", 3, 2)), 4, 1.0, NEW.format("new since the baseline", "2", "scan")),
        ((*ALL, kernel("scan", 3, 1.9)), 3, 1.0, None),
        ((*ALL, kernel("scan", 3, 1.9)), 3, 0.0, NEW.format("new since the baseline", "1.9", "scan")),
    ],
)
def test_a_new_kernel_explains_half_of_the_growth(
    kernels: tuple[KernelTotal, ...], grown_ms: float, cut: float, said: str | None
) -> None:
    case = case_of(
        {"compute": 50e6 + grown_ms * 1e6, "kernels": kernels},
        {"compute": 50e6, "kernels": ALL, "kernelsCut": cut},
    )
    assert compute._new_kernel(case) == (() if said is None else (said,))


def test_of_a_baseline_that_was_cut_to_nothing_every_kernel_is_new() -> None:
    case = case_of({"compute": 10e6, "kernels": (FORWARD,)}, {"kernelsCut": 1.0})
    assert compute._new_kernel(case) == (NEW.format("new since the baseline", "10.0", "gemm_fwd"),)
    short = case_of({"kernels": (kernel("gemm_fwd", 10, 5e-7),)}, {"kernelsCut": 1.0})
    assert compute._new_kernel(short) == (NEW.format("new since the baseline", "5e-07", "gemm_fwd"),)


SOUND = (
    kernel("a", 10, 10),
    kernel("b", 10, 20),
    kernel("add", 10, 10, "elementwise"),
    kernel("mul", 10, 20, "elementwise"),
)


def slowed(*factors: float) -> tuple[KernelTotal, ...]:
    return tuple(
        KernelTotal(one.name, one.category, one.calls, one.total_ns * factor)
        for one, factor in zip(SOUND, factors, strict=True)
    )


@pytest.mark.parametrize(
    ("factors", "changed", "said"),
    [
        ((1.1, 1.1, 1.1, 1.1), {}, "10% to 10%"),
        ((1.25, 1.5, 1.0, 1.25), {}, "25% to 50%"),
        ((1.02, 1.1, 1.1, 1.1), {}, "2% to 10%"),
        ((1.2, 1.4, 1.7, 1.2), {}, "20% to 70%"),
        ((1.01, 1.1, 1.1, 1.1), {}, None),
        ((1.25, 1.5625, 1.25, 1.25), {}, "25% to 56%"),
        ((1.25, 1.57, 1.25, 1.25), {}, None),
        ((1.25, 1.25, 1.5625, 1.25), {}, "25% to 56%"),
        ((1.25, 1.25, 1.57, 1.25), {}, None),
        ((1.1, 1.1, 1.0, 1.0), {}, None),
        ((1.1, 1.1, 1.1, 0.98), {}, "10% to 10%"),
        ((1.1, 1.1, 1.1, 0.97), {}, None),
        ((1.1, 1.1, 1.1, 1.1), {"kernelCalls": 102.0, "gridBlocks": 1010.0}, "10% to 10%"),
        ((1.1, 1.1, 1.1, 1.1), {"kernelCalls": 103.0}, None),
        ((1.1, 1.1, 1.1, 1.1), {"gridBlocks": 1010.0}, "10% to 10%"),
        ((1.1, 1.1, 1.1, 1.1), {"gridBlocks": 1011.0}, None),
        ((1.1, 1.1, 1.1, 1.1), {"gridBlocks": 0.0}, None),
    ],
)
def test_a_device_is_throttled_where_its_kernels_are_slower_alike_and_none_is_faster(
    factors: tuple[float, ...], changed: Named, said: str | None
) -> None:
    device = {"kernelCalls": 100.0, "gridBlocks": 1000.0}
    before = {**device, "kernels": SOUND, **({"gridBlocks": 0.0} if changed.get("gridBlocks") == 0 else {})}
    found = compute._slower_device(case_of({**device, "kernels": slowed(*factors), **changed}, before))
    expected = f"kernels are slower alike, by {said}, in number and size as before"
    assert found == (() if said is None else (expected,))


def test_a_device_without_matrix_kernels_is_judged_by_all_and_by_ten_at_most() -> None:
    def device(kernels: list[KernelTotal]) -> dict[str, Any]:
        return {"kernelCalls": 100.0, "gridBlocks": 1000.0, "kernels": tuple(kernels)}

    def added(count: int, ms: float) -> list[KernelTotal]:
        return [kernel(f"add_{number}", 10, ms, "elementwise") for number in range(count)]

    said = ("kernels are slower alike, by 10% to 10%, in number and size as before",)
    assert compute._slower_device(case_of(device(added(3, 11)), device(added(3, 10)))) == said
    assert compute._slower_device(case_of(device(added(2, 11)), device(added(2, 10)))) == ()
    faster = [*added(10, 11), kernel("last", 10, 1)]
    assert compute._slower_device(case_of(device(faster), device([*added(10, 10), kernel("last", 10, 10)]))) == said
    faster = [*added(9, 11), kernel("last", 10, 1)]
    assert compute._slower_device(case_of(device(faster), device([*added(9, 10), kernel("last", 10, 10)]))) == ()
    unmeasured = [*added(3, 11), kernel("last", 10, 1)]
    assert compute._slower_device(case_of(device(unmeasured), device([*added(3, 10), kernel("last", 10, 0)]))) == said
