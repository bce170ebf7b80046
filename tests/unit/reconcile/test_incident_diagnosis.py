"""What an incident is put down to: the account, or the hardware, and what no commit did is never proposed."""

from dataclasses import replace

import pytest

from mfu_operator.detect.hardware import Finding
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import Record, Step
from tests.support import worlds
from tests.support.worlds import ailing, explained, incident
from tests.unit.reconcile.stories import story_world

NEVER_PROPOSED = [
    ("Inconclusive", Diagnosis(Bottleneck.INCONCLUSIVE, None, 0.0, ("graphs hide the kernels",))),
    ("Inconclusive", Diagnosis(None, None, 1.0, ("nothing grew",))),
    ("HardwareDegraded", Diagnosis(Bottleneck.HARDWARE_DEGRADED, "LinkDegraded", 1.0, ("PCIe width 8 of 16",))),
    ("Straggler", Diagnosis(Bottleneck.STRAGGLER, "SlowCompute", 1.0, ("rank 3",))),
    ("NotComparable", replace(worlds.STARVED, comparable=False, not_comparable_because=("the GPU differs",))),
]


@pytest.mark.parametrize(("reason", "diagnosis"), NEVER_PROPOSED, ids=[row[0] for row in NEVER_PROPOSED])
def test_what_no_commit_did_is_said_once_and_never_proposed(reason: str, diagnosis: Diagnosis) -> None:
    status = ailing(explained(diagnosis=diagnosis))
    said = decide(story_world(status, {}))
    assert isinstance(said, Record)
    assert said.status.incident is not None
    assert said.status.incident.blocked is not None
    assert said.status.incident.blocked[0] == reason
    assert decide(story_world(said.status, {})) is None


def diagnosed(step: Step | None) -> Diagnosis:
    assert isinstance(step, Record)
    assert step.status.incident is not None
    assert step.status.incident.diagnosis is not None
    return step.status.incident.diagnosis


OBSERVED = [
    Finding(Bottleneck.HARDWARE_DEGRADED, "ThermalThrottling", "node-1 GPU 3", "throttled by heat"),
    Finding(Bottleneck.HARDWARE_DEGRADED, "LinkDegraded", "node-2 GPU 1", "link at 1 of 5"),
]


@pytest.mark.parametrize("finding", OBSERVED, ids=lambda finding: str(finding.cause))
def test_what_the_hardware_shows_is_the_diagnosis_whatever_the_account_says_and_is_never_proposed(
    finding: Finding,
) -> None:
    seen = {"findings": (finding,)}
    step = decide(story_world(ailing(incident(profile=worlds.PROFILED, confirmed_at=worlds.NOW_S)), seen))
    found = diagnosed(step)
    assert (found.bottleneck, found.cause) == (finding.bottleneck, finding.cause)
    assert found.evidence == (f"{finding.where}: {finding.text}",)
    assert isinstance(step, Record)
    said = decide(story_world(step.status, seen))
    assert isinstance(said, Record)
    assert said.events[0].reason == str(finding.bottleneck)
    assert decide(story_world(said.status, seen)) is None


def test_what_the_hardware_shows_later_stops_a_proposal_too() -> None:
    said = decide(story_world(ailing(explained()), {"findings": (OBSERVED[0],)}))
    assert isinstance(said, Record)
    assert said.events[0].reason == "HardwareDegraded"


UNMEASURED = ("XID errors not measured on 8 of 8 GPUs", "clock event reasons not measured on 8 of 8 GPUs")


def evidence_with(gpu: str | None) -> str:
    slow = incident(profile=replace(worlds.PROFILED, account=replace(worlds.SLOW_STEP, gpu=gpu)))
    return " ".join(diagnosed(decide(story_world(ailing(slow), {"unmeasured": UNMEASURED}))).evidence)


def test_what_of_the_hardware_nobody_measured_is_said_beside_the_diagnosis() -> None:
    assert f"hardware is not ruled out: {'; '.join(UNMEASURED)}" in evidence_with("NVIDIA H100 80GB HBM3")


def test_a_run_without_gpus_has_no_hardware_to_rule_out() -> None:
    assert "not ruled out" not in evidence_with(None)


MOVED = Finding(Bottleneck.HARDWARE_DEGRADED, "NodesChanged", "node-9 H200 0", "the run is on node-9")


def test_a_run_that_moved_is_not_a_commit_s_where_its_node_may_be_slow() -> None:
    slow = incident(profile=replace(worlds.PROFILED, account=worlds.account(compute=40.0)), confirmed_at=worlds.NOW_S)
    step = decide(story_world(ailing(slow), {"findings": (MOVED,)}))
    found = diagnosed(step)
    assert (found.bottleneck, found.cause) == (Bottleneck.HARDWARE_DEGRADED, "NodesChanged")
    assert found.evidence[0] == "node-9 H200 0: the run is on node-9"
    assert len(found.evidence) > 1
    assert isinstance(step, Record)
    said = decide(story_world(step.status, {"findings": (MOVED,)}))
    assert isinstance(said, Record)
    assert said.events[0].reason == "HardwareDegraded"


def test_what_only_a_program_does_outweighs_that_it_moved() -> None:
    slow = incident(profile=worlds.PROFILED, confirmed_at=worlds.NOW_S)
    found = diagnosed(decide(story_world(ailing(slow), {"findings": (MOVED,)})))
    assert found.cause == "DataLoaderWorkers"


REMARK = "GPU 3: PCIe width 8 of 16"


def profiled_with(now: tuple[str, ...], usual: tuple[str, ...]) -> Diagnosis:
    slow = incident(profile=replace(worlds.PROFILED, hardware=now))
    healthy = replace(worlds.HEALTHY_PROFILE, hardware=usual)
    return diagnosed(decide(story_world(ailing(slow, healthy_profile=healthy), {})))


def test_a_remark_on_the_gpus_that_the_healthy_profile_does_not_have_is_a_hardware_fault() -> None:
    found = profiled_with((REMARK, "GPU 0: power capped"), ("GPU 0: power capped",))
    assert (found.bottleneck, found.cause) == (Bottleneck.HARDWARE_DEGRADED, "HardwareFault")
    assert found.evidence == (REMARK,)


def test_a_remark_that_the_healthy_profile_has_too_explains_nothing() -> None:
    assert profiled_with((REMARK,), (REMARK,)).bottleneck is Bottleneck.INPUT_STARVED
