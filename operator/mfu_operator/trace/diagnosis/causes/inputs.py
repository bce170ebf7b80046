"""Why a step waits for its input.

N workers that started together deliver N batches at once: any loader that is too slow makes the step wait every Nth
time. What the workers are seen to do comes before the rhythm.
"""

import math
from collections.abc import Mapping

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.fact import Number
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.causes.entry import Cause, Evidence

FEW_CALLS = 0.5
"""Calls to a store per step on the training thread, above which it is loading for itself."""

MUCH_OF_INPUT = 0.5
"""Of the input time: what explains more than this explains it."""

SOURCES: Mapping[Number, str] = {
    facts.INPUT_BLOCKED_NS: "training thread, blocked",
    facts.INPUT_NETWORK_NS: "training thread, network",
    facts.INPUT_POLL_NS: "training thread, poll",
    facts.INPUT_FILE_NS: "training thread, files",
    facts.INPUT_OWN_NS: "training thread, own work",
    facts.LOAD_NETWORK_NS: "loader threads, network",
    facts.LOAD_FILE_NS: "loader threads, files",
    facts.LOAD_OWN_NS: "loader threads, own work",
    facts.STORE_NS: "by the names of ranges",
    facts.TRANSFORM_NS: "by the names of ranges",
}
"""Where each of the loader's times is spent, in words."""

OWN_STORE = (facts.INPUT_BLOCKED_NS, facts.INPUT_NETWORK_NS, facts.INPUT_POLL_NS, facts.INPUT_FILE_NS)
WORKERS_STORE = (facts.LOAD_NETWORK_NS, facts.LOAD_FILE_NS, facts.STORE_NS)
COMPUTING = (facts.INPUT_OWN_NS, facts.LOAD_OWN_NS, facts.TRANSFORM_NS)
SAME_STORE = 0.25
"""Of the wait for the store, and of the input's growth: a change by less is none."""

CONCENTRATED = 0.6
"""Of all input time in one step: more than this is an event, not a rate."""


def _inline(case: Case) -> Evidence:
    """The training thread loads its own batches, and did not in the baseline."""
    if _loads_itself(case.now) is not True:
        return ()
    before = None if case.baseline is None else _loads_itself(case.baseline)
    if before is True:
        return ()
    said = [_where(case)]
    if case.fact(facts.INPUT_NETWORK_CALLS):
        said.append(
            case.change("calls to the store by the training thread itself, per step", facts.INPUT_NETWORK_CALLS)
        )
    if case.fact(facts.LOADER_THREADS) is not None and case.before(facts.LOADER_THREADS):
        said.append(case.change("other threads that load", facts.LOADER_THREADS))
    return tuple(said)


def _loads_itself(account: StepAccount) -> bool | None:
    observed = account.facts
    loader = observed.word(facts.LOADER)
    if loader is not None:
        return loader == "inline"
    calls = observed.number(facts.INPUT_NETWORK_CALLS)
    if calls is None:
        return None
    if calls > FEW_CALLS:
        return True
    working = sum(observed.number(one) or 0.0 for one in (facts.INPUT_FILE_NS, facts.INPUT_OWN_NS))
    return calls > 0 and working > MUCH_OF_INPUT * (observed.number(facts.INPUT_RANGE_NS) or math.inf)


def _where(case: Case) -> str:
    if case.baseline is None:
        return "the training thread loads its batches itself: no worker hides the wait"
    return "the training thread loads its batches itself; in the baseline workers did"


def _fewer_workers(case: Case) -> Evidence:
    """Fewer threads do the same loading: where they do more of it, there is more to load, or it is slower."""
    now, before = case.fact(facts.LOADER_THREADS), case.before(facts.LOADER_THREADS)
    if now is None or before is None or not now < before or _loading(case) > MUCH_OF_INPUT * case.growth("idleInput"):
        return ()
    return (case.change("threads that load", facts.LOADER_THREADS),)


def _loading(case: Case) -> float:
    """How much longer the loader's threads load in all, per step."""
    return sum(case.more(name) for name in (facts.LOAD_NETWORK_NS, facts.LOAD_FILE_NS, facts.LOAD_OWN_NS))


def _bursts(case: Case) -> Evidence:
    period = case.fact(facts.INPUT_PERIOD)
    if period is None or period < 2 or case.before(facts.INPUT_PERIOD) == period or _in_rounds(case, period):
        return ()
    return (f"the input wait comes every {period:.0f} steps and not between them",)


def _in_rounds(case: Case, period: float) -> bool:
    """Whether the wait comes with whole rounds of the workers, be it not with each: it is theirs."""
    workers = case.fact(facts.LOADER_THREADS)
    return bool(workers) and period % (workers or 1.0) == 0


def _by_number_of_workers(case: Case) -> bool:
    """Whether the wait comes back as often as there are workers: they are too slow throughout, and deliver together."""
    return (
        case.fact(facts.INPUT_PERIOD) is not None
        and case.same(facts.LOADER_THREADS, 0.0)
        and (case.fact(facts.INPUT_PERIOD) == case.fact(facts.LOADER_THREADS))
    )


