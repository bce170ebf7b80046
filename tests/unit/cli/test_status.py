"""`kubectl mfu status` and `explain` against an API server that serves stored baselines over HTTP."""

from dataclasses import replace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from mfu_operator.api.group import (
    APPROVE_ANNOTATION,
    CLOSE_ANNOTATION,
    PLURAL,
    REJECT_ANNOTATION,
    RESET_ANNOTATION,
    SNOOZE_ANNOTATION,
)
from mfu_operator.api.requests import Asked, asked_of, snooze_of
from mfu_operator.cli import render
from mfu_operator.cli.main import cli, main
from mfu_operator.errors import MfuError, Stall
from mfu_operator.model.baseline import Level, Provenance
from mfu_operator.model.condition import Condition
from mfu_operator.model.vitals import Ailment, Symptom
from tests.support import worlds
from tests.support.worlds import ailing, explained, incident
from tests.unit.cli.api_server import PREFIX, ApiServer


def said(*arguments: str) -> str:
    result: Result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


PROPOSED = explained(suspect=worlds.SUSPECT, proposal=worlds.PROPOSED)


def test_every_baseline_of_the_namespace_is_one_line(api: ApiServer) -> None:
    api.keep(ailing(PROPOSED))
    api.keep(worlds.SETTLED, "other")
    api.keep(worlds.SETTLED, "elsewhere", "team-b")
    heading, *lines = said("status").splitlines()
    assert heading.split()[:3] == ["NAME", "MODEL", "NOW"]
    assert [line.split()[0] for line in lines] == ["gpt-small", "other"]
    for column in ("model-of-gpt-small", "0.381", "0.460", "−17.2%", "Regressed", "InputStarved", worlds.PULL.url):
        assert column in lines[0]


def test_all_namespaces_are_told_apart(api: ApiServer) -> None:
    api.keep(worlds.SETTLED)
    api.keep(worlds.SETTLED, namespace="team-b")
    assert [line.split()[0] for line in said("status", "-A").splitlines()] == ["NAMESPACE", "team-a", "team-b"]
    assert "team-b" not in said("status", "-n", "team-a")


def test_a_baseline_that_was_never_reconciled_is_a_line_too(api: ApiServer) -> None:
    api.keep(None)
    assert "model-of-gpt-small" in said("status")


def test_where_there_is_no_baseline_a_person_is_told_where_to_begin(api: ApiServer) -> None:
    assert "crds/samples" in said("status")


def test_one_baseline_is_told_as_a_story(api: ApiServer) -> None:
    conditions = (Condition("Regressed", "True", "InputStarved", "mfu 0.381 against the baseline's 0.46", 1, 0.0),)
    recovered = replace(PROPOSED, id="gpt-small-3f2a91c0-0", recovery=worlds.RECOVERY)
    api.keep(replace(ailing(PROPOSED), conditions=conditions, history=(recovered,)))
    story = said("status", "gpt-small")
    for sentence in (
        "team-a/gpt-small",
        "Regressed: MFU 0.381 for 12 min, limit 0.451",
        f"last known good: {worlds.GOOD}",
        "healthy step: 21.20 ms over 10 steps",
        "Regressed=True InputStarved: mfu 0.381",
        "incident gpt-small-3f2a91c0-1: 17.2% slower",
        "InputStarved / DataLoaderWorkers",
        "suspect 222222222222 'Save memory' by Pat",
        f"proposal {worlds.PULL.url} Open",
        "recovered: mfu 0.46 before, 0.381 regressed, 0.458 after; 0.459 device-hours lost",
    ):
        assert sentence in story


def test_a_symptom_is_the_verdict_in_the_line_and_is_told_once_in_the_story(api: ApiServer) -> None:
    leak = Symptom(Ailment.MEMORY_LEAK, "device memory is full at 18:40", 1.0, 0.8, "gpt-0", full_at=2.0)
    condition = Condition("MemoryCreeping", "True", "MemoryLeak", leak.message, 1, 0.0)
    api.keep(replace(worlds.SETTLED, symptoms=(leak,), conditions=(condition,)))
    assert "MemoryLeak" in said("status").splitlines()[1]
    story = said("status", "gpt-small")
    assert story.count("MemoryLeak: device memory is full at 18:40") == 1


@pytest.mark.parametrize("text", ["[ci] fewer workers", "closes [/data]", "[red]stop[/red]"])
def test_what_others_wrote_is_shown_as_they_wrote_it(api: ApiServer, text: str) -> None:
    suspect = replace(worlds.SUSPECT, subject=text)
    condition = Condition("Stalled", "True", "InvalidSpec", text, 1, 0.0)
    found = explained(suspect=suspect, blocked=("NoSingleSuspect", text))
    api.keep(replace(ailing(found), conditions=(condition,)))
    story = said("status", "gpt-small")
    assert story.count(text) == 3


