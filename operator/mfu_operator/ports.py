"""What the operator needs from the world. One contract suite per port (tests/contracts) runs against every adapter
and its double. Every method may raise `Retry` (the world failed) and `Stall` (it refused for good)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import ApplicationRef, MetricsSource, WorkloadRef
from mfu_operator.model.commit import Commit, Source
from mfu_operator.model.condition import Event
from mfu_operator.model.proposal import Proposal, PullRequest
from mfu_operator.model.series import Reading
from mfu_operator.model.workload import PodEndpoint, ProfilingJob, Workload


@dataclass(frozen=True, slots=True)
class Credentials:
    """A token, or a user and a password. Never shown: not in repr, logs, URLs or argument lists.

    ca is the authority that the other side's certificate is checked against, certificate and private_key are our own
    (PEM texts, all for TLS). None: not given.
    """

    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    ca: str | None = field(default=None, repr=False)
    certificate: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SecretUse:
    """What a Secret is read for.

    Args:
        keys: those that are read, and no others.
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
AUTHORITY = SecretUse(("ca.crt",), "key ca.crt", (*PASSWORD.types, "kubernetes.io/tls"))
CLIENT_CERTIFICATE = SecretUse(("tls.crt", "tls.key"), "keys tls.crt and tls.key", AUTHORITY.types)
"""Of a TLS Secret certificates alone leave the cluster: its key signs and is not sent."""


MOST_POINTS = 10_000
"""Of one series in one `Metrics.history`: Prometheus refuses range queries of more than 11,000."""


class Metrics(Protocol):
    """A source of readings for many jobs at once."""

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """Readings of now, absent keys where the source has none. A bounded number of queries for all together."""

    def history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """Readings of a span, oldest first: what refills the memory after a restart."""


class MetricsSources(Protocol):
    """Opens a source of readings for a baseline's `metrics`."""

    def open(self, source: MetricsSource, credentials: Credentials | None) -> Metrics:
        """A source; the same one for equal arguments."""


class Cluster(Protocol):
    """The Kubernetes API, narrowed to what is used. One writer per object: it creates only what it names itself."""

    def workload(self, ref: WorkloadRef) -> Workload | None:
        """The workload and its pods, None where there is no such object."""

    def endpoints(self, refs: Sequence[WorkloadRef]) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...] | MfuError]:
        """The running pods of many workloads, absent keys where none runs, an error where they cannot be known. Few
        requests for all together."""

    def profiling_job(self, namespace: str, name: str) -> ProfilingJob | None:
        """A profiling Job as it stands."""

    def ensure_job(self, manifest: Mapping[str, Any]) -> None:
        """Create the Job unless one of its name exists."""

    def secret(self, namespace: str, name: str, use: SecretUse) -> Mapping[str, str]:
        """Those of the use's keys that one Secret has, decoded; read when needed and not kept.

        Raises Stall(CredentialsMissing) where absent, Stall(CredentialsUnfit) where it was not made for this use or a
        key holds no text.
        """

    def exists(self, namespace: str, name: str, uid: str) -> bool:
        """Whether there still is this TrainingBaseline."""

    def write_status(self, namespace: str, name: str, changes: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Merge changes into a TrainingBaseline's status; the object as it is stored then, None where it is gone."""

    def post(self, regarding: Mapping[str, Any], event: Event) -> None:
        """Post an Event on an object (apiVersion, kind, namespace, name, uid)."""


class Delivery(Protocol):
    """A GitOps tool (Argo CD, Flux)."""

    def application_of(self, workload: Workload) -> ApplicationRef | None:
        """The application that deploys the workload, by the marks the tool leaves on it; None: not this tool's."""

    def source(self, application: ApplicationRef, workload: Workload) -> Source:
        """Where the workload's configuration comes from and which revisions were deployed when."""


class Repository(Protocol):
    """The Git repository of a source, through a short-lived clone."""

    def commits(self, source: Source, good: str, bad: str, credentials: Credentials | None) -> tuple[Commit, ...]:
        """The commits after `good` up to `bad` on the branch's first-parent line, newest first, with their changes.

        Raises AskPerson(HistoryRewritten) where `good` is no ancestor of `bad`.
        """

    def preview(self, source: Source, proposal: Proposal, credentials: Credentials | None) -> str:
        """The unified diff that the proposal makes on the branch's head; nothing is pushed.

        Raises AskPerson(RevertConflict) where it does not apply cleanly, AskPerson(NothingToRevert) where it is undone
        already.
        """

    def ensure_branch(self, source: Source, proposal: Proposal, credentials: Credentials | None) -> str:
        """Push the proposal's branch with its one commit; returns the head's sha. The same branch twice is one branch.

        Raises AskPerson(BranchTouched) where a person pushed to it.
        """


class Forge(Protocol):
    """The service that holds pull requests of one repository."""

    def find(self, branch: str) -> PullRequest | None:
        """The pull request from `branch`, open or not, the newest first."""

    def ensure(self, proposal: Proposal) -> PullRequest:
        """Open the pull request unless there is one from its branch (open or closed)."""

    def get(self, number: int) -> PullRequest:
        """The pull request by number."""
