"""`kubectl mfu timeline`: what a person reads of an incident that is over, of one that is open, with and without
Events."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from mfu_operator.api.quantities import rfc3339
from mfu_operator.cli.main import cli
from mfu_operator.cli.timeline.events import Reported
from mfu_operator.cli.timeline.moments import moments_of
from mfu_operator.cli.timeline.story import chapters
from mfu_operator.errors import MfuError
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Approval, Exoneration, Incident, PinFact, Proof
from mfu_operator.model.proposal import PullRequestState
from tests.support import worlds
from tests.support.worlds import NOW_S, ONSET_S, ailing, explained, incident
from tests.unit.cli.api_server import ApiServer

PROFILED = replace(worlds.PROFILED, finished_at=NOW_S - 400)
MERGED = replace(worlds.MERGED, opened_at=NOW_S - 40)
OVER = explained(
    profile=PROFILED,
    suspect=worlds.SUSPECT,
    proposal=MERGED,
    recovery=replace(worlds.RECOVERY, recovered_at=NOW_S + 900),
)
"""From the onset to the recovery."""


def said(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["timeline", "gpt-small", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def event(reason: str, at_s: float, message: str = "", uid: str | None = None) -> dict[str, Any]:
    regarding = {"kind": "TrainingBaseline", "name": "gpt-small"} | ({"uid": uid} if uid else {})
    return {"reason": reason, "message": message, "eventTime": rfc3339(at_s), "involvedObject": regarding}


def whats(of: Incident) -> list[str]:
    return [each.what for each in moments_of(of)]


def test_an_incident_that_is_over_is_told_from_the_onset_to_the_recovery(api: ApiServer) -> None:
    api.keep(replace(worlds.SETTLED, history=(OVER,)))
    headline, heading, *lines = said().splitlines()
    assert headline == (
        "incident gpt-small-3f2a91c0-1: 17.2% slower, InputStarved / DataLoaderWorkers, recovered after 35 min"
    )
    assert heading.split("  ")[0] == "TIME (UTC)"
    assert [re.split(r"  +", line)[-2] for line in lines] == [
        "Onset", "Opened", "Profiling", "Profiled", "HardwareRuledOut", "Diagnosed", "Confirmed", "Suspected",
        "Proposed", "Merged", "Recovered",
    ]  # fmt: skip
    assert lines[0].startswith("2026-09-21 13:53:20")
    assert re.split(r"  +", lines[-1])[1] == "+35 min"
    assert "MFU 0.458; 0.459 device-hours lost" in lines[-1]


def test_what_the_record_does_not_date_is_after_what_made_it_possible_until_an_event_dates_it(api: ApiServer) -> None:
    api.keep(replace(worlds.SETTLED, history=(OVER,)))
    diagnosed = next(line for line in said().splitlines() if " Diagnosed " in line)
    assert diagnosed.startswith("after 2026-09-21 14:06:40")
    api.events = [event("Diagnosed", NOW_S - 390)]
    diagnosed = next(line for line in said("-o", "wide").splitlines() if " Diagnosed " in line)
    assert diagnosed.startswith("2026-09-21 14:06:50")
    assert "status, event" in diagnosed


def test_other_events_of_the_time_stand_among_the_facts(api: ApiServer) -> None:
    api.keep(ailing(explained()))
    api.events = [
        event("LeftOpen", NOW_S - 100, "the request\x1b[2J stays"),
        event("KnownGood", ONSET_S - 9000, "long before"),
    ]
    told = said()
    assert "the request\N{REPLACEMENT CHARACTER}[2J stays" in told
    assert "long before" not in told


def test_events_of_an_earlier_object_of_the_name_are_left_out(api: ApiServer) -> None:
    api.keep(ailing(explained()))
    api.objects["team-a", "gpt-small"]["metadata"]["uid"] = "now"
    api.events = [event("LeftOpen", NOW_S - 100, "of mine", "now"), event("LeftOpen", NOW_S - 90, "of old", "before")]
    assert "of mine" in said()
    assert "of old" not in said()


def test_where_events_may_not_be_listed_the_status_is_told_and_why_times_are_missing(api: ApiServer) -> None:
    api.keep(ailing(explained()))
    api.of_events = 403
    result = CliRunner().invoke(cli, ["timeline", "gpt-small"], catch_exceptions=False)
    assert "Diagnosed" in result.stdout
    assert "without Events, so some lines have no time: ClusterAccessDenied" in result.stderr


def test_without_an_incident_the_next_command_is_named(api: ApiServer) -> None:
    api.keep(worlds.SETTLED)
    assert "kubectl mfu status gpt-small -n team-a" in said()
    assert json.loads(said("-o", "json")) == {"baseline": "team-a/gpt-small", "incidents": []}


def test_one_incident_is_asked_for_by_its_id(api: ApiServer) -> None:
    past = replace(OVER, id="gpt-small-3f2a91c0-0", onset_at=ONSET_S - 9000)
    api.keep(replace(ailing(incident()), history=(past,)))
    assert said().index(past.id) < said().index(worlds.INCIDENT.id)
    assert f"incident {worlds.INCIDENT.id}" not in said("--incident", past.id)
    result = CliRunner().invoke(cli, ["timeline", "gpt-small", "--incident", "other"])
    assert isinstance(result.exception, MfuError) and result.exception.reason == "NoIncident"


def test_every_format_tells_the_same(api: ApiServer) -> None:
    api.keep(replace(worlds.SETTLED, history=(OVER,)))
    told = json.loads(said("-o", "json"))
    assert yaml.safe_load(said("-o", "yaml")) == told
    moments = told["incidents"][0]["moments"]
    assert moments[0] == {
        "time": "2026-09-21T13:53:20Z", "after": "2026-09-21T13:53:20Z", "what": "Onset",
        "message": "MFU left 0.460", "source": "status",
    }  # fmt: skip
    assert [each["time"] for each in moments if each["what"] == "Diagnosed"] == [None]
    assert "| 2026-09-21 13:53:20 | +0 s | Onset | MFU left 0.460 |" in said("-o", "markdown")
    assert ">Onset</td>" in said("-o", "html")


def test_a_commit_that_was_wrongly_blamed_is_told_before_the_next() -> None:
    first = Exoneration(worlds.SUSPECT, MERGED, NOW_S + 100)
    other = replace(worlds.SUSPECT, sha="4" * 40)
    found = whats(explained(exonerated=(first,), suspect=other, proposal=worlds.PROPOSED))
    assert found[found.index("Suspected") :] == [
        "Suspected", "Proposed", "Merged", "Exonerated", "Suspected", "Proposed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        ({"proposal": replace(worlds.PROPOSED, dry_run=True)}, "WouldPropose"),
        ({"proposal": replace(worlds.PROPOSED, theirs=True)}, "TakenOver"),
        ({"proposal": replace(worlds.PROPOSED, withdrawn="it recovered")}, "Withdrawn"),
        ({"proposal": replace(worlds.PROPOSED, state=PullRequestState.CLOSED)}, "Closed"),
        ({"approved": Approval(NOW_S, "now")}, "Approved"),
        ({"blocked": ("NoSuspect", "none stands out")}, "NotProposed"),
        ({"closed": ("WorkloadGone", "it is gone"), "ended_at": NOW_S, "gpu_hours_lost": 3.25}, "Ended"),
        ({"profile": replace(PROFILED, account=None, failure=("JobFailed", "no")), "diagnosis": None,
          "confirmed_at": None}, "ProfilingFailed"),
        ({"diagnosis": Diagnosis(Bottleneck.HARDWARE_DEGRADED, "LinkErrors", 0.8, ("gpu 3",)),
          "confirmed_at": None}, "HardwareDegraded"),
    ],
)  # fmt: skip
def test_an_incident_s_last_moment_is_told(changes: dict[str, Any], last: str) -> None:
    assert whats(explained(**changes))[-1] == last


@pytest.mark.parametrize(
    ("proof", "told"),
    [
        (Proof("idleInput", 2e5, 64e6, 3e5, True, replace(PROFILED, finished_at=NOW_S + 2000)),
         [("CapturingAgain", "Job mfu-gpt-small-3f2a91c0-1-a1"),
          ("CapturedAgain", "idleInput 0.3 ms, 64.0 ms while slow")]),
        (Proof("idleInput", 2e5, 64e6, missing=("NotLive", "the job ended")),
         [("NotCapturedAgain", "NotLive: the job ended")]),
        (Proof("idleInput", 2e5, 64e6), []),
    ],
)  # fmt: skip
def test_the_step_after_the_recovery_is_told_after_it(proof: Proof, told: list[tuple[str, str]]) -> None:
    found = moments_of(replace(OVER, proof=proof))
    after = [each.what for each in found].index("Recovered") + 1
    assert [(each.what, each.told) for each in found[after:]] == told


def test_what_came_with_no_commit_is_named_as_the_suspect() -> None:
    found = moments_of(explained(pin=PinFact("1f", ("chart gpt 1.3.0 instead of 1.2.0",))))
    assert found[-1].told == "what came with no commit: chart gpt 1.3.0 instead of 1.2.0"


@pytest.mark.parametrize(
    ("bottleneck", "evidence", "what"),
    [
        (Bottleneck.INPUT_STARVED, "waits", "HardwareRuledOut"),
        (Bottleneck.INPUT_STARVED, "hardware is not ruled out: links", "HardwareUnknown"),
        (Bottleneck.HARDWARE_DEGRADED, "gpu 3", "HardwareDegraded"),
        (Bottleneck.INCONCLUSIVE, "no profile", "Diagnosed"),
    ],
)
def test_hardware_is_ruled_out_only_where_it_was_looked_at(bottleneck: Bottleneck, evidence: str, what: str) -> None:
    found = moments_of(incident(diagnosis=Diagnosis(bottleneck, "Cause", 0.8, (evidence,))))
    assert found[2].what == what


def test_an_event_dates_one_fact_and_not_a_later_one_of_its_name() -> None:
    first = Exoneration(worlds.SUSPECT, MERGED, NOW_S + 100)
    found = explained(exonerated=(first,), suspect=replace(worlds.SUSPECT, sha="4" * 40))
    events = [Reported("Suspected", "", NOW_S - 50), Reported("Suspected", "", NOW_S + 200)]
    (chapter,) = chapters([found], events)
    assert [line.at_s for line in chapter.lines if line.what == "Suspected"] == [NOW_S - 50, NOW_S + 200]
