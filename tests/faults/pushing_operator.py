"""The operator's real process, about to push a branch: its Lease, watch and statuses are the API server's, and the push
is Git's own. What it measures and where it deploys is in memory.

    python -m tests.faults.pushing_operator ADDRESS GRACE_S KUBECONFIG

ADDRESS: of the Git host that it pushes to; empty: the push is in memory, too. GRACE_S: for ticks under way at the end.
KUBECONFIG: for all but the watch, which has the environment's.
"""

import sys
import time
from dataclasses import replace
from typing import Any, cast
from unittest.mock import patch

from kubernetes import config
from kubernetes.client import ApiClient

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.api import decode
from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.breaker import Breaker
from mfu_operator.handlers import run, startup
from mfu_operator.measure.sweep import Sweep
from mfu_operator.measure.view import SweepView
from mfu_operator.ports import Cluster, ObjectVersion
from mfu_operator.settings import Settings
from tests.support.adapters_double import Stage, SweepDouble

PLACE = ("team-a", "gpt-small")
STORY_S = 900.0
"""Longer than the incident takes until its branch is to be pushed."""

STORED = {"baseline", "write_status", "post", "remove_annotation"}
"""What the API server itself does."""


class Half:
    """The API server for what concerns baselines, memory for the rest of the cluster."""

    def __init__(self, real: KubernetesCluster, double: object) -> None:
        self._real, self._double = real, double

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real if name in STORED else self._double, name)


class Now(SweepDouble):
    """Its readings go on."""

    def view(self, key: str, now_s: float) -> SweepView:
        found = SweepDouble.view(self, key, now_s)
        said = None if found.judgement is None else replace(found.judgement, last_usable_s=time.time())
        return replace(found, judgement=said)

    def register(self, *arguments: Any, **named: Any) -> None:
        """Sweep at once."""
        SweepDouble.register(self, *arguments, **named)
        self.finished_s = time.monotonic()


class LongBegun(Breaker):
    """Of an operator that has run for long: it proposes at once."""

    def begin(self, steady_s: float) -> None:
        pass


def stage_of(stored: dict[str, Any]) -> Stage:
    """The world, up to where the next tick proposes."""
    metadata = stored["metadata"]
    stage = Stage(decode.spec(stored))
    stage.identity = replace(stage.identity, uid=metadata["uid"], generation=metadata["generation"])
    stage.now_s = time.time() - STORY_S
    stage.regress()
    return stage


def main(address: str, grace_s: float, kubeconfig: str) -> None:
    """Store the incident as it stands, and run until told to stop."""
    api: ApiClient = cast(Any, config).new_client_from_config(kubeconfig)
    cluster = KubernetesCluster(api)
    stored = cast(dict[str, Any], cluster.baseline(*PLACE))
    stage = stage_of(stored)
    read = ObjectVersion(*PLACE, stored["metadata"]["uid"], stored["metadata"]["resourceVersion"])
    cluster.write_status(read, stage.stored)
    sweep = Now(stage.sweep.says)
    if address:
        git = GitRepository()
        stage.repository.ensure_branch = lambda source, proposal, credentials: git.ensure_branch(  # type: ignore[method-assign]
            replace(source, repository=f"{address}/models.git"), proposal, None
        )

    def adapters_of(settings: Settings, api: ApiClient) -> Adapters:
        half = cast(Cluster, Half(KubernetesCluster(api), stage.cluster))
        return replace(stage.adapters, cluster=half, sweep=cast(Sweep, sweep), breaker=LongBegun())

    with (
        patch.object(startup, "adapters_of", adapters_of),
        patch.object(startup, "connect", lambda: api),
        patch.object(startup, "GRACE_S", grace_s),
    ):
        run.run()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
