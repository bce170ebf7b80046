"""Reads `range_names.tsv`: what ranges and calls mean."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from mfu_operator.model.trace import Flags, Spans
from mfu_operator.trace.columns.distinct import used
from mfu_operator.trace.names.patterns import ANY_CASE, NamePattern, compiled

TRANSPARENT = "-"


@dataclass(frozen=True, slots=True)
class NameRule:
    """One line of the table. `example` is a name that it must match."""

    where: str
    meaning: str
    pattern: NamePattern
    example: str


@cache
def rules() -> tuple[NameRule, ...]:
    """The table, in the order in which rules are tried."""
    text = Path(__file__).with_name("range_names.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(
        NameRule(where, meaning, compiled(ANY_CASE + pattern.removeprefix(ANY_CASE)), example)
        for where, meaning, pattern, example in rows
    )


@cache
def _rules_of(where: str) -> tuple[NameRule, ...]:
    return tuple(rule for rule in rules() if rule.where == where)


@cache
def meaning(where: str, name: str) -> str | None:
    """What `name` means among names of `where` (range, cuda, os); None where no rule knows it."""
    for rule in _rules_of(where):
        if rule.pattern.matches(name):
            return None if rule.meaning == TRANSPARENT else rule.meaning
    return None


ANNOTATIONS = re.compile(
    r"^(ProfilerStep|enumerate\(DataLoader\)|Optimizer\.|DistributedDataParallel|(nccl|gloo|ucc|mpi):)"
)


def is_range(name: str) -> bool:
    """Whether an operator's name is really an annotation's, as profilers before PyTorch 1.11 recorded them."""
    return ANNOTATIONS.match(name) is not None


def select(spans: Spans, names: Sequence[str], where: str, *meanings: str) -> Spans:
    """The spans whose name means one of `meanings`."""
    return spans.where(mean(spans, names, where, *meanings)[spans.name])


def mean(spans: Spans, names: Sequence[str], where: str, *meanings: str) -> Flags:
    """For each of `names` whether it means one of `meanings`; not for one that no span has."""
    found = np.zeros(len(names), dtype=np.bool_)
    for index in used(spans.name):
        found[index] = meaning(where, names[index]) in meanings
    return found
