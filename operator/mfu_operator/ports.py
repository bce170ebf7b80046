"""What the operator needs from the world. One contract suite per port (tests/contracts) runs against every adapter
and its double. Every method may raise `Retry` (the world failed) and `Stall` (it refused for good)."""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from mfu_operator.api.bound_address import Bound, closest
from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import ApplicationRef, MetricsSource, WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.condition import Event
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.model.proposal import Closing, Proposal, PullRequest
from mfu_operator.model.series import HardwareReading, Reading
from mfu_operator.model.vitals import Vitals
from mfu_operator.model.workload import PodEndpoint, ProfilingJob, Workload

Method = TypeVar("Method", bound=Callable[..., Any])


def effect(method: Method) -> Method:
    """Mark a method of a port after which the world is another one: "may I act" is asked immediately before it."""
    method.is_effect = True  # type: ignore[attr-defined]
    return method


def is_effect(port: type, name: str) -> bool:
    """Whether a port's method of this name is an effect."""
    return getattr(getattr(port, name, None), "is_effect", False)


@dataclass(frozen=True, slots=True)
class AppKey:
    """The key of a GitHub App, which is sent nowhere: it signs. `installation` is None where GitHub is asked for it."""

    app_id: str
    private_key: str = field(repr=False)
    installation: str | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    """A token, or a user and a password, or the key of an App. Never shown: not in repr, logs, URLs or argument lists.

    ca is the authority that the other side's certificate is checked against, certificate and private_key are our own
    (PEM texts, all for TLS). signing_key is an SSH or OpenPGP key that signs commits and is sent nowhere. None: not
    given. `bound` are the Secrets that they come from; none where they are the operator's own or a person's. `beside`
    are others, each from a Secret of its own, for what else is read.
    """

    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    ca: str | None = field(default=None, repr=False)
    certificate: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)
    signing_key: str | None = field(default=None, repr=False)
    bound: tuple[Bound, ...] = ()
    app: AppKey | None = None
    beside: tuple["Credentials", ...] = field(default=(), repr=False)

    def toward(self, url: str) -> "Credentials | None":
        """Of these and those beside them, the ones whose Secret was made for the URL; None: none was, so nothing is
        sent. Raises Stall(CredentialsUnfit) where two were made for it alike."""
        known = {each.bound[0]: each for each in (self, *self.beside) if len(each.bound) == 1}
        found = closest(known, url)
        return known[found] if found is not None else None

    def require(self, url: str) -> None:
        """Raise Stall(CredentialsUnbound) unless every Secret that they come from may be sent to the URL."""
        for each in self.bound:
            each.require(url)


@dataclass(frozen=True, slots=True)
class SecretUse:
    """What a Secret is read for.

    Args:
        keys: those that are read, and no others beside `address`, which says where they may be sent.
        wanted: what a person has to put into it, in words.
        types: the types of Secrets that are made for this use.
    """

    keys: tuple[str, ...]
    wanted: str
    types: tuple[str, ...]


PASSWORD = SecretUse(
    ("token", "username", "password"),
    "key token, or with keys username and password",
    ("Opaque", "kubernetes.io/basic-auth"),
)
HOST = SecretUse((*PASSWORD.keys, "ca.crt"), f"{PASSWORD.wanted}, or for a host with open doors ca.crt", PASSWORD.types)
"""Of a Git server, a Helm repository or a registry."""
FORGE = SecretUse(
    (*HOST.keys, "githubAppID", "githubAppInstallationID", "githubAppPrivateKey", "sshSigningKey", "gpgSigningKey"),
    f"{PASSWORD.wanted}, or for a GitHub App with githubAppID and githubAppPrivateKey",
    PASSWORD.types,
)
"""The keys of an App have the names that Argo CD and Flux give them."""
AUTHORITY = SecretUse(("ca.crt",), "key ca.crt", (*PASSWORD.types, "kubernetes.io/tls"))
CLIENT_CERTIFICATE = SecretUse(("tls.crt", "tls.key"), "keys tls.crt and tls.key", AUTHORITY.types)
"""Of a TLS Secret certificates alone leave the cluster: its key signs and is not sent."""


MOST_POINTS = 10_000
"""Of one series in one `Metrics.history`: Prometheus refuses range queries of more than 11,000."""


class Metrics(Protocol):
    """A source of readings for many jobs at once. Every method but `absence` asks a bounded number of queries for all
    jobs together."""

    @property
    def measures_hardware(self) -> bool:
        """Whether `hardware` can tell anything: a pod's page does not show the GPUs."""

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """Readings of now, absent keys where the source has none."""

    def history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """Readings of a span, oldest first: what refills the memory after a restart. None where it keeps no history."""

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        """The GPUs of each workload, absent keys where nothing is known of them."""

    def vitals(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, Vitals]:
        """Memory and streaks of each workload now, absent keys where nothing is known of them."""

    def vitals_history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Vitals, ...]]:
        """The least memory of each step of a span, oldest first."""

    def absence(self, workload: WorkloadRef) -> MfuError | None:
        """Why the last `latest` had nothing, or not all, of a workload; None where nothing was in the way."""


