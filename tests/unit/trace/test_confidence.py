"""How sure a diagnosis is, and where one cause ends and the next begins: the bounds, from both sides."""

from dataclasses import replace

import pytest

from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.diagnosis.diagnose import diagnose
from tests.support.facts import facts_of

MS = 1e6


def account(
    std_ms: float = 0.1, total_ms: float = 40.0, known: dict[str, float] | None = None, **more: float
) -> StepAccount:
    """A step of 100 ms with so many milliseconds more in some parts; `total_ms` of communication in all."""
    usual = {"compute": 50.0, "communication": 40.0, "idleInput": 2.0, "idleHost": 8.0}
    parts = {part: (usual.get(part, 0.0) + more.get(part, 0.0)) * MS for part in PARTS}
    made = StepAccount(10, sum(parts.values()), std_ms * MS, parts)
    return replace(made, communication_total_ns=total_ms * MS, facts=facts_of(**(known or {})))


def test_a_part_that_grew_alone_and_far_beyond_chance_is_sure() -> None:
    found = diagnose(account(idleInput=50), account())
    assert found.bottleneck is Bottleneck.INPUT_STARVED
    assert found.cause is None
    assert 0.75 < found.confidence <= 0.8


def test_a_part_that_shares_the_growth_is_as_sure_as_its_share() -> None:
    found = diagnose(account(idleInput=30, idleHost=20), account())
    assert found.bottleneck is Bottleneck.INPUT_STARVED
    assert 0.4 < found.confidence < 0.5


def test_growth_just_beyond_chance_is_no_surer_than_a_coin() -> None:
    found = diagnose(account(idleInput=2.7), account())
    assert found.bottleneck is Bottleneck.INPUT_STARVED
    assert 0.4 < found.confidence < 0.5


def ranks(skew_ms: float, wait_ms: float, **known: float) -> dict[str, float]:
    """Every rank of the job recorded, and how far they are apart."""
    compared = {"worldSize": 8.0, "ranksRecorded": 8.0, "communicationCalls": 4.0}
    return compared | {"rankSkewNs": skew_ms * MS, "rankWaitNs": wait_ms * MS, "slowestRank": 3.0} | known


@pytest.mark.parametrize(
    ("skew_ms", "wait_ms", "bottleneck"),
    [
        (0.0, 0.0, Bottleneck.COMMS_BOUND),
        (4.0, 4.0, Bottleneck.COMMS_BOUND),
        (8.0, 8.0, Bottleneck.COMMS_BOUND),
        (14.0, 14.0, Bottleneck.STRAGGLER),
        (21.0, 0.0, Bottleneck.STRAGGLER),
        (0.0, 12.0, Bottleneck.STRAGGLER),
    ],
)
def test_a_slow_link_becomes_a_straggler_once_most_of_the_growth_is_waiting_for_a_rank(
    skew_ms: float, wait_ms: float, bottleneck: Bottleneck
) -> None:
    before = account(known=ranks(3.0, 3.0))
    now = account(communication=20, total_ms=60, known=ranks(3.0 + skew_ms, 3.0 + wait_ms))
    assert diagnose(now, before).bottleneck is bottleneck


@pytest.mark.parametrize(("total_ms", "cause"), [(49.0, "LostOverlap"), (51.0, "SlowLink")])
def test_overlap_is_lost_where_communication_itself_grew_by_less_than_half_of_it(total_ms: float, cause: str) -> None:
    now = account(communication=20, total_ms=total_ms, known=ranks(0.0, 0.0))
    assert diagnose(now, account(known=ranks(0.0, 0.0))).cause == cause


@pytest.mark.parametrize(
    ("calls", "longest_ms", "small"), [(5.0, 7.0, False), (5.4, 7.0, True), (5.4, 7.9, True), (5.4, 8.1, False)]
)
def test_messages_are_small_where_there_are_many_more_and_even_the_longest_is_shorter(
    calls: float, longest_ms: float, small: bool
) -> None:
    before = account(known=ranks(0.0, 0.0, communicationLongestNs=10 * MS))
    known = ranks(0.0, 0.0, communicationLongestNs=longest_ms * MS, communicationCalls=calls)
    assert (diagnose(account(communication=20, total_ms=60, known=known), before).cause == "SmallMessages") is small


@pytest.mark.parametrize(("host_ms", "named"), [(9.0, False), (11.0, True)])
def test_collectives_of_the_host_are_named_for_most_of_what_the_device_idles_more(host_ms: float, named: bool) -> None:
    same = ranks(0.0, 0.0, kernelCalls=100.0, launchCalls=100.0)
    before = account(known=same | {"hostCollectiveNs": 5 * MS})
    now = account(idleSync=20, known=same | {"hostCollectiveNs": (5 + host_ms) * MS})
    assert (diagnose(now, before).cause == "HostCollectives") is named


def matrix(half_calls: float, single_calls: float, single_ms: float) -> dict[str, float]:
    """Matrix kernels by the precision that they read; how many of them use tensor cores is not known."""
    spent = {"halfMatrixNs": half_calls * MS, "singleMatrixNs": single_ms * MS}
    calls = {"halfMatrixCalls": half_calls, "singleMatrixCalls": single_calls}
    return calls | spent | {"gemmNs": sum(spent.values())}


@pytest.mark.parametrize(("single_calls", "cause"), [(4.0, None), (6.0, "PrecisionLost"), (10.0, "PrecisionLost")])
def test_precision_is_lost_where_wider_matrix_kernels_took_the_place_of_narrow_ones(
    single_calls: float, cause: str | None
) -> None:
    now = account(compute=20, known=matrix(0.0, single_calls, 30.0))
    assert diagnose(now, account(known=matrix(10.0, 0.0, 0.0))).cause == cause
