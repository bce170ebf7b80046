"""What each field of a spec may hold, from both sides of every bound."""

from typing import Any

import pytest

from mfu_operator.api import decode
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import BaselineSpec

SPEC: dict[str, Any] = {
    "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "gpt-small"},
    "comparable": {"model": "gpt-small"},
    "baseline": {"record": {}},
}


def decoded(**sections: Any) -> BaselineSpec:
    return decode.spec({"metadata": {"namespace": "training", "name": "gpt"}, "spec": SPEC | sections})


def refused(**sections: Any) -> str:
    """Why a spec is refused."""
    with pytest.raises(Stall) as refusal:
        decoded(**sections)
    assert refusal.value.reason == "InvalidSpec"
    return refusal.value.message


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"workload": SPEC["workload"] | {"selector": {}}}, "spec.workload.name stands beside selector"),
        ({"workload": {"apiVersion": "v1", "kind": "Job"}}, "spec.workload.name is missing, and so is selector"),
        ({"baseline": {"values": {"mfu": 1.51}}}, "spec.baseline.values.mfu is 1.51; write the ratio"),
        ({"baseline": {"record": {"generation": 2}}}, "spec.baseline.record.reason is missing"),
        ({"baseline": {"record": {"duration": "0s"}}}, "spec.baseline.record.duration is zero"),
        ({"metrics": {"names": {"speed": "x"}}}, "spec.metrics.names.speed is unknown"),
        ({"metrics": {"labels": {"team": "x"}}}, "spec.metrics.labels.team is unknown"),
        ({"metrics": {"pods": {}, "prometheus": {"tenant": "x"}}}, "spec.metrics.pods and prometheus cannot both"),
        ({"metrics": {"pods": {"path": "metrics"}}}, "spec.metrics.pods.path is 'metrics'"),
        ({"detection": {"tolerance": "0.1%"}}, "spec.detection.tolerance is 0.100%"),
        ({"detection": {"tolerance": "51%"}}, "spec.detection.tolerance is 51.000%"),
        ({"profiling": {"steps": 4}}, "spec.profiling.steps is 4"),
        ({"profiling": {"ranks": 65}}, "spec.profiling.ranks is 65"),
        ({"profiling": {"deadline": "0s"}}, "spec.profiling.deadline is 0 s"),
        ({"profiling": {"deadline": "14401s"}}, "spec.profiling.deadline is 14401 s"),
        ({"remediation": {"pullRequest": {"labels": ["x"] * 16}}}, "spec.remediation.pullRequest.labels has more"),
        ({"remediation": {"pullRequest": {"reviewers": ["x" * 101]}}}, "spec.remediation.pullRequest.reviewers has"),
        ({"remediation": {"repository": "https://me:x@host/a"}}, "spec.remediation.repository holds credentials"),
        ({"remediation": {"branch": "a..b"}}, "spec.remediation.branch is 'a..b'"),
        ({"remediation": {"path": "/deploy"}}, "spec.remediation.path is '/deploy'"),
        ({"remediation": {"path": "deploy/../x"}}, "spec.remediation.path is 'deploy/../x'"),
    ],
)
def test_what_no_run_can_have_is_refused_by_its_field(sections: dict[str, Any], told: str) -> None:
    assert refused(**sections).startswith(told)


def test_an_object_without_a_spec_or_metadata_is_refused_and_not_an_error() -> None:
    for nothing in ({}, {"spec": None, "metadata": None}, {"metadata": {"namespace": "a"}, "spec": None}):
        with pytest.raises(Stall):
            decode.spec(nothing)


def test_levels_up_to_one_and_a_half_are_ratios_and_other_signals_have_no_bound() -> None:
    declared = decoded(baseline={"values": {"mfu": 1.5}}).declared
    assert declared is not None
    assert declared.mfu == 1.5
    other = decoded(baseline={"values": {"tokensPerSecondPerGpu": 9000.0}}).declared
    assert other is not None
    assert (other.mfu, other.throughput) == (None, 9000.0)


@pytest.mark.parametrize(
    ("record", "generation", "reason"),
    [({}, 1, None), ({"generation": 1}, 1, None), ({"generation": 2, "reason": "faster"}, 2, "faster")],
)
def test_the_first_recording_needs_no_reason(record: dict[str, Any], generation: int, reason: str | None) -> None:
    plan = decoded(baseline={"record": record}).record
    assert plan is not None
    assert (plan.generation, plan.reason) == (generation, reason)


def test_a_recording_may_take_a_second() -> None:
    plan = decoded(baseline={"record": {"duration": "1s"}}).record
    assert plan is not None
    assert plan.duration_s == 1.0


@pytest.mark.parametrize("port", [1, 8000, 65535, "metrics", "a", "m-1", "1a"])
def test_a_port_is_a_number_or_a_name_with_a_letter(port: int | str) -> None:
    source = decoded(metrics={"pods": {"ports": [port], "path": "/metrics"}}).metrics
    assert source.pods is not None
    assert (source.pods.ports, source.pods.path) == ((port,), "/metrics")


@pytest.mark.parametrize("port", [0, -1, 65536, True, "8000", "-a", "a-", "Metrics", "a.b", "", 1.5, None, ["a"]])
def test_what_is_no_port_is_refused(port: object) -> None:
    assert refused(metrics={"pods": {"ports": [port]}}).startswith("spec.metrics.pods.ports holds")


def test_pods_are_read_where_nothing_is_said_of_a_prometheus() -> None:
    assert decoded(metrics={"pods": {}}).metrics.pods is not None
    assert decoded(metrics={"prometheus": {"tenant": "x"}}).metrics.pods is None


@pytest.mark.parametrize(("text", "ratio"), [("0.2%", 0.002), ("50%", 0.5)])
def test_a_tolerance_is_beyond_a_thousandth_and_up_to_a_half(text: str, ratio: float) -> None:
    assert decoded(detection={"tolerance": text}).detection.tolerance == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [("steps", 5, "steps"), ("ranks", 64, "ranks"), ("ranks", 1, "ranks"), ("warmupSteps", 0, "warmup_steps")],
)
def test_profiling_takes_numbers_within_its_bounds(field: str, value: int, name: str) -> None:
    assert getattr(decoded(profiling={field: value}).profiling, name) == value


@pytest.mark.parametrize(("text", "seconds"), [("1s", 1.0), ("4h", 14_400.0)])
def test_a_profiling_job_may_take_a_second_and_four_hours(text: str, seconds: float) -> None:
    assert decoded(profiling={"deadline": text}).profiling.deadline_s == seconds


def test_fifteen_names_of_a_hundred_characters_fit() -> None:
    review = decoded(remediation={"pullRequest": {"labels": ["x" * 100] * 15}}).remediation.review
    assert review.labels == ("x" * 100,) * 15


@pytest.mark.parametrize("repository", ["https://host/a.git", "ssh://git@host/a.git", "git@host:a/b.git"])
def test_a_user_of_ssh_is_no_credential(repository: str) -> None:
    assert decoded(remediation={"repository": repository}).remediation.repository == repository


@pytest.mark.parametrize("branch", ["HEAD", "main", "release/1.0"])
def test_head_and_branches_are_branches(branch: str) -> None:
    assert decoded(remediation={"branch": branch}).remediation.branch == branch


@pytest.mark.parametrize("path", ["deploy", "deploy/a..b", "."])
def test_a_path_is_within_the_repository(path: str) -> None:
    assert decoded(remediation={"path": path}).remediation.path == path
