from typing import Any

import pytest

from mfu_operator.detect.hardware import merged, rule_out
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.series import HardwareReading


def gpu(**values: float | None) -> HardwareReading:
    healthy: dict[str, Any] = {
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
    assert rule_out([gpu(xid=79)], [gpu()]).findings[0].cause == "XidError"
    assert not rule_out([gpu(xid=31)], [gpu()]).blocks
    assert rule_out([gpu(ecc_errors=2)], [gpu()]).findings[0].cause == "EccErrors"


@pytest.mark.parametrize("error", [{"xid": 79}, {"ecc_errors": 2}])
def test_errors_of_which_nobody_knows_how_old_they_are_are_unmeasured_and_no_findings(error: dict[str, float]) -> None:
    ruling = rule_out([gpu(**error), gpu()])
    assert not ruling.blocks
    assert ruling.unmeasured == ("when the XID or ECC errors of 1 of 2 GPUs came: no readings from before the loss",)


def test_an_error_that_was_there_while_the_baseline_held_explains_no_loss() -> None:
    assert not rule_out([gpu(xid=79, ecc_errors=2)], [gpu(xid=79, ecc_errors=2)]).blocks
    assert rule_out([gpu(ecc_errors=3)], [gpu(ecc_errors=2)]).findings[0].text.startswith("1 uncorrected")


def test_what_was_not_measured_is_said_and_is_not_healthy() -> None:
    assert "not ruled out" in rule_out([]).unmeasured[0]
    assert rule_out([gpu(xid=None), gpu()]).unmeasured == ("XID errors not measured on 1 of 2 GPUs",)


@pytest.mark.parametrize("field", ["link_generation", "link_width"])
def test_a_link_that_was_no_better_while_the_baseline_held_explains_nothing(field: str) -> None:
    slower = gpu(**{field: 4})
    assert not rule_out([slower], [slower]).blocks
    assert rule_out([gpu(**{field: 2})], [slower]).findings[0].cause == "LinkDegraded"


@pytest.mark.parametrize(
    ("field", "most"), [("link_generation", "link_max_generation"), ("link_width", "link_max_width")]
)
def test_a_link_whose_best_is_not_exported_is_held_against_the_baselines_own_reading(field: str, most: str) -> None:
    usual, now = gpu(**{field: 8, most: None}), gpu(**{field: 4, most: None})
    (finding,) = rule_out([now], [usual]).findings
    assert finding.text.endswith("4 of 8 on node-1 H200 0")
    assert not rule_out([usual], [usual]).blocks
    ruling = rule_out([now])
    assert not ruling.blocks
    assert [text.split(" not ")[0] for text in ruling.unmeasured] == [
        f"what the PCIe link's {field.removeprefix('link_')} should be is"
    ]


def test_a_gpu_that_was_not_seen_before_is_held_against_those_that_were() -> None:
    elsewhere = HardwareReading("node-9", "H200 3", link_generation=4, link_max_generation=5)
    assert not rule_out([elsewhere], [gpu(link_generation=4)]).blocks
    assert rule_out([elsewhere], [gpu()]).findings[0].where == "node-9 H200 3"


def test_a_gpu_that_idles_may_save_power_on_its_link_and_not_on_its_width() -> None:
    assert not rule_out([gpu(link_generation=1, throttle_bits=0x1)], [gpu()]).blocks
    assert rule_out([gpu(link_width=8, throttle_bits=0x1)], [gpu()]).blocks


def test_what_is_usual_is_every_bit_the_best_link_and_the_errors_as_they_are() -> None:
    (usual,) = merged(
        merged([], [gpu(throttle_bits=0x4, link_generation=1, xid=79, ecc_errors=1)]),
        [gpu(throttle_bits=0x20, xid=13, ecc_errors=2)],
    )
    assert (usual.throttle_bits, usual.link_generation, usual.xid, usual.ecc_errors) == (0x24, 5, 13, 2)
    (kept,) = merged([usual], [gpu(throttle_bits=None, xid=None, ecc_errors=None, link_generation=None)])
    assert (kept.throttle_bits, kept.link_generation, kept.xid, kept.ecc_errors) == (0x24, 5, 13, 2)
    assert len(merged([usual], [HardwareReading("node-9", "H200 3")])) == 2


def test_nodes_that_are_new_are_named_with_their_gpus() -> None:
    now = [HardwareReading("node-9", "H200 0", xid=0), HardwareReading("node-1", "H200 0", xid=0)]
    (finding,) = rule_out(now, node_of={"a": "node-9", "b": "node-1"}, usual_nodes=["node-1", "node-2"]).findings
    assert (finding.bottleneck, finding.cause) == (Bottleneck.HARDWARE_DEGRADED, "NodesChanged")
    assert finding.where == "node-9 H200 0"
    assert finding.text == "the run is on node-9, where it never held the baseline (before: node-2)"


def test_fewer_of_the_same_nodes_and_nodes_that_nobody_noted_are_no_move() -> None:
    assert not rule_out([], node_of={"a": "node-1"}, usual_nodes=["node-1", "node-2"]).blocks
    assert not rule_out([], node_of={"a": "node-1"}, usual_nodes=[]).blocks


def test_many_new_nodes_are_counted_and_not_listed() -> None:
    nodes = {f"pod-{index}": f"node-{index:02}" for index in range(30)}
    assert rule_out([], node_of=nodes, usual_nodes=["old"]).findings[0].where.endswith("and 22 more")


def test_idle_gpus_are_told_and_block_nothing() -> None:
    now = [gpu(sm_active=0.2, tensor_active=0.05), gpu(sm_active=0.4, tensor_active=0.15)]
    ruling = rule_out(now, [gpu(sm_active=0.9, tensor_active=0.35)])
    assert not ruling.blocks
    assert ruling.supporting == (
        "SMs active 30 % of the time, 90 % while the baseline held",
        "tensor cores active 10 % of the time, 35 % while the baseline held",
    )


def test_activity_that_was_not_measured_is_not_told() -> None:
    assert rule_out([gpu()], [gpu(sm_active=0.9)]).supporting == ()
    assert rule_out([gpu(sm_active=0.3)]).supporting == ("SMs active 30 % of the time",)


BARE = HardwareReading("node-1", "H200 0")


def test_what_is_usual_of_a_gpu_has_the_best_width_whichever_look_saw_it() -> None:
    for first, second in ((8, 16), (16, 8)):
        (usual,) = merged([gpu(link_width=first)], [gpu(link_width=second)])
        assert usual.link_width == 16
    (unknown,) = merged([BARE], [BARE])
    assert (unknown.throttle_bits, unknown.link_width, unknown.ecc_errors) == (None, None, None)
    (one,) = merged([BARE], [gpu(throttle_bits=0x20)])
    assert one.throttle_bits == 0x20


@pytest.mark.parametrize("xid", [13, 31, 43, 45, 68])
def test_an_error_that_a_program_causes_is_no_finding(xid: int) -> None:
    assert not rule_out([gpu(xid=xid)], [gpu()]).blocks


@pytest.mark.parametrize(
    ("bit", "told"),
    [
        (0x08, "hardware slowdown"),
        (0x20, "software thermal slowdown"),
        (0x40, "hardware thermal slowdown"),
        (0x80, "power brake"),
    ],
)
def test_every_reason_for_a_slow_clock_is_told(bit: int, told: str) -> None:
    (finding,) = rule_out([gpu(throttle_bits=bit)]).findings
    assert finding.text == f"clocks held down on node-1 H200 0: {told}"


def test_a_baseline_of_which_nothing_was_measured_makes_nothing_usual() -> None:
    assert [each.cause for each in rule_out([gpu(throttle_bits=0x08)], [BARE]).findings] == ["Throttled"]
    assert [each.cause for each in rule_out([gpu(throttle_bits=0x5)], [BARE]).findings] == ["Throttled"]
    assert [each.cause for each in rule_out([gpu(ecc_errors=1, throttle_bits=0)], [BARE]).findings] == ["EccErrors"]
    assert not rule_out([BARE], [gpu()]).blocks


def test_a_gpu_that_does_not_say_whether_it_idles_saves_no_power() -> None:
    assert rule_out([gpu(link_generation=1, throttle_bits=None)], [gpu()]).blocks


def test_errors_of_a_gpu_that_was_not_seen_before_are_new() -> None:
    elsewhere = HardwareReading("node-9", "H200 3", ecc_errors=1)
    assert rule_out([elsewhere], [gpu()]).findings[-1].text == "1 uncorrected ECC errors on node-9 H200 3"


def test_a_link_is_held_against_its_own_and_a_new_gpus_against_the_best_of_the_others() -> None:
    seen = [
        HardwareReading("node-1", "0", link_width=8),
        HardwareReading("node-2", "0", link_width=16),
        HardwareReading("node-3", "0"),
    ]
    assert not rule_out([HardwareReading("node-1", "0", link_width=8)], seen).blocks
    assert not rule_out([HardwareReading("node-3", "0", link_width=8)], seen).blocks
    (finding,) = rule_out([HardwareReading("node-9", "0", link_width=8)], seen).findings
    assert finding.text == "PCIe link width 8 of 16 on node-9 0"


def test_a_link_of_which_nothing_is_known_is_not_asked_about() -> None:
    unmeasured = rule_out([BARE]).unmeasured
    assert "PCIe link width not measured on 1 of 1 GPUs" in unmeasured
    assert not any("should be" in text for text in unmeasured)
    half = rule_out([gpu(link_max_width=None)], [gpu(link_width=16, link_max_width=None)])
    assert half.unmeasured == ()


def test_errors_since_a_look_that_is_known_are_dated() -> None:
    assert rule_out([gpu(xid=79, ecc_errors=1)], [gpu()]).unmeasured == ()


def test_activity_is_the_mean_of_the_gpus_that_tell_it() -> None:
    ruling = rule_out([gpu(sm_active=0.2), gpu(), gpu(sm_active=0.4)], [gpu(sm_active=0.9), gpu()])
    assert ruling.supporting == ("SMs active 30 % of the time, 90 % while the baseline held",)


def test_a_run_that_has_grown_names_no_node_that_it_left() -> None:
    (finding,) = rule_out([], node_of={"a": "node-1", "b": "node-2"}, usual_nodes=["node-1"]).findings
    assert finding.text == "the run is on node-2, where it never held the baseline"


def test_eight_nodes_are_all_named() -> None:
    nodes = {f"pod-{index}": f"node-{index}" for index in range(8)}
    assert rule_out([], node_of=nodes, usual_nodes=["old"]).findings[0].where == ", ".join(sorted(nodes.values()))
