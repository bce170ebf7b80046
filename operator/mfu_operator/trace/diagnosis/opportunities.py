"""Without a baseline: what of the mean step a known remedy addresses, in milliseconds, the largest first.

Nothing here says what is wrong: only what there is to gain, and how. A window that is not a step (`span`) offers
nothing that presumes a loop.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.fact import Number
from mfu_operator.trace.diagnosis import causes
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.formatting import milliseconds

LEAST = 0.01
"""Of the step: what takes less is not worth a line."""

FASTER = 2.0
"""Times: what tensor cores make of matrix kernels at the least. What may be gained is the rest of their time."""

BETWEEN_LAUNCHES_NS = 100_000
"""A device that idles for longer per kernel does not wait for launches but for other work of the host."""

NO_TENSOR_CORES = re.compile(r"(?i)\b(GP100|[PKM]\d{1,3}|GTX|Titan (X|Xp)|MI(25|50|60)|T1\d00)\b")
"""GPUs that have none, by their names."""

WHEN_UNEVEN = 0.05
"""Of the step: ranks that wait longer for another are worth a look at that one."""


@dataclass(frozen=True, slots=True)
class Opportunity:
    """What may be gained of each step, at most; `specific`: its cause is one, rather than a name of the part."""

    cause: str
    bottleneck: Bottleneck
    ns: float
    share: float
    evidence: tuple[str, ...]
    remedy: str
    specific: bool


@dataclass(frozen=True, slots=True)
class _Gain:
    """`measure` says how much, in ns, and why; `of_a_loop`: it means nothing in a span."""

    cause: str
    bottleneck: Bottleneck
    measure: Callable[[StepAccount], tuple[float, str]]
    remedy: str
    of_a_loop: bool
    specific: bool = True


def opportunities(account: StepAccount) -> tuple[Opportunity, ...]:
    """Everything worth a line, the largest first."""
    looped = account.facts.number(facts.WHOLE_STEPS) != 0
    found = [_of(one, account) for one in GAINS if looped or not one.of_a_loop]
    return tuple(sorted((one for one in found if one.share >= LEAST), key=lambda one: -one.ns))


def _of(gain: _Gain, account: StepAccount) -> Opportunity:
    ns, said = gain.measure(account)
    share = ns / account.mean_ns if account.mean_ns else 0.0
    proven = None if gain.specific else _proven(account, gain.bottleneck)
    cause = gain.cause if proven is None else proven.cause.name
    evidence = (said,) if proven is None else (said, *proven.evidence)
    return Opportunity(cause, gain.bottleneck, ns, share, evidence, gain.remedy, gain.specific or proven is not None)


def _proven(account: StepAccount, bottleneck: Bottleneck) -> causes.Found | None:
    """The cause that the account proves by itself, where its remedies are for this bottleneck."""
    found = causes.find(Case(account, None), bottleneck)
    if found is None or found.cause.bottleneck is not bottleneck or found.cause.name in {one.cause for one in GAINS}:
        return None
    return found


def _part(account: StepAccount, *parts: str) -> float:
    return sum(account.parts_ns.get(part, 0.0) for part in parts)


def _fact(account: StepAccount, fact: Number) -> float:
    return account.facts.number(fact) or 0.0


def whole(account: StepAccount) -> str:
    """What the account is of, in words."""
    return "of the recorded span" if account.facts.number(facts.WHOLE_STEPS) == 0 else "per step"


def _input(account: StepAccount) -> tuple[float, str]:
    waited = _part(account, "idleInput")
    return waited, f"input wait {milliseconds(waited)} of {milliseconds(account.mean_ns)} {whole(account)}"


def _uneven(account: StepAccount) -> tuple[float, str]:
    rank = account.facts.number(facts.SLOWEST_RANK)
    waited = min(_fact(account, facts.RANK_WAIT_NS), _part(account, "communication"))
    if rank is None or waited < WHEN_UNEVEN * account.mean_ns:
        return 0.0, ""
    return waited, f"ranks wait {milliseconds(waited)} {whole(account)} in the mean for rank {rank:.0f}"


def _communication(account: StepAccount) -> tuple[float, str]:
    exposed, total = _part(account, "communication"), account.communication_total_ns
    if not _part(account, "compute"):
        return 0.0, ""
    said = f"{milliseconds(exposed)} of {milliseconds(total)} of communication {whole(account)} are exposed"
    ranks = _fact(account, facts.WORLD_SIZE)
    if one_of_several(account):
        said += f"; what of it is waiting for one of the {ranks:.0f} ranks, this does not tell"
    return max(0.0, exposed - _uneven(account)[0]), said


def one_of_several(account: StepAccount) -> bool:
    """Whether the job has ranks with which this one could not be compared."""
    return _fact(account, facts.WORLD_SIZE) > 1 and facts.SLOWEST_RANK not in account.facts


def _tensor_cores(account: StepAccount) -> tuple[float, str]:
    tensor = account.tensor_core_ns
    without = tensor.get("eligible", 0.0) - tensor.get("used", 0.0) - tensor.get("unknown", 0.0)
    if without <= 0 or (account.gpu is not None and NO_TENSOR_CORES.search(account.gpu)):
        return 0.0, ""
    gained = min(without, _part(account, "compute")) * (1 - 1 / FASTER)
    said = (
        f"matrix kernels run {milliseconds(tensor.get('used', 0.0))} of {milliseconds(tensor['eligible'])} "
        f"{whole(account)} on tensor cores; the rest, {FASTER:g} times as fast, would take {milliseconds(gained)} less"
    )
    return gained, said


def _tiny(account: StepAccount) -> tuple[float, str]:
    calls, spent = _fact(account, facts.TINY_CALLS), min(_fact(account, facts.TINY_NS), _part(account, "compute"))
    return spent, f"{calls:.4g} kernels of under 10 us take {milliseconds(spent)} {whole(account)}"


def _compiling(account: StepAccount) -> tuple[float, str]:
    spent = min(_fact(account, facts.COMPILE_NS), _part(account, "idleHost"))
    return spent, f"compiling {milliseconds(_fact(account, facts.COMPILE_NS))} {whole(account)}"


def _between(account: StepAccount) -> tuple[float, float]:
    """How long the device idles for the host's other work and launches, and per kernel."""
    idle = _part(account, "idleHost", "idleLaunch") - _compiling(account)[0]
    return (0.0 if account.account_from == "nvtx" else idle), idle / max(_fact(account, facts.KERNEL_CALLS), 1.0)


