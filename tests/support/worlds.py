"""Values of one training job's story: gpt-small in team-a, whose data loader loses its workers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mfu_operator.gitops.window import ONSET_UNCERTAINTY_S
from mfu_operator.model.account import ANALYSIS, PARTS, StepAccount
from mfu_operator.model.baseline import (
    Baseline,
    BaselineSpec,
    Comparable,
    Detection,
    ForgeKind,
    Level,
    Provenance,
    Remediation,
    RemediationMode,
    SecretRef,
    Spread,
    WorkloadRef,
)
from mfu_operator.model.commit import Commit, Deployed, FileChange, Source
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Incident, KnownGood, ProfileFact, ProposalFact, Recovery, Status, SuspectFact
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.model.proposal import ProposalKind, PullRequest, PullRequestState
from mfu_operator.model.verdict import Judgement, Verdict
from mfu_operator.model.workload import Pod, Workload
from mfu_operator.reconcile.refresh import configuration
from mfu_operator.reconcile.world import Defaults, Identity, World
from tests.support.facts import facts_of
from tests.support.repository_double import investigated

NOW_S = 1_790_000_000.0
STARTED_S = NOW_S - 7200.0
"""When the healthy run's pod started."""

ONSET_S = NOW_S - 1200.0
UID = "3f2a91c0-1111-2222-3333-444455556666"
IDENTITY = Identity("team-a", "gpt-small", UID, 1)
INSTALLATION = "6b1e9c52-0a7d-4c9e-8f21-1d2c3b4a5f60"
DEFAULTS = Defaults(INSTALLATION, "registry.example/mfu-profiler@sha256:" + "e" * 64, "https://runbooks.example/")
REF = WorkloadRef("batch/v1", "Job", "team-a", "gpt-small")
COMPARABLE = Comparable("gpt-small", gpu="H100", gpu_count=8)
LEVEL = Level(mfu=0.46)
BASELINE = Baseline(LEVEL, Spread(0.005, 0.001, 0.001, 5), Provenance.DECLARED)
IMAGE = "registry.example/gpt@sha256:" + "a" * 64
GOOD, SLOW, QUIET = "1" * 40, "2" * 40, "3" * 40
"""Revisions: what ran well, the commit that took the workers, and a harmless one after it."""

REPOSITORY = "https://git.example/team/models.git"
PATH = "apps/gpt"


def spec(mode: RemediationMode = RemediationMode.PULL_REQUEST, **changes: Any) -> BaselineSpec:
    """What the team declares."""
    remediation = Remediation(
        mode, forge=ForgeKind.GITEA, forge_address="https://git.example", secret=SecretRef("forge")
    )
    made = BaselineSpec(REF, COMPARABLE, LEVEL, BASELINE.spread, detection=Detection(), remediation=remediation)
    return replace(made, **changes)


def pod(started_s: float | None = STARTED_S, **changes: Any) -> Pod:
    """The run's one pod."""
    return replace(Pod("gpt-small-x", "node-1", "Running", True, started_s, 0, (IMAGE,)), **changes)


def workload(started_s: float | None = STARTED_S, **changes: Any) -> Workload:
    """The run as the cluster has it."""
    container = {"name": "train", "image": IMAGE, "command": ["python", "train.py"]}
    template = {"metadata": {"labels": {"app": "gpt"}}, "spec": {"containers": [container]}}
    return replace(Workload("run-uid", 0.0, template, pods=(pod(started_s),)), **changes)


def judgement(verdict: Verdict = Verdict.HEALTHY, **changes: Any) -> Judgement:
    """A verdict with everything that belongs to it."""
    made = Judgement(
        verdict, "WithinTolerance", "MFU 0.46, limit 0.451", "mfu", value=0.46, baseline=0.46, limit=0.451,
        tolerance=0.02, change=0.0, sustain_s=600.0, confirm_s=1800.0, recover_s=600.0, last_usable_s=NOW_S,
    )  # fmt: skip
    return replace(made, **changes)


def regressed(confirmed: bool = False, **changes: Any) -> Judgement:
    """A sustained loss of 17 %."""
    lost: dict[str, Any] = {
        "reason": "SustainedLoss", "message": "MFU 0.381 for 12 min, limit 0.451", "value": 0.381, "change": -0.172,
        "evidence_s": 600.0, "onset_s": ONSET_S, "drop": 0.172, "confirmed": confirmed,
        "confirm_evidence_s": 1800.0 if confirmed else 60.0,
    }  # fmt: skip
    return judgement(Verdict.REGRESSED, **(lost | changes))