def recorded(api: ApiServer, **metadata: object) -> None:
    api.keep(worlds.SETTLED)
    found = api.objects["team-a", "gpt-small"]
    found["metadata"] |= {"resourceVersion": "7", **metadata}
    found["spec"]["baseline"] = {"record": {"duration": "30m", "generation": 2, "reason": "another driver"}}


def test_a_level_is_recorded_anew_with_the_reason_unless_somebody_else_was_quicker(api: ApiServer) -> None:
    recorded(api)
    assert "generation 3 is recorded from now on" in said("rerecord", "gpt-small", "--reason", "NCCL 2.27 stays")
    change = {"spec": {"baseline": {"record": {"generation": 3, "reason": "NCCL 2.27 stays"}}}}
    where = f"{PREFIX}/namespaces/team-a/{PLURAL}/gpt-small"
    assert api.patched == [(where, change | {"metadata": {"resourceVersion": "7"}})]


def test_without_a_reason_nothing_is_recorded_anew(api: ApiServer) -> None:
    recorded(api)
    assert CliRunner().invoke(cli, ["rerecord", "gpt-small"]).exit_code != 0
    assert api.patched == []


@pytest.mark.parametrize(
    "marks",
    [
        {"annotations": {"argocd.argoproj.io/tracking-id": "gpt:mfu-operator.io/TrainingBaseline:team-a/gpt-small"}},
        {"labels": {"app.kubernetes.io/instance": "gpt"}},
        {"labels": {"kustomize.toolkit.fluxcd.io/name": "gpt"}},
    ],
    ids=["Argo CD", "Argo CD by its default label", "Flux"],
)
def test_what_git_deploys_is_not_patched_and_what_to_commit_is_shown(api: ApiServer, marks: dict[str, Any]) -> None:
    recorded(api, **marks)
    error = refused("rerecord", "gpt-small", "--reason", "NCCL 2.27 stays")
    assert error.reason == "DeployedFromGit"
    assert 'generation: 3\n  reason: "NCCL 2.27 stays"' in error.message
    assert api.patched == []


def test_after_an_undo_the_number_is_one_that_no_recording_had(api: ApiServer) -> None:
    now = replace(worlds.BASELINE, provenance=Provenance.RECORDED, recorded_at=worlds.NOW_S, generation=1)
    api.keep(replace(worlds.SETTLED, baseline=now, previous_baselines=(replace(now, generation=5),)))
    api.objects["team-a", "gpt-small"]["spec"]["baseline"] = {"record": {"generation": 1}}
    assert "generation 6 is recorded from now on" in said("rerecord", "gpt-small", "--reason", "this time for good")


def test_what_is_to_be_committed_is_yaml_whatever_the_reason_says(api: ApiServer) -> None:
    recorded(api, labels={"kustomize.toolkit.fluxcd.io/name": "gpt"})
    error = refused("rerecord", "gpt-small", "--reason", "NCCL 2.27: costs 3 %")
    record = yaml.safe_load(error.message.partition("instead:\n")[2])
    assert record == {"generation": 3, "reason": "NCCL 2.27: costs 3 %"}


def test_a_declared_level_is_not_recorded_anew(api: ApiServer) -> None:
    recorded(api)
    api.objects["team-a", "gpt-small"]["spec"]["baseline"] = {"values": {"mfu": 0.46}}
    assert refused("rerecord", "gpt-small", "--reason", "x").reason == "LevelDeclared"


def test_the_levels_of_the_past_are_told_with_why_they_were_replaced(api: ApiServer) -> None:
    now = replace(worlds.BASELINE, provenance=Provenance.RECORDED, recorded_at=worlds.NOW_S, generation=2)
    past = replace(
        now, level=Level(mfu=0.5), generation=1, replaced_at=worlds.NOW_S, replaced_because="NCCL 2.27 stays"
    )
    api.keep(
        replace(worlds.SETTLED, baseline=now, previous_baselines=(past,), history=(incident(accepted="it stays"),))
    )
    story = said("status", "gpt-small")
    assert "baseline: MFU 0.4600, recorded (5 runs, 0.5 % within, 0.1 % between)" in story
    assert "generation 2" in story
    assert "MFU 0.5000, recorded" in story
    assert "NCCL 2.27 stays" in story
    assert "accepted: it stays" in story
    assert "picture: kubectl get tb gpt-small -n team-a -o yaml | kubectl mfu replay --baseline - " in story


def refused(*arguments: str) -> MfuError:
    result = CliRunner().invoke(cli, arguments)
    assert isinstance(result.exception, MfuError)
    return result.exception


