"""Why collectives of the host (gloo, UCC, MPI) are waited for.

The account is of a thread that waits for them, in whatever ranges it happens to be: which of its parts grew does not
tell. The facts of the collectives themselves do.
"""

from mfu_operator.model import facts
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.causes.communication import MANY_MORE, MOST, SHORTER
from mfu_operator.trace.diagnosis.causes.entry import Cause, Evidence
from mfu_operator.trace.formatting import milliseconds

WAITING = ("idleSync", "idleAlloc", "idleHost", "idleLaunch")
"""The parts in which a device waits for a collective of the host."""

BEHIND = (Bottleneck.HOST_BOUND, Bottleneck.KERNEL_BOUND, Bottleneck.COMMS_BOUND)
"""What waiting for them looks like: host time, or that of the ranges that it happens in ("backward")."""


def _lost(case: Case) -> float:
    """What may be waiting for collectives of the host and grew, ns; where a device is, the parts in which it idles."""
    return case.growth(*WAITING, *(("compute", "communication") if case.now.account_from == "nvtx" else ()))


def _lost_overlap(case: Case) -> Evidence:
    exposed, before = case.fact(facts.HOST_COLLECTIVE_EXPOSED_NS), case.before(facts.HOST_COLLECTIVE_EXPOSED_NS)
    if exposed is None or before is None or case.grew(facts.MESSAGE_BYTES, MANY_MORE):
        return ()
    more, lost = exposed - before, _lost(case)
    if lost <= 0 or more < MOST * lost or case.more(facts.HOST_COLLECTIVE_NS) >= MOST * more:
        return ()
    said = (
        f"while nothing computes {milliseconds(exposed)} of that, baseline {milliseconds(before)}: "
        f"nearly the same work, {milliseconds(more)} more of it exposed"
    )
    return (case.change("collectives of the host (gloo, UCC, MPI) in all", facts.HOST_COLLECTIVE_NS), said)


def _small_messages(case: Case) -> Evidence:
    calls, before = case.fact(facts.HOST_COLLECTIVE_CALLS), case.before(facts.HOST_COLLECTIVE_CALLS)
    if not calls or not before or calls < MANY_MORE * before or not _smaller(case):
        return ()
    lost = _lost(case)
    if lost <= 0 or case.more(facts.HOST_COLLECTIVE_NS) < MOST * lost:
        return ()
    sized = case.fact(facts.MESSAGE_MEDIAN_BYTES) is not None
    return (
        case.change("collectives of the host (gloo, UCC, MPI) per step", facts.HOST_COLLECTIVE_CALLS),
        case.change("in all", facts.HOST_COLLECTIVE_NS),
        *((case.change("the median message", facts.MESSAGE_MEDIAN_BYTES, " bytes"),) if sized else ()),
    )


def _smaller(case: Case) -> bool:
    """Whether the messages are smaller and carry no more together; where that is not recorded, whether even the longest
    is shorter. Beside sizes the longest tells nothing: the first one of a step waits for the last rank."""
    size, before = case.fact(facts.MESSAGE_MEDIAN_BYTES), case.before(facts.MESSAGE_MEDIAN_BYTES)
    if size is not None and before is not None:
        return size <= SHORTER * before and not case.grew(facts.MESSAGE_BYTES, MANY_MORE)
    longest, of_before = case.fact(facts.HOST_COLLECTIVE_LONGEST_NS), case.before(facts.HOST_COLLECTIVE_LONGEST_NS)
    return longest is not None and of_before is not None and longest <= SHORTER * of_before


def _of_the_host(case: Case) -> Evidence:
    """The device idles while the host communicates: its kernels cannot show that."""
    idle = case.growth(*WAITING)
    if idle <= 0 or case.more(facts.HOST_COLLECTIVE_NS) < MOST * idle:
        return ()
    return (case.change("collectives of the host (gloo, UCC, MPI) per step", facts.HOST_COLLECTIVE_NS),)


CAUSES = (
    Cause(
        "LostOverlap",
        Bottleneck.COMMS_BOUND,
        needs="collectives of the host of which more runs while no operator computes, by most of what was lost",
        contradicted_by="they take longer in all by half of that, or carry more",
        evidence=_lost_overlap,
        advice=(
            "reduce gradients while the backward pass runs, as before: the wrapper, its hooks, the order of buckets",
            "look for what waits for each collective where it is issued",
        ),
        behind=BEHIND,
    ),
    Cause(
        "SmallMessages",
        Bottleneck.COMMS_BOUND,
        needs="many more collectives of the host, whose messages are smaller, and which take longer in all by most of "
        "what was lost; without sizes, of which even the longest is shorter",
        contradicted_by="their number is unchanged, the messages are as large as before, or they carry more",
        evidence=_small_messages,
        advice=("restore the bucket size (bucket_cap_mb) that was lowered", "coalesce collectives"),
        behind=BEHIND,
    ),
    Cause(
        "HostCollectives",
        Bottleneck.COMMS_BOUND,
        needs="collectives of the host (gloo, UCC, MPI) that take longer, by most of what the device idles more",
        contradicted_by="none of them was recorded, or they take as long as before",
        evidence=_of_the_host,
        advice=(
            "use NCCL for tensors of the GPU",
            "look at the network between the nodes, and for a rank that is late",
        ),
        behind=(Bottleneck.HOST_BOUND,),
    ),
)
