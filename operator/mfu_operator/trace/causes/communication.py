"""Why communication is exposed."""

from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.case import Case, milliseconds
from mfu_operator.trace.causes.entry import Cause, Evidence
from mfu_operator.trace.difference import SAME_CALLS, as_often

MOST = 0.5
"""Of what is exposed more: communication in all that grew by less than this was exposed, not prolonged."""

WAITING = ("idleSync", "idleAlloc", "idleHost", "idleLaunch")
"""The parts in which a device waits for a collective of the host."""

MANY_MORE = 1.3
"""Times the calls: so many more are split ones, where even the longest is shorter."""

SHORTER = 0.8
"""Times the longest collective of a step: above it the long ones are still there, and others were added."""


def _total(case: Case) -> tuple[float, float]:
    before = 0.0 if case.baseline is None else case.baseline.communication_total_ns
    return case.now.communication_total_ns, before


def _calls(case: Case) -> tuple[float, float]:
    return case.fact("communicationCalls") or 0.0, case.before("communicationCalls") or 0.0


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
    if not calls_before or calls < MANY_MORE * calls_before or not _shorter(case):
        return ()
    said = (
        f"collectives {calls:.4g} per step, baseline {calls_before:.4g}; "
        f"each {milliseconds(total / calls)}, baseline {milliseconds(total_before / calls_before)}"
    )
    return (said,)


def _shorter(case: Case) -> bool:
    longest, before = case.fact("communicationLongestNs"), case.before("communicationLongestNs")
    return longest is not None and before is not None and longest <= SHORTER * before


def _slow_link(case: Case) -> Evidence:
    (calls, _), (total, total_before) = _calls(case), _total(case)
    if case.baseline is None or not calls or not _as_many(case) or not _prolonged(case):
        return ()
    return (
        f"the same {calls:.4g} collectives take {milliseconds(total)} per step, baseline {milliseconds(total_before)}",
        *_one_of_several(case),
    )


def _one_of_several(case: Case) -> Evidence:
    """Ranks were compared where their skew is known."""
    ranks = case.fact("worldSize") or 1.0
    if ranks <= 1 or case.fact("rankSkewNs") is not None:
        return ()
    return (f"the job has {ranks:.0f} ranks, and this does not tell transferring from waiting for one of them",)


def _exposed(case: Case) -> Evidence:
    (calls, calls_before), (total, _) = _calls(case), _total(case)
    if case.baseline is not None and calls <= (1 + SAME_CALLS) * calls_before:
        return ()
    share = case.now.parts_ns["communication"] / total if total else 0.0
    if case.baseline is None and share < 0.5:
        return ()
    return (
        f"{share:.0%} of {milliseconds(total)} of communication per step is not overlapped",
        case.change("collectives per step", "communicationCalls"),
    )


def _of_the_host(case: Case) -> Evidence:
    """The device idles while the host communicates: its kernels cannot show that."""
    idle = case.growth(*WAITING)
    if idle <= 0 or case.more("hostCollectiveNs") < MOST * idle:
        return ()
    return (case.change("collectives of the host (gloo, UCC, MPI) per step", "hostCollectiveNs"),)


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
        needs="many more collectives, of which even the longest is shorter",
        contradicted_by="the collectives' number is unchanged, or the long ones are still there",
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
