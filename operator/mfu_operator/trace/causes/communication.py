"""Why communication is exposed."""

from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.case import Case, milliseconds
from mfu_operator.trace.causes.entry import Cause, Evidence

SAME_TOTAL = 0.1
"""Communication in all, overlapped or not, that changed by at most this is the same communication."""

SHORTER = 0.7
"""Times the mean collective: below it the messages were split, above it others were added."""

MANY_MORE = 1.5
"""Times the calls: so many more, each smaller, are small messages."""


def _total(case: Case) -> tuple[float, float]:
    before = 0.0 if case.baseline is None else case.baseline.communication_total_ns
    return case.now.communication_total_ns, before


def _calls(case: Case) -> tuple[float, float]:
    return case.fact("communicationCalls") or 0.0, case.before("communicationCalls") or 0.0


def _lost_overlap(case: Case) -> Evidence:
    now, before = _total(case)
    if case.baseline is None or abs(now - before) > SAME_TOTAL * max(now, before):
        return ()
    said = (
        f"communication in all {milliseconds(now)}, baseline {milliseconds(before)}: "
        f"the same work, {milliseconds(case.growth('communication'))} more of it exposed"
    )
    return (said,)


def _small_messages(case: Case) -> Evidence:
    (calls, calls_before), (total, total_before) = _calls(case), _total(case)
    if not calls_before or not total_before or calls < MANY_MORE * calls_before:
        return ()
    each, each_before = total / calls, total_before / calls_before
    if each > SHORTER * each_before:
        return ()
    said = (
        f"collectives {calls:.4g} per step, baseline {calls_before:.4g}; "
        f"each {milliseconds(each)}, baseline {milliseconds(each_before)}"
    )
    return (said,)


def _slow_link(case: Case) -> Evidence:
    (calls, calls_before), (total, total_before) = _calls(case), _total(case)
    if not calls_before or abs(calls - calls_before) > 0.02 * calls_before:
        return ()
    if total <= total_before * (1 + SAME_TOTAL):
        return ()
    return (
        f"the same {calls:.4g} collectives take {milliseconds(total)} per step, baseline {milliseconds(total_before)}",
    )


def _exposed(case: Case) -> Evidence:
    (calls, calls_before), (total, _) = _calls(case), _total(case)
    if case.baseline is not None and calls <= 1.02 * calls_before:
        return ()
    share = case.now.parts_ns["communication"] / total if total else 0.0
    if case.baseline is None and share < 0.5:
        return ()
    return (
        f"{share:.0%} of {milliseconds(total)} of communication per step is not overlapped",
        case.change("collectives per step", "communicationCalls"),
    )


CAUSES = (
    Cause(
        "LostOverlap",
        Bottleneck.COMMS_BOUND,
        needs="as much communication as before, more of it exposed",
        contradicted_by="communication itself takes longer",
        evidence=_lost_overlap,
        advice=(
            "restore the overlap: bucket sizes, prefetch, the order of collectives",
            "look for new synchronisation before them",
        ),
    ),
    Cause(
        "SmallMessages",
        Bottleneck.COMMS_BOUND,
        needs="at least half as many collectives more, each shorter",
        contradicted_by="the collectives' number is unchanged",
        evidence=_small_messages,
        advice=("restore the bucket size (bucket_cap_mb) that was lowered", "coalesce collectives"),
    ),
    Cause(
        "SlowLink",
        Bottleneck.COMMS_BOUND,
        needs="the same collectives take longer",
        contradicted_by="more or other collectives",
        evidence=_slow_link,
        advice=(
            "check NCCL's topology, transport and the link counters of the node",
            "record every rank to rule out waiting for one",
        ),
    ),
    Cause(
        "ExposedCollectives",
        Bottleneck.COMMS_BOUND,
        needs="more collectives, or without a baseline mostly exposed ones",
        contradicted_by="communication is overlapped",
        evidence=_exposed,
        advice=("overlap them with the backward pass", "remove or merge the collectives that were added"),
    ),
)
