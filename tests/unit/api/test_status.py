"""What the operator writes into a status is what it reads from it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from mfu_operator.api import status
from mfu_operator.errors import Unreadable
from mfu_operator.model.account import PARTS, KernelTotal, StepAccount
from mfu_operator.model.baseline import Baseline, Level, Provenance, Spread
from mfu_operator.model.condition import Condition
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Incident, KnownGood, ProfileFact, ProposalFact, Recovery, Status, SuspectFact
from mfu_operator.model.proposal import ProposalKind, PullRequestState
from mfu_operator.model.verdict import Judgement, Verdict
from tests.support.facts import facts_of
from tests.unit.api.strategies import statuses

LONG = "word " * 2000
ANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def through_the_api_server(encoded: dict[str, Any]) -> dict[str, Any]:
    """As Go stores JSON: a whole number loses its decimals."""

    def whole(text: str) -> float | int:
        value = float(text)
        return int(value) if value.is_integer() else value

    stored: dict[str, Any] = json.loads(json.dumps(encoded), parse_float=whole)
    return stored


@ANY
@given(statuses())
def test_a_status_survives_being_stored(value: Status) -> None:
    assert status.decode(through_the_api_server(status.encode(value))) == value


@ANY
@given(statuses())
def test_what_is_stored_needs_no_patch(value: Status) -> None:
    assert status.patch(through_the_api_server(status.encode(value)), value) == {}


@ANY
@given(statuses(), statuses())
def test_a_patch_leads_from_one_status_to_the_other(before: Status, after: Status) -> None:
    stored = through_the_api_server(status.encode(before))
    assert status.decode(merged(stored, status.patch(stored, after))) == after


def merged(stored: Any, patch: Any) -> Any:
    """RFC 7386, as its own pseudocode has it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(stored) if isinstance(stored, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def test_nothing_stored_is_an_empty_status() -> None:
    assert status.decode(None) == status.decode({}) == Status()


def test_absent_is_absent_and_never_null() -> None:
    assert "null" not in json.dumps(status.encode(replace(story(), incident=None)))


def test_a_person_reads_milliseconds_times_and_reasons() -> None:
    encoded = status.encode(story())
    account = encoded["healthyProfile"]["account"]
    assert account["meanMilliseconds"] == 85.712346
    assert account["milliseconds"]["idleInput"] == 64.1
    assert encoded["incident"]["openedAt"] == "2026-11-21T06:41:00.25Z"
    assert encoded["incident"]["blocked"] == {"reason": "NoSingleSuspect", "message": "two commits"}
    assert encoded["conditions"][0]["lastTransitionTime"] == "2026-11-21T06:41:00Z"
    assert encoded["judgement"]["value"] == 0.381235


def test_rounded_parts_still_sum_to_the_step() -> None:
    parts = dict.fromkeys(PARTS, 100.4)
    account = status.whole_nanoseconds(StepAccount(count=3, mean_ns=sum(parts.values()), std_ns=0.0, parts_ns=parts))
    assert sum(account.parts_ns.values()) == account.mean_ns == 1205.0


def test_parts_that_do_not_sum_are_not_made_to() -> None:
    account = StepAccount(count=3, mean_ns=1000.0, std_ns=0.0, parts_ns=dict.fromkeys(PARTS, 10.0))
    assert sum(status.whole_nanoseconds(account).parts_ns.values()) == 120.0


def test_the_largest_status_stays_below_100_kilobytes() -> None:
    incident = story().incident
    assert incident is not None
    history = tuple(replace(incident, id=f"i-{n}", opened_at=float(n)) for n in range(50))
    encoded = status.encode(replace(story(), history=history))
    assert len(json.dumps(encoded)) < 100_000
    assert [past["id"] for past in encoded["history"]] == [f"i-{n}" for n in range(40, 50)]
    assert status.encode(status.decode(encoded)) == encoded


def test_a_picture_that_an_earlier_operator_stored_is_dropped_at_the_next_write() -> None:
    """Anything else that this version does not know stays."""
    stored = status.encode(story())
    past = {**stored["incident"], "profile": None, "forecast": "then"}
    stored["history"] = [{**past, "picture": "<svg/>"}, {**past, "id": "i-1"}]
    present = status.decode(stored)
    assert status.patch(stored, present) == {"history": [past, {**past, "id": "i-1"}]}
    accepted = replace(present, history=(replace(present.history[0], accepted="it stays"), present.history[1]))
    assert all("picture" not in item for item in status.patch(stored, accepted)["history"])


def test_fields_of_a_newer_operator_stay() -> None:
    stored = status.encode(story())
    stored["forecast"] = {"mfu": 0.5}
    stored["incident"]["forecast"] = "soon"
    stored["history"] = [{**stored["incident"], "profile": None, "forecast": "then"}]
    present = status.decode(stored)
    after = replace(present, history=(*present.history, replace(present.history[0], id="other")))
    patch = status.patch(stored, after)
    assert "forecast" not in patch and "incident" not in patch
    assert [item.get("forecast") for item in patch["history"]] == ["then", None]


def test_another_incident_inherits_nothing() -> None:
    stored = status.encode(story())
    stored["incident"]["forecast"] = "soon"
    present = status.decode(stored)
    assert present.incident is not None
    patch = status.patch(stored, replace(present, incident=replace(present.incident, id="next", suspect=None)))
    assert patch["incident"]["forecast"] is None
    assert patch["incident"]["suspect"] is None


@pytest.mark.parametrize(
    ("stored", "named"),
    [
        ({"judgement": {"verdict": "Sleepy", "reason": "", "message": "", "signal": ""}}, "status.judgement.verdict"),
        ({"knownGood": {"images": ["a"]}}, "status.knownGood.time"),
        ({"incidents": "three"}, "status.incidents"),
        ({"history": {}}, "status.history"),
        ({"incident": "yes"}, "status.incident"),
        ({"knownGood": {"time": "yesterday"}}, "status.knownGood.time"),
    ],
)
def test_what_cannot_be_read_is_named(stored: dict[str, Any], named: str) -> None:
    with pytest.raises(Unreadable) as caught:
        status.decode(stored)
    assert caught.value.reason == "StatusUnreadable"
    assert named in caught.value.message


def test_a_number_that_json_lacks_is_refused_before_it_is_written() -> None:
    judgement = Judgement(Verdict.HEALTHY, "Holds", "", "mfu", value=float("nan"))
    with pytest.raises(ValueError, match="nan"):
        status.encode(Status(judgement=judgement))


ACCOUNT = StepAccount(
    count=10,
    mean_ns=85_712_345.6,
    std_ns=412_000.0,
    parts_ns=dict.fromkeys(PARTS, 0.0) | {"compute": 20_412_345.6, "idleInput": 64_100_000.0, "idleHost": 1_200_000.0},
    kernels=tuple(KernelTotal(f"kernel{n}", "gemm", 12.0, 1e6) for n in range(60)),
    ranges_ns={f"range{n}": 1.0 for n in range(200)},
    warnings=(LONG,) * 30,
    facts=facts_of(loader="inline", syncCalls=3.0),
)


def story() -> Status:
    """A status with everything in it, and prose beyond measure."""
    profile = ProfileFact("mfu-gpt-small-a1", 1, 1_795_243_260.25, ACCOUNT, hardware=(LONG,) * 30)
    incident = Incident(
        id="gpt-small-3f2a91c0-1",
        opened_at=1_795_243_260.25,
        onset_at=1_795_242_660.0,
        signal="mfu",
        baseline_value=0.46,
        regressed_value=0.381,
        drop=0.172,
        profile=profile,
        diagnosis=Diagnosis(Bottleneck.INPUT_STARVED, "DataLoaderWorkers", 0.9, (LONG,) * 30, (LONG,) * 30),
        suspect=SuspectFact("1a2b3c4d5e6f", LONG, LONG, (LONG,) * 30, (LONG,) * 30, 3),
        proposal=ProposalFact(
            ProposalKind.REVERT,
            "mfu-operator/x",
            LONG,
            False,
            LONG * 10,
            "https://git/pulls/7",
            7,
            PullRequestState.OPEN,
        ),
        blocked=("NoSingleSuspect", "two commits"),
        recovery=Recovery("mfu", 0.46, 0.381, 0.459, 1_795_250_000.0, 1.5, "git 1a2b3c4d reverted"),
    )
    return Status(
        configuration="0123456789ab",
        observed_generation=3,
        judgement=Judgement(
            Verdict.REGRESSED, "Sustained", LONG, "mfu", value=0.38123456789, baseline=0.46, change=-0.1712
        ),
        baseline=Baseline(Level(mfu=0.46), Spread(0.01, None, 0.002, 1), Provenance.RECORDED, 1_795_000_000.0),
        healthy_profile=profile,
        known_good=KnownGood("1a2b3c4d5e6f", ("app@sha256:1",), 1_795_240_000.0),
        incidents=1,
        incident=incident,
        history=(incident,),
        conditions=(Condition("Ready", "True", "Measuring", LONG, 3, 1_795_243_260.9),),
    )
