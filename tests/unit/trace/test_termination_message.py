import json

import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.model import facts
from mfu_operator.model.account import PARTS, KernelTotal, StepAccount
from mfu_operator.trace import termination_message as compact
from tests.support.facts import facts_of

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
    facts=facts_of(loader="inline", inputNetworkCalls=4.0),
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
    assert read.facts == ACCOUNT.facts | {facts.KERNELS_CUT: 1.0}


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


def message(**changes: object) -> str:
    whole = {"v": 1, "count": 10, "mean": 1e8, "std": 1e6, "parts": {"compute": 9e7, "idleInput": 1e7}}
    return json.dumps(whole | changes)


ABSURD: list[tuple[str, dict[str, object]]] = [
    ("no step", {"count": 0}),
    ("more steps than a Job can record", {"count": 10**9}),
    ("a step of no time", {"mean": 0.0, "parts": {}}),
    ("a step of less than none", {"mean": -1e8}),
    ("a step of a year", {"mean": 3e16, "parts": {"compute": 3e16}}),
    ("a spread of less than none", {"std": -1.0}),
    ("a part of less than none", {"parts": {"compute": 1.1e8, "idleInput": -1e7}}),
    ("parts that are more than the step", {"parts": {"compute": 5e8}}),
    ("parts that are less than the step", {"parts": {"compute": 5e7}}),
    ("a kernel of less than no time", {"kernels": [["gemm", "gemm", 1.0, -5.0]]}),
    ("a kernel that is called less than never", {"kernels": [["gemm", "gemm", -1.0, 5.0]]}),
    ("a fact beyond all numbers", {"facts": {"h2dBytes": 1e300}}),
    ("a source that is none", {"source": "rumour"}),
    ("a collective of a year", {"comm": 3e19}),
]


@pytest.mark.parametrize("changes", [row[1] for row in ABSURD], ids=[row[0] for row in ABSURD])
def test_numbers_that_no_run_can_have_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(Unreadable) as raised:
        compact.decode(message(**changes))
    assert raised.value.reason == "BadResult"


def test_a_result_longer_than_kubernetes_keeps_is_refused_before_it_is_read() -> None:
    assert compact.decode(message())
    with pytest.raises(Unreadable) as raised:
        compact.decode(message(warnings=["x" * compact.LIMIT_BYTES]))
    assert raised.value.reason == "BadResult"
