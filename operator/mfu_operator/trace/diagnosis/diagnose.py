"""StepAccount → Diagnosis: one bottleneck, its cause, and the numbers behind both.

With a baseline the bottleneck is what grew, not what is large. It works from compact accounts alone, so that the
operator never needs a trace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mfu_operator.model import facts
from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.fact import Number
from mfu_operator.trace.diagnosis import abstain, causes, comparable, recorded
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.growth import GROUPS, MUST_BE_SEEN, groups_ns, least_ns, left_out_ns, limit_ns
from mfu_operator.trace.diagnosis.opportunities import Opportunity, one_of_several, opportunities, whole
from mfu_operator.trace.formatting import milliseconds

WORDS: Mapping[Bottleneck, str] = {
    Bottleneck.INPUT_STARVED: "input wait",
    Bottleneck.COMMS_BOUND: "exposed communication",
    Bottleneck.KERNEL_BOUND: "compute",
    Bottleneck.HOST_BOUND: "host work and launches with an idle device",
    Bottleneck.COPY_BOUND: "copies that nothing overlaps",
    Bottleneck.STRAGGLER: "waiting for a slow rank",
}

MOST_UNKNOWN = 1 / 3
"""A diagnosis that rests on more unknown time than this is none."""

MUCH_SKEW = 0.1
"""Of the step: ranks that wait longer than this for one of them wait for a straggler."""

LARGE = 0.1
"""Of the step: without a baseline, what takes more than this is said, though another takes most."""

STANDS_OUT = 1.5
"""Times the second largest opportunity: a first one below that is not named alone."""

MOST_TOLD = 3
"""Opportunities whose evidence and remedy a diagnosis without a baseline carries."""

IDLE: Mapping[str, str] = {
    "idleInput": "input",
    "idleSync": "synchronisations",
    "idleAlloc": "calls that allocate or free memory",
    "idleHost": "other work of the host",
    "idleLaunch": "launches to become kernels",
}

MARK_STEPS = f"mark each step with an NVTX range named step, and record at least five: {abstain.AFTER_WARM_UP}"


def diagnose(now: StepAccount, baseline: StepAccount | None = None) -> Diagnosis:
    """What made the step slower than the baseline's; without a baseline, what its time goes to."""
    if now.mean_ns <= 0:
        return _inconclusive("the account holds no time", "record at least five whole steps")
    refused = abstain.refusal(now, baseline)
    if refused is not None:
        return _inconclusive(refused.why, refused.advice)
    found = _absolute(now) if baseline is None else _compared(now, baseline)
    found = recorded.bounded(found, Case(now, baseline))
    withdrawn = abstain.withdrawn(found.bottleneck, now, baseline)
    return found if withdrawn is None else _inconclusive(withdrawn.why, withdrawn.advice)


def _compared(now: StepAccount, baseline: StepAccount) -> Diagnosis:
    problems = comparable.differences(now, baseline)
    if problems:
        return Diagnosis(
            Bottleneck.INCONCLUSIVE,
            None,
            0.0,
            problems,
            advice=("record both under the same conditions: GPU, world size, batch, profiler settings",),
            runbook=_runbook(Bottleneck.INCONCLUSIVE),
            comparable=False,
            not_comparable_because=problems,
        )
    return _differential(now, baseline)


def _differential(now: StepAccount, baseline: StepAccount) -> Diagnosis:
    delta = {part: now.parts_ns.get(part, 0.0) - baseline.parts_ns.get(part, 0.0) for part in PARTS}
    growth = now.mean_ns - baseline.mean_ns
    summary = _steps_sentence(now, baseline)
    groups, limit = groups_ns(now, baseline), limit_ns(now, baseline)
    if growth <= limit:
        return _unchanged(Case(now, baseline), summary, delta)
    grown = sum(value for value in groups.values() if value > 0) + max(0.0, delta["idleUnknown"])
    if delta["idleUnknown"] > MOST_UNKNOWN * grown:
        return _unknown(now, delta, f"{milliseconds(delta['idleUnknown'])} of the growth cannot be explained")
    bottleneck = max(groups, key=lambda one: groups[one])
    case = Case(now, baseline)
    said = () if bottleneck is Bottleneck.STRAGGLER else (_part_sentence(bottleneck, now, baseline),)
    evidence = (summary, *said, *_lesser(groups, bottleneck, limit, now))
    certainty = (groups[bottleneck] / grown) * (growth / (growth + limit))
    return _with_cause(case, bottleneck, evidence, certainty, delta)


