"""Everything one tick knows, gathered before anything is decided."""

from dataclasses import dataclass
from enum import StrEnum

from mfu_operator.detect.hardware import Finding
from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import Baseline, BaselineSpec
from mfu_operator.model.commit import Source
from mfu_operator.model.incident import Recording, Status
from mfu_operator.model.proposal import PullRequest
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Judgement
from mfu_operator.model.vitals import Symptom
from mfu_operator.model.workload import ProfilingJob, Workload


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
    """What the operator's settings say about every baseline."""

    profiler_image: str | None = None
    runbook_base_url: str | None = None
    priority_class: str | None = None


@dataclass(frozen=True, slots=True)
class World:
    """One tick's knowledge. None where a thing was not asked for or does not exist.

    `problem` is what kept this tick from measuring, `job_problem` from seeing the profiling Job, `source_problem` from
    learning where the configuration comes from, `answer_problem` from asking for the pull request. `findings`
    explain the loss and lie outside of any commit, `unmeasured` is what of the hardware nobody measured, `supporting`
    how busy it is. `symptoms` are what else is wrong; None: not known now.
    `unlike` are the fields in which the job is not the baseline's. `past` are the readings of an incident that
    recovered, for its picture.
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
    job: ProfilingJob | None = None
    job_problem: MfuError | None = None
    source: Source | None = None
    source_problem: MfuError | None = None
    pull_request: PullRequest | None = None
    findings: tuple[Finding, ...] = ()
    unmeasured: tuple[str, ...] = ()
    supporting: tuple[str, ...] = ()
    symptoms: tuple[Symptom, ...] | None = None
    answer_problem: MfuError | None = None
    unlike: tuple[str, ...] = ()
    past: tuple[Reading, ...] | None = None