def _launches(account: StepAccount) -> tuple[float, str]:
    idle, each = _between(account)
    kernels = f"{_fact(account, facts.KERNEL_CALLS):.4g} kernels"
    said = f"between {kernels} the device idles {milliseconds(idle)} {whole(account)}, {each / 1e3:.3g} us each"
    return (idle if each < BETWEEN_LAUNCHES_NS else 0.0), f"{said}: launches keep it waiting"


def _host(account: StepAccount) -> tuple[float, str]:
    idle, each = _between(account)
    said = f"other work of the host keeps the device idle for {milliseconds(idle)} {whole(account)}"
    return (idle if each >= BETWEEN_LAUNCHES_NS else 0.0), said


def _pageable(account: StepAccount) -> tuple[float, str]:
    spent = min(_fact(account, facts.PAGEABLE_NS), _copied(account))
    return spent, f"copies from or to pageable memory {milliseconds(spent)} {whole(account)}, exposed"


def _copied(account: StepAccount) -> float:
    """Exposed copies between host and device that are not those of start-up."""
    return max(0.0, _part(account, "h2d", "d2h") - _fact(account, facts.STARTUP_COPIES_NS))


def _copies(account: StepAccount) -> tuple[float, str]:
    spent = _copied(account) + _part(account, "d2d", "memset") - _pageable(account)[0]
    return spent, f"copies that nothing overlaps {milliseconds(spent)} {whole(account)}"


def _synchronisations(account: StepAccount) -> tuple[float, str]:
    idle, calls = _part(account, "idleSync"), _fact(account, facts.SYNC_CALLS)
    return idle, f"the device idles {milliseconds(idle)} {whole(account)} behind {calls:.4g} blocking synchronisations"


def _allocator(account: StepAccount) -> tuple[float, str]:
    idle, calls = _part(account, "idleAlloc"), _fact(account, facts.ALLOC_CALLS)
    return idle, f"the device idles {milliseconds(idle)} {whole(account)} behind {calls:.4g} allocation calls"


GAINS: Sequence[_Gain] = (
    _Gain(
        "InputWait",
        Bottleneck.INPUT_STARVED,
        _input,
        "load in more workers (DataLoader num_workers, prefetch_factor, persistent_workers=True)",
        of_a_loop=True,
        specific=False,
    ),
    _Gain(
        "UnevenRanks",
        Bottleneck.STRAGGLER,
        _uneven,
        "look at the slowest rank's own trace: its share of the work, its input, its node",
        of_a_loop=False,
    ),
    _Gain(
        "ExposedCollectives",
        Bottleneck.COMMS_BOUND,
        _communication,
        "overlap them with the backward pass (bucket sizes, prefetch), or send less",
        of_a_loop=True,
    ),
    _Gain(
        "TensorCoresUnused",
        Bottleneck.KERNEL_BOUND,
        _tensor_cores,
        "use 16 bits (torch.autocast), or TF32 from Ampere on (torch.set_float32_matmul_precision('high'))",
        of_a_loop=False,
    ),
    _Gain(
        "TinyKernels",
        Bottleneck.KERNEL_BOUND,
        _tiny,
        "fuse them (torch.compile, fused optimizers and layers)",
        of_a_loop=False,
    ),
    _Gain(
        "Recompilation",
        Bottleneck.HOST_BOUND,
        _compiling,
        "make shapes static or mark them dynamic, so that the compiler runs once",
        of_a_loop=True,
    ),
    _Gain(
        "LaunchBound",
        Bottleneck.HOST_BOUND,
        _launches,
        "launch less often (CUDA graphs, torch.compile, larger batches)",
        of_a_loop=True,
        specific=False,
    ),
    _Gain(
        "HostWork",
        Bottleneck.HOST_BOUND,
        _host,
        "mark the loop's parts (NVTX, record_function) to see in which one the host is busy",
        of_a_loop=True,
        specific=False,
    ),
    _Gain(
        "PageableCopies",
        Bottleneck.COPY_BOUND,
        _pageable,
        "pin the batches (pin_memory=True) and copy with non_blocking=True",
        of_a_loop=False,
    ),
    _Gain(
        "ExposedCopies",
        Bottleneck.COPY_BOUND,
        _copies,
        "copy ahead on a stream of its own (non_blocking=True), or keep on the device what is copied again and again",
        of_a_loop=False,
        specific=False,
    ),
    _Gain(
        "Synchronisation",
        Bottleneck.HOST_BOUND,
        _synchronisations,
        "remove .item(), .cpu() and print of tensors from the loop, or log every Nth step",
        of_a_loop=True,
    ),
    _Gain(
        "Allocator",
        Bottleneck.HOST_BOUND,
        _allocator,
        "remove empty_cache() and allocation from the loop; use expandable segments",
        of_a_loop=True,
    ),
)
