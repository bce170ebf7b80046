"""What the tour shows: a packaged series, pair of traces and Git history, judged, explained and blamed by the
operator's own code."""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from mfu_operator.adapters.git.environment import environment
from mfu_operator.cli.manifest import read_manifest
from mfu_operator.cli.replay.command import declared, told
from mfu_operator.cli.replay.series import read_series
from mfu_operator.cli.replay.told import Story
from mfu_operator.errors import Unreadable
from mfu_operator.gitops.propose import propose
from mfu_operator.investigate.findings import findings
from mfu_operator.measure.trail import NO_TRAIL
from mfu_operator.model.account import StepAccount
from mfu_operator.model.baseline import BaselineSpec, Signal, WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.diagnosis import Diagnosis
from mfu_operator.model.incident import Incident, ProfileFact
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.model.proposal import Proposal
from mfu_operator.model.series import Course, Phase
from mfu_operator.reconcile.recovery import cost_until, devices_of
from mfu_operator.trace.analyze import answer_of, mean_account, read_all
from mfu_operator.trace.answer import Answer
from mfu_operator.trace.diagnosis.diagnose import diagnose

DATA = Path(__file__).with_name("data")
BASELINE, SERIES, HISTORY = DATA / "baseline.yaml", DATA / "step-times.csv", DATA / "history.txt"
FAST, SLOW = DATA / "fast.json.gz", DATA / "slow.json.gz"
GOOD, BRANCH, PATH = "fast", "main", "resnet50"

_REPOSITORY = "https://git.example.com/vision/jobs.git"
"""What the pull request's text calls the history's repository; nothing is asked of it."""

REST = "### What it does"
"""The heading under which a pull request's text goes on after what it says at first sight."""

_GIT_DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class Tour:
    """What each stage found."""

    story: Story
    explained: Answer
    found: Findings
    proposal: Proposal

    @property
    def first_sight(self) -> str:
        """The beginning of the pull request's text."""
        return self.proposal.body.partition(REST)[0].rstrip()


def toured() -> Tour:
    """Every stage, the next from the one before.

    Raises:
        Unreadable: (RepositoryUnreadable) there is no git program.
    """
    spec, held = declared(read_manifest(BASELINE))
    story = told(spec, held, read_series(SERIES, Signal.STEP_TIME), Signal.STEP_TIME, None)
    slow, fast = read_all([SLOW], None), read_all([FAST], None)
    now, healthy = mean_account(slow), mean_account(fast)
    diagnosis = diagnose(now, healthy)
    found, source = _investigated(spec.workload, diagnosis)
    incident = _incident(story, now, diagnosis)
    proposal = _proposed(spec, incident, found, source, healthy, _course(story, incident.opened_at))
    return Tour(story, _without_folders(answer_of(slow, fast)), found, proposal)


def _without_folders(found: Answer) -> Answer:
    """The answer with the names of its traces, wherever the package is."""
    return replace(found, traces=tuple(replace(trace, path=Path(trace.path).name) for trace in found.traces))


def _incident(story: Story, now: StepAccount, diagnosis: Diagnosis) -> Incident:
    """As it stands once the loss is confirmed and profiled."""
    confirmed, last = story.replayed.confirmed, story.replayed.last
    assert confirmed is not None and last is not None
    return Incident(
        id="tour",
        opened_at=confirmed.time_s,
        onset_at=confirmed.onset_s or confirmed.time_s,
        signal=last.signal,
        baseline_value=last.baseline or 0.0,
        regressed_value=last.value or 0.0,
        drop=confirmed.drop or 0.0,
        confirmed_at=confirmed.time_s,
        profile=ProfileFact("tour", 1, confirmed.time_s, now),
        diagnosis=diagnosis,
    )


def _investigated(workload: WorkloadRef, diagnosis: Diagnosis) -> tuple[Findings, Source]:
    with tempfile.TemporaryDirectory(prefix="mfu-tour-") as folder:
        clone = Path(folder) / "clones" / "jobs.git"
        env = environment({}, folder, ("file",))
        good, bad = _history(clone, env)
        source = Source(_REPOSITORY, BRANCH, PATH, (), bad)
        return findings(Question(source, good, bad, workload, diagnosis.cause), clone, good, bad, env), source


def _history(clone: Path, env: Mapping[str, str]) -> tuple[str, str]:
    """Makes the repository, and says which of its commits was fast and which one is slow.

    Raises:
        Unreadable: (RepositoryUnreadable) there is no git program.
    """
    git = shutil.which("git")
    if git is None:
        raise Unreadable(
            "RepositoryUnreadable", "commits are read with the program git, and there is none: install git"
        )
    clone.parent.mkdir()
    _run(env, git, "init", "--quiet", "--bare", f"--initial-branch={BRANCH}", str(clone))
    _run(env, git, "--git-dir", str(clone), "fast-import", "--quiet", given=HISTORY.read_bytes())
    good, bad = _run(env, git, "--git-dir", str(clone), "rev-parse", GOOD, BRANCH).split()
    return good, bad


def _run(env: Mapping[str, str], *arguments: str, given: bytes = b"") -> str:
    done = subprocess.run(
        arguments, input=given, env=dict(env), capture_output=True, check=True, timeout=_GIT_DEADLINE_S
    )
    return done.stdout.decode()


def _course(story: Story, until_s: float) -> Course:
    """What the operator knew of the signal by then, while the job was running."""
    trail = NO_TRAIL
    for reading in story.history.readings:
        if reading.phase is Phase.RUNNING and reading.time_s <= until_s and story.signal in reading.values:
            trail = trail.passed(story.signal, reading.time_s, reading.values[story.signal])
    return trail.course(story.signal)


def _proposed(
    spec: BaselineSpec, incident: Incident, found: Findings, source: Source, healthy: StepAccount, course: Course
) -> Proposal:
    devices = devices_of(spec, 1)
    until_s = incident.confirmed_at or incident.opened_at
    cost = cost_until(incident, devices, until_s)
    return propose(
        incident,
        found.ranking.chosen,
        found,
        source,
        subject=f"{spec.workload.namespace}/{spec.workload.name}",
        installation="tour",
        healthy=healthy,
        cost=cost,
        course=course,
    )
