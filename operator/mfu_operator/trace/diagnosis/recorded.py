"""What must have been recorded for a cause to be named: where it is missing, nobody can be sure.

A diagnosis that rests on something that a recording lacks has a confidence of MOST_WITHOUT at most, and its evidence
says what is missing. A cause that only the job's other ranks could rule out is not named at all without them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.fact import Number
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.causes.inputs import in_one_step, peak_sentence
from mfu_operator.trace.diagnosis.growth import FEWEST_STEPS, MUST_BE_SEEN, least_ns, left_out_ns, limit_ns
from mfu_operator.trace.formatting import milliseconds

MOST_WITHOUT = 0.5
"""The confidence of what rests on something that was not recorded."""

SEVERAL_TIMES = (
    "record at least three times as many steps, or the same again: a step that is unlike the others by accident does "
    "not come back"
)
RECORD_ALL = "record every rank, so that waiting can be distinguished from transferring"


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a recording may lack. `missing` says what of it is; None where all is there."""

    name: str
    missing: Callable[[Case], str | None]


def _lacks(fact: Number, words: str) -> Callable[[Case], str | None]:
    """Missing where the fact, which is never zero, was not observed in an account from a device."""
    return lambda case: _unobserved(case, fact, words, [one for one in _accounts(case) if one.account_from != "nvtx"])


def _lacks_anywhere(fact: Number, words: str) -> Callable[[Case], str | None]:
    """Missing where the fact, which is never zero, was not observed in an account, from ranges of the host too."""
    return lambda case: _unobserved(case, fact, words, _accounts(case))


def _accounts(case: Case) -> Sequence[StepAccount]:
    return [case.now] if case.baseline is None else [case.now, case.baseline]


def _unobserved(case: Case, fact: Number, words: str, accounts: Sequence[StepAccount]) -> str | None:
    lacking = next((one for one in accounts if not one.facts.number(fact)), None)
    if lacking is None:
        return None
    whose = "" if lacking is case.now else "the baseline's "
    return f"{whose}{words} not recorded"


def _ranks(case: Case) -> str | None:
    return missing_ranks(case.now) or _uncompared(case)


def missing_ranks(account: StepAccount) -> str | None:
    """Which ranks of the job were not recorded; None where none is known to be missing."""
    world, recorded = (account.facts.number(one) for one in (facts.WORLD_SIZE, facts.RANKS_RECORDED))
    if world is None:
        return _unread(account)
    if world <= (recorded or 1):
        return None
    which = account.facts.word(facts.RANKS_MISSING)
    named = f": {which} {'were' if ',' in which or '-' in which else 'was'} not recorded" if which else ""
    return (
        f"{recorded or 1:.0f} of {world:.0f} ranks recorded{named}, and this does not distinguish transferring from "
        "waiting for one of the others"
    )


def _unread(account: StepAccount) -> str | None:
    unread = account.facts.number(facts.FILES_UNREAD)
    if not unread:
        return None
    files = "1 file" if unread == 1 else f"{unread:.0f} files"
    return (
        f"{files} of the folder could not be read, and this does not distinguish transferring from waiting for theirs"
    )


def _uncompared(case: Case) -> str | None:
    if case.fact(facts.SLOWEST_RANK) is None:
        alone = (case.fact(facts.RANKS_RECORDED) or 1) <= 1
        if alone and case.fact(facts.WORLD_SIZE) == 1:
            return None
        why = "how many ranks the job has was not recorded" if alone else "the ranks could not be compared"
        return f"{why}, and this does not distinguish transferring from waiting for one of them"
    if case.baseline is not None and case.before(facts.RANK_SKEW_NS) is None:
        return "the baseline's ranks were not compared, so that waiting for one of them may be no more than before"
    return None


def _ranks_alone(case: Case) -> str | None:
    return _ranks(case) if case.baseline is None else None


RANKS = Need("every rank", _ranks)
RECORDED = Need("every rank's file", lambda case: missing_ranks(case.now))
"""For a rank that is late and in nothing slower: it may wait itself for one that was not recorded."""

RANKS_ALONE = Need("every rank, without a baseline", _ranks_alone)
HOST_OR_INPUT = Need(
    "input ranges",
    _lacks(facts.INPUT_RANGE_NS, "ranges around the input, which tell loading from other host work, were"),
)
"""For host work without a cause: a loader in the training thread looks like it."""

LAUNCHES = Need("launch calls", _lacks(facts.LAUNCH_CALLS, "launch calls were"))
GRIDS = Need("launch grids", _lacks(facts.GRID_BLOCKS, "launch grids were"))
INPUT_RANGES = Need("input ranges", _lacks(facts.INPUT_RANGE_NS, "ranges around the input were"))
BYTES = Need("bytes of copies", _lacks(facts.H2D_BYTES, "the bytes of copies were"))
MESSAGES = Need("message sizes", _lacks_anywhere(facts.MESSAGE_BYTES, "sizes of messages were"))


