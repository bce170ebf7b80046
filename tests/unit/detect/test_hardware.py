from mfu_operator.detect.hardware import rule_out
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.series import HardwareReading


def gpu(**values: int | None) -> HardwareReading:
    healthy: dict[str, int | None] = {
        "link_generation": 5, "link_max_generation": 5, "link_width": 16, "link_max_width": 16,
        "throttle_bits": 0x4, "xid": 0, "ecc_errors": 0,
    }  # fmt: skip
    return HardwareReading("node-1", "H200 0", **(healthy | values))


def test_a_healthy_gpu_at_its_power_cap_is_no_finding() -> None:
    ruling = rule_out([gpu()], [gpu()])
    assert not ruling.blocks
    assert ruling.unmeasured == ()


def test_a_link_that_trained_down_names_node_and_gpu() -> None:
    ruling = rule_out([gpu(link_generation=1), gpu(link_width=8)])
    assert [finding.cause for finding in ruling.findings] == ["LinkDegraded", "LinkDegraded"]
    assert ruling.findings[0].text == "PCIe link generation 1 of 5 on node-1 H200 0"
    assert ruling.findings[0].bottleneck is Bottleneck.HARDWARE_DEGRADED


def test_throttling_counts_against_the_baselines_own_reading() -> None:
    assert rule_out([gpu(throttle_bits=0x4)], [gpu(throttle_bits=0x1)]).findings[0].cause == "Throttled"
    assert not rule_out([gpu(throttle_bits=0x4)]).blocks
    assert rule_out([gpu(throttle_bits=0x44)], [gpu()]).findings[0].text.endswith("hardware thermal slowdown")
    assert not rule_out([gpu(throttle_bits=0x3)]).blocks


def test_a_failing_gpu_is_told_from_a_failing_program() -> None:
    assert rule_out([gpu(xid=79)]).findings[0].cause == "XidError"
    assert not rule_out([gpu(xid=31)]).blocks
    assert rule_out([gpu(ecc_errors=2)]).findings[0].cause == "EccErrors"


def test_an_error_that_was_there_while_the_baseline_held_explains_no_loss() -> None:
    assert not rule_out([gpu(xid=79, ecc_errors=2)], [gpu(xid=79, ecc_errors=2)]).blocks
    assert rule_out([gpu(ecc_errors=3)], [gpu(ecc_errors=2)]).findings[0].text.startswith("1 uncorrected")


def test_one_slow_rank_is_named_with_its_node() -> None:
    ranks = {"a": 1.0, "b": 1.01, "c": 1.2, "d": 1.0}
    finding = rule_out([], rank_step_s=ranks, node_of={"c": "node-7"}).findings[0]
    assert (finding.bottleneck, finding.where) == (Bottleneck.STRAGGLER, "node-7 c")


def test_ranks_that_all_slowed_down_are_no_stragglers() -> None:
    assert not rule_out([], rank_step_s={"a": 1.2, "b": 1.2, "c": 1.21}).blocks
    assert not rule_out([], rank_step_s={"a": 1.0, "b": 1.5}).blocks


def test_what_was_not_measured_is_said_and_is_not_healthy() -> None:
    assert "not ruled out" in rule_out([]).unmeasured[0]
    assert rule_out([gpu(xid=None), gpu()]).unmeasured == ("XID errors not measured on 1 of 2 GPUs",)
