"""What each effect does to the world, done once and done again."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.cycle.following import note, withdraw
from mfu_operator.cycle.perform import MOST_WITHDRAWN, perform
from mfu_operator.errors import AskPerson, MfuError, Retry, Stall, Wait
from mfu_operator.gitops.note import withdrawal
from mfu_operator.model.baseline import Budget, Profiling
from mfu_operator.model.incident import ProfileFact, ProposalFact
from mfu_operator.model.proposal import Closing, Proposal, ProposalKind, PullRequest, PullRequestState
from mfu_operator.model.verdict import Gate
from mfu_operator.ports import Credentials
from mfu_operator.reconcile.effects import (
    EnsureJob,
    EnsurePullRequest,
    Investigate,
    Investigated,
    JobEnsured,
    Note,
    Noted,
    Previewed,
    PreviewProposal,
    Proposed,
    Subject,
    Withdraw,
    Withdrawn,
)
from tests.support import worlds
from tests.support.adapters_double import Stage
from tests.support.worlds import NOW_S, spec, world

OPEN, CLOSED, MERGED = PullRequestState.OPEN, PullRequestState.CLOSED, PullRequestState.MERGED
SOURCE = worlds.source()
TRAILERS = "Mfu-Operator-Suspect: 2\nMfu-Operator-Installation: here\n"
PROFILE = ProfileFact("mfu-a1", 1, NOW_S)


class Scene:
    """A stage whose newest commit is slow, and the proposal that undoes it."""

    def __init__(self) -> None:
        self.stage = Stage()
        sha = self.stage.repository.commit({"apps/gpt/train.yaml": "num_workers: 0\n"}, "Save memory")
        self.proposal = Proposal(
            ProposalKind.REVERT, "mfu-operator/revert-2", "main", "Revert it", "body", f"Revert\n\n{TRAILERS}", sha
        )

    def done(self, effect: Any, **changes: Any) -> Any:
        return perform(self.stage.adapters, world(**changes), effect)

    def propose(self) -> Any:
        return self.done(EnsurePullRequest(SOURCE, self.proposal))


def manifest(*containers: Any, init: Any = ()) -> dict[str, Any]:
    pod: dict[str, Any] = {"containers": list(containers)} | ({"initContainers": list(init)} if init else {})
    return {"metadata": {"namespace": "team-a", "name": "mfu-a1"}, "spec": {"template": {"spec": pod}}}


def gpus(count: int) -> dict[str, Any]:
    return {"name": f"c{count}", "resources": {"limits": {"nvidia.com/gpu": count}}}


def test_a_job_is_launched_and_its_readings_do_not_count_from_then_on() -> None:
    scene = Scene()
    assert scene.done(EnsureJob(Subject.INCIDENT, manifest(gpus(1)), PROFILE)) == JobEnsured()
    assert list(scene.stage.cluster.jobs) == [("team-a", "mfu-a1")]
    assert scene.stage.sweep.gates == {Gate.PROFILING: (NOW_S, None)}
    assert scene.stage.adapters.slots.spans(worlds.UID, []) == ((NOW_S, NOW_S + 900),)


def test_a_copy_is_charged_with_the_accelerators_of_its_largest_container_until_its_deadline() -> None:
    effect = EnsureJob(Subject.INCIDENT, manifest(gpus(2), {"name": "x"}, init=(gpus(4),)), PROFILE)
    for minutes, fits in ((40, True), (39, False)):
        limited = replace(spec(), profiling=Profiling(deadline_s=600.0, budget=Budget(gpu_minutes=minutes)))
        scene = Scene()
        if fits:
            assert scene.done(effect, spec=limited) == JobEnsured()
            continue
        with pytest.raises(Wait) as caught:
            scene.done(effect, spec=limited)
        assert caught.value.reason == "BudgetSpent"
        assert scene.stage.cluster.jobs == {}
    live = EnsureJob(Subject.INCIDENT, manifest({"name": "asks"}), PROFILE)
    none = replace(spec(), profiling=Profiling(budget=Budget(gpu_minutes=0)))
    assert Scene().done(live, spec=none) == JobEnsured()


def test_only_the_job_of_a_healthy_run_waits_for_others() -> None:
    scene = Scene()
    for number in range(6):
        scene.stage.adapters.slots.admit(f"team-a/{number}", NOW_S)
    with pytest.raises(Wait) as caught:
        scene.done(EnsureJob(Subject.BASELINE, manifest(gpus(1)), PROFILE))
    assert caught.value.reason == "ProfilingQueued"
    assert scene.stage.cluster.jobs == {}
    assert scene.done(EnsureJob(Subject.INCIDENT, manifest(gpus(1)), PROFILE)) == JobEnsured()


class Noting:
    """A repository that notes with what it was asked."""

    def __init__(self) -> None:
        self.shown: list[Credentials | None] = []

    def investigate(self, question: Any, credentials: Credentials | None) -> str:
        self.shown.append(credentials)
        return "findings"

    def preview(self, source: Any, proposal: Any, credentials: Credentials | None) -> str:
        self.shown.append(credentials)
        return "diff"


def test_a_repository_is_read_with_the_credentials_of_the_baseline() -> None:
    scene, noting = Scene(), Noting()
    repository: Any = noting
    findings: Any = "findings"
    scene.stage.adapters = replace(scene.stage.adapters, repository=repository)
    assert scene.done(Investigate(worlds.QUESTION)) == Investigated(findings)
    assert scene.done(PreviewProposal(SOURCE, scene.proposal)) == Previewed("diff")
    assert [each and each.password for each in noting.shown] == ["t0ken", "t0ken"]


def test_a_proposal_is_pushed_and_opened_and_done_again_it_is_found() -> None:
    scene = Scene()
    first = scene.propose()
    assert isinstance(first, Proposed)
    head = scene.stage.repository.branches["mfu-operator/revert-2"]
    assert (first.head, first.pull_request.state, first.pull_request.head) == (head, OPEN, head)
    assert "+num_workers: 4" in first.diff
    again = scene.propose()
    assert again == Proposed(first.pull_request, "", head)
    assert len(scene.stage.forge.pulls) == 1


@pytest.mark.parametrize("state", [CLOSED, MERGED])
def test_a_request_that_is_answered_is_adopted_and_nothing_is_pushed(state: PullRequestState) -> None:
    scene = Scene()
    scene.propose()
    scene.stage.forge.edit(1, state=state)
    scene.stage.repository.branches.clear()
    (pull,) = scene.stage.forge.pulls
    assert scene.propose() == Proposed(pull, "", pull.head)
    assert scene.stage.repository.branches == {}


@pytest.mark.parametrize(
    "message", [None, "Revert\n\nMfu-Operator-Suspect: 9\nMfu-Operator-Installation: here\n", "Mine"]
)
def test_a_request_of_a_commit_that_is_not_ours_is_a_person_s(message: str | None) -> None:
    scene = Scene()
    scene.propose()
    (pull,) = scene.stage.forge.pulls
    scene.stage.forge.close(1)
    scene.stage.forge.messages = {} if message is None else {str(pull.head): message}
    with pytest.raises(AskPerson) as caught:
        scene.propose()
    assert caught.value.reason == "BranchTouched"
    scene.stage.forge.edit(1, head=None)
    with pytest.raises(AskPerson):
        scene.propose()


def test_what_the_operator_withdrew_is_proposed_on_the_next_branch_a_few_times() -> None:
    scene = Scene()
    names = []
    for number in range(1, MOST_WITHDRAWN + 2):
        found = scene.done(EnsurePullRequest(SOURCE, scene.proposal), steady_s=3600.0 * number)
        names.append(found.pull_request.branch)
        scene.stage.forge.edit(number, state=CLOSED, withdrawn=True)
    branch = "mfu-operator/revert-2"
    assert names == [branch, f"{branch}-2", f"{branch}-3", f"{branch}-4", f"{branch}-5"]
    with pytest.raises(AskPerson) as caught:
        scene.propose()
    assert caught.value.reason == "WithdrawnTooOften"
    assert f"opened and withdrawn 5 times ({scene.stage.forge.pulls[-1].url})" in caught.value.message


def opened(scene: Scene) -> list[str]:
    """The branches that the breaker counts, by asking for room for them when there is none."""
    for number in range(9):
        scene.stage.adapters.breaker.found("team-a", f"filler-{number}", SOURCE.repository, 0.0)
    room = []
    for branch in ("mfu-operator/revert-2", "another"):
        try:
            with scene.stage.adapters.breaker.opening("team-a", branch, SOURCE.repository, NOW_S, 0.0):
                room.append(branch)
        except Wait:
            pass
    return room


def test_a_request_that_was_opened_or_found_open_counts_and_one_that_was_answered_does_not() -> None:
    for state, counted in ((OPEN, ["mfu-operator/revert-2"]), (CLOSED, [])):
        scene = Scene()
        scene.propose()
        assert opened(scene) == ["mfu-operator/revert-2"]
        scene.stage.adapters = replace(scene.stage.adapters, breaker=type(scene.stage.adapters.breaker)())
        scene.stage.forge.edit(1, state=state)
        scene.propose()
        assert opened(scene) == counted


class Followed(Scene):
    """A stage whose proposal is open."""

    def __init__(self) -> None:
        super().__init__()
        self.propose()
        (pull,) = self.stage.forge.pulls
        self.fact = ProposalFact(
            ProposalKind.REVERT, pull.branch, pull.title, False, url=pull.url, number=1, state=OPEN, head=pull.head
        )

    @property
    def pull(self) -> PullRequest:
        return self.stage.forge.pulls[0]

    def withdrawn(self, closing: Closing = Closing.NOT_NEEDED) -> Withdrawn:
        found = self.done(Withdraw(SOURCE, self.fact, "recovered", closing))
        assert isinstance(found, Withdrawn)
        return found


@pytest.mark.parametrize("closing", list(Closing))
def test_a_request_is_closed_with_the_reason_and_its_branch_removed(closing: Closing) -> None:
    scene = Followed()
    assert scene.withdrawn(closing) == Withdrawn(scene.pull)
    assert scene.pull.state is CLOSED
    assert scene.stage.forge.remarks == {1: withdrawal("recovered", closing)}
    assert scene.stage.repository.branches == {}
    assert scene.withdrawn(closing) == Withdrawn(scene.pull)


@pytest.mark.parametrize("closing", list(Closing))
def test_a_branch_that_was_left_when_the_process_died_is_removed(closing: Closing) -> None:
    scene = Followed()
    scene.stage.forge.withdraw(1, "", closing)
    assert scene.withdrawn(closing) == Withdrawn(scene.pull)
    assert scene.stage.repository.branches == {}


@pytest.mark.parametrize(("state", "closing"), [(MERGED, Closing.REJECTED), (CLOSED, Closing.NOT_NEEDED)])
def test_a_request_that_a_person_answered_first_keeps_its_branch(state: PullRequestState, closing: Closing) -> None:
    scene = Followed()
    scene.stage.forge.edit(1, state=state)
    assert scene.withdrawn(closing) == Withdrawn(scene.pull)
    assert scene.stage.forge.remarks == {}
    assert list(scene.stage.repository.branches) == [scene.fact.branch]


@pytest.mark.parametrize("changes", [{"head": "9" * 40}, {"head": None}, {"branch": "theirs"}])
def test_a_request_that_is_a_person_s_is_left_alone(changes: dict[str, Any]) -> None:
    scene = Followed()
    scene.stage.forge.edit(1, **changes)
    assert scene.withdrawn() == Withdrawn(scene.pull, theirs=True)
    assert (scene.pull.state, scene.stage.forge.remarks) == (OPEN, {})
    assert list(scene.stage.repository.branches) == [scene.fact.branch]


class Refusing:
    """A forge that answers and takes nothing."""

    def __init__(self, pull: PullRequest, error: MfuError) -> None:
        self.pull, self.error = pull, error

    def get(self, number: int) -> PullRequest:
        return self.pull

    def note(self, *_: Any) -> None:
        raise self.error

    withdraw = note


def refusing(error: MfuError) -> tuple[Any, ProposalFact]:
    scene = Followed()
    forge: Any = Refusing(scene.pull, error)
    return replace(scene.stage.adapters, forge=lambda *_: forge), scene.fact


def test_a_forge_that_does_not_take_a_withdrawal_is_asked_again() -> None:
    for error in (Stall("ForgeAccessDenied", "renew it"), Retry("ForgeUnreachable", "503")):
        adapters, fact = refusing(error)
        with pytest.raises(Retry) as caught:
            withdraw(adapters, world(), Withdraw(SOURCE, fact, "recovered"))
        assert (caught.value.reason, caught.value.message) == (error.reason, error.message)


def test_a_comment_is_kept_on_its_own_request() -> None:
    scene = Followed()
    effect = Note(SOURCE, scene.fact, "text", "abc")
    assert scene.done(effect) == Noted()
    assert scene.stage.forge.notes == {1: "text"}
    scene.stage.forge.edit(1, branch="theirs")
    scene.stage.forge.notes.clear()
    assert scene.done(effect) == Noted("number 1 is another pull request there")
    assert scene.stage.forge.notes == {}


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (Stall("Locked", "no"), True),
        (Retry("ForgeAccessDenied", "no"), True),
        (Retry("ForgeUnreachable", "503"), False),
    ],
)
def test_a_comment_that_is_refused_for_good_is_not_tried_for_ever(error: MfuError, refused: bool) -> None:
    adapters, fact = refusing(error)
    effect = Note(SOURCE, fact, "text", "abc")
    if refused:
        assert note(adapters, world(), effect) == Noted(f"{error.reason}: {error.message}")
        return
    with pytest.raises(Retry):
        note(adapters, world(), effect)
