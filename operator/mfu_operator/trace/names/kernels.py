"""Reads `kernels.tsv`: what a kernel does, and whether it used tensor cores."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mfu_operator.model.account import PARTS
from mfu_operator.trace.names.patterns import NamePattern, compiled

OTHER = "other"
UNKNOWN = "unknown"
USED = "used"
TELLING = 200
"""Characters of a name that are looked at: no real one of kilobytes of template arguments is told by its tail."""

ELIGIBLE_CATEGORIES = frozenset({"gemm", "attention", "convolution"})
"""Work that tensor cores exist for."""


@dataclass(frozen=True, slots=True)
class KernelRule:
    """One line of the table. `example` is a name that it must match first."""

    column: str
    verdict: str
    pattern: NamePattern
    example: str


@cache
def rules() -> tuple[KernelRule, ...]:
    """The table, in the order in which rules are tried."""
    text = Path(__file__).with_name("kernels.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(KernelRule(column, verdict, compiled(pattern), example) for column, verdict, pattern, example in rows)


@cache
def _column(column: str) -> tuple[KernelRule, ...]:
    return tuple(rule for rule in rules() if rule.column == column)


def rule_for(column: str, name: str) -> KernelRule | None:
    """The first rule of `column` (category, tensor, format) that matches."""
    told = name[:TELLING]
    return next((rule for rule in _column(column) if rule.pattern.matches(told)), None)


@cache
def category(name: str) -> str:
    """The kernel's category, `other` where no rule knows it."""
    rule = rule_for("category", name)
    return rule.verdict if rule else OTHER


@cache
def tensor_core(name: str) -> str:
    """`used`, `not used` or `unknown`. A kernel of another category than those that can use them is `not used`."""
    rule = rule_for("tensor", name)
    return rule.verdict if rule else UNKNOWN


@cache
def number_format(name: str) -> str:
    """What a matrix kernel reads: `fp8`, `half` (16 bits), `tf32`, `single`, or `unknown`."""
    rule = rule_for("format", name)
    return rule.verdict if rule else UNKNOWN


def part_of(name: str) -> int:
    """The part of the account that the kernel belongs to, as an index into PARTS."""
    return PARTS.index("communication" if category(name) == "communication" else "compute")
