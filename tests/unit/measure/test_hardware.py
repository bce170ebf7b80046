from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from mfu_operator.errors import MfuError, Retry
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.series import HardwareReading
from mfu_operator.model.verdict import Verdict
from tests.support.metrics_double import MetricsDouble, SourcesDouble
from tests.support.sweep_bench import BASELINE, JOB, SPEC, Bench


class WithHardware(MetricsDouble):
    """A source that knows one GPU, whose link is what `width` says; `at` notes when it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.width, self.bits, self.xid = 16, 4, 0
        self.at: list[float] = []
        self.fails_for: MfuError | None = None

    measures_hardware = True

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        self.at.append(now_s)
        if self.fails_for is not None:
            raise self.fails_for
        gpu = HardwareReading(
            "node-1", "H200 0", link_width=self.width, link_max_width=16, throttle_bits=self.bits, xid=self.xid
        )
        return dict.fromkeys(workloads, (gpu,))


@pytest.fixture
def hardware(bench: Bench) -> WithHardware:
    source = WithHardware()
    bench.read_from(source)
    return source


def causes(bench: Bench) -> list[str]:
    return [finding.cause for finding in bench.view().ruling().findings]


def test_hardware_is_looked_at_now_and_then_while_all_is_well_and_always_with_a_loss(
    bench: Bench, hardware: WithHardware
) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(60)
    assert 5 <= len(hardware.at) <= 6
    assert causes(bench) == []
    hardware.width = 8
    bench.run(15, loss=0.2)
    assert bench.view().ruling().findings[0].text == "PCIe link width 8 of 16 on node-1 H200 0"
    looks = len(hardware.at)
    bench.run(5, loss=0.2)
    assert len(hardware.at) == looks + 10


def test_what_a_run_reads_before_it_is_at_work_is_not_usual(bench: Bench, hardware: WithHardware) -> None:
    """Idle at the start, at its power cap in every healthy minute after: no fault when it is slow."""
    hardware.bits = 0x1
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(1)
    hardware.bits = 0x4
    bench.run(60)
    bench.run(15, loss=0.2)
    assert causes(bench) == []


def test_a_bit_that_comes_and_goes_in_healthy_hours_is_usual(bench: Bench, hardware: WithHardware) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(20)
    hardware.bits = 0x24
    bench.run(20)
    hardware.bits = 0x4
    bench.run(20)
    hardware.bits = 0x20
    bench.run(15, loss=0.2)
    assert causes(bench) == []
    hardware.bits = 0x80
    bench.run(1, loss=0.2)
    assert causes(bench) == ["Throttled"]


@pytest.mark.parametrize("sweeps", range(20))
def test_what_is_read_in_the_first_minutes_of_a_loss_is_not_usual(
    bench: Bench, hardware: WithHardware, sweeps: int
) -> None:
    """Whichever sweep of the twenty the fault begins in: until the loss gathers evidence nobody knows of it."""
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(60 + sweeps / 2)
    hardware.bits, hardware.xid = 0x44, 79
    bench.run(20, loss=0.2)
    assert causes(bench) == ["Throttled", "XidError"]


def test_after_a_restart_with_a_loss_the_hardware_of_the_time_before_it_is_asked_for(
    bench: Bench, hardware: WithHardware
) -> None:
    bench.run(30)
    onset_s = bench.now_s
    bench.run(30, loss=0.2)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=onset_s)
    assert not bench.view().filled
    bench.sweep.run_once()
    assert bench.view().filled
    before_s, now_s = hardware.at
    assert now_s == bench.now_s
    assert onset_s - 1200 <= before_s < onset_s


def test_no_ruling_is_given_before_the_hardware_was_looked_at(bench: Bench, hardware: WithHardware) -> None:
    """Three losses that began hours apart: two of them are looked back upon in one sweep, the third in the next."""
    began_s = bench.now_s
    bench.run(30, swept=False)
    for index in range(3):
        spec = replace(SPEC, workload=replace(JOB, name=f"job-{index}"))
        bench.sweep.register(str(index), spec, BASELINE, incident_since_s=began_s - 7200 * index)
    bench.sweep.run_once()
    assert [bench.view(str(index)).filled for index in range(3)].count(True) == 2
    bench.sweep.run_once()
    assert all(bench.view(str(index)).filled for index in range(3))


def test_hardware_that_cannot_be_read_holds_nothing_up(bench: Bench, hardware: WithHardware) -> None:
    hardware.fails_for = Retry("PrometheusUnavailable", "too many samples")
    bench.run(30)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=bench.now_s - 600)
    bench.sweep.run_once()
    assert not bench.view().filled
    for _ in range(9):
        bench.sweep.run_once()
    assert bench.view().filled
    assert "not ruled out" in bench.view().ruling().unmeasured[0]


def test_a_look_back_that_failed_is_made_again_and_an_old_error_stays_an_old_one(
    bench: Bench, hardware: WithHardware
) -> None:
    hardware.xid = 79
    hardware.fails_for = Retry("PrometheusUnavailable", "503")
    bench.run(30, loss=0.1, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=bench.now_s - 1500)
    bench.sweep.run_once()
    assert not bench.view().filled
    hardware.fails_for = None
    bench.sweep.run_once()
    assert bench.view().filled
    assert causes(bench) == []


class InPart(WithHardware):
    """A source that answers without a part of its data for some sweeps: nothing of the GPUs is in it."""

    whole = False

    measures_hardware = True

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        found = super().hardware(workloads, now_s)
        return found if self.whole else {}

    def absence(self, workload: WorkloadRef) -> Retry | None:
        return None if self.whole else Retry("PrometheusIncomplete", "a store is down")


def test_what_an_answer_lacks_is_not_taken_for_hardware_that_nobody_measures(bench: Bench) -> None:
    """An old error is none of this loss'; had "nothing known" been usual, it could not be told from a new one."""
    hardware = InPart()
    hardware.xid = 79
    bench.read_from(hardware)
    bench.run(30, loss=0.1, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=bench.now_s - 1500)
    bench.sweep.run_once()
    assert not bench.view().filled
    hardware.whole = True
    bench.sweep.run_once()
    assert bench.view().filled
    assert causes(bench) == []


