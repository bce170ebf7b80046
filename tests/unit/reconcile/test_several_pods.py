"""Of a workload of several pods that is not instrumented no copy is made, unless a command says what one pod can run
alone; the message carries what to add."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.detect.hardware import Finding
from mfu_operator.errors import Retry
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.incident import ProfileFact
from mfu_operator.model.verdict import Gate
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsureJob, Record
from tests.support import worlds
from tests.support.worlds import ailing, incident, judgement, spec, workload, world
from tests.unit.reconcile.stories import FINISHED, LAUNCHED, name_of, stands_in_the_way, story_world

PAIR = workload(pods=(worlds.pod(), worlds.pod(name="gpt-small-y")))
UNPROFILED = replace(worlds.SETTLED, healthy_profile=None)
NOT_YET = ["neither declares port mfu-probe", "2 pods of the run are active", "JSON patch", "MFU_PROBE_TOKEN_FILE"]


def commanded() -> Any:
    return replace(spec(), profiling=replace(spec().profiling, command=("python", "one.py")))


@pytest.mark.parametrize("changes", [{}, {"judgement": judgement(gates=(Gate.CHECKPOINT,))}])
def test_of_a_workload_of_several_pods_no_copy_is_made_and_the_message_says_what_to_write(
    changes: dict[str, Any],
) -> None:
    error = stands_in_the_way({"workload": PAIR, **changes}, UNPROFILED)
    assert isinstance(error, Retry)
    assert error.reason == "NotInstrumented"
    assert [text for text in NOT_YET if text not in error.message] == []


@pytest.mark.parametrize("failed", [None, replace(LAUNCHED, failure=("JobFailed", "exit code 1"))])
def test_an_incident_of_such_a_workload_is_inconclusive_with_the_same_words(failed: ProfileFact | None) -> None:
    said = decide(story_world(ailing(incident(profile=failed)), {"workload": PAIR}))
    assert isinstance(said, Record)
    assert said.status.incident is not None
    diagnosis = said.status.incident.diagnosis
    assert diagnosis is not None
    assert diagnosis.bottleneck is Bottleneck.INCONCLUSIVE
    assert [text for text in ("NotInstrumented", *NOT_YET) if text not in diagnosis.evidence[0]] == []


def test_failing_hardware_of_such_a_workload_is_still_named() -> None:
    hot = Finding(Bottleneck.HARDWARE_DEGRADED, "Throttled", "node-2 GPU 3", "throttled by heat")
    said = decide(story_world(ailing(incident()), {"workload": PAIR, "findings": (hot,)}))
    assert isinstance(said, Record)
    assert said.status.incident is not None
    assert said.status.incident.diagnosis is not None
    assert said.status.incident.diagnosis.cause == "Throttled"


def test_a_job_of_one_pod_that_has_two_during_a_roll_out_is_waited_for() -> None:
    rolling = workload(pods=(worlds.pod(), worlds.pod(worlds.NOW_S - 5)))
    assert decide(story_world(ailing(incident()), {"workload": rolling})) is None
    assert decide(world(UNPROFILED, workload=rolling, judgement=judgement(evidence_s=1.0))) is None


def test_an_account_that_is_under_way_is_taken_from_such_a_workload_too() -> None:
    taken = decide(story_world(ailing(incident(profile=LAUNCHED)), {"workload": PAIR, "job": FINISHED}))
    assert name_of(taken) == "Profiled"


@pytest.mark.parametrize("ended", ["Succeeded", "Failed", "Pending"])
def test_pods_that_do_not_run_are_no_peers(ended: str) -> None:
    pods = (worlds.pod(), worlds.pod(None, phase=ended))
    assert isinstance(decide(world(UNPROFILED, workload=workload(pods=pods))), EnsureJob)


def test_a_command_for_one_process_is_profiled_whatever_the_number_of_pods() -> None:
    assert isinstance(decide(world(UNPROFILED, workload=PAIR, spec=commanded())), EnsureJob)
    assert isinstance(decide(story_world(ailing(incident()), {"workload": PAIR, "spec": commanded()})), EnsureJob)
