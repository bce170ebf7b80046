"""Whether two accounts may be compared at all."""

from collections.abc import Mapping

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.fact import Fact

MUST_EQUAL: Mapping[Fact, str] = {
    facts.WORLD_SIZE: "world size",
    facts.BATCH_SIZE: "batch size",
    facts.PROFILER_STACKS: "the profiler's settings (stacks)",
    facts.PROFILER_SHAPES: "the profiler's settings (shapes)",
    facts.PROFILER_MEMORY: "the profiler's settings (memory)",
    facts.PRODUCER: "the profiler",
    facts.RANKS_RECORDED: "the number of recorded ranks",
}
"""Facts that must be equal where both accounts have them, and their names in a sentence."""


def differences(now: StepAccount, baseline: StepAccount) -> tuple[str, ...]:
    """Why the accounts are not comparable; empty where they are."""
    found = []
    if now.account_from != baseline.account_from:
        found.append(f"the account is from {now.account_from}, the baseline's from {baseline.account_from}")
    if now.gpu and baseline.gpu and now.gpu != baseline.gpu:
        found.append(f"the GPU differs: {now.gpu}, baseline {baseline.gpu}")
    if any(one.facts.number(facts.WHOLE_STEPS) == 0 for one in (now, baseline)):
        found.append("no steps are known, so that a recorded span would be compared and not a step")
    if now.analysis != baseline.analysis:
        found.append(
            f"the analysis differs: number {now.analysis:g}, the baseline's account was made by number "
            f"{baseline.analysis:g}; analyse the baseline's trace again"
        )
    for fact, said in MUST_EQUAL.items():
        left, right = now.facts.get(fact), baseline.facts.get(fact)
        if left is not None and right is not None and left != right:
            found.append(f"{said} differs: {_word(left)}, baseline {_word(right)}")
    return tuple(found)


def _word(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
