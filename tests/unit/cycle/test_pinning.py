"""An image that was rebuilt under its tag: found without a commit, pinned to the digest that ran while it was fast."""

from dataclasses import replace

import pytest

from mfu_operator.api.group import REJECT_ANNOTATION
from mfu_operator.api.requests import asked_value
from mfu_operator.model.commit import Ranking
from mfu_operator.model.incident import Incident, PinFact
from mfu_operator.model.investigation import Findings, Question, Undoing
from mfu_operator.model.proposal import Edit, ProposalKind, PullRequestState
from mfu_operator.model.verdict import Verdict
from mfu_operator.ports import Credentials
from tests.support import worlds
from tests.support.adapters_double import Stage
from tests.support.repository_double import RepositoryDouble

OLD, NEW = worlds.IMAGE, worlds.IMAGE.replace("a" * 64, "b" * 64)
PINNED = Edit("apps/gpt/job.yaml", "image: registry.example/gpt:v1\n", f"image: {OLD}\n")
PIN = f"outside-{'c' * 40}"
SAID = f"registry.example/gpt:v1 ran as {OLD[-71:]} while it was fast, and as {NEW[-71:]} since"


class Rebuilt(RepositoryDouble):
    """What the Git process finds where only an image was rebuilt."""

    stubborn = False

    def investigate(self, question: Question, credentials: Credentials | None) -> Findings:
        self.asked = question
        if question.exonerated and not self.stubborn:
            return super().investigate(question, credentials)
        ranking = Ranking((), None, "No commit is blamed: image registry.example/gpt:v1 was rebuilt.")
        return Findings(ranking, Undoing(ProposalKind.PIN_DIGEST, self.line[-1].sha, (PINNED,), pins=(SAID,), pin=PIN))


def slow_by(image: str, *commits: str) -> tuple[Stage, Rebuilt]:
    """A healthy run is replaced by one that runs `image`, after commits that change its file, and is slow from then
    on."""
    stage, repository = Stage(), Rebuilt()
    repository.__dict__.update(stage.repository.__dict__)
    stage.adapters = replace(stage.adapters, repository=repository)
    stage.forge.branches = repository.branches
    stage.settle()
    stage.now_s += 600
    for text in commits:
        repository.commit({"apps/gpt/train.yaml": text}, "Save memory")
        stage.deploy()
    place = ("Job", "team-a", "gpt-small")
    before = stage.cluster.workloads[place]
    stage.cluster.workloads[place] = replace(before, pods=(worlds.pod(stage.now_s + 5, images=(image,)),))
    stage.sweep.says = worlds.regressed(onset_s=stage.now_s + 20)
    stage.explain()
    stage.confirm()
    stage.ticks(2)
    return stage, repository


def test_a_rebuilt_image_is_pinned_although_nothing_was_deployed() -> None:
    stage, repository = slow_by(NEW)
    assert (repository.asked.good, repository.asked.bad) == (repository.line[-1].sha,) * 2
    assert (repository.asked.good_images, repository.asked.bad_images) == ((OLD,), (NEW,))
    incident = stage.incident
    assert incident.suspect is None and incident.proposal is not None
    assert (incident.proposal.kind, incident.proposal.state) == (ProposalKind.PIN_DIGEST, PullRequestState.OPEN)
    pull = stage.forge.proposals[1]
    assert pull.title.startswith("Pin the last good image: MFU")
    assert "No commit" not in pull.title and SAID in pull.body and "### Why no commit" in pull.body
    assert "made it slow" not in pull.body
    assert "Mfu-Operator-Suspect: outside-" in pull.commit_message


def test_the_same_image_on_the_same_revision_is_no_commit_and_nothing_is_asked() -> None:
    stage, repository = slow_by(OLD)
    assert not hasattr(repository, "asked")
    assert stage.forge.pulls == [] and blocked(stage.incident) == "NoRevisionChanged"


