"""What is wrong with a run apart from its speed, as it goes into the record. It opens no incident."""

from collections.abc import Sequence
from dataclasses import replace

from mfu_operator.model.condition import Condition, Event
from mfu_operator.model.vitals import Ailment, Symptom

NOT_LEARNING = "NotLearning"
CONDITIONS = {
    Ailment.HUNG: "Hung",
    Ailment.MEMORY_LEAK: "MemoryCreeping",
    Ailment.MEMORY_FRAGMENTATION: "MemoryCreeping",
    Ailment.HOST_MEMORY_LEAK: "MemoryCreeping",
    Ailment.LOSS_NOT_FINITE: NOT_LEARNING,
    Ailment.STEPS_SKIPPED: NOT_LEARNING,
}
"""The condition that an ailment makes True; its reason is the ailment's name."""

RATIO_WORTH_A_WRITE = 0.02
LEFT_WORTH_A_WRITE = 0.25
"""Memory is written again when it rose by 2 % of its limit, or when a quarter of the time left is gone or won."""


def refreshed(
    before: tuple[Symptom, ...], now: tuple[Symptom, ...], now_s: float
) -> tuple[tuple[Symptom, ...], tuple[Event, ...]]:
    """The symptoms to write, and what to tell of those that came and went. What hardly moved stays as it was."""
    known = {symptom.reason: symptom for symptom in before}
    kept = tuple(_kept(known.get(symptom.reason), symptom, now_s) for symptom in now)
    came = [Event("Warning", str(one.reason), one.message) for one in now if one.reason not in known]
    present = {symptom.reason for symptom in now}
    gone = [
        Event("Normal", "SymptomGone", f"{one.reason}: it is not seen any more")
        for one in before
        if one.reason not in present
    ]
    return kept, (*came, *gone)


def conditions(symptoms: Sequence[Symptom]) -> tuple[Condition, ...]:
    """One condition for each type of which there are symptoms; its reason is the most urgent's."""
    by_type: dict[str, list[Symptom]] = {}
    for symptom in symptoms:
        by_type.setdefault(CONDITIONS[symptom.reason], []).append(symptom)
    return tuple(
        Condition(kind, "True", str(found[0].reason), "; ".join(each.message for each in found))
        for kind, found in by_type.items()
    )


def _kept(before: Symptom | None, now: Symptom, now_s: float) -> Symptom:
    """The old one where the new one says nothing else; the operator may have been restarted since it began."""
    if before is None:
        return now
    return replace(now, since_at=before.since_at) if _tells_more(before, now, now_s) else before


def _tells_more(before: Symptom, now: Symptom, now_s: float) -> bool:
    if before.full_at is None or now.full_at is None:
        return before.full_at is not now.full_at
    left_s = max(before.full_at - now_s, 60.0)
    return (
        abs(now.measured - before.measured) >= RATIO_WORTH_A_WRITE
        or abs(now.full_at - before.full_at) > LEFT_WORTH_A_WRITE * left_s
    )
