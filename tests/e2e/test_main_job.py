"""The main job, end to end, on the real cluster: what must be seen to happen."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.model.account import PARTS
from tests.demo.scenario import CONFIG, seconds_between
from tests.e2e.stories import MainJob

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]

TERMINATION_MESSAGE_LIMIT = 4096
ROUNDING_MS = (len(PARTS) + 1) * 0.5e-6
"""Each part and the step itself are told to the nanosecond."""
VERDICTS = ("Healthy", "NoData", "NotComparable", "Regressed", "Confirmed", "Recovered")
"""The reasons of Events that tell what the readings amount to now."""
Event = Mapping[str, Any]
CLOSING = ("Confirmed", "Recovered")


def test_the_baseline_is_recorded_from_the_running_job(main: MainJob) -> None:
    baseline = main.status["baseline"]
    assert baseline["provenance"] == "Recorded"
    assert 0.005 < baseline["level"]["mfu"] < 0.5
    assert baseline["spread"]["runs"] == 1


def test_one_job_profiles_the_incident_whatever_happens_to_the_operator(main: MainJob) -> None:
    """An attempt that failed is followed by the next, each by one Job with its number in its name."""
    incident = main.status["history"][0]
    by_subject: dict[str, list[str]] = {}
    for job in main.jobs:
        by_subject.setdefault(job["metadata"]["labels"]["mfu-operator.io/incident"], []).append(job["metadata"]["name"])
    [healthy] = [subject for subject in by_subject if subject.endswith("-healthy")]
    for subject, profile in ((incident["id"], incident["profile"]), (healthy, main.status["healthyProfile"])):
        attempts = [int(name.rpartition("-a")[2]) for name in sorted(by_subject[subject])]
        assert attempts == list(range(1, profile["attempt"] + 1)), main.messages


def test_the_account_of_a_profile_covers_enough_steps_and_sums_to_the_step(main: MainJob) -> None:
    for profile in (main.status["healthyProfile"], main.status["history"][0]["profile"]):
        account = profile["account"]
        assert account["count"] >= 5
        assert sum(account["milliseconds"][part] for part in PARTS) == pytest.approx(
            account["meanMilliseconds"], abs=ROUNDING_MS
        )


def test_the_profiling_pod_has_no_token_and_mounts_the_runs_volumes_read_only(main: MainJob) -> None:
    for job in main.jobs:
        pod = job["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        run_volumes = {each["name"] for each in pod["volumes"] if "hostPath" in each or "configMap" in each}
        mounts = [
            mount for container in pod["initContainers"] + pod["containers"] for mount in container["volumeMounts"]
        ]
        assert {mount["name"] for mount in mounts} >= run_volumes
        assert all(mount.get("readOnly") for mount in mounts if mount["name"] in run_volumes)


def test_the_training_run_is_not_disturbed_by_its_profile(main: MainJob) -> None:
    assert len(main.trainer_before_profile) == 1
    assert main.trainer_after_profile == main.trainer_before_profile


def test_the_diagnosis_is_the_true_one_in_milliseconds(main: MainJob) -> None:
    diagnosis = main.status["history"][0]["diagnosis"]
    assert (diagnosis["bottleneck"], diagnosis["cause"]) == ("InputStarved", "DataLoaderWorkers")
    assert 0.5 < diagnosis["confidence"] <= 1
    assert diagnosis["deltaMilliseconds"]["idleInput"] > 30
    assert any("ms" in line for line in diagnosis["evidence"])


def test_the_suspect_is_the_commit_that_did_it_and_not_the_newest(main: MainJob) -> None:
    assert main.story is not None and main.story.commits is not None
    suspect = main.status["history"][0]["suspect"]
    assert suspect["sha"] == main.story.commits.guilty
    assert suspect["sha"] != main.story.commits.elsewhere
    assert suspect["candidates"] == 3


def test_the_last_known_good_is_a_revision_before_it_with_its_images_digest(main: MainJob) -> None:
    assert main.story is not None and main.story.commits is not None
    known = main.story.proposed["knownGood"]
    assert known["revision"] not in (
        main.story.commits.guilty,
        main.story.commits.same_path,
        main.story.commits.elsewhere,
    )
    assert known["revision"] == main.story.proposed["incident"]["goodRevision"]
    [image] = known["images"]
    assert re.search(r"demo-workload@sha256:[0-9a-f]{64}$", image)


def test_kubectl_get_shows_it_at_a_glance(main: MainJob) -> None:
    header, row = main.table.splitlines()
    names = re.split(r"\s{2,}", header.strip())
    assert names == [
        "NAME", "MODEL", "MFU", "BASELINE", "CHANGE", "VERDICT", "BOTTLENECK", "PULL REQUEST", "AGE",
    ]  # fmt: skip
    shown = dict(zip(names, re.split(r"\s{2,}", row.strip()), strict=True))
    proposal = main.story.proposed["incident"]["proposal"] if main.story is not None else {}
    assert (shown["MODEL"], shown["BOTTLENECK"]) == ("demo-gpt", "InputStarved")
    assert shown["CHANGE"].startswith("−") and shown["PULL REQUEST"] == f"{proposal['url']} (Open)"


def test_kubectl_describe_tells_the_story(main: MainJob) -> None:
    _, _, events = main.described.partition("\nEvents:")
    assert "InputStarved" in main.described
    for reason in ("BaselineRecorded", "Regressed", "Profiled", "Diagnosed", "Suspected", "Proposed"):
        assert re.search(rf"\b{reason}\b", events), reason


def test_the_command_line_tells_and_explains_it(main: MainJob) -> None:
    assert main.story is not None and main.story.commits is not None
    assert f"suspect {main.story.commits.guilty[:12]}" in main.told
    assert "InputStarved / DataLoaderWorkers" in main.told and "last known good" in main.told
    assert re.search(r"waiting for input +\d.*%.*\+\d", main.explained), "now, its share, and against the baseline"
    assert "restore the number of data loader workers" in main.explained


def test_one_pull_request_on_one_branch_in_spite_of_two_replicas_and_a_killed_leader(main: MainJob) -> None:
    assert main.deposed
    assert len(main.pull_requests) == 1
    assert [branch for branch in main.branches if branch != "main"] == [main.pull_requests[0]["head"]["ref"]]


def test_the_pull_request_reverts_that_commit_and_nothing_else(main: MainJob) -> None:
    assert "num_workers: 4" in main.branch_config
    assert "every_steps: 400" in main.branch_config, "the harmless commit to the same file stays"
    assert main.pull_request["changed_files"] == 1
    assert (main.pull_request["additions"], main.pull_request["deletions"]) == (1, 1)


def test_the_pull_request_carries_the_diagnosis(main: MainJob) -> None:
    assert main.story is not None and main.story.commits is not None
    body = main.pull_requests[0]["body"]
    for told in (
        "InputStarved",
        "DataLoaderWorkers",
        main.story.commits.guilty[:7],
        CONFIG,
        "num_workers",
        "input-starved",
    ):
        assert told in body
    for section in ("What was measured", "One step", "Why this commit", "Why no other", "What happens after merging"):
        assert section in body


def test_after_the_merge_the_loss_is_gone_and_the_record_says_what_it_cost(main: MainJob) -> None:
    incident = main.status["history"][0]
    recovery, tolerance = incident["recovery"], main.status["judgement"]["tolerance"]
    assert recovery["after"] >= (1 - tolerance) * recovery["before"], "within the tolerance of the same baseline"
    assert recovery["regressed"] < 0.6 * recovery["before"]
    assert recovery["gpuHoursLost"] == pytest.approx(ran_s(incident) / 3600 * incident["drop"], rel=0.01)
    assert "num_workers" in recovery["singleVariable"]
    assert incident["proposal"]["state"] == "Merged"


def ran_s(incident: Mapping[str, Any]) -> float:
    """Seconds that pods ran since the onset: none while the merged Job replaced them, nor after a stop."""
    before_s = float(incident.get("ranSeconds", 0.0))
    if "stoppedAt" in incident:
        return before_s
    return before_s + seconds_between(
        incident.get("resumedAt", incident["onsetAt"]), incident["recovery"]["recoveredAt"]
    )


def test_no_condition_of_the_incident_remains(main: MainJob) -> None:
    conditions = {each["type"]: each["status"] for each in main.status["conditions"]}
    assert conditions["Ready"] == "True"
    assert conditions["Regressed"] == "False" and "ProposalFailed" not in conditions


def test_the_events_tell_the_story_in_order(main: MainJob) -> None:
    reasons = [event["reason"] for event in main.events]
    told = [
        "BaselineRecorded",
        "BaselineProfiled",
        "Regressed",
        "Profiled",
        "Diagnosed",
        "Suspected",
        "Proposed",
        "Recovered",
    ]
    places = [reasons.index(reason) for reason in told]
    assert places == sorted(places), reasons


def _but_gaps(turns: list[Event]) -> list[Event]:
    """Without a time of no data on a node that has too much to do, and the turn that ends it."""
    gaps = {index for index, event in enumerate(turns) if event["reason"] == "NoData"}
    return [event for index, event in enumerate(turns) if not {index, index - 1} & gaps]


def test_every_turn_of_the_verdict_is_one_event_with_its_numbers(main: MainJob) -> None:
    turns = _but_gaps([event for event in main.events if event["reason"] in VERDICTS])
    opened = [f"incident {incident['id']}" for incident in reversed(main.status["history"])]
    heard = [f"{event['reason']}: {event['note']}" for event in main.events]
    assert [event["reason"] for event in turns] == ["Healthy", *["Regressed"] * len(opened), *CLOSING], heard
    assert [str(event["note"]).split(":")[0] for event in turns if event["reason"] == "Regressed"] == opened, heard
    superseded = [incident for incident in main.status["history"][1:] if incident.get("superseded")]
    assert len(superseded) == len(opened) - 1, "a neighbour's noise may open one before the commit's, and no other"
    *judged, recovered = [str(event["note"]) for event in turns]
    assert [note for note in judged if not re.search(r"0\.\d+.*limit 0\.\d+ = baseline 0\.\d+", note)] == []
    of = main.status["history"][0]["recovery"]
    told = f"{of['before']:.4g} before, {of['regressed']:.4g} regressed, {of['after']:.4g} after"
    assert told in recovered


def test_the_evidence_of_every_turn_is_in_the_status(main: MainJob) -> None:
    assert main.story is not None
    judgement, incident = main.story.proposed["judgement"], main.status["history"][0]
    assert judgement["evidenceSeconds"] == judgement["sustainSeconds"] == 14, "0.7 of detection.sustain"
    assert judgement["confirmEvidenceSeconds"] == judgement["confirmSeconds"] == 20
    assert judgement["value"] < judgement["limit"] < judgement["baseline"]
    assert incident["onsetAt"] < incident["openedAt"] < incident["confirmedAt"] < incident["recovery"]["recoveredAt"]


def test_what_the_profiles_hand_back_fits_a_termination_message(main: MainJob) -> None:
    assert len(main.messages) >= 2
    assert all(len(message.encode()) <= TERMINATION_MESSAGE_LIMIT for message in main.messages)
    accounts = [told["parts"] for told in map(json.loads, main.messages) if "parts" in told]
    assert len(accounts) >= 2 and all("idleInput" in parts for parts in accounts), main.messages