def _unchanged(case: Case, summary: str, delta: Mapping[str, float]) -> Diagnosis:
    """Nothing grew; inconclusive where the recording as a whole did, by steps that are not in the mean."""
    now, baseline = case.now, case.baseline
    assert baseline is not None
    growth, left_out, limit = now.mean_ns - baseline.mean_ns, left_out_ns(now, baseline), limit_ns(now, baseline)
    if left_out > 0 and growth + left_out > max(limit, MUST_BE_SEEN * baseline.mean_ns):
        why = (
            f"uneven steps: those that are left out of the mean add {milliseconds(left_out)} per step "
            f"({left_out / baseline.mean_ns:.1%}), and the others did not grow: one recording does not tell whether "
            "such steps come back"
        )
        found = _inconclusive(why, recorded.SEVERAL_TIMES)
        return replace(found, evidence=(summary, why), delta_ns=delta)
    least = least_ns(now, baseline)
    said = (summary, f"less than the {milliseconds(limit)} that counts")
    return Diagnosis(None, None, round(least / (least + max(0.0, growth)), 2), said, delta_ns=delta)


def _absolute(now: StepAccount) -> Diagnosis:
    unknown = now.parts_ns.get("idleUnknown", 0.0)
    groups = groups_ns(now, None)
    if unknown > MOST_UNKNOWN * max(now.mean_ns - groups[Bottleneck.KERNEL_BOUND], 1.0) and unknown > 0.1 * now.mean_ns:
        return _unknown(now, {}, f"{milliseconds(unknown)} of {milliseconds(now.mean_ns)} cannot be explained")
    if groups.get(Bottleneck.STRAGGLER, 0.0) > MUCH_SKEW * now.mean_ns:
        return _straggler_alone(now, groups[Bottleneck.STRAGGLER] / now.mean_ns)
    groups.pop(Bottleneck.STRAGGLER, None)
    bottleneck = max(groups, key=lambda one: groups[one])
    if bottleneck is Bottleneck.HOST_BOUND and now.account_from == "nvtx":
        return _inconclusive(
            f"no device activity was recorded, and {_part_sentence(bottleneck, now, None)}",
            f"record the device: {abstain.RECORD}; on a machine without one, a range around each part of the step",
        )
    return _of_opportunities(now, groups, bottleneck)


def _straggler_alone(now: StepAccount, share: float) -> Diagnosis:
    """A slow rank without a baseline: no surer than its part of it and the largest other opportunity together."""
    found = opportunities(now)
    others = [one for one in _worth(found) if one.bottleneck is not Bottleneck.STRAGGLER]
    waited = sum(one.ns for one in found if one.bottleneck is Bottleneck.STRAGGLER)
    certainty = 0.5 + share
    if others and waited:
        certainty = min(certainty, waited / (waited + others[0].ns))
    said = _with_cause(Case(now, None), Bottleneck.STRAGGLER, _told(found), certainty, {})
    return replace(said, advice=(*said.advice, *(one.remedy for one in others)))


def _of_opportunities(now: StepAccount, groups: Mapping[Bottleneck, float], largest: Bottleneck) -> Diagnosis:
    """The first opportunity where it stands out; never without the second."""
    found = opportunities(now)
    compute = (_part_sentence(Bottleneck.KERNEL_BOUND, now, None),) if groups[Bottleneck.KERNEL_BOUND] else ()
    worth, told = _worth(found), _told(found)
    evidence = (*told, *compute, *_beside(now))
    if found and found[0].share > LARGE and (len(found) == 1 or found[0].ns >= STANDS_OUT * found[1].ns):
        return _first(now, worth, evidence)
    remedies = tuple(one.remedy for one in worth)
    if now.facts.number(facts.WHOLE_STEPS) == 0:
        said = tuple(dict.fromkeys((*_began(now), *evidence, *_exposed(now), *_idle(now))))
        return Diagnosis(None, None, 0.5, said, advice=(MARK_STEPS, *remedies))
    if largest is Bottleneck.KERNEL_BOUND and (not found or found[0].share <= LARGE):
        certainty = groups[largest] / now.mean_ns
        if _beside(now):
            certainty = min(certainty, recorded.MOST_WITHOUT)
        return _with_cause(Case(now, None), largest, (*compute, *told, *_beside(now)), certainty, {})
    why = "no single part stands out" if found else "nothing was found that a known remedy addresses"
    return Diagnosis(None, None, 0.5, (why, *evidence), advice=remedies)