class MetricsSources(Protocol):
    """Opens a source of readings for a baseline's `metrics`."""

    def open(self, source: MetricsSource, credentials: Credentials | None) -> Metrics:
        """A source; the same one for equal arguments."""


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One version of one TrainingBaseline: what a write to it rests on."""

    namespace: str
    name: str
    uid: str
    resource_version: str


class Cluster(Protocol):
    """The Kubernetes API, narrowed to what is used. One writer per object: it creates only what it names itself."""

    def workload(self, ref: WorkloadRef) -> Workload | None:
        """The workload and its pods, None where there is no such object."""

    def endpoints(self, refs: Sequence[WorkloadRef]) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...] | MfuError]:
        """The running pods of many workloads, absent keys where none runs, an error where they cannot be known. Few
        requests for all together."""

    def profiling_job(self, namespace: str, name: str) -> ProfilingJob | None:
        """A profiling Job as it stands."""

    @effect
    def ensure_job(self, manifest: Mapping[str, Any]) -> None:
        """Create the Job unless one of its name exists."""

    def secret(self, namespace: str, name: str, use: SecretUse) -> Mapping[str, str]:
        """Those of the use's keys and of `address` that one Secret has, decoded; read when needed and not kept.

        Raises Stall(CredentialsMissing) where absent, Stall(CredentialsUnbound) where it is not labelled as
        credentials, Stall(CredentialsUnfit) where it was not made for this use or a key holds no text.
        """

    def baseline(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """A TrainingBaseline as it is stored, None where none has this name."""

    @effect
    def write_status(self, read: ObjectVersion, changes: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Merge changes into a TrainingBaseline's status; the object as it is stored then, None where it is gone.

        Raises Conflict(ObjectChanged) where what is stored is no longer the version that was read.
        """

    @effect
    def remove_annotation(self, read: ObjectVersion, name: str, value: str) -> None:
        """Remove an annotation from a TrainingBaseline, unless it has another value by now, or the object is gone."""

    @effect
    def post(self, regarding: Mapping[str, Any], event: Event, name: str) -> None:
        """Post an Event on an object (apiVersion, kind, namespace, name, uid) unless there is one of this name."""


class Delivery(Protocol):
    """A GitOps tool (Argo CD, Flux)."""

    def application_of(self, workload: Workload) -> ApplicationRef | None:
        """The application that deploys the workload, by the marks the tool leaves on it; None: not this tool's."""

    def source(self, application: ApplicationRef, ref: WorkloadRef, workload: Workload) -> Source:
        """Where the workload's configuration comes from and which revisions were deployed when.

        Raises Stall(NotDeployedByApplication) where the application does not deploy this workload, or not here.
        """


class Place(Protocol):
    """What a look at a repository holds of what all namespaces share, for as long as it goes on."""

    @property
    def needed(self) -> bool:
        """Whether another namespace needs it: the look ends with Wait(HostBusy)."""

    def may_render(self) -> bool:
        """Whether it may render now; asked again until it may."""


PLACE: ContextVar[Place | None] = ContextVar("place", default=None)
"""That of the call which this thread makes; None: nobody else wants it."""


class Repository(Protocol):
    """The Git repository of a source, through a short-lived clone."""

    def investigate(self, question: Question, credentials: Credentials | None) -> Findings:
        """Which of the commits after `good` up to `bad` on the branch's first-parent line did it, by what each changed
        of what the workload gets; and what undoes it, rendered too.

        Raises AskPerson(HistoryRewritten) where `good` is not an ancestor of `bad`.
        """

    def preview(self, source: Source, proposal: Proposal, credentials: Credentials | None) -> str:
        """The unified diff that the proposal makes on the branch's head; nothing is pushed.

        Raises AskPerson(RevertConflict) where it does not apply cleanly, AskPerson(NothingToRevert) where it is undone
        already.
        """

    @effect
    def ensure_branch(self, source: Source, proposal: Proposal, credentials: Credentials | None) -> str:
        """Push the proposal's branch with its one commit; returns the head's sha. The same branch twice is one branch.

        Raises AskPerson(BranchTouched) where it holds anything else than this proposal's commit on the base: a person
        added to it or amended it, or it was pushed for another proposal.
        """

    @effect
    def remove_branch(self, source: Source, branch: str, head: str, credentials: Credentials | None) -> None:
        """Remove a branch of the operator's where it still is at the commit that the operator pushed. One that is gone
        stays gone, and one that holds anything else is left alone."""


class Forge(Protocol):
    """The service that holds pull requests of one repository."""

    def find(self, branch: str) -> PullRequest | None:
        """The pull request from `branch`, open or not, the newest first."""

    @effect
    def ensure(self, proposal: Proposal) -> PullRequest:
        """Open the pull request unless there is one from its branch (open or closed)."""

    def get(self, number: int) -> PullRequest:
        """The pull request by number."""

    def commit_message(self, sha: str) -> str | None:
        """The message of a commit, that of a deleted branch's too; None where there is no such commit."""

    @effect
    def withdraw(self, number: int, remark: str, closing: Closing) -> PullRequest:
        """Close a pull request, with the remark above its description; it is `withdrawn` then, unless it is rejected. A
        person who closed it before has said no, and one that is merged stays merged."""

    @effect
    def note(self, number: int, text: str) -> None:
        """The operator's one comment on a pull request says this: it is made, or edited."""