def test_hardware_that_no_whole_answer_holds_is_not_looked_back_upon_again(bench: Bench) -> None:
    hardware = InPart()
    bench.read_from(hardware)
    bench.run(30, loss=0.1, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=bench.now_s - 1500)
    for _ in range(10):
        bench.sweep.run_once()
    assert bench.view().filled


def test_an_incident_that_recovered_while_the_operator_was_away_is_ruled_on(
    bench: Bench, hardware: WithHardware
) -> None:
    bench.run(30, swept=False)
    onset_s = bench.now_s
    bench.run(60, loss=0.2, swept=False)
    bench.run(35, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=onset_s)
    bench.run(5)
    judgement = bench.view().judgement
    assert judgement is not None
    assert judgement.recovered
    assert bench.view().filled


def test_a_run_on_a_node_where_it_never_held_the_baseline_is_told(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    ruling = bench.view().ruling({"gpt-0": "node-1", "gpt-1": "node-7"}, ("node-1", "node-2"))
    assert [(finding.cause, finding.where) for finding in ruling.findings] == [("NodesChanged", "node-7")]
    assert not bench.view().ruling({"gpt-0": "node-1"}, ()).blocks


def test_a_source_without_hardware_rules_nothing_out(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(1)
    ruling = bench.view().ruling()
    assert not ruling.blocks
    assert "not ruled out" in ruling.unmeasured[0]


class Idle(WithHardware):
    """A GPU whose SMs do next to nothing."""

    measures_hardware = True

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        gpu = HardwareReading("node-1", "H200 0", sm_active=0.02, tensor_active=0.0)
        return dict.fromkeys(workloads, (gpu,))


def test_sm_and_tensor_activity_alone_alarm_nobody(bench: Bench) -> None:
    bench.metrics = Idle()
    bench.sources = SourcesDouble(bench.metrics)
    bench.sweep = bench.another()
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(60)
    judgement = bench.view().judgement
    assert judgement is not None
    assert (judgement.verdict, judgement.evidence_s) == (Verdict.HEALTHY, 0.0)
