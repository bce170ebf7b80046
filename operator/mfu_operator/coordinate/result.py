"""The merged account with what only the coordination knows: the slow rank's node, who is missing, what it cost."""

from collections.abc import Sequence
from dataclasses import replace

from mfu_operator.coordinate.collect import Recorded
from mfu_operator.coordinate.crew import Missing
from mfu_operator.errors import Unreadable
from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.fact import Fact
from mfu_operator.trace.analyze import mean_account, numbers_in_words

MOST_NAMED = 3
"""Ranks whose own words are told for each reason; the others are counted."""


def merged_account(recorded: Sequence[Recorded], missing: Sequence[Missing]) -> StepAccount:
    """The mean over the ranks that were recorded.

    Raises:
        Unreadable: TokenRefused, CaptureFailed, where there is none.
    """
    if not recorded:
        raise nothing_recorded(missing)
    mean = mean_account([one.read for one in recorded])
    observed: dict[Fact, float | str] = {}
    recorders = {one.rank.recorder for one in recorded}
    if len(recorders) == 1:
        observed[facts.PRODUCER] = recorders.pop()
    slowest = mean.facts.number(facts.SLOWEST_RANK)
    node = next((one.rank.pod.node for one in recorded if one.rank.number == slowest), None)
    if node is not None:
        observed[facts.SLOWEST_NODE] = node
    pauses = [one.pause_s for one in recorded if one.pause_s is not None]
    if pauses:
        observed[facts.CAPTURE_PAUSE_NS] = max(pauses) * 1e9
    return replace(mean, facts=mean.facts | observed, warnings=(*told(missing), *mean.warnings))


def nothing_recorded(missing: Sequence[Missing]) -> Unreadable:
    """Why there is no account at all."""
    whys = {one.why for one in missing}
    reason = "TokenRefused" if whys and whys <= {"TokenRefused", "TokenMissing"} else "CaptureFailed"
    said = "; ".join(told(missing)) or "no rank was asked"
    if reason == "TokenRefused":
        said += "; the token of the Secret must be the one that the training pods mount"
        return Unreadable("TokenRefused", said)
    return Unreadable("CaptureFailed", said)


def told(missing: Sequence[Missing]) -> tuple[str, ...]:
    """Who is missing, one sentence a reason."""
    by_reason: dict[str, list[Missing]] = {}
    for one in missing:
        by_reason.setdefault(one.why, []).append(one)
    return tuple(_sentence(why, those) for why, those in by_reason.items())


def _sentence(why: str, those: Sequence[Missing]) -> str:
    numbers = sorted({one.rank for one in those if one.rank is not None})
    nameless = [one.pod.name for one in those if one.rank is None]
    who = ([f"rank {numbers_in_words(numbers)}"] if numbers else []) + [
        f"pod {name}" for name in dict.fromkeys(nameless[:MOST_NAMED])
    ]
    more = "" if len(nameless) <= MOST_NAMED else f" and {len(nameless) - MOST_NAMED} more"
    return f"{', '.join(who)}{more}: {why}: {those[0].message}"
