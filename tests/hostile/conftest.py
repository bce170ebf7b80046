"""One API server with the chart's rights and policies for all hostile tests that ask one."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.cluster import preflight
from tests.faults.control_plane import POLICIES, RIGHTS, TEAM, ControlPlane, control_plane
from tests.hostile.people import AUTHOR, EVERYTHING, GRANTED, SPEC, Person, bindings
from tests.support.awaited import awaited

STORED: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "rich": EVERYTHING,
    "learning": {**EVERYTHING, "baseline": {"record": {"duration": "30m"}}},
    "keyed": {"metrics": EVERYTHING["metrics"]},
}
"""Baselines that somebody wrote who may."""

GRANTS = {
    "authority": {"grants": {GRANTED: ["customize", "propose", "secrets", "applications"]}},
    "profiling": {"permit": {GRANTED: ["copiedSecrets"]}},
}


@pytest.fixture(scope="package")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    reason = preflight.why_not()
    if reason is not None:
        pytest.skip(reason)
    with control_plane(tmp_path_factory.mktemp("plane"), (*RIGHTS, *POLICIES), GRANTS) as started:
        spaces = ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in (GRANTED, "argocd"))
        started.kubectl.apply(*spaces, *bindings(TEAM), *bindings(GRANTED))
        started.kubectl.apply(
            *({"apiVersion": "mfu-operator.io/v1alpha1", "kind": "TrainingBaseline", "spec": {**SPEC, **spec},
               "metadata": {"name": name, "namespace": TEAM}} for name, spec in STORED.items())
        )  # fmt: skip
        author = Person(started, AUTHOR, TEAM)
        command = {**SPEC, "profiling": {"command": ["id"]}}
        awaited(lambda: author.creates("x", command), lambda said: "Forbidden" in said, 30.0)
        yield started
