"""A passing loss opens an incident, and seconds later a commit makes the run really slow."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.api.naming import incident_id
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Incident
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.verdict import Gate
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsureJob, Record
from mfu_operator.reconcile.world import World
from tests.support import worlds
from tests.support.worlds import NOW_S, ailing, explained, pod, regressed, spec, workload, world

NOTHING_GREW = Diagnosis(None, None, 1.0, ("less than the 12.6 ms that counts",))
DEGRADED = Diagnosis(Bottleneck.HARDWARE_DEGRADED, "Xid", 0.9, ("XID 79",))
BLOCKED = ("Inconclusive", "no part of the step grew beyond its spread")
BEFORE = explained(
    diagnosis=NOTHING_GREW, blocked=BLOCKED, confirmed_at=None, template=workload().template_digest
)  # fmt: skip
HORIZON_S = spec().detection.warmup_s + spec().detection.sustain_s
REPLACED_S = NOW_S - HORIZON_S - 1
"""When the pod of the slow run started: a whole horizon ago."""

LATEST_S = worlds.ONSET_S + spec().detection.sustain_s + spec().detection.confirm_s
"""When the old run's loss could have been confirmed."""


def replaced(started_s: float = REPLACED_S) -> Any:
    """The run with another template, and so with another pod."""
    template = {"spec": {"containers": [{"name": "train", "image": worlds.IMAGE, "command": ["python", "slow.py"]}]}}
    return workload(template=template, pods=(pod(started_s),))


def after(incident: Incident = BEFORE, **changes: Any) -> World:
    """The world once the run was replaced and is slow as well."""
    return world(ailing(incident), **({"workload": replaced(), "judgement": regressed(True)} | changes))


def superseding(here: World) -> Incident | None:
    """The incident that takes the open one's place; None where it stays."""
    step = decide(here)
    if not isinstance(step, Record) or step.events[0].reason != "Superseded":
        return None
    return step.status.incident


def test_the_loss_of_the_run_that_took_its_place_is_an_incident_of_its_own() -> None:
    opened = superseding(after(judgement=regressed(True, change=-0.15, drop=0.172)))
    assert opened is not None
    assert opened.id == incident_id("gpt-small", worlds.UID, REPLACED_S)
    assert opened.onset_at == REPLACED_S
    assert opened.drop == 0.15, "what the new run loses now, not the drop since the old run's onset"
    assert (opened.profile, opened.diagnosis, opened.blocked, opened.confirmed_at) == (None, None, None, None)


def test_the_one_before_says_what_became_of_it() -> None:
    step = decide(after())
    assert isinstance(step, Record)
    assert step.status.incident is not None
    assert step.status.incident.id in (step.status.history[0].superseded or "")
    assert step.status.incidents == ailing(BEFORE).incidents + 1


def test_the_new_run_is_profiled() -> None:
    step = decide(after())
    assert isinstance(step, Record)
    assert isinstance(decide(replace(after(), status=step.status)), EnsureJob)


def test_what_was_judged_of_the_run_before_does_not_confirm_the_loss_of_the_new_one() -> None:
    step = decide(after())
    assert isinstance(step, Record) and step.status.incident is not None
    known = replace(step.status.incident, profile=worlds.PROFILED, diagnosis=worlds.STARVED)
    same_tick = replace(after(), status=replace(step.status, incident=known))
    assert decide(same_tick) is None
    confirmed = decide(replace(same_tick, now_s=NOW_S + 15))
    assert isinstance(confirmed, Record)
    assert confirmed.events[0].reason == "Confirmed", "by a judgement that the next tick asked for"