def test_a_pin_that_is_merged_and_helps_is_told_as_what_changed() -> None:
    stage, _ = slow_by(NEW)
    stage.now_s += 60
    stage.merge()
    stage.ticks(2)
    last = stage.status.history[0]
    assert last.recovery is not None and last.recovery.single_variable is not None
    assert last.recovery.single_variable.startswith("Pin the last good image, merged as ")


def test_a_pin_that_is_closed_is_a_no_for_this_incident() -> None:
    stage, _ = slow_by(NEW)
    stage.forge.close(1)
    stage.ticks(4)
    assert blocked(stage.incident) == "PullRequestClosed"
    assert stage.sweep.says is not None and stage.sweep.says.verdict is Verdict.REGRESSED
    assert len(stage.forge.pulls) == 1


@pytest.mark.parametrize("by_command", [True, False], ids=["rejected", "closed"])
def test_a_no_to_a_pin_is_remembered_and_the_same_is_not_proposed_in_a_later_incident(by_command: bool) -> None:
    stage, _ = slow_by(NEW)
    if by_command:
        stage.take_note(REJECT_ANNOTATION, asked_value(stage.incident.id, "v1 has a hole"))
    else:
        stage.forge.close(1)
    stage.ticks(5)
    (pull,) = stage.forge.pulls
    assert (pull.state, pull.withdrawn) == (PullRequestState.CLOSED, False)
    (no,) = stage.status.refused
    assert (no.sha, no.subject) == (PIN, SAID)
    assert blocked(stage.incident) == ("Rejected" if by_command else "PullRequestClosed")
    stage.forge.pulls.clear()
    stage.sweep.says = worlds.judgement(recovered=True)
    stage.ticks(2)
    stage.stored["knownGood"]["images"] = [OLD]
    stage.now_s += 36000
    stage.sweep.says = worlds.regressed(onset_s=stage.now_s + 20)
    stage.explain()
    stage.confirm()
    stage.ticks(3)
    assert stage.forge.pulls == [] and blocked(stage.incident) == "Refused"
    assert f"pinning ({SAID}) was refused" in stage.holding("ProposalFailed").message


def merged_in_vain(*commits: str, found_again: bool = False) -> tuple[Stage, Rebuilt]:
    """The pin is merged and rolled out, and the loss remains for more than three times a recovery."""
    stage, repository = slow_by(NEW, *commits)
    repository.stubborn = found_again
    merged = repository.commit({"apps/gpt/job.yaml": f"image: {OLD}\n"}, "Pin the last good image")
    stage.forge.merge(1, merged, at_s=stage.now_s)
    stage.tick()
    stage.now_s += 400
    stage.deploy()
    stage.tick(2400)
    stage.ticks(4)
    return stage, repository


def test_a_pin_that_did_not_help_is_told_on_its_request_and_not_proposed_again() -> None:
    stage, _ = merged_in_vain()
    (cleared,) = stage.incident.exonerated
    assert cleared.pin == PinFact(PIN, (SAID,))
    assert "so what it pins did not cause that" in stage.forge.notes[1]
    assert (len(stage.forge.pulls), blocked(stage.incident)) == (1, "NoRevisionChanged")
    assert "/pulls/1 pins did not do it" in stage.holding("ProposalFailed").message
    assert "take it back if you want the newer one" in stage.holding("RecoveryFailed").message


def test_after_a_pin_that_did_not_help_the_commit_that_it_hid_is_considered() -> None:
    stage, repository = merged_in_vain("num_workers: 0\n")
    assert repository.asked.exonerated == (PIN,)
    assert [pull.number for pull in stage.forge.pulls] == [1, 2]
    assert stage.incident.suspect is not None and stage.incident.suspect.subject == "Save memory"
    assert stage.incident.pin is None


def test_a_pin_that_is_found_again_although_it_did_not_help_is_not_proposed_again() -> None:
    stage, _ = merged_in_vain("num_workers: 0\n", found_again=True)
    assert (len(stage.forge.pulls), blocked(stage.incident)) == (1, "NoSuspect")
    assert (stage.incident.suspect, stage.incident.pin) == (None, None)


def blocked(incident: Incident) -> str | None:
    return incident.blocked[0] if incident.blocked else None