def _restart(case: Case) -> Evidence:
    if not in_one_step(case) or case.more(facts.WORKER_STARTS) <= 0:
        return ()
    return (peak_sentence(case), case.change("starts of workers per step", facts.WORKER_STARTS))


def peak_sentence(case: Case) -> str:
    """How much of the input wait the longest step holds."""
    return f"one step of {case.now.count} holds {case.fact(facts.INPUT_PEAK_SHARE):.0%} of the input wait"


def in_one_step(case: Case) -> bool:
    """Whether most of the input wait lies in one step of several, which it did not in the baseline."""
    share, before = case.fact(facts.INPUT_PEAK_SHARE), case.before(facts.INPUT_PEAK_SHARE)
    if share is None or case.now.count < 3:
        return False
    return share >= max(CONCENTRATED, 2 / case.now.count) and (before or 0) < share


def _storage(case: Case) -> Evidence:
    """The store answers more slowly: the same calls take longer."""
    if case.baseline is None:
        return ()
    grown = [(name, case.more(name)) for name in (WORKERS_STORE if _by_workers(case) else OWN_STORE + WORKERS_STORE)]
    name, most = max(grown, key=lambda one: one[1])
    if most < MUCH_OF_INPUT * case.growth("idleInput") or most <= _own_growth(case):
        return ()
    return (case.change(f"waiting for the store ({SOURCES[name]}) per step", name),)


def _by_workers(case: Case) -> bool:
    """Others load: while the training thread waits for them, it does not show what they wait for."""
    return case.now.facts.word(facts.LOADER) == "workers" or bool(case.fact(facts.LOADER_THREADS))


def _transform(case: Case) -> Evidence:
    """The loader itself computes longer."""
    if case.baseline is None:
        return ()
    if _own_growth(case) < MUCH_OF_INPUT * case.growth("idleInput"):
        return _not_the_store(case)
    name = max(COMPUTING, key=case.more)
    return (case.change(f"computing in the loader ({SOURCES[name]}) per step", name),)


def _not_the_store(case: Case) -> Evidence:
    """As many threads load, and wait for the store as long as before: what they take longer for is their own."""
    waits = {name: wait for name in (facts.LOAD_NETWORK_NS, facts.LOAD_FILE_NS) if (wait := case.before(name))}
    if not waits or not case.fact(facts.LOADER_THREADS) or not case.same(facts.LOADER_THREADS, 0.0):
        return ()
    if (case.fact(facts.INPUT_PEAK_SHARE) or 0.0) >= CONCENTRATED or (
        case.fact(facts.INPUT_PERIOD) is not None and not _by_number_of_workers(case)
    ):
        return ()
    name = max(waits, key=waits.__getitem__)
    if not case.same(name, SAME_STORE) or case.more(name) > SAME_STORE * case.growth("idleInput"):
        return ()
    return (
        case.change(f"waiting for the store ({SOURCES[name]}) per step", name),
        case.change("by as many threads as before", facts.LOADER_THREADS),
    )


def _own_growth(case: Case) -> float:
    return max(case.more(name) for name in COMPUTING)


CAUSES = (
    Cause(
        "DataLoaderWorkers",
        Bottleneck.INPUT_STARVED,
        needs="the training thread does the loading itself, or fewer threads load than in the baseline",
        contradicted_by="the baseline's training thread loaded for itself too",
        evidence=lambda case: _inline(case) or _fewer_workers(case),
        advice=(
            "restore the number of data loader workers (num_workers) of the baseline",
            "raise prefetch_factor and keep persistent_workers on",
        ),
    ),
    Cause(
        "WorkerRestart",
        Bottleneck.INPUT_STARVED,
        needs="most of the input wait lies in one step of several, and workers are started",
        contradicted_by="the wait is spread over the steps, or no start of a worker was seen",
        evidence=_restart,
        advice=("keep workers alive between epochs (persistent_workers=True)", "make epochs longer"),
    ),
    Cause(
        "SlowStorage",
        Bottleneck.INPUT_STARVED,
        needs="the same calls to files or the network take longer, and explain most of the growth",
        contradicted_by="the loader's own computing grew more",
        evidence=_storage,
        advice=("check the store's latency and where the data lies", "cache or stage the data on the node"),
    ),
    Cause(
        "CpuTransform",
        Bottleneck.INPUT_STARVED,
        needs="the loader's own computing grew and explains most of the growth",
        contradicted_by="the loader waits in calls of the operating system",
        evidence=_transform,
        advice=("undo or vectorise the transform that was added", "raise num_workers", "do it once, offline"),
    ),
    Cause(
        "PrefetchBursts",
        Bottleneck.INPUT_STARVED,
        needs="the input wait comes every Nth step",
        contradicted_by="every step waits, or the wait comes back with the rounds of the workers",
        evidence=_bursts,
        advice=("raise prefetch_factor", "make the number of workers no divisor of the slow shards' rhythm"),
    ),
)