def _workers(case: Case) -> str | None:
    seen = (facts.LOAD_NETWORK_NS, facts.LOAD_FILE_NS, facts.LOAD_OWN_NS)
    if case.fact(facts.LOADER_THREADS) and any(case.fact(one) is not None for one in seen):
        return None
    return "what the loader's workers do was not recorded: any loader that is too slow delivers in bursts"


def _starts(case: Case) -> str | None:
    if case.more(facts.WORKER_STARTS) > 0:
        return None
    return f"{peak_sentence(case)}, and no start of workers was seen: it may be one slow batch, or the first of several"


def _other_loaders(case: Case) -> str | None:
    inline = case.now.facts.word(facts.LOADER) == "inline"
    if inline or case.fact(facts.INPUT_RANGE_NS) is None:
        return None
    if case.fact(facts.LOADER_THREADS) and case.fact(facts.LOAD_OWN_NS) is not None:
        return None
    return (
        "what the loaders' workers do was not recorded: where those of all ranks are as slow, the others wait for the "
        "last of them"
    )


def _indistinct(case: Case) -> str | None:
    """Steps that are so few, or vary so much, that growth which must be seen would not have shown."""
    now, baseline = case.now, case.baseline
    if baseline is None:
        return None
    limit, grown = limit_ns(now, baseline), now.mean_ns - baseline.mean_ns
    if grown <= least_ns(now, baseline) and limit <= MUST_BE_SEEN * baseline.mean_ns:
        return None
    spreads = f"{milliseconds(now.std_ns)} now and {milliseconds(baseline.std_ns)} in the baseline"
    few = min(now.count, baseline.count)
    of = f"; {few} step{' is' if few == 1 else 's are'} in the mean" if few < FEWEST_STEPS else ""
    hidden = f"growth of less than {limit / baseline.mean_ns:.0%} would not show, more of them would tell"
    return f"uneven steps, which vary by {spreads}{of}: {hidden}"


def _first_before(case: Case) -> str | None:
    if case.baseline is None or not case.baseline.facts.number(facts.FIRST_ITERATION):
        return None
    return "the baseline's steps include the run's first iteration, whose start-up hides growth"


def _left_out(case: Case) -> str | None:
    """What steps that are left out of the mean add; no matter where it is less than what is worth a word."""
    now, baseline = case.now, case.baseline
    added = 0.0 if baseline is None else left_out_ns(now, baseline)
    if baseline is None or added <= 0 or added + now.mean_ns - baseline.mean_ns <= least_ns(now, baseline):
        return None
    return f"steps that are left out of the mean, because they are unlike it, add {milliseconds(added)} per step"


def _mostly_left_out(case: Case) -> str | None:
    if case.baseline is None or left_out_ns(case.now, case.baseline) <= case.now.mean_ns - case.baseline.mean_ns:
        return None
    return _left_out(case)


def _apart(case: Case) -> str | None:
    """One rank's steps are as long as the job's where the ranks meet in them; otherwise the others may be slow."""
    missing = None if case.baseline is None else missing_ranks(case.now)
    if missing is None or case.fact(facts.COMMUNICATION_CALLS) or case.fact(facts.HOST_COLLECTIVE_NS):
        return None
    return f"{missing.partition(', and ')[0]}, and nothing recorded says that this one waits for them"


def _in_turns(case: Case) -> str | None:
    """Ranks that starve in turns: where their loaders were not recorded, it may be the one that is waited for most."""
    rank = case.fact(facts.SLOWEST_RANK)
    if facts.RANKS_IN_TURNS not in case.now.facts or case.fact(facts.LOAD_OWN_NS) is not None or rank is None:
        return None
    return f"what the loaders' workers do was not recorded: that of rank {rank:.0f}, which starves most, may be slower"


LOADERS = Need("the loaders' workers of every rank", _other_loaders)


def _three(case: Case) -> str | None:
    """A third wait at the same distance: two have one distance, whatever it is."""
    if case.now.count > 2 * (case.fact(facts.INPUT_PERIOD) or 0.0):
        return None
    return "only two such waits were recorded: a third would tell bursts from two slow batches"


TURNS = Need("the loaders' workers, where ranks starve in turns", _in_turns)
WORKERS = Need("the loader's workers", _workers)
THREE = Need("three waits", _three)
STARTS = Need("starts of workers", _starts)

NOTHING_GREW: Sequence[Need] = (
    Need("enough steps, alike", _indistinct),
    Need("every step in the mean", _left_out),
    Need("a baseline after its start-up", _first_before),
    Need("every rank, or collectives in which they meet", _apart),
)
"""What must have been recorded for "nothing grew" to be sure."""

