"""Everything that is no commit's fault, from the metrics source to the blocked proposal: real sweep, real tick."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.measure.sweep import Sweep
from mfu_operator.model.baseline import Signal, WorkloadRef
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.series import HardwareReading, Reading
from mfu_operator.reconcile.incident import OF_THE_PROGRAM
from mfu_operator.trace.diagnosis.causes import CAUSES
from tests.support import worlds
from tests.support.adapters_double import Stage
from tests.support.metrics_double import MetricsDouble, SourcesDouble

HEALTHY = HardwareReading(
    "node-1", "H200 0", link_generation=5, link_max_generation=5, link_width=16, link_max_width=16, throttle_bits=0x4,
    xid=0, ecc_errors=0,
)  # fmt: skip
UNEXPLAINED = worlds.account(compute=40.0)
"""A step whose kernels take longer, as on another node or with another commit."""


class Source(MetricsDouble):
    """The job's readings and its GPU's."""

    gpu = HEALTHY

    measures_hardware = True

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        return dict.fromkeys(workloads, (self.gpu,))


class Fleet(Stage):
    """The stage with the real sweep, which is swept at every other tick."""

    def __init__(self) -> None:
        super().__init__()
        self.source = Source()
        self.speed = 0.46
        self.real = Sweep(SourcesDouble(self.source), lambda: self.now_s, 30.0)
        self.adapters = replace(self.adapters, sweep=self.real)

    def pass_time(self, minutes: float) -> None:
        for _ in range(round(minutes * 2)):
            self.tick()
            self.tick()
            reading = Reading(self.now_s, {Signal.MFU: self.speed}, incarnation="a")
            self.source.add(worlds.REF, reading)
            self.real.run_once()

    def lose(self) -> None:
        """A commit is deployed, the job is 17 % slower, and the loss lasts."""
        self.pass_time(20)
        self.finish(self.job, worlds.FAST_STEP)
        self.pass_time(20)
        self.repository.commit({"apps/gpt/train.yaml": "num_workers: 0\n"}, "Save memory")
        self.deploy()
        self.speed = 0.381

    def confirm_loss(self, account: Any = UNEXPLAINED) -> None:
        self.pass_time(20)
        self.finish(self.job, account)
        self.pass_time(50)


def gpu(**changes: int) -> Callable[[Fleet], None]:
    def change(fleet: Fleet) -> None:
        fleet.source.gpu = replace(HEALTHY, **changes)  # type: ignore[arg-type]

    return change


def moved(fleet: Fleet) -> None:
    key = ("Job", "team-a", "gpt-small")
    found = fleet.cluster.workloads[key]
    fleet.cluster.workloads[key] = replace(found, pods=(worlds.pod(fleet.now_s, node="node-9"),))


FAULTS = [
    pytest.param(gpu(link_generation=1), "HardwareDegraded", "LinkDegraded", "node-1 H200 0", id="link generation"),
    pytest.param(gpu(link_width=4), "HardwareDegraded", "LinkDegraded", "node-1 H200 0", id="link width"),
    pytest.param(gpu(throttle_bits=0x44), "HardwareDegraded", "Throttled", "node-1 H200 0", id="throttling"),
    pytest.param(gpu(xid=79), "HardwareDegraded", "XidError", "node-1 H200 0", id="XID"),
    pytest.param(gpu(ecc_errors=3), "HardwareDegraded", "EccErrors", "node-1 H200 0", id="ECC"),
    pytest.param(moved, "HardwareDegraded", "NodesChanged", "node-9", id="another node"),
]


@pytest.mark.parametrize(("fault", "bottleneck", "cause", "where"), FAULTS)
def test_what_no_commit_did_is_named_with_its_node_and_blocks_the_proposal(
    fault: Callable[[Fleet], None], bottleneck: str, cause: str, where: str
) -> None:
    fleet = Fleet()
    fleet.lose()
    fault(fleet)
    fleet.confirm_loss()
    incident = fleet.status.incident
    assert incident is not None
    assert incident.diagnosis is not None
    assert (str(incident.diagnosis.bottleneck), incident.diagnosis.cause) == (bottleneck, cause)
    assert where in incident.diagnosis.evidence[0]
    assert incident.confirmed_at is not None
    assert incident.blocked is not None
    assert incident.blocked[0] == bottleneck
    assert (fleet.forge.pulls, fleet.repository.branches) == ([], {})


def test_without_any_of_them_the_same_loss_is_a_commit_s() -> None:
    fleet = Fleet()
    fleet.lose()
    fleet.confirm_loss(worlds.SLOW_STEP)
    assert len(fleet.forge.pulls) == 1


def test_a_run_that_moved_and_does_other_things_is_a_commit_s() -> None:
    """No node takes the loader's workers away."""
    fleet = Fleet()
    fleet.lose()
    moved(fleet)
    fleet.confirm_loss(worlds.SLOW_STEP)
    incident = fleet.status.incident
    assert incident is not None
    assert incident.diagnosis is not None
    assert (incident.diagnosis.bottleneck, incident.diagnosis.cause) == (Bottleneck.INPUT_STARVED, "DataLoaderWorkers")
    assert len(fleet.forge.pulls) == 1


def test_nodes_on_which_the_baseline_was_held_again_are_its_own_from_then_on() -> None:
    fleet = Fleet()
    fleet.pass_time(20)
    fleet.finish(fleet.job, worlds.FAST_STEP)
    fleet.pass_time(5)
    moved(fleet)
    fleet.pass_time(30)
    assert fleet.status.known_good is not None
    assert fleet.status.known_good.nodes == ("node-9",)


def test_a_fault_that_was_there_while_the_baseline_held_explains_nothing() -> None:
    fleet = Fleet()
    fleet.source.gpu = replace(HEALTHY, link_generation=4, xid=79, ecc_errors=3, throttle_bits=0x24)
    fleet.lose()
    fleet.confirm_loss(worlds.SLOW_STEP)
    assert len(fleet.forge.pulls) == 1


def test_what_a_program_does_is_told_from_what_a_node_does_by_causes_that_there_are() -> None:
    assert {cause.name for cause in CAUSES} >= OF_THE_PROGRAM
