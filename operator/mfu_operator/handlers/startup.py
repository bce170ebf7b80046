"""Made once at startup, closed at cleanup."""

import asyncio
import logging
import time
from typing import Any

import kopf
from prometheus_client import start_http_server

from mfu_operator.adapters.cluster import Leadership, connect
from mfu_operator.adapters.cluster.lease import LEASE_DURATION_S
from mfu_operator.api.group import ANNOTATION_PREFIX, FINALIZER
from mfu_operator.handlers.shell import Shell
from mfu_operator.reconcile.world import Defaults
from mfu_operator.runtime.leader import Leader
from mfu_operator.runtime.reconciler import Reconciler
from mfu_operator.runtime.wiring import hands_of
from mfu_operator.settings import from_environment

SERVER_TIMEOUT_S = 300
"""A watch is closed by the server after this and opened again: a watch that died silently lives no longer."""

LEASE = "mfu-operator"

CHUNK = 250
"""Objects in one answer of the initial list: ten thousand at once would be half a gigabyte of Python's dictionaries."""

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
    settings.watching.client_timeout = SERVER_TIMEOUT_S + 30
    settings.watching.connect_timeout = 30
    settings.watching.inactivity_timeout = SERVER_TIMEOUT_S + 60
    memo.shell = await asyncio.to_thread(_shell)


@kopf.on.cleanup()
async def close(memo: kopf.Memo, **_: Any) -> None:
    """Finish the sweep, give the Lease back."""
    shell: Shell = memo.shell
    await asyncio.to_thread(shell.reconciler.stop)
    await asyncio.to_thread(shell.hands.sweep.stop)
    await asyncio.to_thread(shell.leader.stop)


def _shell() -> Shell:
    settings = from_environment()
    for chatty in ("httpx", "kopf.objects"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    api = connect()
    hands = hands_of(settings, api)
    leader = Leader(Leadership(api, settings.namespace, LEASE, settings.pod_name), time.time, LEASE_DURATION_S)
    leader.renew()
    leader.start()
    hands.sweep.start()
    start_http_server(settings.metrics_port, settings.listen_address)
    defaults = Defaults(settings.profiler_image, settings.runbook_base_url, settings.priority_class)
    reconciler = Reconciler(hands, defaults, lambda: leader.acting, settings.reconcile_interval_s)
    reconciler.start()
    return Shell(settings, hands, leader, reconciler)
