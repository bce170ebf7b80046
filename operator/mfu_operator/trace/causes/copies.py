"""Why copies are exposed."""

from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.case import Case, milliseconds
from mfu_operator.trace.causes.entry import Cause, Evidence

HOST = ("idleSync", "idleAlloc", "idleHost", "idleLaunch")
COPIES = ("h2d", "d2h", "d2d", "memset")
MOST = 0.5
"""Of what grew: less of it is not what made it grow."""

NOTICEABLE = 0.3
"""Of the copies' growth: a direction with less of it stayed as it was."""

MORE_BYTES = 1.1
"""Times the bytes: above it there are more of them."""

MORE = 1.3
"""Times the bytes: so many more are other work, not noise."""


def _pageable(case: Case) -> Evidence:
    """The same bytes, from or to pageable memory: the host waits in the call for as long as the copy takes."""
    lost = max(case.growth(*COPIES), case.growth(*HOST))
    if case.more("pageableNs") < MOST * lost:
        return ()
    if case.baseline is not None and (case.grew("h2dBytes", MORE_BYTES) or case.grew("d2hBytes", MORE_BYTES)):
        return ()
    return (case.change("copies from or to pageable memory per step", "pageableNs"),)


def _offload(case: Case) -> Evidence:
    """Weights, gradients or optimizer state travel: much more in both directions, or nearly all of the step."""
    if case.baseline is None:
        share = case.now.parts_ns["h2d"] / case.now.mean_ns
        return (f"pinned copies to the device take {share:.0%} of the step",) if share > MOST else ()
    both = case.grew("h2dBytes", MORE) and (case.grew("d2hBytes", MORE) or case.grew("h2dBytes", 4.0))
    if not both or case.more("d2hBytes") < 0.2 * case.more("h2dBytes"):
        return ()
    return (case.change("bytes to the device per step", "h2dBytes"), case.change("bytes to the host", "d2hBytes"))


def _extra(case: Case) -> Evidence:
    for word, said in (("h2d", "to the device"), ("d2h", "to the host"), ("d2d", "on the device")):
        if case.growth(word) < NOTICEABLE * case.growth(*COPIES):
            continue
        if case.grew(f"{word}Bytes", MORE_BYTES) or case.grew(f"{word}Calls", 1.1, 0.5):
            return (case.change(f"copies {said} per step", f"{word}Calls"), case.change("their bytes", f"{word}Bytes"))
    return ()


def _link(case: Case) -> Evidence:
    same = case.same("h2dBytes", 0.02) and case.same("d2hBytes", 0.02) and case.same("h2dCalls", 0.02)
    extra = case.more("h2dTotalNs") + case.more("d2hTotalNs")
    if not same or not case.fact("h2dBytes") or extra < MOST * case.growth(*COPIES):
        return ()
    return (f"the same bytes between host and device take {milliseconds(extra)} longer per step",)


CAUSES = (
    Cause(
        "PageableCopies",
        Bottleneck.COPY_BOUND,
        needs="copies from or to pageable memory explain most of the growth",
        contradicted_by="the copies use pinned memory, or there are more bytes than before",
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
        contradicted_by="more bytes, or pageable memory",
        evidence=_link,
        advice=("check the PCIe link's generation and width on the node before looking at commits",),
        behind=(Bottleneck.COPY_BOUND,),
    ),
)
