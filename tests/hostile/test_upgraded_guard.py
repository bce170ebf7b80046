"""An upgrade that guards one more field trusts nobody with it who wrote it before: on a real API server."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kubernetes import client

from mfu_operator.adapters.cluster.guard import guards
from mfu_operator.api import decode
from mfu_operator.api.group import GROUP, GROUP_VERSION, GUARDED_ANNOTATION, KIND, PLURAL, VERSION
from mfu_operator.errors import Stall
from mfu_operator.process.authority import Authority
from tests.faults.control_plane import POLICIES, TEAM, ControlPlane, named, rendered
from tests.hostile.people import AUTHOR, PROMETHEUS, SPEC, Person

pytestmark = pytest.mark.cluster

FIRST, SECOND = "mfu-system-mfu-operator-authority", "mfu-system-mfu-operator-authority.2"
RENAMING = {**SPEC, "metrics": {"prometheus": PROMETHEUS, "labels": {"namespace": "ns"}}}


@pytest.fixture(scope="module")
def upgraded(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster in which a baseline was written between two releases, of which the second guards what it has."""
    [second] = [each for each in rendered(tmp_path_factory.mktemp("chart"), POLICIES, {}) if named(each) == SECOND]
    plane.kubectl.run("delete", "validatingadmissionpolicybinding", SECOND)
    metadata = {"name": "between", "namespace": TEAM}
    plane.kubectl.apply({"apiVersion": GROUP_VERSION, "kind": KIND, "metadata": metadata, "spec": RENAMING})
    plane.kubectl.apply(second)
    yield plane
    plane.kubectl.run("delete", PLURAL, "between", f"--namespace={TEAM}")


def judged(plane: ControlPlane) -> object:
    authority = Authority(lambda: guards(plane.operator, (FIRST, SECOND), ()))
    authority.look()
    read: Any = client.CustomObjectsApi(plane.operator).get_namespaced_custom_object
    body: Mapping[str, Any] = read(GROUP, VERSION, TEAM, PLURAL, "between")
    return authority.judged(body, decode.spec(body))


def test_what_was_written_before_it_counts_once_somebody_who_may_wrote_it_again(upgraded: ControlPlane) -> None:
    refused = judged(upgraded)
    assert isinstance(refused, Stall)
    assert (refused.reason, "spec.metrics.labels.namespace need" in refused.message) == ("Unguarded", True)
    mark, _, uid = refused.message.rpartition(" ")[2].partition("=")
    assert mark == GUARDED_ANNOTATION
    said = Person(upgraded, AUTHOR, TEAM).changes("between", {"metadata": {"annotations": {mark: uid}}})
    assert "needs the verb customize" in said
    upgraded.kubectl.run("annotate", PLURAL, "between", f"--namespace={TEAM}", f"{mark}={uid}")
    assert not isinstance(judged(upgraded), Stall)
