"""What of a step grew against the baseline's, and how much of that is more than chance."""

import math
from collections.abc import Mapping

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.fact import Number

GROUPS: Mapping[Bottleneck, tuple[str, ...]] = {
    Bottleneck.INPUT_STARVED: ("idleInput",),
    Bottleneck.COMMS_BOUND: ("communication",),
    Bottleneck.KERNEL_BOUND: ("compute",),
    Bottleneck.HOST_BOUND: ("idleSync", "idleAlloc", "idleHost", "idleLaunch"),
    Bottleneck.COPY_BOUND: ("h2d", "d2h", "d2d", "memset"),
}
"""Every part but idleUnknown, under the bottleneck that it speaks for."""

SPREADS: Mapping[Bottleneck, Number] = {
    Bottleneck.INPUT_STARVED: facts.INPUT_STD_NS,
    Bottleneck.COMMS_BOUND: facts.COMMUNICATION_STD_NS,
    Bottleneck.KERNEL_BOUND: facts.COMPUTE_STD_NS,
    Bottleneck.HOST_BOUND: facts.HOST_STD_NS,
    Bottleneck.COPY_BOUND: facts.COPY_STD_NS,
}
"""The facts that hold the groups' spreads."""

LEAST_GROWTH = 0.025
"""Of the baseline's step. Below 1 % nothing may be blamed, from 5 % on everything must be seen: this is the geometric
middle."""

SIGMAS = 3.0
"""Growth must exceed this many standard errors of the difference of the means (Welch), and more of them the fewer the
steps: 3 · (1 + 3 / f) is Student's 99.87 % quantile for f degrees of freedom within 3 % from f = 8. Two loops that are
the same differ by more once in 700 times."""

MUST_BE_SEEN = 0.05
"""Of the baseline's step: a recording that would not show so much growth does not tell that nothing grew."""

FEWEST_STEPS = 3
LEAST_OF_FEW = 0.1
"""Of the baseline's step, where there are too few steps to know their spread."""

MOST = 0.5
"""Of what the ranks wait for each other: where what grew on all of them cannot explain more, something else does."""


def groups_ns(now: StepAccount, baseline: StepAccount | None) -> dict[Bottleneck, float]:
    """By how much the parts of each bottleneck grew, ns; without a baseline, how large they are.

    Straggler is among them where the ranks were compared.
    """
    groups = _of_parts(now, baseline)
    return groups | _straggling(groups, now, baseline)


def _of_parts(now: StepAccount, baseline: StepAccount | None) -> dict[Bottleneck, float]:
    before = {} if baseline is None else baseline.parts_ns
    return {
        one: sum(now.parts_ns.get(part, 0.0) - before.get(part, 0.0) for part in parts) for one, parts in GROUPS.items()
    }


def _straggling(
    groups: Mapping[Bottleneck, float], now: StepAccount, baseline: StepAccount | None
) -> dict[Bottleneck, float]:
    """Waiting for a slow rank, taken out of communication; what that rank loses counts as the others' wait."""
    if facts.SLOWEST_RANK not in now.facts or (baseline is not None and facts.RANK_SKEW_NS not in baseline.facts):
        return {}
    skew, wait = (_fact(now, name) - _fact(baseline, name) for name in (facts.RANK_SKEW_NS, facts.RANK_WAIT_NS))
    waiting = _where_ranks_wait(now)
    moved = max(0.0, min(wait, groups[waiting]))
    shared = _late_in_turns(groups, now, moved) if baseline is not None else None
    if shared is not None and shared is not waiting:
        return {shared: groups[shared] + moved, waiting: groups[waiting] - moved}
    return {Bottleneck.STRAGGLER: max(skew, wait), waiting: groups[waiting] - moved}


def _late_in_turns(groups: Mapping[Bottleneck, float], now: StepAccount, wait_ns: float) -> Bottleneck | None:
    """What grew on all ranks and makes each of them late in turn; None where one rank is late, or nothing explains it.

    What comes at random to each of n ranks, m per step in the mean, makes all of them wait for the unlucky one: they
    lose at most n · m.
    """
    ranks = now.facts.number(facts.RANKS_RECORDED) or 1.0
    if facts.RANKS_IN_TURNS not in now.facts or wait_ns <= 0:
        return None
    own = {one: grown for one, grown in groups.items() if one is not Bottleneck.COMMS_BOUND}
    largest = max(own, key=lambda one: own[one])
    return largest if own[largest] * (ranks - 1) >= MOST * wait_ns else None


