"""What the sweep knows of one baseline at one moment."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from mfu_operator.detect.hardware import Ruling
from mfu_operator.errors import MfuError
from mfu_operator.measure.hardware_record import HardwareRecord
from mfu_operator.measure.trail import NO_TRAIL, Trail
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Judgement
from mfu_operator.model.vitals import Symptom


class RunMark(NamedTuple):
    """What tells one run of the job from the next: equal while nothing was restarted."""

    incarnation: str
    restarts: int
    info: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SweepView:
    """What the sweep knows of one baseline. It does not change; of a baseline that is not registered it is empty.

    filled: the history was read, and while an incident is open the hardware: the ruling means something. judgement:
    None before that, and where there is no level yet. mismatches: the fields in which the job is not the
    baseline's. symptoms: what is wrong with the run apart from its speed; None while that is not known. readings:
    oldest first, all since a recording began, otherwise the last one. latest: the last reading, whether it counted
    or not. run: None before any reading. trail: the course of the signal that is judged. problem: what is wrong
    with the source; Wait(NoSeries) where it answers and has nothing of this job. hardware is what `ruling` goes by.
    """

    filled: bool = False
    judgement: Judgement | None = None
    mismatches: tuple[str, ...] = ()
    symptoms: tuple[Symptom, ...] | None = None
    readings: tuple[Reading, ...] = ()
    latest: Reading | None = None
    run: RunMark | None = None
    trail: Trail = NO_TRAIL
    problem: MfuError | None = None
    hardware: HardwareRecord = field(default_factory=HardwareRecord)

    def ruling(self, node_of: Mapping[str, str] | None = None, usual_nodes: Collection[str] = ()) -> Ruling:
        """What of the hardware explains the loss that is open now, against what was read while there was none.

        Args:
            node_of: node by pod.
            usual_nodes: the nodes on which the baseline was held; empty: not known.
        """
        return self.hardware.ruling(node_of or {}, usual_nodes)