def _worth(found: Sequence[Opportunity]) -> tuple[Opportunity, ...]:
    """The first two, and a third where it is large."""
    return tuple(one for index, one in enumerate(found[:MOST_TOLD]) if index < 2 or one.share >= LARGE)


def _told(found: Sequence[Opportunity]) -> tuple[str, ...]:
    return tuple(said for one in _worth(found) for said in one.evidence)


def _idle(now: StepAccount) -> tuple[str, ...]:
    """For what the device idles in a window that is not a step: there it is not a cause."""
    return tuple(
        f"the device idles {milliseconds(now.parts_ns[part])} {whole(now)} for {word}"
        for part, word in IDLE.items()
        if now.parts_ns.get(part, 0.0) > LARGE * now.mean_ns
    )


def _exposed(now: StepAccount) -> tuple[str, ...]:
    """Communication in a window that is not a step: what it could overlap with is not known."""
    large = now.parts_ns.get("communication", 0.0) > LARGE * now.mean_ns
    return (_part_sentence(Bottleneck.COMMS_BOUND, now, None),) if large else ()


def _first(now: StepAccount, found: Sequence[Opportunity], evidence: tuple[str, ...]) -> Diagnosis:
    first, second = found[0], found[1].ns if len(found) > 1 else 0.0
    certainty = min(first.ns / (first.ns + second), 0.5 + first.share)
    if first.bottleneck is Bottleneck.COMMS_BOUND and one_of_several(now):
        certainty = min(certainty, 0.5)
    return Diagnosis(
        first.bottleneck,
        first.cause if first.specific else None,
        round(min(0.99, certainty if first.specific else 0.8 * certainty), 2),
        evidence,
        advice=tuple(one.remedy for one in found),
        runbook=_runbook(first.bottleneck),
    )


def _began(now: StepAccount) -> tuple[str, ...]:
    """That a span which is not a step begins with what no loop does."""
    before = _fact(now, facts.STARTUP_NS)
    if before <= LARGE * now.mean_ns:
        return ()
    return (f"start-up: {milliseconds(before)} from the first recorded call to the first matrix kernel",)


def _beside(now: StepAccount) -> tuple[str, ...]:
    """Where ranges of one thread make the account: what others of the host communicate meanwhile."""
    beside = _fact(now, facts.HOST_COLLECTIVE_NS)
    if now.account_from != "nvtx" or beside <= LARGE * now.mean_ns:
        return ()
    said = f"collectives of the host run {milliseconds(beside)} of {milliseconds(now.mean_ns)} per step beside that"
    return (f"{said}: ranges do not tell what of it is waited for",)


def _fact(account: StepAccount | None, fact: Number) -> float:
    return 0.0 if account is None else account.facts.number(fact) or 0.0


def _with_cause(
    case: Case, bottleneck: Bottleneck, evidence: Sequence[str], certainty: float, delta: Mapping[str, float]
) -> Diagnosis:
    found = causes.find(case, bottleneck)
    return Diagnosis(
        bottleneck if found is None else found.cause.bottleneck,
        None if found is None else found.cause.name,
        round(min(0.99, certainty if found else 0.8 * certainty), 2),
        (*evidence, *(found.evidence if found else ())),
        advice=found.cause.advice if found else _general_advice(case, bottleneck),
        runbook=_runbook(bottleneck if found is None else found.cause.bottleneck),
        delta_ns=dict(delta),
    )


