"""The operator as a process of its own before a real API server, for tests that end it or take its network away."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kubernetes import client

from mfu_operator.api.group import GROUP, PLURAL, VERSION
from mfu_operator.settings import Settings
from tests.cluster.layout import LOOPBACK
from tests.faults.control_plane import NAMESPACE, TEAM, ControlPlane
from tests.support.held_port import held_port
from tests.support.replica import REMEDIATION
from tests.support.stored_object import stored_object

ROOT = Path(__file__).parents[2]
NAME = "gpt-small"
START_S = 180.0
"""Until it has proposed, on a machine that is busy."""


class Running:
    """The process, its log, and what the API server has of it."""

    def __init__(self, process: "subprocess.Popen[bytes]", plane: ControlPlane, log: Path) -> None:
        self.process, self._plane, self._log = process, plane, log

    @property
    def log(self) -> str:
        """What it said."""
        return self._log.read_text(errors="replace")

    @property
    def stored(self) -> dict[str, Any]:
        """The baseline."""
        found: Any = client.CustomObjectsApi(self._plane.administrator).get_namespaced_custom_object(
            GROUP, VERSION, TEAM, PLURAL, NAME
        )
        return dict(found)

    @property
    def has_proposed(self) -> bool:
        """Whether the incident has its pull request."""
        return "proposal" in self.stored.get("status", {}).get("incident", {})

    @property
    def holder(self) -> str:
        """Who stands in the Lease."""
        found: Any = client.CoordinationV1Api(self._plane.administrator).read_namespaced_lease(
            Settings().lease, NAMESPACE
        )
        return found.spec.holder_identity or ""


@contextmanager
def operator(
    plane: ControlPlane, folder: Path, pushes_to: str = "", grace_s: float = 30.0, watches: Path | None = None
) -> Iterator[Running]:
    """The process, with the chart's rights.

    Args:
        plane: the API server.
        folder: empty, for its log.
        pushes_to: the address of the Git host; empty: it is in memory.
        grace_s: for ticks under way when it is told to end.
        watches: the kubeconfig of its watch; None: the same as for all else.
    """
    declared = stored_object(remediation=REMEDIATION)
    plane.kubectl.apply({**declared, "metadata": {"namespace": TEAM, "name": NAME}})
    log = folder / "log"
    with held_port() as health, held_port() as metrics:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": f"{ROOT / 'operator'}:{ROOT}",
            "KUBECONFIG": str(watches or plane.operator_kubeconfig),
            "MFU_NAMESPACE": NAMESPACE,
            "MFU_LABORATORY": "true",
            "MFU_ACCEPT_UNGUARDED": "true",
            "MFU_RECONCILE_INTERVAL": "1",
            "MFU_LISTEN_ADDRESS": LOOPBACK,
            "MFU_HEALTH_PORT": str(health),
            "MFU_METRICS_PORT": str(metrics),
        }
    program = [sys.executable, "-m", "tests.faults.pushing_operator"]
    arguments = [pushes_to, str(grace_s), str(plane.operator_kubeconfig)]
    with log.open("wb") as out:
        process = subprocess.Popen([*program, *arguments], env=environment, cwd=ROOT, stdout=out, stderr=out)
    try:
        yield Running(process, plane, log)
    finally:
        process.kill()
        process.wait()
        plane.kubectl.delete("trainingbaselines.mfu-operator.io", NAME, TEAM)
