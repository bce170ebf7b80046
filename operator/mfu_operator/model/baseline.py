"""What a team declares: the workload, what makes its readings comparable, and the level it should hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from mfu_operator.model.freeze import Freeze
from mfu_operator.model.proposal import Review


class Signal(StrEnum):
    """A throughput-like reading of a training job. `STEP_TIME` is the one that is better when lower."""

    MFU = "mfu"
    STEP_TIME = "stepTime"
    THROUGHPUT = "throughput"


@dataclass(frozen=True, slots=True)
class WorkloadRef:
    """The job under watch. `container` None: the plan says which one trains.

    `selector` are labels of pods, where runs are submitted under a new name each time: `name` is then that of the run
    that is judged (empty before it is known), and `earlier` those of runs that have ended.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    container: str | None = None
    selector: tuple[tuple[str, str], ...] = ()
    earlier: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Kind and name for a person, or by what its runs are selected."""
        by = ",".join(f"{key}={value}" for key, value in self.selector)
        return f"{self.kind} {self.name!r}" if self.name or not by else f"{self.kind} of pods with {by}"

    def same_job(self, other: "WorkloadRef") -> bool:
        """Whether both are of one job: the same object, or runs that the same labels follow."""
        followed = replace(self, name=other.name, earlier=other.earlier) if self.selector else self
        return followed == other


@dataclass(frozen=True, slots=True)
class Comparable:
    """What must be equal for two readings to be compared. None: not declared, so not checked."""

    model: str
    gpu: str | None = None
    gpu_count: int | None = None
    world_size: int | None = None
    global_batch: int | None = None
    sequence_length: int | None = None
    precision: str | None = None
    parallelism: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Level:
    """The baseline's values, each None where it was not declared or recorded.

    mfu is a ratio in (0, 1.5]; step_time_s seconds; throughput tokens (or samples) per second per GPU.
    """

    mfu: float | None = None
    step_time_s: float | None = None
    throughput: float | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """How much healthy readings move, as standard deviations of ln x.

    within: s_w, 1.4826·MAD inside a run; between: s_b, of the runs' medians (None with one run);
    slow: s_slow, of the 15-minute block medians within runs; runs: K.
    """

    within: float
    between: float | None
    slow: float
    runs: int


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """How the operator records a baseline from the running job. Another `generation` is another recording, asked for on
    purpose; `reason` says why the level before it no longer applies."""

    duration_s: float
    warmup_s: float
    runs: int = 1
    generation: int = 1
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Detection:
    """When a loss counts. Defaults are those of the detection rule; `tolerance` None lets the spread decide."""

    tolerance: float | None = None
    sustain_s: float = 600.0
    confirm_s: float = 1800.0
    recover_s: float = 600.0
    warmup_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Watch:
    """What else is looked for in the readings, apart from speed. Each can be turned off; none ever proposes anything.

    hang_s None: as long as a loss must be sustained. gated_hang_s is its limit in a checkpoint, an evaluation or at the
    start. memory_horizon_s: memory that is full later than this is nobody's concern yet. nonfinite_losses and
    skipped_steps are how many in a row it takes.
    """

    hang: bool = True
    hang_s: float | None = None
    gated_hang_s: float = 3600.0
    memory: bool = True
    memory_horizon_s: float = 86400.0
    loss: bool = True
    nonfinite_losses: int = 3
    skipped_steps: int = 32


@dataclass(frozen=True, slots=True)
class SecretRef:
    """A Secret in the baseline's own namespace. Keys: `token`, or `username` and `password`."""

    name: str


class ProfilingMode(StrEnum):
    """Whether the operator may launch profiling Jobs."""

    NEVER = "Never"
    AUTO = "Auto"


CAPTURE_SECRET = "mfu-capture"  # noqa: S105 - a Secret's name
"""The Secret with the capture API's token where none is named: everybody may name this one."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What profiling may cost in any 24 hours. captures: Jobs of either way; gpu_minutes: accelerators that copies ask
    for, times how long they have them. None: without a limit."""

    captures: int | None = None
    gpu_minutes: int | None = None


@dataclass(frozen=True, slots=True)
class Profiling:
    """How the profiling Job records the workload: in the running job where that is instrumented, else in a copy.

    `ranks` is how many ranks of the running job are asked (None: all up to 64, beyond that one per node),
    `capture_secret` holds the capture API's token (None: the Secret mfu-capture), `queue` is the queue that admits the
    Job where the run's own is not to (None: the run's). `budget` bounds what this baseline may cost. `image`
    overrides the operator's profiler image.

    `warmup_steps`, `command`, `env` and `writable_volumes` are a copy's: `command` replaces the container's own where
    its image hides it, `writable_volumes` are mounted as the run mounts them, every other one read-only.
    """

    mode: ProfilingMode = ProfilingMode.AUTO
    steps: int = 12
    warmup_steps: int = 20
    deadline_s: float = 900.0
    image: str | None = None
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    writable_volumes: tuple[str, ...] = ()
    priority_class: str | None = None
    ranks: int | None = None
    capture_secret: SecretRef | None = None
    queue: str | None = None
    budget: Budget = Budget()


