"""The record of facts that an incident collects. There is no phase: the first fact that is missing is obtained next."""

from dataclasses import dataclass, field

from mfu_operator.model.account import StepAccount
from mfu_operator.model.baseline import Baseline
from mfu_operator.model.condition import Condition
from mfu_operator.model.diagnosis import Diagnosis
from mfu_operator.model.proposal import ProposalKind, PullRequestState
from mfu_operator.model.verdict import Judgement
from mfu_operator.model.vitals import Symptom


@dataclass(frozen=True, slots=True)
class KnownGood:
    """The last revision and images under which readings held the baseline, on which nodes, and when that was last seen.

    No nodes: not known (a run of very many, or what an older operator noted).
    """

    revision: str | None
    images: tuple[str, ...]
    time_s: float
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfileFact:
    """A profiling Job and what came of it. `failure` is (reason, message) of its last attempt. `node` is where it ran,
    until `finished_at`, `image` the profiler's. `earlier_attempts` are those made under another spec or image: they do
    not count against a new one."""

    job: str
    attempt: int
    created_at: float
    account: StepAccount | None = None
    hardware: tuple[str, ...] = ()
    failure: tuple[str, str] | None = None
    node: str | None = None
    finished_at: float | None = None
    image: str | None = None
    earlier_attempts: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """A profiling Job that counts against the budgets. `accelerators` are those that it asks for, none where it asks a
    running job; it has them until `ends_at`, which is its deadline until it is seen to have ended."""

    job: str
    launched_at: float
    ends_at: float
    accelerators: int


@dataclass(frozen=True, slots=True)
class SuspectFact:
    """The commit held responsible and why it and no other. `candidates` counts the window's commits."""

    sha: str
    subject: str
    author: str
    changed: tuple[str, ...]
    because: tuple[str, ...]
    candidates: int


@dataclass(frozen=True, slots=True)
class PinFact:
    """What is held responsible that came with no commit: a chart's version, a parameter, a rebuilt image. `id` is the
    same for the same of them, `told` says in sentences what is set back."""

    id: str
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProposalFact:
    """What was proposed (or, with a dry run, would be). url, number and opened_at are None with a dry run; opened_at is
    when the operator opened the pull request, or found it open.

    `head` is the commit that the operator pushed; `theirs`: a person pushed to the branch since, so the operator leaves
    it alone. `withdrawn` says why the operator closed it. `noted` is a digest of what it last said in its comment.
    """

    kind: ProposalKind
    branch: str
    title: str
    dry_run: bool
    diff: str | None = None
    url: str | None = None
    number: int | None = None
    state: PullRequestState | None = None
    merged_at: float | None = None
    merge_sha: str | None = None
    opened_at: float | None = None
    head: str | None = None
    theirs: bool = False
    withdrawn: str | None = None
    noted: str | None = None

    @property
    def ours(self) -> bool:
        """Whether it is an open pull request that holds the operator's commit and nothing else."""
        known = self.number is not None and self.head is not None
        return known and self.state is PullRequestState.OPEN and not self.theirs


@dataclass(frozen=True, slots=True)
class Exoneration:
    """A commit that did not do it, or a pin that did not help: the proposal was merged and rolled out, and the loss
    remained."""

    suspect: SuspectFact | None
    proposal: ProposalFact
    exonerated_at: float
    pin: PinFact | None = None

    @property
    def id(self) -> str:
        """What it is told apart by: the commit's id, or the pin's."""
        pinned = self.pin.id if self.pin is not None else self.proposal.branch
        return self.suspect.sha if self.suspect is not None else pinned

    @property
    def named(self) -> str:
        """As a sentence names it."""
        return self.suspect.sha[:12] if self.suspect is not None else f"what {self.proposal.url} pins"


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's word that the pull request of an incident is to be opened now, whatever it would wait for."""

    approved_at: float
    reason: str