STAYS: list[tuple[str, World]] = [
    ("the same template", after(workload=workload(REPLACED_S))),
    ("not yet judged for a horizon", after(workload=replaced(REPLACED_S + 2))),
    ("it recovers", after(judgement=regressed(recover_evidence_s=1.0))),
    ("its readings stopped before the horizon", after(judgement=regressed(last_usable_s=REPLACED_S + 1))),
    ("nothing is judged", after(judgement=None)),
    ("the workload is gone", after(workload=None)),
    ("no pod runs", after(workload=replace(replaced(), pods=()))),
    ("explained", after(explained(template="another", confirmed_at=None))),
    ("confirmed", after(replace(BEFORE, confirmed_at=NOW_S - 60))),
    ("a fault of the hardware", after(replace(BEFORE, diagnosis=DEGRADED, blocked=("HardwareDegraded", "XID 79")))),
    ("no revision changed", after(replace(BEFORE, blocked=("NoRevisionChanged", "nothing was deployed")))),
    (
        "an old loss",
        after(
            workload=replaced(LATEST_S),
            now_s=LATEST_S + HORIZON_S,
            judgement=regressed(last_usable_s=LATEST_S + HORIZON_S),
        ),
    ),
    ("the new run is within tolerance", after(judgement=regressed(change=-0.017))),
    ("not yet diagnosed", after(replace(BEFORE, diagnosis=None))),
    ("a person said no", after(replace(BEFORE, blocked=("PullRequestClosed", "closed")))),
    ("proposed", after(replace(BEFORE, proposal=replace(worlds.PROPOSED, state=PullRequestState.OPEN)))),
    ("opened by a version that noted no template", after(replace(BEFORE, template=None))),
]


@pytest.mark.parametrize("here", [row[1] for row in STAYS], ids=[row[0] for row in STAYS])
def test_an_incident_stays(here: World) -> None:
    assert superseding(here) is None


def test_under_mode_off_an_unexplained_incident_is_superseded_too() -> None:
    here = after(replace(BEFORE, blocked=None), spec=spec(RemediationMode.OBSERVE))
    assert superseding(here) is not None


def test_a_jobs_uid_in_the_labels_makes_no_other_template() -> None:
    labelled = {"metadata": {"labels": {"controller-uid": "x"}}, "spec": workload().template["spec"]}
    assert workload(template=labelled).template_digest == workload().template_digest
    checksum = {"metadata": {"annotations": {"checksum/config": "x"}}, "spec": workload().template["spec"]}
    assert workload(template=checksum).template_digest != workload().template_digest


def test_a_gate_does_not_make_the_run_another_one() -> None:
    gated = regressed(gates=(Gate.STARTING,), last_usable_s=REPLACED_S)
    assert superseding(after(judgement=gated)) is None


GREW_S = worlds.ONSET_S + spec().detection.sustain_s + 60
"""When a small loss became a large one: more than a horizon after its onset."""


SMALL = explained(confirmed_at=None, drop=0.03)


def grown(incident: Incident, **changes: Any) -> World:
    """The world in which a loss is confirmed that began after the open incident's."""
    return world(ailing(incident), judgement=regressed(**({"confirmed": True, "onset_s": GREW_S} | changes)))


def test_a_loss_that_grew_is_an_incident_of_its_own() -> None:
    opened = superseding(grown(SMALL))
    assert opened is not None
    assert (opened.onset_at, opened.drop) == (GREW_S, 0.172)
    assert (opened.profile, opened.diagnosis, opened.confirmed_at) == (None, None, None)


def test_an_incident_that_was_superseded_by_a_loss_that_grew_says_so() -> None:
    step = decide(grown(SMALL))
    assert isinstance(step, Record)
    assert (step.status.history[0].superseded or "").startswith("the loss grew, and what it is since 2")


@pytest.mark.parametrize(
    "here",
    [
        grown(replace(SMALL, confirmed_at=NOW_S - 60)),
        grown(replace(SMALL, proposal=replace(worlds.PROPOSED, state=PullRequestState.OPEN))),
        grown(SMALL, confirmed=False),
        world(ailing(SMALL), judgement=regressed(True)),
        grown(explained(confirmed_at=None)),
    ],
    ids=["confirmed before", "proposed", "not confirmed yet", "as old as the incident", "as large as the incident"],
)
def test_an_incident_of_a_loss_that_did_not_grow_stays(here: World) -> None:
    assert superseding(here) is None


def test_a_loss_that_began_after_its_pod_started_is_of_that_pod_whatever_the_template_says_now() -> None:
    """And no two incidents begin in the same second, which would give them one name."""
    started = replace(BEFORE, onset_at=REPLACED_S)
    assert superseding(after(started)) is None
