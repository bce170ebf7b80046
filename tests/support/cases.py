"""Two accounts side by side, in few words: parts and facts by their names in JSON, in nanoseconds."""

from collections.abc import Mapping
from typing import Any

from mfu_operator.model.account import PARTS, KernelTotal, StepAccount
from mfu_operator.trace.diagnosis.case import Case
from tests.support.facts import facts_of


def account_of(
    count: int = 10,
    kernels: tuple[KernelTotal, ...] = (),
    tensor_core: Mapping[str, float] | None = None,
    account_from: str = "gpu",
    **named: Any,
) -> StepAccount:
    """An account with these parts and facts; `communication_total` is neither."""
    total = named.pop("communication_total", 0.0)
    parts = {part: float(named.pop(part, 0.0)) for part in PARTS}
    return StepAccount(
        count,
        sum(parts.values()),
        0.0,
        parts,
        account_from=account_from,
        communication_total_ns=total,
        tensor_core_ns=tensor_core or {},
        kernels=kernels,
        facts=facts_of(**named),
    )


def case_of(now: Mapping[str, Any], baseline: Mapping[str, Any] | None = None) -> Case:
    """A case of two such accounts; without a baseline where it is None."""
    return Case(account_of(**now), None if baseline is None else account_of(**baseline))
