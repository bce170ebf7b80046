"""Made once at startup, closed at cleanup."""

import asyncio
import logging
import time
from dataclasses import replace
from typing import Any

import kopf
from prometheus_client import start_http_server

from mfu_operator.adapters.cluster import Leadership, cluster_id, connect
from mfu_operator.adapters.cluster.guard import guards
from mfu_operator.adapters.cluster.lease import LEASE_DURATION_S
from mfu_operator.adapters.cluster.neighbours import installations
from mfu_operator.adapters.git import process
from mfu_operator.api.group import ANNOTATION_PREFIX, FINALIZER
from mfu_operator.handlers.shell import Shell
from mfu_operator.process.authority import Authority
from mfu_operator.process.ending import ORDERLY, end_process
from mfu_operator.process.fleet import Fleet
from mfu_operator.process.leader import Leader
from mfu_operator.process.neighbours import Neighbours
from mfu_operator.process.reconciler import Reconciler
from mfu_operator.process.wiring import adapters_of
from mfu_operator.profiling.job import Permit
from mfu_operator.reconcile.world import Defaults
from mfu_operator.settings import from_environment

SERVER_TIMEOUT_S = 40
"""A watch is closed by the server after this and opened again where it was: one that died silently lives hardly longer,
and what was edited meanwhile is heard within a minute of the network's return. Bookmarks come once a minute, too
seldom to tell a watch that is dead from one that has nothing to tell."""

INACTIVITY_S = SERVER_TIMEOUT_S + 5
"""For a watch of which nothing comes, not even its end."""

LISTING_TIMEOUT_S = 30.0
"""For one chunk of a list."""

CONNECT_TIMEOUT_S = 10.0

CHUNK = 250
"""Objects in one answer of the initial list: ten thousand at once would be half a gigabyte of Python's dictionaries."""

GRACE_S = 30.0
"""For the ticks that are under way when the pod is to end. A push takes seconds; one that takes longer is given up."""

SWEEP_GRACE_S = 5.0
"""A sweep changes nothing in the world: it is not waited for longer."""

WORKER_IDLE_S = 0.5
"""kopf keeps a worker, and with it the object, for so long after an object's last event."""


@kopf.on.startup()
async def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    """Our own finalizer and annotations, bounded watches, no log lines as Events; then the shell."""
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=ANNOTATION_PREFIX)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=ANNOTATION_PREFIX)
    settings.posting.enabled = False
    settings.watching.chunk_size = CHUNK
    settings.queueing.idle_timeout = WORKER_IDLE_S
    settings.watching.server_timeout = SERVER_TIMEOUT_S
    settings.watching.client_timeout = settings.watching.inactivity_timeout = INACTIVITY_S
    settings.watching.connect_timeout = settings.networking.connect_timeout = CONNECT_TIMEOUT_S
    settings.networking.request_timeout = LISTING_TIMEOUT_S
    memo.shell = await asyncio.to_thread(_shell)


@kopf.on.cleanup()
async def close(memo: kopf.Memo, **_: Any) -> None:
    """Let the ticks under way end, then give the Lease back. One that does not end is given up, and the push that it
    waits for is ended: nothing of ours acts any more when another replica may."""
    shell: Shell = memo.shell
    ended = await asyncio.to_thread(shell.reconciler.stop, GRACE_S)
    process.end_all()
    await asyncio.to_thread(shell.leader.stop)
    await asyncio.to_thread(shell.adapters.sweep.stop, SWEEP_GRACE_S)
    if not ended:
        end_process("ticks were under way that did not end", ORDERLY)


def _shell() -> Shell:
    settings = from_environment()
    for chatty in ("httpx", "kopf.objects"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    api = connect()
    installation = settings.installation or cluster_id(api)
    adapters = adapters_of(settings, api)
    watches = settings.watch_namespaces
    lease = Leadership(api, settings.namespace, settings.lease, settings.pod_name, watches=watches)
    leader = Leader(lease, time.time, LEASE_DURATION_S)
    neighbours = Neighbours(lambda: installations(api), f"{settings.namespace}/{settings.lease}", watches)
    adapters = replace(adapters, neighbours=neighbours.of)
    neighbours.start()
    leader.renew()
    leader.start()
    adapters.sweep.start()
    start_http_server(settings.metrics_port, settings.listen_address)
    permit = Permit(settings.profiling_permits, settings.priority_classes)
    defaults = Defaults(
        installation, settings.profiler_image, settings.runbook_base_url, settings.priority_class, permit
    )
    policy = settings.admission_policy
    authority = Authority(lambda: guards(api, policy, watches), settings.accept_unguarded, settings.remediation_modes)
    authority.look()
    fleet = Fleet(authority.judged)
    reconciler = Reconciler(adapters, defaults, lambda: leader.acting, settings.reconcile_interval_s, fleet=fleet)
    authority.start(lambda: fleet.read_again(reconciler.steady()))
    reconciler.start()
    return Shell(settings, adapters, leader, reconciler)