@pytest.mark.parametrize("word", ["status", "explain"])
def test_a_name_that_is_not_there_says_how_to_list_those_that_are(api: ApiServer, word: str) -> None:
    error = refused(word, "nobody")
    assert error.reason == "BaselineNotFound"
    assert "kubectl get tb -A" in error.message


def test_rights_that_are_missing_are_named(api: ApiServer) -> None:
    api.answers = 403
    error = refused("status")
    assert isinstance(error, Stall)
    assert error.reason == "ClusterAccessDenied"


def test_the_step_is_shown_now_over_the_baselines(api: ApiServer) -> None:
    api.keep(ailing(PROPOSED))
    shown = said("explain", "gpt-small")
    assert "now" in shown
    assert "85.0 ms" in shown
    assert "21.2 ms" in shown
    assert "+63.80" in shown
    assert "InputStarved / DataLoaderWorkers (confidence 90%)" in shown
    assert "input wait 64 of 85 ms per step" in shown


def test_the_last_incident_that_was_profiled_is_explained_once_it_is_closed(api: ApiServer) -> None:
    closed = replace(PROPOSED, recovery=worlds.RECOVERY)
    api.keep(replace(worlds.SETTLED, history=(closed,)))
    assert "InputStarved" in said("explain", "gpt-small")


def test_an_incident_of_the_past_is_explained_by_its_id(api: ApiServer) -> None:
    past = replace(PROPOSED, id="gpt-small-3f2a91c0-0", recovery=worlds.RECOVERY)
    api.keep(replace(ailing(incident()), history=(past,)))
    assert said("explain", "gpt-small", "--incident", past.id).startswith(f"incident {past.id}\n")
    result = CliRunner().invoke(cli, ["explain", "gpt-small", "--incident", "nothing"])
    assert result.exit_code == 2
    assert "no incident 'nothing'" in result.output


def test_without_an_incident_the_healthy_step_is_shown(api: ApiServer) -> None:
    api.keep(worlds.SETTLED)
    shown = said("explain", "gpt-small")
    assert "No incident has been profiled" in shown
    assert "21.2 ms" in shown


def test_without_any_profile_a_person_is_told_what_to_ask_instead(api: ApiServer) -> None:
    api.keep(replace(worlds.SETTLED, healthy_profile=None))
    error = refused("explain", "gpt-small")
    assert error.reason == "NotProfiled"
    assert "kubectl mfu status gpt-small" in error.message


def requested(api: ApiServer) -> dict[str, str]:
    ((where, change),) = api.patched
    assert where == f"{PREFIX}/namespaces/team-a/{PLURAL}/gpt-small"
    assert change["metadata"]["resourceVersion"] == "7"
    found: dict[str, str] = change["metadata"]["annotations"]
    return found


def test_closing_leaves_a_request_for_this_incident_and_no_other(api: ApiServer) -> None:
    api.keep(ailing(incident()))
    api.objects["team-a", "gpt-small"]["metadata"]["resourceVersion"] = "7"
    assert incident().id in said("close", "gpt-small", "--reason", "the input changed")
    assert asked_of(requested(api)[CLOSE_ANNOTATION]) == Asked(incident().id, "the input changed")


def test_where_no_incident_is_open_there_is_nothing_to_close(api: ApiServer) -> None:
    recorded(api)
    assert refused("close", "gpt-small", "--reason", "x").reason == "NoOpenIncident"
    assert CliRunner().invoke(cli, ["close", "gpt-small"]).exit_code != 0
    assert api.patched == []


def test_a_rejection_names_the_incident_and_needs_a_suspect(api: ApiServer) -> None:
    api.keep(ailing(incident()))
    assert refused("reject", "gpt-small", "--reason", "x").reason == "NothingToReject"
    api.keep(ailing(PROPOSED))
    api.objects["team-a", "gpt-small"]["metadata"]["resourceVersion"] = "7"
    assert worlds.SLOW[:12] in said("reject", "gpt-small", "--reason", "we need the memory")
    assert asked_of(requested(api)[REJECT_ANNOTATION]) == Asked(incident().id, "we need the memory")


def test_an_approval_needs_the_mode_that_opens_pull_requests(api: ApiServer) -> None:
    api.keep(ailing(PROPOSED))
    api.objects["team-a", "gpt-small"]["metadata"]["resourceVersion"] = "7"
    api.objects["team-a", "gpt-small"]["spec"] = {"remediation": {"mode": "DryRun"}}
    assert refused("approve", "gpt-small").reason == "NothingToApprove"
    api.objects["team-a", "gpt-small"]["spec"] = {"remediation": {"mode": "PullRequest"}}
    assert incident().id in said("approve", "gpt-small", "--reason", "now")
    assert asked_of(requested(api)[APPROVE_ANNOTATION]) == Asked(incident().id, "now")