class RemediationMode(StrEnum):
    """Observe: measure and diagnose only. DryRun: say in the status what would be proposed. PullRequest: open one."""

    OBSERVE = "Observe"
    DRY_RUN = "DryRun"
    PULL_REQUEST = "PullRequest"


class ForgeKind(StrEnum):
    """The service that holds pull requests. OTHER: its API is not known, so the branch is pushed and no more."""

    GITHUB = "GitHub"
    GITLAB = "GitLab"
    GITEA = "Gitea"
    FORGEJO = "Forgejo"
    BITBUCKET = "Bitbucket"
    AZURE_DEVOPS = "AzureDevOps"
    OTHER = "Other"


@dataclass(frozen=True, slots=True)
class ApplicationRef:
    """The GitOps object that deploys the workload. kind is `Application` (Argo CD) or `Kustomization` (Flux)."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Remediation:
    """What the operator may propose, and where.

    Repository, branch and path come from the application unless given here. `forge_address` is the base URL of the
    forge's web and API where it is not the public service's. `credentials` are for the application's other
    repositories, charts and registries. In a `freeze` no pull request is opened.
    """

    mode: RemediationMode = RemediationMode.OBSERVE
    application: ApplicationRef | None = None
    forge: ForgeKind | None = None
    forge_address: str | None = None
    secret: SecretRef | None = None
    repository: str | None = None
    branch: str | None = None
    path: str | None = None
    cool_down_s: float = 6 * 3600.0
    freeze: tuple[Freeze, ...] = ()
    review: Review = field(default_factory=Review)
    credentials: tuple[SecretRef, ...] = ()


@dataclass(frozen=True, slots=True)
class PodScrape:
    """The pods' own metrics pages. `ports` are numbers or names of container ports; empty: the pod says it itself."""

    ports: tuple[int | str, ...] = ()
    path: str | None = None


@dataclass(frozen=True, slots=True)
class MetricsSource:
    """Where readings come from: `pods`, else a Prometheus. `address` None: the operator's default Prometheus.

    `secret` is sent to it; `ca` holds the authority that its certificate is checked against, `certificate` a client
    certificate and its key. `profile` names a ready-made set of metric names (`mfu_probe`, …; None: the fleet's);
    `names` overrides single metrics of it (keys: mfu, stepTime, throughput, steps, phase, info, runningRatio), `labels`
    the labels that hold namespace, pod, workload and what makes readings comparable. `model_flops_per_token` makes the
    operator compute MFU from throughput; `peak_flops_per_gpu` (FLOP/s, dense) is for GPUs that its table does not have.
    """

    address: str | None = None
    secret: SecretRef | None = None
    ca: SecretRef | None = None
    certificate: SecretRef | None = None
    tenant: str | None = None
    pods: PodScrape | None = None
    profile: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    model_flops_per_token: float | None = None
    peak_flops_per_gpu: float | None = None

    @property
    def own_prometheus(self) -> bool:
        """Whether the baseline says anything of a Prometheus: then nothing of the operator's own is sent to it."""
        return any((self.address, self.secret, self.ca, self.certificate, self.tenant))


@dataclass(frozen=True, slots=True)
class BaselineSpec:
    """A decoded `TrainingBaseline` spec. Exactly one of `declared` and `record` is set. `deprecated` says, as
    sentences, which of its values have another name now."""

    workload: WorkloadRef
    comparable: Comparable
    declared: Level | None = None
    declared_spread: Spread | None = None
    record: RecordPlan | None = None
    metrics: MetricsSource = MetricsSource()
    detection: Detection = Detection()
    watch: Watch = Watch()
    profiling: Profiling = Profiling()
    remediation: Remediation = Remediation()
    suspend: bool = False
    deprecated: tuple[str, ...] = ()

    def of_run(self, name: str, earlier: tuple[str, ...]) -> "BaselineSpec":
        """The same of one run, where labels follow runs that are submitted under new names; else itself."""
        if not self.workload.selector:
            return self
        return replace(self, workload=replace(self.workload, name=name, earlier=earlier))


class Provenance(StrEnum):
    """Where a baseline's level came from."""

    DECLARED = "Declared"
    RECORDED = "Recorded"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A level, and where it came from.

    `revision` and `images` are what ran while it was recorded, `generation` the one of `baseline.record` that asked for
    it, `comparable` what was declared then, `observed` the same with what it left open filled in from the job itself:
    what the level is true for. All of them are None for a declared level. A level of the past also says when it was put
    out of force, and why. `climb` is how much slower than the level runs were in their first hour, by five minutes of
    their age (ln of the ratio); it is known of runs whose beginning was seen.
    """

    level: Level
    spread: Spread
    provenance: Provenance
    recorded_at: float | None = None
    revision: str | None = None
    images: tuple[str, ...] = ()
    generation: int | None = None
    comparable: Comparable | None = None
    replaced_at: float | None = None
    replaced_because: str | None = None
    observed: Comparable | None = None
    climb: tuple[float, ...] = ()