def _general_advice(case: Case, bottleneck: Bottleneck) -> tuple[str, ...]:
    if bottleneck is Bottleneck.KERNEL_BOUND and case.baseline is None:
        return ("hold it against a healthy run (--baseline): what is large is not what is wrong",)
    return GENERAL_ADVICE[bottleneck]


GENERAL_ADVICE: Mapping[Bottleneck, tuple[str, ...]] = {
    Bottleneck.INPUT_STARVED: ("record with nsys --trace=cuda,nvtx,osrt to see what the loader waits for",),
    Bottleneck.COMMS_BOUND: (recorded.RECORD_ALL,),
    Bottleneck.KERNEL_BOUND: ("compare the kernels by name: see the difference's table",),
    Bottleneck.HOST_BOUND: ("mark the loop's parts (NVTX, record_function) to see in which one the host is busy",),
    Bottleneck.STRAGGLER: ("look at the slowest rank's own trace and node",),
    Bottleneck.COPY_BOUND: ("look for copies that could be asynchronous, pinned or avoided",),
}


UNKNOWN_BECAUSE: Mapping[Number, tuple[str, str]] = {
    facts.GRAPH_NS: (
        "kernels hide in CUDA graphs",
        f"record again with {abstain.RECORD} --cuda-graph-trace=node",
    ),
}
"""A fact that explains unknown time → (the reason, what to record instead)."""

NO_LAUNCHES = (
    "launch calls are missing for the operations after the gaps",
    f"record again with {abstain.RECORD}",
)


def _unknown(now: StepAccount, delta: Mapping[str, float], why: str) -> Diagnosis:
    reason, advice = next((said for fact, said in UNKNOWN_BECAUSE.items() if now.facts.number(fact)), NO_LAUNCHES)
    found = _inconclusive(f"{why}: {reason}", advice)
    return Diagnosis(found.bottleneck, None, 0.0, found.evidence, found.advice, found.runbook, delta_ns=dict(delta))


def _inconclusive(why: str, advice: str) -> Diagnosis:
    return Diagnosis(
        Bottleneck.INCONCLUSIVE, None, 0.0, (why,), advice=(advice,), runbook=_runbook(Bottleneck.INCONCLUSIVE)
    )


def _steps_sentence(now: StepAccount, baseline: StepAccount) -> str:
    growth = now.mean_ns - baseline.mean_ns
    sign = "+" if growth >= 0 else "−"
    return (
        f"step {milliseconds(now.mean_ns)}, baseline {milliseconds(baseline.mean_ns)} "
        f"({sign}{milliseconds(abs(growth))}, {growth / baseline.mean_ns:+.1%})"
    )


def _part_sentence(bottleneck: Bottleneck, now: StepAccount, baseline: StepAccount | None) -> str:
    parts = GROUPS[bottleneck]
    said = f"{_word(bottleneck, now)} {_of_step(parts, now)} {whole(now)}"
    return said if baseline is None else f"{said}, baseline {_of_step(parts, baseline)}"


def _word(bottleneck: Bottleneck, account: StepAccount) -> str:
    """Ranges of the host tell of no device, so that none can be said to idle."""
    unexplained = bottleneck is Bottleneck.HOST_BOUND and account.account_from == "nvtx"
    return "host time that no range explains" if unexplained else WORDS[bottleneck]


def _of_step(parts: tuple[str, ...], account: StepAccount) -> str:
    part = sum(account.parts_ns.get(one, 0.0) for one in parts)
    return f"{milliseconds(part)} of {milliseconds(account.mean_ns)}"


def _lesser(groups: Mapping[Bottleneck, float], chosen: Bottleneck, limit: float, now: StepAccount) -> tuple[str, ...]:
    """The other groups that changed by more than the limit: a reader will ask."""
    others = ((one, value) for one, value in groups.items() if one is not chosen and abs(value) > limit)
    return tuple(f"{_word(one, now)} {'+' if value > 0 else '−'}{milliseconds(abs(value))}" for one, value in others)


def _share(part: float, account: StepAccount) -> str:
    return f"{part / account.mean_ns:.1%}"


def _runbook(bottleneck: Bottleneck) -> str:
    words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in bottleneck.value).lstrip("-")
    return f"runbooks/{words}.md"