def account(compute: float = 21.0, idleInput: float = 0.2, **facts: float | str) -> StepAccount:  # noqa: N803
    """A mean step in milliseconds."""
    parts = {part: {"compute": compute, "idleInput": idleInput}.get(part, 0.0) * 1e6 for part in PARTS}
    observed = facts_of(**{"analysis": float(ANALYSIS), **facts})
    return StepAccount(10, sum(parts.values()), 1e5, parts, account_from="nvtx", facts=observed)


FAST_STEP = account(loaderThreads=4.0, loader="workers")
SLOW_STEP = account(idleInput=64.0, loaderThreads=0.0, loader="inline")
STARVED = Diagnosis(Bottleneck.INPUT_STARVED, "DataLoaderWorkers", 0.9, ("input wait 64 of 85 ms per step",))
HEALTHY_PROFILE = ProfileFact("mfu-gpt-small-3f2a91c0-healthy-a1", 1, NOW_S - 3600, FAST_STEP)
KNOWN_GOOD = KnownGood(GOOD, (IMAGE,), NOW_S - 3600, ("node-1",))
SETTLED = Status(
    1,
    judgement(),
    BASELINE,
    healthy_profile=HEALTHY_PROFILE,
    known_good=KNOWN_GOOD,
    configuration=configuration(spec()),
)
"""A job that has been well for long: nothing is missing."""

INCIDENT = Incident("gpt-small-3f2a91c0-1", NOW_S - 600, ONSET_S, "mfu", 0.46, 0.381, 0.172, GOOD)
PROFILED = ProfileFact("mfu-gpt-small-3f2a91c0-1-a1", 1, NOW_S - 500, SLOW_STEP)
SUSPECT = SuspectFact(SLOW, "Save memory", "Pat", ("num_workers: 4 → 0",), ("a key of DataLoaderWorkers",), 2)
PULL = PullRequest(1, "https://git.example/team/models/pulls/1", "mfu-operator/gpt-small-3f2a91c0-1", PullRequestState.OPEN)  # fmt: skip  # noqa: E501
PROPOSED = ProposalFact(
    ProposalKind.REVERT, PULL.branch, "Revert Save memory", False, "diff", PULL.url, PULL.number, PullRequestState.OPEN
)
MERGED = replace(PROPOSED, state=PullRequestState.MERGED, merged_at=NOW_S, merge_sha="f" * 40)

RECOVERY = Recovery("mfu", 0.46, 0.381, 0.458, NOW_S - 60, 0.459, None)


def incident(**changes: Any) -> Incident:
    """The open incident with the facts given."""
    return replace(INCIDENT, **changes)


def explained(**changes: Any) -> Incident:
    """The incident, profiled, diagnosed and confirmed."""
    facts: dict[str, Any] = {"profile": PROFILED, "diagnosis": STARVED, "confirmed_at": NOW_S - 60}
    return incident(**(facts | changes))


def ailing(of: Incident, **changes: Any) -> Status:
    """A settled job with an open incident."""
    return replace(SETTLED, incidents=1, incident=of, judgement=regressed(), **changes)


def source(**changes: Any) -> Source:
    """Argo CD's account of what was deployed: the good revision, then in one sync the two commits after it."""
    deployed = (Deployed(GOOD, STARTED_S - 10), Deployed(QUIET, ONSET_S - 30))
    return replace(Source(REPOSITORY, "main", PATH, deployed, QUIET, replaces_immutable=True), **changes)


def commit(sha: str, subject: str, path: str, before: str, after: str, parent: str = GOOD) -> Commit:
    """A person's commit to one file."""
    return Commit(sha, (parent,), "Pat", NOW_S - 1300, subject, (FileChange(path, before, after),))


COMMITS = (
    commit(QUIET, "Explain", f"{PATH}/README.md", "a\n", "b\n", SLOW),
    commit(SLOW, "Save memory", f"{PATH}/train.yaml", "num_workers: 4\n", "num_workers: 0\n"),
)
"""The window (GOOD, QUIET], newest first."""

QUESTION = Question(
    source(),
    GOOD,
    QUIET,
    REF,
    "DataLoaderWorkers",
    (IMAGE,),
    (IMAGE,),
    good_s=NOW_S - 3600,
    bad_s=ONSET_S + ONSET_UNCERTAINTY_S,
)


def found(commits: Sequence[Commit] = COMMITS) -> Findings:
    """What is found of a window, newest first."""
    first = {change.path: change.before for commit in commits for change in commit.changes}
    before = Commit(GOOD, (), "Pat", NOW_S, "Good", tuple(FileChange(path, None, text) for path, text in first.items()))
    return investigated([before, *reversed(commits)], QUESTION)


def world(status: Status = SETTLED, **changes: Any) -> World:
    """One tick's knowledge."""
    made = World(NOW_S, IDENTITY, spec(), status, DEFAULTS, workload=workload(), judgement=judgement(), source=source())
    return replace(made, **changes)
