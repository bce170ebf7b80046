import json

import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.model.account import PARTS, KernelTotal, StepAccount
from mfu_operator.trace import compact

ACCOUNT = StepAccount(
    count=5,
    mean_ns=1200.0,
    std_ns=3.0,
    parts_ns=dict.fromkeys(PARTS, 100.0),
    gpu="NVIDIA H100 80GB HBM3",
    kernels=tuple(
        KernelTotal(f"kernel<{'é' * 80}{index % 40}, {'é' * 300}>", "gemm", 2.0, 50.0 + index) for index in range(60)
    ),
    ranges_ns={f"range {index}": float(index) for index in range(100)},
    facts={"loader": "inline", "inputNetworkCalls": 4.0},
    warnings=("only 3 steps recorded",),
)


def test_an_account_survives_the_journey() -> None:
    small = compact.cut(ACCOUNT, 2)
    read = compact.decode(compact.encode(small, hardware=("PCIe link x8 of x16",)))
    assert (read.count, read.mean_ns, dict(read.parts_ns)) == (5, 1200.0, dict(ACCOUNT.parts_ns))
    assert read.facts == ACCOUNT.facts
    assert read.warnings == ACCOUNT.warnings
    assert compact.hardware(compact.encode(small, hardware=("PCIe link x8 of x16",))) == ("PCIe link x8 of x16",)


def test_it_never_exceeds_a_termination_message_and_drops_the_cheapest_kernels_first() -> None:
    text = compact.encode(ACCOUNT)
    assert len(text.encode()) <= 4096
    read = compact.decode(text)
    assert read.kernels
    assert read.kernels[0].total_ns > 109
    assert read.facts == {**ACCOUNT.facts, "kernelsCut": 1.0}


def test_absent_parts_are_zero_again_when_read() -> None:
    read = compact.decode(compact.encode(StepAccount(1, 10.0, 0.0, {"compute": 10.0})))
    assert set(read.parts_ns) == set(PARTS)


@pytest.mark.parametrize("text", ["", "  ", "Killed", "{}", '{"v": 1}', '{"v":1,"count":"x"}', "[1]", "\x00"])
def test_what_is_no_account_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(Unreadable) as refused:
        compact.decode(text)
    assert refused.value.reason in ("NoResult", "BadResult")


def test_the_pods_own_failure_is_handed_on() -> None:
    text = compact.encode_failure("NoTrace", "ü" * 9000)
    assert len(text.encode()) <= 4096
    assert set(json.loads(text)) == {"error"}
    with pytest.raises(Unreadable) as refused:
        compact.decode(text)
    assert refused.value.reason == "NoTrace"
