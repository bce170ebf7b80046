"""Where a step's time went, in integer nanoseconds. The twelve parts sum to the step."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mfu_operator.model import facts
from mfu_operator.model.fact import Facts

PARTS = (
    "compute",
    "communication",
    "h2d",
    "d2h",
    "d2d",
    "memset",
    "idleInput",
    "idleSync",
    "idleAlloc",
    "idleHost",
    "idleLaunch",
    "idleUnknown",
)
"""The parts of a step, in the contract's order (schemaVersion 1)."""

ANALYSIS = 6
"""Which analysis makes an account now. It is raised whenever the same trace gives another account: a fact that an
earlier analysis did not look for is absent from its accounts as one that was looked for and not there is."""


@dataclass(frozen=True, slots=True)
class ShapeTotal:
    """The share of a kernel's launches with a grid of `blocks` blocks."""

    blocks: int
    calls: float
    total_ns: float


@dataclass(frozen=True, slots=True)
class KernelTotal:
    """One kernel's share of the mean step. `shapes` split it by grid; empty where grids are unknown or too many."""

    name: str
    category: str
    calls: float
    total_ns: float
    shapes: tuple[ShapeTotal, ...] = ()


@dataclass(frozen=True, slots=True)
class StepAccount:
    """The mean interior step of one device (or of the training thread, accountFrom nvtx).

    parts_ns maps each of PARTS to mean nanoseconds and sums to mean_ns; std_ns is the spread of the step times.
    ranges_ns are the mean nanoseconds of the training thread's own ranges. facts are further observations that a cause
    is told by (facts.py); one that is absent was not observed, which is not zero.
    """

    count: int
    mean_ns: float
    std_ns: float
    parts_ns: Mapping[str, float]
    account_from: str = "gpu"
    gpu: str | None = None
    communication_total_ns: float = 0.0
    tensor_core_ns: Mapping[str, float] = field(default_factory=dict)
    kernels: tuple[KernelTotal, ...] = ()
    ranges_ns: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    facts: Facts = field(default_factory=Facts)

    @property
    def analysis(self) -> float:
        """Which analysis made it; the first ones did not say."""
        made_by = self.facts.number(facts.ANALYSIS)
        return 1.0 if made_by is None else made_by