def test_a_snooze_says_until_when(api: ApiServer) -> None:
    recorded(api)
    api.objects["team-a", "gpt-small"]["metadata"]["resourceVersion"] = "7"
    assert "no pull request is opened before" in said("snooze", "gpt-small", "--for", "8h")
    assert snooze_of(requested(api)[SNOOZE_ANNOTATION], 0.0) is not None
    assert CliRunner().invoke(cli, ["snooze", "gpt-small", "--for", "a while"]).exit_code == 2


def test_a_report_tells_an_incident_from_its_beginning_to_its_end(api: ApiServer) -> None:
    past = replace(PROPOSED, id="gpt-small-3f2a91c0-0", proposal=worlds.MERGED, recovery=worlds.RECOVERY)
    api.keep(replace(worlds.SETTLED, history=(past,)))
    story = said("report", "gpt-small")
    for told in (
        "# Incident `gpt-small-3f2a91c0-0` of `team-a/gpt-small`", "| MFU | 0.460 | 0.381 | 0.458 | 17.2 % |",
        "the loss began", "`InputStarved`, cause `DataLoaderWorkers`",
        "| idle: waiting for input | 0.2 | 64.0 | +63.8 |",
        f"commit `{worlds.SLOW[:12]}` `Save memory` by Pat", "Revert Save memory (merged)", worlds.PULL.url,
        "Training recovered. It cost 0.459 device-hours",
    ):  # fmt: skip
        assert told in story, told
    assert '"gpuHoursLost": 0.459' in said("report", "gpt-small", "-o", "json", "--incident", past.id)
    assert refused("report", "gpt-small", "--incident", "gpt-small-3f2a91c0-9").reason == "NoIncident"


def test_a_report_of_an_open_incident_says_so_and_why_nothing_is_proposed(api: ApiServer) -> None:
    api.keep(ailing(explained(blocked=("NoSuspect", "no commit stands out"))))
    story = said("report", "gpt-small")
    assert "The incident is open." in story
    assert "NoSuspect: no commit stands out" in story


def test_a_reset_leaves_a_request_even_where_the_status_cannot_be_read(api: ApiServer) -> None:
    recorded(api)
    api.objects["team-a", "gpt-small"]["status"] = {"incident": "yes"}
    assert "starts it over" in said("reset", "gpt-small")
    assert list(requested(api)) == [RESET_ANNOTATION]


def test_how_an_incident_ended_is_told(api: ApiServer) -> None:
    gone = incident(closed=("WorkloadGone", "Job gpt-small is gone"), ended_at=worlds.NOW_S, gpu_hours_lost=3.25)
    api.keep(replace(worlds.SETTLED, history=(gone,)))
    story = said("status", "gpt-small")
    assert "closed: WorkloadGone: Job gpt-small is gone" in story
    assert "3.25 device-hours lost" in story


ESCAPE = "\x1b]0;mine\x07\x1b[2J\x9b31m\u202e"
"""Sets a terminal's title, clears it, colours what follows, and turns its direction."""


def hostile(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: hostile(each) for name, each in value.items()}
    if isinstance(value, list):
        return [hostile(each) for each in value]
    odd = isinstance(value, str) and " " in value
    return f"{value} {ESCAPE}" if odd else value


@pytest.mark.parametrize(
    "command", [("status",), ("status", "gpt-small"), ("explain", "gpt-small"), ("report", "gpt-small")]
)
def test_what_stands_in_a_status_moves_no_terminals_cursor(api: ApiServer, command: tuple[str, ...]) -> None:
    api.keep(ailing(PROPOSED))
    stored = api.objects["team-a", "gpt-small"]
    stored["status"] = hostile(stored["status"])
    stored["spec"]["comparable"]["model"] += ESCAPE
    told = said(*command)
    assert not set(ESCAPE) & {"\x1b", "\x9b", "\x07", "\u202e"} & set(told)


def test_an_error_in_others_words_moves_no_cursor_either(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def fails() -> None:
        raise Stall("ForgeRefused", f"the forge said {ESCAPE}")

    monkeypatch.setattr("mfu_operator.cli.main.cli", fails)
    with pytest.raises(SystemExit):
        main()
    assert "the forge said" in (told := capsys.readouterr().err) and "\x1b" not in told


def test_a_kernels_name_in_a_trace_moves_no_cursor() -> None:
    console = render._console()
    console.print(f"gemm{ESCAPE}", style="bold", markup=False)
    told = render._text(console)
    assert "gemm" in told and "\x1b" not in told and "\u202e" not in told
