"""How pull requests end on a real cluster: each layout and each ending in the state that is documented."""

import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future

import pytest

from tests.matrix.stories import STORIES, Told

pytestmark = [pytest.mark.matrix, pytest.mark.timeout(3600)]

TellOf = Callable[[str], Told]


@pytest.fixture
def of(matrix: Mapping[str, Future[Told | None]]) -> TellOf:
    """What a story came to; raises what ended it early."""

    def told(name: str) -> Told:
        found = matrix[name].result()
        assert found is not None
        return found

    return told


def changed_lines(diff: str) -> list[str]:
    """The lines that come and go."""
    return [line for line in diff.splitlines() if re.match(r"[+-](?![+-])", line)]


@pytest.mark.parametrize("name", STORIES)
def test_one_request_blames_the_commit_that_did_it_or_none(of: TellOf, name: str) -> None:
    told = of(name)
    assert told.requests == 1
    for status in told.proposed.values():
        incident = status["incident"]
        assert incident["diagnosis"]["bottleneck"] == "InputStarved"
        assert incident.get("suspect", {}).get("sha") == told.marks.get("guilty")


def test_a_commit_to_a_manifest_is_reverted_and_the_recovery_is_told_and_proved(of: TellOf) -> None:
    told = of("plain_merged")
    assert told.incident["proposal"]["kind"] == "Revert" and told.incident["proposal"]["state"] == "Merged"
    assert changed_lines(told.diff) == ["-            - --num-workers=0", "+            - --num-workers=2"]
    assert told.incident["recovery"]["after"] > 0.75 * told.incident["recovery"]["before"]
    assert told.marks["merge"][:12] in told.incident["recovery"]["singleVariable"]
    assert told.incident["proof"]["part"] == "idleInput" and told.incident["proof"]["gone"] is True
    [comment] = told.comments
    assert "**recovered**" in comment and "about one training job" in comment


def test_a_request_that_a_person_closes_is_a_no_that_is_remembered_for_the_commit(of: TellOf) -> None:
    told = of("kustomize_closed")
    assert changed_lines(told.diff) == ["-  num_workers: 0", "+  num_workers: 2"]
    assert told.incident["blocked"]["reason"] == "PullRequestClosed"
    assert [each["sha"] for each in told.status["kustomize-closed"]["refused"]] == [told.marks["guilty"]]
    assert (told.request["state"], told.request["merged"], told.comments) == ("closed", False, [])


def test_a_request_that_a_person_pushes_to_is_theirs_and_stays_open_after_the_recovery(of: TellOf) -> None:
    told = of("helm_pushed")
    assert told.incident["proposal"]["kind"] == "MinimalRevert", "a chart's folder is others' too"
    assert changed_lines(told.diff) == ["-  num_workers: 0", "+  num_workers: 2"]
    assert "recovery" in told.incident and told.incident["proposal"]["theirs"] is True
    assert told.request["state"] == "open" and told.branches == [told.request["head"]["ref"]]
    assert "TakenOver" in told.reasons and "Withdrawn" not in told.reasons


def test_a_request_that_is_not_needed_any_more_is_closed_with_the_reason_and_its_branch_is_gone(of: TellOf) -> None:
    told = of("values_recovered")
    assert changed_lines(told.diff) == ["-  num_workers: 0", "+  num_workers: 2"]
    assert (told.request["state"], told.request["merged"], told.branches) == ("closed", False, [])
    assert "training recovered at" in told.incident["proposal"]["withdrawn"]
    assert "**Withdrawn by mfu-operator:** training recovered at" in told.request["body"]
    assert told.status["values-recovered"].get("refused", []) == [], "nobody said no"


def test_two_baselines_of_one_commit_share_one_request_and_one_comment_and_the_third_is_well(of: TellOf) -> None:
    told = of("monorepo_shared")
    red, green = (told.proposed[name]["incident"]["proposal"] for name in ("mono-red", "mono-green"))
    assert red["url"] == green["url"]
    assert changed_lines(told.diff) == ["-  num_workers: 0", "+  num_workers: 2"]
    assert any(f"apps/{name}" in told.request["body"] for name in ("mono-green", "mono-red")), "who else gets it"
    [comment] = told.comments
    assert "about 2 training jobs" in comment and comment.count("**recovered**") == 2
    for name in ("mono-red", "mono-green"):
        assert "recovery" in told.status[name]["history"][0], name
    assert told.status["mono-blue"].get("incidents", 0) == 0


def test_where_a_revert_conflicts_the_guilty_line_alone_is_taken_back(of: TellOf) -> None:
    told = of("plain_minimal")
    assert told.incident["proposal"]["kind"] == "MinimalRevert"
    assert changed_lines(told.diff) == ["-            - --num-workers=0", "+            - --num-workers=2"]
    assert "recovery" in told.incident and told.request["merged"]
    assert "--log-every=400" in told.run.file("gpt/job.yaml"), "what came later stays"


def test_a_pin_that_an_updater_takes_back_exonerates_nobody_and_names_the_commit(of: TellOf) -> None:
    told = of("pin_undone")
    assert told.proposed["pin-undone"]["incident"]["proposal"]["kind"] == "PinDigest"
    [gone, come] = changed_lines(told.diff)
    assert gone == "-  tag: v2" and re.fullmatch(r"\+  tag: v\d@sha256:[0-9a-f]{64}", come)
    assert "renovate" in told.request["body"] and "may undo this change" in told.request["body"]
    assert told.incident["blocked"]["reason"] == "Undone"
    assert told.marks["again"][:12] in told.incident["blocked"]["message"]
    assert "exonerated" not in told.incident and told.request["merged"]


def test_an_image_that_was_rebuilt_under_its_tag_is_pinned_with_no_commit_to_blame(of: TellOf) -> None:
    told = of("tag_moved")
    assert told.incident["proposal"]["kind"] == "PinDigest" and "suspect" not in told.incident
    assert told.run.place.workers.rpartition("@")[2] in told.diff
    assert "recovery" in told.incident and told.request["merged"]
    assert "This came with no commit" in told.request["body"]


def test_a_merge_that_does_not_help_exonerates_the_commit_and_offers_the_revert_of_the_revert(of: TellOf) -> None:
    told = of("plain_not_recovered")
    [cleared] = told.incident["exonerated"]
    assert cleared["suspect"]["sha"] == told.marks["guilty"] and cleared["proposal"]["state"] == "Merged"
    [comment] = told.comments
    assert "**not recovered** after the merge" in comment
    assert "git revert" in comment and told.marks["merge"] in comment
    failed = {each["type"]: each for each in told.status["plain-lasting"]["conditions"]}["RecoveryFailed"]
    assert failed["reason"] == "NotRecovered"


def test_a_chart_whose_range_moved_is_pinned_in_the_application_that_asks_for_it(of: TellOf) -> None:
    told = of("chart_moved")
    assert told.incident["proposal"]["kind"] == "PinChart" and "suspect" not in told.incident
    [gone, come] = changed_lines(told.diff)
    assert "1.*" in gone and "1.0.0" in come and "targetRevision" in come
    assert "recovery" in told.incident and told.request["merged"]
