"""Everything one tick knows, gathered before anything is decided."""

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, TypeVar

from mfu_operator.detect.hardware import Finding
from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import Baseline, BaselineSpec
from mfu_operator.model.commit import Source
from mfu_operator.model.incident import Recording, Status
from mfu_operator.model.proposal import PullRequest
from mfu_operator.model.series import Course
from mfu_operator.model.sharer import Sharer
from mfu_operator.model.verdict import Judgement
from mfu_operator.model.vitals import Symptom
from mfu_operator.model.workload import ProfilingJob, Workload
from mfu_operator.profiling.job import NOTHING, Permit


class Unseen(Enum):
    """What stands for a thing that nobody looked at in this tick: there or not, no decision rests on it."""

    UNSEEN = "unseen"


UNSEEN: Final = Unseen.UNSEEN

Thing = TypeVar("Thing")


def seen(thing: Thing | Unseen | None) -> Thing | None:
    """What was found; None where nothing was, and where nobody looked: for what must not tell the two apart."""
    return None if isinstance(thing, Unseen) else thing


class Need(StrEnum):
    """An observation that costs a request and is made only when the next decision rests on it."""

    JOB = "job"
    SOURCE = "source"
    PULL_REQUEST = "pullRequest"


@dataclass(frozen=True, slots=True)
class Identity:
    """The TrainingBaseline object itself."""

    namespace: str
    name: str
    uid: str
    generation: int


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the operator's settings say about every baseline. `installation` is the id of its cluster, which proposals
    carry."""

    installation: str
    profiler_image: str | None = None
    runbook_base_url: str | None = None
    priority_class: str | None = None
    permit: Permit = NOTHING


@dataclass(frozen=True, slots=True)
class World:
    """One tick's knowledge. None where a thing does not exist, `UNSEEN` where nobody looked.

    `problem` is what kept this tick from measuring, `job_problem` from seeing the profiling Job, `source_problem` from
    learning where the configuration comes from, `answer_problem` from asking for the pull request. `findings`
    explain the loss and lie outside of any commit, `unmeasured` is what of the hardware nobody measured, `supporting`
    how busy it is. `symptoms` are what else is wrong; None: not known now.
    `mismatches` are the fields in which the job is not the baseline's. `last_reading_s` is when the job was read
    last, Unix seconds. `now_s` is wall time, for facts alone; `steady_s` are seconds on a clock that nobody sets, for
    pauses alone. `neighbours` are the installations that serve this baseline, where there is another one than this.
    `course` is that of the signal whose loss is open.
    `sharers` are the parts of other baselines in pull requests; None: not known yet.
    """

    now_s: float
    identity: Identity
    spec: BaselineSpec
    status: Status
    defaults: Defaults
    workload: Workload | None = None
    judgement: Judgement | None = None
    recorded: Baseline | Recording | None = None
    problem: MfuError | None = None
    job: ProfilingJob | Unseen | None = UNSEEN
    job_problem: MfuError | None = None
    source: Source | Unseen | None = UNSEEN
    source_problem: MfuError | None = None
    pull_request: PullRequest | Unseen | None = UNSEEN
    findings: tuple[Finding, ...] = ()
    unmeasured: tuple[str, ...] = ()
    supporting: tuple[str, ...] = ()
    symptoms: tuple[Symptom, ...] | None = None
    answer_problem: MfuError | None = None
    mismatches: tuple[str, ...] = ()
    steady_s: float = 0.0
    neighbours: tuple[str, ...] = ()
    last_reading_s: float | None = None
    sharers: tuple[Sharer, ...] | None = ()
    course: Course = ()