@dataclass(frozen=True, slots=True)
class Snooze:
    """Until when a person wants no pull request for a baseline, and why."""

    until_at: float
    reason: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A person's no to undoing a commit, or to a pin: `sha` is the pin's id then, and `subject` what it sets back."""

    sha: str
    subject: str
    reason: str
    refused_at: float


@dataclass(frozen=True, slots=True)
class Recovery:
    """The before/after record. Values are in the signal's unit; gpu_hours_lost counts device hours beyond the baseline.

    `single_variable` names what changed between regressed and after: one thing, unless it says that there were others.
    """

    signal: str
    before: float
    regressed: float
    after: float
    recovered_at: float
    gpu_hours_lost: float
    single_variable: str | None


@dataclass(frozen=True, slots=True)
class Proof:
    """The step captured again after a recovery, by the `part` of it that had grown most: nanoseconds of the healthy
    step, of the slow one, and after. `profile` is the capture, without its account. `gone`: nothing worth a word is
    left of the growth. `missing` is (reason, message) why there is no such capture.
    """

    part: str | None = None
    healthy_ns: float | None = None
    slow_ns: float | None = None
    after_ns: float | None = None
    gone: bool | None = None
    profile: ProfileFact | None = None
    missing: tuple[str, str] | None = None

    @property
    def is_missing(self) -> bool:
        """Whether it is still to come: something had grown, and there is neither a capture nor a reason why not."""
        grown = self.part is not None and self.healthy_ns is not None and self.slow_ns is not None
        return grown and self.after_ns is None and self.missing is None


@dataclass(frozen=True, slots=True)
class Incident:
    """One sustained loss, from its onset to its proven recovery."""

    id: str
    opened_at: float
    onset_at: float
    signal: str
    baseline_value: float
    regressed_value: float
    drop: float
    good_revision: str | None = None
    bad_revision: str | None = None
    template: str | None = None
    """A digest of the pod template under which it was opened."""
    confirmed_at: float | None = None
    profile: ProfileFact | None = None
    diagnosis: Diagnosis | None = None
    suspect: SuspectFact | None = None
    pin: PinFact | None = None
    """None as well where a commit is held responsible."""
    proposal: ProposalFact | None = None
    exonerated: tuple[Exoneration, ...] = ()
    approved: Approval | None = None
    blocked: tuple[str, str] | None = None
    """(reason, message): why there is no proposal, where that is the final answer."""
    recovery: Recovery | None = None
    proof: Proof | None = None
    """None: it did not recover, or an earlier release closed it."""
    accepted: str | None = None
    """Why the incident was closed without a recovery: a person accepted the new level."""
    superseded: str | None = None
    """Why it was closed without one: another run took its place, or the loss grew, and that is another incident."""
    closed: tuple[str, str] | None = None
    """(reason, message): why it was closed without one, where its workload ended or is gone, or a person closed it."""
    ended_at: float | None = None
    """When it was closed without one."""
    gpu_hours_lost: float | None = None
    """Device hours beyond the baseline until then, of the time while pods ran."""
    devices: int | None = None
    """How many devices its run had when it was opened."""
    ran_s: float = 0.0
    """How long pods ran between the onset and their last stop."""
    stopped_at: float | None = None
    """Since when no pod is seen running; None while one runs."""
    resumed_at: float | None = None
    """When the pods that run now began, where they are not those of the onset."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A baseline being recorded. `collected_s` of usable readings so far in run `run` of `runs`; `problem` says why a
    run was refused. `generation` is the one of `baseline.record` that asked for it."""

    started_at: float
    collected_s: float
    needed_s: float
    run: int
    runs: int
    problem: str | None = None
    generation: int = 1


@dataclass(frozen=True, slots=True)
class Status:
    """A `TrainingBaseline`'s status, decoded. `incidents` counts those ever opened. `configuration` is a digest of what
    the facts were gathered under: the workload, what makes its readings comparable, and the declared level. `noted` are
    digests of the requests of persons that were fulfilled and still stand in the object's annotations. `refused` are
    the commits that a person does not want undone, the newest first. `launches` are the profiling Jobs of the last day,
    the oldest first."""

    observed_generation: int = 0
    judgement: Judgement | None = None
    baseline: Baseline | None = None
    recording: Recording | None = None
    healthy_profile: ProfileFact | None = None
    known_good: KnownGood | None = None
    incidents: int = 0
    incident: Incident | None = None
    history: tuple[Incident, ...] = ()
    previous_baselines: tuple[Baseline, ...] = ()
    configuration: str | None = None
    noted: tuple[str, ...] = ()
    snooze: Snooze | None = None
    refused: tuple[Refusal, ...] = ()
    launches: tuple[Launch, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    conditions: tuple[Condition, ...] = field(default_factory=tuple)
