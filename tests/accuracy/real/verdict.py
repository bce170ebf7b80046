"""What is said of a case, and whether it is right."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.trace.analyze import profile
from mfu_operator.trace.diagnosis.diagnose import diagnose
from tests.accuracy.real import raw
from tests.accuracy.real.cases import NOTHING, Case, run
from tests.accuracy.real.raw import Document
from tests.support import rank_oracle

SURE = 0.7
DOUBTED = 0.5
BOTH = ("steps unmarked", "three steps", "collectives renamed")
"""Recordings that are a habit: the baseline is recorded so too."""


@dataclass(frozen=True)
class Said:
    """`verdict`: right, abstained or wrong."""

    case: Case
    words: str
    confidence: float
    verdict: str

    @property
    def wrong_and_sure(self) -> bool:
        return self.verdict == "wrong" and self.confidence >= SURE


def said(case: Case) -> Said:
    dice = case.dice()
    changed = case.changed(run(case.run), case.size, dice)
    late = rank_oracle.truth(changed).late if case.right.rank else None
    now = account(case.recorded(changed, dice))
    baseline = None if case.baseline is None else _baseline(case.baseline, case.recording)
    found = diagnose(now, baseline)
    bottleneck = None if found.bottleneck is None else found.bottleneck.value
    named = now.facts.number(facts.SLOWEST_RANK) if bottleneck == "Straggler" else None
    words = f"{bottleneck}/{found.cause}" + ("" if named is None else f", rank {named:.0f}")
    return Said(case, words, found.confidence, _judged(case, bottleneck, found.cause, found.confidence, named == late))


def _judged(case: Case, bottleneck: str | None, cause: str | None, confidence: float, rank: bool) -> str:
    right = case.right
    if bottleneck == "Inconclusive":
        return "right" if right.doubted else "abstained"
    if right.doubted:
        return "right" if confidence <= DOUBTED and cause in (None, "ExposedCollectives") else "wrong"
    fits = bottleneck == right.bottleneck and (cause is None or cause in right.causes)
    if fits and (rank or not right.rank):
        return "right"
    unsure = bottleneck is None and confidence <= DOUBTED
    return "abstained" if unsure else "wrong"


@lru_cache(maxsize=4)
def _baseline(name: str, recording: str) -> StepAccount:
    case = Case(name, None, "nothing", 0, recording if recording in BOTH else "whole", NOTHING)
    return account(case.recorded(run(name), case.dice()))


def account(ranks: Sequence[Document]) -> StepAccount:
    with tempfile.TemporaryDirectory(prefix="mfu-real-") as folder:
        return profile([raw.write(ranks, Path(folder) / "ranks")])