def _where_ranks_wait(now: StepAccount) -> Bottleneck:
    """Where the waiting for another rank stands: in collectives of the device, or around those of the host."""
    if not now.facts.number(facts.HOST_COLLECTIVE_NS) or now.facts.number(facts.COMMUNICATION_CALLS):
        return Bottleneck.COMMS_BOUND
    return Bottleneck.KERNEL_BOUND if now.account_from == "nvtx" else Bottleneck.HOST_BOUND


def limit_ns(now: StepAccount, baseline: StepAccount) -> float:
    """The growth that counts: beyond noise (Welch 1947), and beyond what is worth a word."""
    return min(_limit(now, baseline, groups_ns(now, baseline)), _limit_of_largest(now, baseline))


def left_out_ns(now: StepAccount, baseline: StepAccount) -> float:
    """How much longer a step is, more than in the baseline, with the steps that are left out of the mean."""
    return _fact(now, facts.LEFT_OUT_NS) - _fact(baseline, facts.LEFT_OUT_NS)


def _limit(now: StepAccount, baseline: StepAccount, groups: Mapping[Bottleneck, float]) -> float:
    """That of the whole step.

    Where mostly the input grew, the spread is that of the steps without it: a wait that comes in some steps only is
    the fault itself, not noise. So is what the other ranks wait for one that waits for its input.
    """
    spread = now.std_ns
    late = groups.get(Bottleneck.STRAGGLER, 0.0) if now.facts.word(facts.SLOWEST_IN) == "input" else 0.0
    waited = groups[Bottleneck.INPUT_STARVED] + late
    waited_for = late > 0 or (facts.RANKS_IN_TURNS in now.facts and waited >= max(groups.values()))
    rest = now.facts.number(facts.OWN_STD_NS if waited_for else facts.REST_STD_NS)
    known = max(waited, _fact(now, facts.COMPILE_NS) - _fact(baseline, facts.COMPILE_NS))
    if rest is not None and known > LEAST_GROWTH * baseline.mean_ns:
        spread = min(spread, rest)
    return max(least_ns(now, baseline), _error(now, baseline, spread, baseline.std_ns))


def _limit_of_largest(now: StepAccount, baseline: StepAccount) -> float:
    """That where one group of parts grew beyond its own spread; infinite where none did.

    Steps that vary in one part do not hide the growth of another, which is steady.
    """
    groups = _of_parts(now, baseline)
    largest = max(groups, key=lambda one: groups[one])
    of_now, of_baseline = (one.facts.number(SPREADS[largest]) for one in (now, baseline))
    if min(map(_spread_steps, (now, baseline))) < FEWEST_STEPS or of_now is None or of_baseline is None:
        return math.inf
    least = least_ns(now, baseline)
    return least if groups[largest] > max(least, _error(now, baseline, of_now, of_baseline)) else math.inf


def least_ns(now: StepAccount, baseline: StepAccount) -> float:
    """What growth must exceed to be worth a word, however alike the steps are."""
    few = min(map(_spread_steps, (now, baseline))) < FEWEST_STEPS
    return (LEAST_OF_FEW if few else LEAST_GROWTH) * baseline.mean_ns


def _error(now: StepAccount, baseline: StepAccount, spread: float, of_baseline: float) -> float:
    """What a difference of means must exceed to be more than chance, ns."""
    error = math.sqrt(spread**2 / max(now.count, 1) + of_baseline**2 / max(baseline.count, 1))
    freedom = max(_freedom(now) + _freedom(baseline), 1)
    return SIGMAS * (1 + 3 / freedom) * error


def _spread_steps(account: StepAccount) -> float:
    return account.facts.number(facts.SPREAD_STEPS) or account.count


def _freedom(account: StepAccount) -> float:
    """Degrees of freedom of the spread; one fewer where it is a median deviation, which uses the data less well."""
    few = account.facts.number(facts.SPREAD_STEPS)
    return account.count - 1 if few is None else max(few - 2, 0)


def _fact(account: StepAccount | None, fact: Number) -> float:
    return 0.0 if account is None else account.facts.number(fact) or 0.0