GREW: Sequence[Need] = (Need("most of what was lost in the mean", _mostly_left_out),)
"""What must have been recorded for any bottleneck, with a baseline."""

NEEDS: Mapping[str, Sequence[Need]] = {
    "DataLoaderWorkers": (INPUT_RANGES,),
    "WorkerRestart": (INPUT_RANGES, STARTS),
    "PrefetchBursts": (INPUT_RANGES, WORKERS, THREE),
    "SlowStorage": (INPUT_RANGES,),
    "CpuTransform": (INPUT_RANGES,),
    "LostOverlap": (),
    "SmallMessages": (MESSAGES,),
    "SlowLink": (RANKS,),
    "ExposedCollectives": (RANKS_ALONE,),
    "HostCollectives": (RANKS, LAUNCHES),
    "PrecisionLost": (),
    "AttentionFallback": (),
    "Recompute": (),
    "ShapeChanged": (GRIDS,),
    "Unfused": (),
    "NewKernel": (),
    "Throttled": (GRIDS,),
    "Recompilation": (LAUNCHES,),
    "DebugInstrumentation": (LAUNCHES,),
    "Allocator": (LAUNCHES,),
    "Synchronisation": (LAUNCHES,),
    "LaunchOverhead": (LAUNCHES,),
    "ThreadOversubscription": (LAUNCHES,),
    "PythonOverhead": (LAUNCHES,),
    "PageableCopies": (),
    "Offload": (BYTES,),
    "ExtraCopies": (),
    "LinkDegraded": (BYTES,),
    "SlowCompute": (),
    "SlowInput": (INPUT_RANGES, LOADERS),
    "SlowCopies": (),
    "SlowHost": (LAUNCHES,),
}
"""Cause → what must have been recorded, beside the kernels and copies of the device, which every account holds."""

ONLY_OTHERS_RULE_OUT = ("SlowLink", "HostCollectives")
"""Causes that the waiting for a rank that was not recorded looks like."""


ONLY_WORKERS_TELL = ("PrefetchBursts",)
"""Causes that any loader which is too slow throughout looks like: its workers deliver together."""

SEEN_ON_EVERY_RANK = ("DataLoaderWorkers", "WorkerRestart")
"""Causes that the number of workers, or their start, tells, whatever the workers do."""

MORE_STEPS = (
    "record at least three times as many steps as the loader has workers, with nsys --trace=cuda,nvtx,osrt "
    "--trace-fork-before-exec=true, or torch.profiler's with_stack=True"
)


def bounded(found: Diagnosis, case: Case) -> Diagnosis:
    """The diagnosis with the confidence that what was recorded allows."""
    if found.bottleneck is Bottleneck.INCONCLUSIVE:
        return found
    if found.bottleneck is None:
        needs: Sequence[Need] = NOTHING_GREW
    elif found.bottleneck is Bottleneck.COMMS_BOUND and found.cause is None:
        needs = (RANKS,) if _longer(case) else ()
    elif found.bottleneck is Bottleneck.STRAGGLER and found.cause is None:
        needs = (RECORDED,)
    elif found.bottleneck is Bottleneck.HOST_BOUND and found.cause is None:
        needs = (HOST_OR_INPUT,)
    else:
        needs = NEEDS.get(found.cause or "", ())
    if found.bottleneck is Bottleneck.INPUT_STARVED and found.cause not in SEEN_ON_EVERY_RANK:
        needs = (*needs, TURNS)
    event = found.bottleneck is Bottleneck.INPUT_STARVED and in_one_step(case)
    event = event and case.fact(facts.INPUT_PERIOD) is None
    if event:
        needs = (*needs, STARTS)
    if found.bottleneck is not None:
        needs = (*needs, *GREW)
    missing = tuple(said for need in dict.fromkeys(needs) if (said := need.missing(case)) is not None)
    if not missing:
        return found
    doubted = replace(
        found,
        confidence=min(found.confidence, MOST_WITHOUT),
        evidence=(*found.evidence, *missing),
        advice=_advice(found),
    )
    if found.cause in ONLY_OTHERS_RULE_OUT and missing_ranks(case.now) is not None:
        return replace(doubted, cause=None, advice=(RECORD_ALL,))
    untold = found.cause in ONLY_WORKERS_TELL and WORKERS.missing(case) is not None
    untold = untold or (event and found.cause is None)
    return replace(doubted, cause=None, advice=(MORE_STEPS,)) if untold else doubted


def _advice(found: Diagnosis) -> tuple[str, ...]:
    first = (RECORD_ALL,) if found.bottleneck is Bottleneck.COMMS_BOUND else ()
    return tuple(dict.fromkeys((*first, *found.advice)))


def _longer(case: Case) -> bool:
    """Whether collectives take longer, as they do where a rank is waited for; without a baseline nobody knows."""
    return case.baseline is None or case.now.communication_total_ns > case.baseline.communication_total_ns
