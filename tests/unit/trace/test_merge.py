"""Accounts of several devices as one."""

from dataclasses import replace

import pytest

from mfu_operator.model.account import KernelTotal, ShapeTotal, StepAccount
from mfu_operator.model.fact import Facts
from mfu_operator.trace.account import merge
from mfu_operator.trace.account.merge import merged
from tests.support.cases import account_of

ONE = replace(
    account_of(4, compute=10.0, idleHost=2.0, communication_total=6.0, tensor_core={"used": 2.0}),
    std_ns=1.0, account_from="nvtx", gpu="H200", ranges_ns={"load": 4.0}, warnings=("a", "b"),
)  # fmt: skip
OTHER = replace(
    account_of(3, compute=20.0, communication_total=8.0, tensor_core={"used": 4.0, "eligible": 8.0}),
    std_ns=3.0, gpu="A100", ranges_ns={"step": 2.0}, warnings=("b", "c"),
)  # fmt: skip


def test_one_account_is_itself() -> None:
    assert merged([ONE]) is ONE


def test_several_are_their_mean_the_fewest_steps_and_everything_that_was_told() -> None:
    expected = replace(
        account_of(3, compute=15.0, idleHost=1.0, communication_total=7.0, tensor_core={"used": 3.0, "eligible": 4.0}),
        std_ns=2.0, account_from="nvtx", gpu="A100, H200", ranges_ns={"load": 2.0, "step": 1.0},
        warnings=("a", "b", "c"),
    )  # fmt: skip
    assert merged([ONE, OTHER]) == expected


def test_a_part_that_an_account_lacks_is_none_of_it() -> None:
    lacking = replace(ONE, parts_ns={"compute": 4.0})
    assert merged([ONE, lacking]).parts_ns["idleHost"] == 1.0


@pytest.mark.parametrize(
    ("gpus", "told"),
    [((None, None), None), (("H200", None), "H200"), (("H200", "H200"), "H200"), (("H200", "A100"), "A100, H200")],
)
def test_devices_are_told_by_their_distinct_names(gpus: tuple[str | None, str | None], told: str | None) -> None:
    assert merged([replace(ONE, gpu=gpu) for gpu in gpus]).gpu == told


@pytest.mark.parametrize(
    ("one", "other", "mean"),
    [
        ({"x": 1.0}, {"x": 3.0}, {"x": 2.0}),
        ({"x": 1.0}, {}, {"x": 1.0}),
        ({}, {"x": 3.0}, {"x": 3.0}),
        ({"x": "word"}, {"x": "other"}, {"x": "word"}),
        ({"x": "word"}, {"x": 3.0}, {"x": 3.0}),
    ],
)
def test_a_fact_is_averaged_over_those_that_have_it(
    one: dict[str, float | str], other: dict[str, float | str], mean: dict[str, float | str]
) -> None:
    assert merged([replace(ONE, facts=Facts(one)), replace(ONE, facts=Facts(other))]).facts == Facts(mean)


def with_kernels(*kernels: KernelTotal) -> StepAccount:
    return replace(ONE, kernels=kernels)


def test_kernels_are_averaged_by_name_and_category_the_longest_first() -> None:
    found = merged([
        with_kernels(KernelTotal("a", "gemm", 2, 4.0), KernelTotal("b", "gemm", 2, 20.0)),
        with_kernels(KernelTotal("a", "gemm", 4, 8.0), KernelTotal("a", "other", 2, 2.0)),
    ]).kernels  # fmt: skip
    assert found == (
        KernelTotal("b", "gemm", 1, 10.0), KernelTotal("a", "gemm", 3, 6.0), KernelTotal("a", "other", 1, 1.0),
    )  # fmt: skip


def test_a_kernels_grids_are_averaged_where_every_device_knows_them() -> None:
    known = KernelTotal("a", "gemm", 2, 4.0, (ShapeTotal(8, 1, 2.0), ShapeTotal(4, 1, 2.0)))
    other = KernelTotal("a", "gemm", 2, 4.0, (ShapeTotal(8, 3, 4.0),))
    assert merged([with_kernels(known), with_kernels(other)]).kernels[0].shapes == (
        ShapeTotal(4, 0.5, 1.0), ShapeTotal(8, 2.0, 3.0),
    )  # fmt: skip
    assert merged([with_kernels(known), with_kernels(replace(other, shapes=()))]).kernels[0].shapes == ()


def test_as_many_kernels_as_the_bound_are_kept() -> None:
    many = with_kernels(*(KernelTotal(str(number), "gemm", 1, float(number)) for number in range(201)))
    found = merged([many, many]).kernels
    assert (merge.MOST_KERNELS, len(found), found[-1].name) == (200, 200, "1")
