"""The causes, by bottleneck. Adding one is one entry in a file of this folder and one test.

Within a bottleneck they stand in the order in which they are tried, the most specific evidence first; a cause's
remedies stand in the order in which they cost least.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.causes import (
    communication,
    compute,
    copies,
    host,
    host_communication,
    inputs,
    instrumentation,
    straggler,
)
from mfu_operator.trace.diagnosis.causes.entry import Cause


@dataclass(frozen=True, slots=True)
class Found:
    """A cause that the case proves, with its evidence."""

    cause: Cause
    evidence: tuple[str, ...]


CAUSES: Sequence[Cause] = (
    *instrumentation.CAUSES,
    *inputs.CAUSES,
    *communication.CAUSES,
    *host_communication.CAUSES,
    *compute.CAUSES,
    *copies.CAUSES,
    *host.CAUSES,
    *straggler.CAUSES,
)


def find(case: Case, bottleneck: Bottleneck) -> Found | None:
    """The first cause under the bottleneck whose evidence the case holds."""
    for cause in CAUSES:
        if cause.may_hide_behind(bottleneck) and (evidence := cause.evidence(case)):
            return Found(cause, evidence)
    return None
