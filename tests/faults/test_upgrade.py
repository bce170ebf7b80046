"""What an earlier release stored at any stage of an incident is carried to its end by the code of now."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mfu_operator.api import naming
from mfu_operator.api import status as codec
from mfu_operator.api.definition import UPGRADE
from mfu_operator.model.account import StepAccount
from mfu_operator.model.incident import ProfileFact
from mfu_operator.model.proposal import PullRequest, PullRequestState
from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.process.ending import FAILED
from tests.faults.story import CULPRIT, Story
from tests.faults.table import Row
from tests.support import worlds
from tests.support.cluster_double import merged
from tests.support.metrics_page import Page, serving_page

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "data" / "stored"
RELEASES = sorted(FOLDER.glob("*.json"))
BEFORE = "fffb414"
"""The release before this one."""

STAGES = ("settle", "slow_down", "explain", "confirm", "merge", "recover")


def stored(release: Path, stage: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(release.read_text())[stage]
    return found


def world_of(story: Story, status: dict[str, Any]) -> None:
    """What the release had done to the world by then: its Jobs, its branch, its pull request."""
    decoded, stage = codec.decode(status), story.stage
    if decoded.healthy_profile is not None:
        launch(story, decoded.healthy_profile, naming.healthy_id(story.place[1], worlds.UID))
    for incident in filter(None, (decoded.incident, *decoded.history)):
        if incident.profile is not None:
            launch(story, incident.profile, incident.id)
        proposal = incident.proposal
        if proposal is not None:
            assert proposal.number is not None
            assert proposal.state is not None
            stage.repository.branches[proposal.branch] = "b" * 40
            stage.forge.pulls.append(PullRequest(proposal.number, proposal.url or "", proposal.branch, proposal.state))


def launch(story: Story, profile: ProfileFact, subject: str) -> None:
    done = profile.account is not None
    phase = JobPhase.SUCCEEDED if done else JobPhase.RUNNING
    job = ProfilingJob(
        profile.job, phase, profile.created_at, profile.finished_at, "node-1", owner=worlds.UID, subject=subject
    )
    story.stage.cluster.jobs["team-a", profile.job] = job


def accounts(status: dict[str, Any]) -> tuple[StepAccount, StepAccount]:
    """What the profiler of that release brings: its image is the same, and so is the number of its analysis."""
    analysis = float(status["healthyProfile"]["account"]["facts"]["analysis"])
    return (
        worlds.account(loaderThreads=4.0, loader="workers", analysis=analysis),
        worlds.account(idleInput=64.0, loaderThreads=0.0, loader="inline", analysis=analysis),
    )


def carried(release: Path, stage: str) -> Story:
    """The world and the status as the release left them after a stage, and then the code of now to the end."""
    story = Story(0)
    story.accounts = accounts(stored(release, "settle"))
    told = Story.STEPS.index(stage) + 1
    story.tell_steps(Story.STEPS[:told])
    status = stored(release, stage)
    world_of(story, status)
    story.write_status(status)
    story.begin(1)
    story.tell_steps(Story.STEPS[told:])
    return story


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.stem)
def test_what_a_release_stored_is_read_and_stays_as_it_is_where_nothing_changed(release: Path, stage: str) -> None:
    status = stored(release, stage)
    decoded = codec.decode(status)
    assert decoded.judgement is not None
    assert (decoded.incident is not None) == ("incident" in status)
    lost = {key for key, value in codec.patch(status, decoded).items() if value is None}
    assert lost <= {"incidents"}, "only the count of incidents, which no id is made from any more, may go"


BACK = """
import json, sys
from mfu_operator.api import status as codec
written = json.load(sys.stdin)
json.dump(codec.patch(written, codec.decode(written)), sys.stdout)
"""
"""What an operator does that goes back: it reads what the newer one stored and writes what it would have there."""


@pytest.fixture(scope="module")
def release_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The operator of the release before, out of the repository's history."""
    folder = tmp_path_factory.mktemp("release")
    packed = subprocess.run(["git", "archive", BEFORE, "operator", "crds"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True)
    return folder


@pytest.mark.faults
@pytest.mark.parametrize("stage", STAGES)
def test_one_version_back_and_forth_with_an_open_incident_changes_nothing_of_the_end(
    release_code: Path, stage: str, row: Row
) -> None:
    calm, story, told = Story(1).tell(), Story(1), Story.STEPS.index(stage) + 1
    story.tell_steps(Story.STEPS[:told])
    environment = {**os.environ, "PYTHONPATH": str(release_code / "operator")}
    back = subprocess.run(
        [sys.executable, "-c", BACK],
        env=environment,
        input=json.dumps(story.stored["status"]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert back.returncode == 0, back.stderr
    story.write_status(merged(story.stored["status"], json.loads(back.stdout)))
    story.tell_steps(Story.STEPS[told:])
    row.note(stories=1)
    assert story.left() == calm.left()


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.stem)
def test_an_incident_of_a_release_is_carried_to_its_end(release: Path, stage: str, row: Row) -> None:
    """The step of a loss that was over in the release already is not captured again."""
    story = carried(release, stage)
    culprit = next(commit.sha for commit in story.stage.repository.line if commit.subject == CULPRIT)
    row.note(stories=1)
    captured_again = stage != "recover"
    assert len(story.stage.cluster.jobs) == (3 if captured_again else 2)
    assert len(story.stage.repository.branches) == 1
    assert [pull.state for pull in story.stage.forge.pulls] == [PullRequestState.MERGED]
    assert story.status.incident is None
    (closed,) = story.status.history
    assert closed.recovery is not None
    assert (closed.proof is not None) is captured_again
    assert closed.suspect is not None
    assert closed.suspect.sha == culprit
    assert [(each.type, each.status) for each in story.status.conditions] == [("Ready", "True"), ("Regressed", "False")]


DEFINITION = ROOT / "crds" / "trainingbaseline.yaml"


def ended(definition: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    """The operator started before an API server that serves this definition."""
    with serving_page(Page(json.dumps({"items": [definition]}), "application/json")) as port:
        cluster = {"name": "one", "cluster": {"server": f"http://127.0.0.1:{port}"}}
        context = {"name": "one", "context": {"cluster": "one", "user": "nobody"}}
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(
            yaml.safe_dump({"clusters": [cluster], "contexts": [context], "users": [], "current-context": "one"})
        )
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "NO_PROXY": "*"}
        command = [sys.executable, "-m", "mfu_operator", "run"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_the_operator_does_not_start_on_a_definition_that_lacks_a_field_and_says_what_to_do(tmp_path: Path) -> None:
    definition = yaml.safe_load(DEFINITION.read_text())
    del definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["noted"]
    end = ended(definition, tmp_path)
    assert end.returncode == FAILED
    assert "DefinitionOutdated" in end.stderr
    assert "status.noted" in end.stderr
    assert UPGRADE in end.stderr


@pytest.mark.faults
def test_the_operator_does_not_start_on_the_definition_of_the_release_before(
    release_code: Path, tmp_path: Path
) -> None:
    end = ended(yaml.safe_load((release_code / "crds" / "trainingbaseline.yaml").read_text()), tmp_path)
    assert end.returncode == FAILED
    assert UPGRADE in end.stderr
