"""Why communication is exposed."""

from mfu_operator.model import facts
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.causes.entry import Cause, Evidence
from mfu_operator.trace.diagnosis.difference import SAME_CALLS, as_often
from mfu_operator.trace.formatting import milliseconds

MOST = 0.5
"""Of what is exposed more: communication in all that grew by less than this was exposed, not prolonged."""

MANY_MORE = 1.3
"""Times the calls: so many more are split ones, where even the longest is shorter."""

SHORTER = 0.8
"""Times the longest collective of a step: above it the long ones are still there, and others were added."""


def _total(case: Case) -> tuple[float, float]:
    before = 0.0 if case.baseline is None else case.baseline.communication_total_ns
    return case.now.communication_total_ns, before


def _calls(case: Case) -> tuple[float, float]:
    return case.fact(facts.COMMUNICATION_CALLS) or 0.0, case.before(facts.COMMUNICATION_CALLS) or 0.0


def _as_many(case: Case) -> bool:
    return as_often(*_calls(case))


def _prolonged(case: Case) -> bool:
    """Whether communication itself takes longer, by most of what is exposed more."""
    now, before = _total(case)
    return now - before >= MOST * case.growth("communication")


def _lost_overlap(case: Case) -> Evidence:
    if case.baseline is None or not _as_many(case) or _prolonged(case):
        return ()
    now, before = _total(case)
    said = (
        f"communication in all {milliseconds(now)}, baseline {milliseconds(before)}: "
        f"nearly the same work, {milliseconds(case.growth('communication'))} more of it exposed"
    )
    return (said,)


def _small_messages(case: Case) -> Evidence:
    (calls, calls_before), (total, total_before) = _calls(case), _total(case)
    if not calls_before or calls < MANY_MORE * calls_before or not _smaller(case):
        return ()
    said = (
        f"collectives {calls:.4g} per step, baseline {calls_before:.4g}; "
        f"each {milliseconds(total / calls)}, baseline {milliseconds(total_before / calls_before)}"
    )
    sized = case.fact(facts.MESSAGE_MEDIAN_BYTES) is not None
    return (said, *((case.change("the median message", facts.MESSAGE_MEDIAN_BYTES, " bytes"),) if sized else ()))


def _smaller(case: Case) -> bool:
    """Whether the messages are smaller and carry no more together; by how long they take where that is not recorded."""
    size, size_before = case.fact(facts.MESSAGE_MEDIAN_BYTES), case.before(facts.MESSAGE_MEDIAN_BYTES)
    if size is None or size_before is None:
        return _shorter(case) is True
    smaller = size <= SHORTER * size_before and not case.grew(facts.MESSAGE_BYTES, MANY_MORE)
    return smaller and _shorter(case) is not False


def _shorter(case: Case) -> bool | None:
    """Whether even the longest is shorter; None where that is not known. Small ones may have joined the large."""
    longest, before = case.fact(facts.COMMUNICATION_LONGEST_NS), case.before(facts.COMMUNICATION_LONGEST_NS)
    return None if longest is None or before is None else longest <= SHORTER * before


def _slow_link(case: Case) -> Evidence:
    (calls, _), (total, total_before) = _calls(case), _total(case)
    if not calls or not _as_many(case) or not _prolonged(case):
        return ()
    return (
        f"the same {calls:.4g} collectives take {milliseconds(total)} per step, baseline {milliseconds(total_before)}",
    )


def _exposed(case: Case) -> Evidence:
    (calls, calls_before), (total, _) = _calls(case), _total(case)
    if case.baseline is not None and (calls <= (1 + SAME_CALLS) * calls_before or not _by_more(case)):
        return ()
    share = case.now.parts_ns["communication"] / total if total else 0.0
    if case.baseline is None and share < 0.5:
        return ()
    return (
        f"{share:.0%} of {milliseconds(total)} of communication per step is not overlapped",
        case.change("collectives per step", facts.COMMUNICATION_CALLS),
    )


def _by_more(case: Case) -> bool:
    """Whether the collectives that were added, each as long as the longest, explain most of what they take more."""
    (calls, calls_before), (total, total_before) = _calls(case), _total(case)
    longest = case.fact(facts.COMMUNICATION_LONGEST_NS)
    return longest is None or (calls - calls_before) * longest >= MOST * (total - total_before)


CAUSES = (
    Cause(
        "LostOverlap",
        Bottleneck.COMMS_BOUND,
        needs="as many collectives as before, more of them exposed",
        contradicted_by="communication in all grew by most of what is exposed more",
        evidence=_lost_overlap,
        advice=(
            "restore the overlap: bucket sizes, prefetch, the order of collectives",
            "look for new synchronisation before them",
        ),
    ),
    Cause(
        "SmallMessages",
        Bottleneck.COMMS_BOUND,
        needs="many more collectives, whose messages are smaller; without sizes, of which even the longest is shorter",
        contradicted_by="the collectives' number is unchanged, the large ones are still there, or they carry more",
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
        needs="more collectives, by so many as explain the growth, or without a baseline mostly exposed ones",
        contradicted_by="communication is overlapped",
        evidence=_exposed,
        advice=("overlap them with the backward pass", "remove or merge the collectives that were added"),
    ),
)
