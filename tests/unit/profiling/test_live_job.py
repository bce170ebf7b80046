"""The coordinating Job: restricted, bounded, without rights, in the run's queue."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import Stall
from mfu_operator.model.baseline import Profiling, SecretRef
from mfu_operator.profiling.live.job import REQUEST_VARIABLE, live_job
from mfu_operator.profiling.live.request import CaptureRequest, TargetPod, decode, encode
from mfu_operator.profiling.privileges import privileges
from tests.support import worlds

POD = TargetPod("uid-1", "gpt-0", "10.0.0.7", "node-1", 9400, 0, 8)
REQUEST = CaptureRequest("mfu-gpt-a1", 12, 900.0, 1, (POD,))
OWNER = {"apiVersion": "mfu-operator.io/v1alpha1", "kind": "TrainingBaseline", "name": "gpt", "uid": "u"}


def job(profiling: Profiling | None = None, queue: dict[str, str] | None = None) -> dict[str, Any]:
    spec = worlds.spec(profiling=profiling or Profiling())
    return live_job("mfu-gpt-a1", spec, REQUEST, OWNER, "profiler:1", {"app": "x"}, queue or {})


def pod(made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = made["spec"]["template"]["spec"]
    return found


def test_it_has_no_rights_and_no_privilege_but_the_token_that_it_mounts_by_name() -> None:
    made = pod(job())
    assert made["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in made
    assert [str(privilege) for privilege, _ in privileges(made)] == ["secrets"]
    assert made["volumes"][0]["secret"] == {
        "secretName": "mfu-capture", "optional": True, "items": [{"key": "token", "path": "token"}]
    }  # fmt: skip


def test_it_passes_the_strictest_pod_security_standard() -> None:
    (container,) = pod(job())["containers"]
    context = container["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}


def test_a_quota_finds_requests_and_limits_of_everything() -> None:
    (container,) = pod(job())["containers"]
    for kind in ("requests", "limits"):
        assert set(container["resources"][kind]) == {"cpu", "memory", "ephemeral-storage"}


def test_it_waits_in_the_runs_queue_and_injects_no_proxy() -> None:
    made = job(queue={"kueue.x-k8s.io/queue-name": "research"})
    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"
    marks = made["spec"]["template"]["metadata"]
    assert marks["annotations"]["sidecar.istio.io/inject"] == "false"
    assert marks["labels"]["mfu-operator.io/capture"] == "coordinator"


def test_what_it_is_asked_comes_out_of_its_environment_again() -> None:
    (variable,) = pod(job())["containers"][0]["env"]
    assert variable["name"] == REQUEST_VARIABLE
    assert decode(variable["value"]) == replace(REQUEST, targets=[POD])


def test_64_pods_fit_into_a_variable() -> None:
    targets = tuple(replace(POD, name="a-very-long-name-of-a-pod-" * 3 + str(one)) for one in range(64))
    assert len(encode(replace(REQUEST, targets=targets))) < 64 << 10


def test_another_secret_and_another_image_are_the_specs_to_name() -> None:
    made = pod(job(Profiling(capture_secret=SecretRef("own"), image="mirror/profiler:2")))
    assert made["volumes"][0]["secret"]["secretName"] == "own"
    assert made["containers"][0]["image"] == "mirror/profiler:2"


def test_a_priority_that_nobody_permits_is_refused() -> None:
    with pytest.raises(Stall) as caught:
        job(Profiling(priority_class="system-node-critical"))
    assert caught.value.reason == "ProfilingForbidden"
