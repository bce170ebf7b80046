"""The profiling Job's manifest."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import Stall
from mfu_operator.profiling.job import Permit, profiling_job
from tests.support import worlds

OWNER = {"apiVersion": "mfu-operator.io/v1alpha1", "kind": "TrainingBaseline", "name": "gpt-small", "uid": worlds.UID}
LABELS = {"mfu-operator.io/baseline": "gpt-small"}
TEMPLATE = {
    "metadata": {"labels": {"app": "gpt"}, "annotations": {"prometheus.io/scrape": "true"}},
    "spec": {"containers": [{"name": "train", "image": "gpt:1", "command": ["python", "train.py"]}]},
}


def made(image: str | None = "profiler:1", **profiling: Any) -> dict[str, Any]:
    spec = worlds.spec()
    spec = replace(spec, profiling=replace(spec.profiling, **profiling))
    return profiling_job("mfu-gpt-small-1-a1", spec, TEMPLATE, OWNER, image, LABELS)


def test_the_job_has_its_name_beside_the_workload() -> None:
    metadata = made()["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("mfu-gpt-small-1-a1", "team-a")


def test_the_job_goes_with_its_baseline() -> None:
    assert made()["metadata"]["ownerReferences"] == [OWNER | {"controller": True}]


def test_the_job_ends_in_time_is_not_repeated_and_leaves_nothing_behind() -> None:
    spec = made(deadline_s=300.0)["spec"]
    assert (spec["activeDeadlineSeconds"], spec["backoffLimit"], spec["ttlSecondsAfterFinished"]) == (300, 0, 86_400)


def test_the_job_fails_at_the_first_disruption_and_says_so() -> None:
    [rule] = made()["spec"]["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert [each["type"] for each in rule["onPodConditions"]] == ["DisruptionTarget"]


def test_the_pod_carries_our_marks_and_none_of_the_runs() -> None:
    marks = made()["spec"]["template"]["metadata"]
    assert marks["labels"] == LABELS
    assert "prometheus.io/scrape" not in marks["annotations"]


def test_no_mesh_puts_a_proxy_into_the_pod() -> None:
    marks = made()["spec"]["template"]["metadata"]["annotations"]
    assert marks == {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}


def test_an_image_of_the_baselines_own_comes_before_the_operators() -> None:
    pod = made()["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "profiler:1"
    spec = replace(worlds.spec(), profiling=replace(worlds.spec().profiling, image="own:2"))
    pod = profiling_job("job", spec, TEMPLATE, OWNER, "profiler:1", LABELS)["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "own:2"


@pytest.mark.parametrize(("own", "default", "used"), [("own", "low", "own"), (None, "low", "low"), (None, None, None)])
def test_a_priority_of_the_baselines_own_comes_before_the_operators(
    own: str | None, default: str | None, used: str | None
) -> None:
    spec = replace(worlds.spec(), profiling=replace(worlds.spec().profiling, priority_class=own))
    listed = Permit(priority_classes=("own",))
    pod = profiling_job("job", spec, TEMPLATE, OWNER, "profiler:1", LABELS, default, listed)["spec"]["template"]["spec"]
    assert pod.get("priorityClassName") == used


def test_without_any_image_a_person_is_told_where_to_set_one() -> None:
    with pytest.raises(Stall) as raised:
        made(image=None)
    assert raised.value.reason == "ProfilerImageMissing"
    assert "spec.profiling.image" in raised.value.message


def test_the_workloads_template_stays_as_it_is() -> None:
    before = deepcopy(TEMPLATE)
    made()["spec"]["template"]["spec"]["initContainers"][-1]["env"].append("scribble")
    assert before == TEMPLATE
