"""What every test that needs the real cluster shares: one environment for the whole session."""

import os
import subprocess
from collections.abc import Callable, Iterator
from subprocess import CompletedProcess

import pytest
from hypothesis import HealthCheck, settings

from tests.cluster import preflight
from tests.cluster.cluster import Cluster
from tests.cluster.layout import API_ADDRESS, HOST_ADDRESS, LOOPBACK
from tests.cluster.web import unproxied
from tests.demo.environment import SECRET, Environment, bring_up, take_down
from tests.demo.story import NAMESPACE as DEMO

for name in ("NO_PROXY", "no_proxy"):
    os.environ[name] = ",".join(filter(None, (os.environ.get(name), "localhost", LOOPBACK, HOST_ADDRESS, API_ADDRESS)))
"""Every server of the tests is on this machine, and a proxy leads elsewhere."""

settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
"""Properties are about values: how long one takes is the machine's matter."""

LIVE = "live-job"
NAMESPACES = ("main-job", "quiet-job", "careful-job", "hindered-job", "trouble", LIVE)
"""Where the end-to-end tests put baselines."""


@pytest.fixture(scope="session")
def environment() -> Iterator[Environment]:
    """The cluster with its services and the operator, by its chart; taken down again unless it ran before.

    A demo that is up keeps its rights. KUBECONFIG is not looked at: tests run on a cluster of their own.
    """
    reason = preflight.why_not()
    if reason is not None:
        pytest.skip(reason)
    cluster = Cluster()
    ran_before = cluster.running()
    try:
        demo = (DEMO,) if ran_before else ()
        secrets = {name: [SECRET, "nothing"] for name in (*NAMESPACES, *demo)}
        yield bring_up(cluster, NAMESPACES, secrets=secrets, replicas=2)
    finally:
        if not ran_before:
            take_down(cluster)


@pytest.fixture(scope="session")
def kubectl(environment: Environment) -> Callable[..., "CompletedProcess[str]"]:
    """kubectl as the cluster's administrator; gives the CompletedProcess."""
    cluster = environment.cluster
    assert isinstance(cluster, Cluster)
    program = str(cluster.binaries / "kubectl")
    settings = unproxied() | {"KUBECONFIG": str(cluster.kubeconfig)}

    def run(*arguments: str, stdin_text: str | None = None) -> "CompletedProcess[str]":
        return subprocess.run(
            [program, *arguments], env=settings, input=stdin_text, capture_output=True, text=True, check=False
        )

    return run
