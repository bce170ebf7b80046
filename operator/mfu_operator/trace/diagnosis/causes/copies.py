"""Why copies are exposed."""

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.causes.entry import Cause, Evidence
from mfu_operator.trace.formatting import milliseconds

HOST = ("idleSync", "idleAlloc", "idleHost", "idleLaunch")
COPIES = ("h2d", "d2h", "d2d", "memset")
DIRECTIONS = (
    ("h2d", "to the device", facts.H2D_CALLS, facts.H2D_BYTES),
    ("d2h", "to the host", facts.D2H_CALLS, facts.D2H_BYTES),
    ("d2d", "on the device", facts.D2D_CALLS, facts.D2D_BYTES),
)
"""Parts, with how they are called, and the facts of their number and bytes."""

MOST = 0.5
"""Of what grew: less of it is not what made it grow."""

NOTICEABLE = 0.3
"""Of the copies' growth: a direction with less of it stayed as it was."""

MORE_BYTES = 1.1
"""Times the bytes: above it there are more of them."""

COMES_BACK = 0.9
"""Of the bytes that went to the host: with so many of them coming back, what was sent away is what is fetched."""

MORE = 1.3
"""Times the bytes: so many more are other work, not noise."""


def _pageable(case: Case) -> Evidence:
    """The same bytes, from or to pageable memory: the host waits in the call for as long as the copy takes."""
    lost = max(case.growth(*COPIES), case.growth(*HOST))
    if case.more(facts.PAGEABLE_NS) < MOST * lost:
        return ()
    if case.grew(facts.H2D_BYTES, MORE_BYTES) or case.grew(facts.D2H_BYTES, MORE_BYTES):
        return ()
    if case.baseline is not None and _pageable_share(case.baseline) > MOST * _pageable_share(case.now):
        return ()
    return (case.change("copies from or to pageable memory per step", facts.PAGEABLE_NS),)


def _pageable_share(account: StepAccount) -> float:
    """Of the copies between host and device."""
    copies = sum(account.facts.number(one) or 0.0 for one in (facts.H2D_TOTAL_NS, facts.D2H_TOTAL_NS))
    return (account.facts.number(facts.PAGEABLE_NS) or 0.0) / copies if copies else 0.0


def _offload(case: Case) -> Evidence:
    """Weights, gradients or optimizer state travel: much more in both directions, as much more, or most of the step."""
    if case.baseline is None:
        share = case.now.parts_ns["h2d"] / case.now.mean_ns
        return (f"pinned copies to the device take {share:.0%} of the time",) if share > MOST else ()
    both = case.grew(facts.H2D_BYTES, MORE) and (case.grew(facts.D2H_BYTES, MORE) or case.grew(facts.H2D_BYTES, 4.0))
    if not (both or _comes_back(case)) or case.more(facts.D2H_BYTES) < 0.2 * case.more(facts.H2D_BYTES):
        return ()
    return (
        case.change("bytes to the device per step", facts.H2D_BYTES),
        case.change("bytes to the host", facts.D2H_BYTES),
    )


def _comes_back(case: Case) -> bool:
    """Whether as many more bytes go to the host as come from it, however large the batch is beside them."""
    there, back = case.more(facts.D2H_BYTES), case.more(facts.H2D_BYTES)
    return case.grew(facts.D2H_BYTES, MORE) and back > 0 and min(there, back) >= COMES_BACK * max(there, back)


def _extra(case: Case) -> Evidence:
    for part, said, calls, size in DIRECTIONS:
        if case.growth(part) < NOTICEABLE * case.growth(*COPIES):
            continue
        if case.grew(size, MORE_BYTES) or case.grew(calls, 1.1, 0.5):
            return (case.change(f"copies {said} per step", calls), case.change("their bytes", size))
    return ()


def _link(case: Case) -> Evidence:
    same = case.same(facts.H2D_BYTES, 0.02) and case.same(facts.D2H_BYTES, 0.02) and case.same(facts.H2D_CALLS, 0.02)
    extra = case.more(facts.H2D_TOTAL_NS) + case.more(facts.D2H_TOTAL_NS)
    if not same or not case.fact(facts.H2D_BYTES) or extra < MOST * case.growth(*COPIES):
        return ()
    return (f"the same bytes between host and device take {milliseconds(extra)} longer per step",)


CAUSES = (
    Cause(
        "PageableCopies",
        Bottleneck.COPY_BOUND,
        needs="copies from or to pageable memory explain most of the growth",
        contradicted_by="the copies use pinned memory, or used pageable memory before, or there are more bytes",
        evidence=_pageable,
        advice=("pin the batches again (pin_memory=True) and copy with non_blocking=True",),
        behind=(Bottleneck.COPY_BOUND, Bottleneck.HOST_BOUND),
    ),
    Cause(
        "Offload",
        Bottleneck.COPY_BOUND,
        needs="many more bytes in both directions; without a baseline, pinned copies to the device fill the step",
        contradicted_by="the bytes are the same",
        evidence=_offload,
        advice=("keep on the device what was offloaded, or overlap its copies with compute",),
    ),
    Cause(
        "ExtraCopies",
        Bottleneck.COPY_BOUND,
        needs="more copies or more bytes",
        contradicted_by="as many copies and bytes as before",
        evidence=_extra,
        advice=("remove the copies that were added (.to(), .cpu(), .contiguous())",),
    ),
    Cause(
        "LinkDegraded",
        Bottleneck.HARDWARE_DEGRADED,
        needs="the same bytes in as many copies take longer",
        contradicted_by="more bytes, or memory that was pinned before",
        evidence=_link,
        advice=("check the PCIe link's generation and width on the node before looking at commits",),
        behind=(Bottleneck.COPY_BOUND,),
    ),
)
