"""One timer per TrainingBaseline: read → needs → observe → decide → perform → conclude → patch.status."""

import asyncio
import logging
import time
from dataclasses import replace
from typing import Any

import kopf

from mfu_operator.api import decode
from mfu_operator.api import status as codec
from mfu_operator.api.group import GROUP, GROUP_VERSION, KIND, PLURAL, VERSION
from mfu_operator.errors import MfuError, Stall, Unreadable
from mfu_operator.handlers.shell import Shell
from mfu_operator.model.condition import Condition, Event
from mfu_operator.model.incident import Status
from mfu_operator.reconcile.conclude import Failure
from mfu_operator.reconcile.world import Identity
from mfu_operator.runtime import telemetry
from mfu_operator.runtime.tick import tick
from mfu_operator.settings import from_environment

log = logging.getLogger(__name__)

INTERVAL_S = from_environment().reconcile_interval_s


@kopf.timer(GROUP, VERSION, PLURAL, interval=INTERVAL_S, initial_delay=0.0)
async def reconcile(body: kopf.Body, patch: kopf.Patch, memo: kopf.Memo, **_: Any) -> None:
    """One step for one baseline, on the replica that holds the Lease."""
    shell: Shell = memo.shell
    if shell.leader.acting:
        await asyncio.get_running_loop().run_in_executor(shell.ticks, _reconcile, shell, body, patch)
    else:
        telemetry.forget(body.metadata["namespace"], body.metadata["name"])


@kopf.on.delete(GROUP, VERSION, PLURAL)
async def release(body: kopf.Body, memo: kopf.Memo, **_: Any) -> None:
    """Stop measuring a deleted baseline; its Jobs go with it by their owner reference."""
    shell: Shell = memo.shell
    uid = body.metadata["uid"]
    shell.hands.sweep.forget(uid)
    if shell.backoffs.pop(uid, None) is not None:
        telemetry.forget(body.metadata["namespace"], body.metadata["name"])


def _reconcile(shell: Shell, body: kopf.Body, patch: kopf.Patch) -> None:
    metadata = body.metadata
    identity = Identity(metadata["namespace"], metadata["name"], metadata["uid"], metadata["generation"])
    written = dict(body.status)
    try:
        before = codec.decode(written)
    except Unreadable as error:
        _unreadable(shell, identity, error)
        return
    with telemetry.TICKS.time():
        after, events = _ticked(shell, identity, body, before)
    changes = codec.patch(written, after)
    if changes:
        patch.status.update(changes)
        telemetry.STATUS_WRITES.inc()
    for event in events:
        _post(shell, identity, event)


def _ticked(shell: Shell, identity: Identity, body: kopf.Body, before: Status) -> tuple[Status, tuple[Event, ...]]:
    try:
        spec = decode.spec(body)
    except Stall as error:
        return _hopeless(identity, before, error)
    ticked = tick(shell.hands, shell.defaults, identity, spec, before, shell.backoff(identity.uid), time.time())
    telemetry.record(identity.namespace, identity.name, ticked.status)
    return ticked.status, ticked.events


def _hopeless(identity: Identity, before: Status, error: Stall) -> tuple[Status, tuple[Event, ...]]:
    """A spec that cannot be decoded: said in the status, once, and left until its next generation."""
    now_s = time.time()
    told = before.observed_generation == identity.generation and any(
        each.type == "Stalled" for each in before.conditions
    )
    if told:
        return before, ()
    conditions = (
        Condition("Ready", "False", error.reason, error.message, identity.generation, now_s),
        Condition("Stalled", "True", error.reason, error.message, identity.generation, now_s),
    )
    status = replace(before, observed_generation=identity.generation, conditions=conditions)
    return status, (Event("Warning", error.reason, error.message),)


def _unreadable(shell: Shell, identity: Identity, error: Unreadable) -> None:
    """A status that a newer operator wrote is left as it is; said now and then, as there is no place to note it."""
    backoff, now_s = shell.backoff(identity.uid), time.time()
    if backoff.due("Ready", now_s):
        failure = Failure("Ready", error.reason, error.message)
        backoff.fail(failure, now_s)
        telemetry.count(failure)
        _post(shell, identity, Event("Warning", error.reason, error.message))


def _post(shell: Shell, identity: Identity, event: Event) -> None:
    regarding = {
        "apiVersion": GROUP_VERSION,
        "kind": KIND,
        "namespace": identity.namespace,
        "name": identity.name,
        "uid": identity.uid,
    }
    try:
        shell.hands.cluster.post(regarding, event)
    except MfuError as error:
        log.warning("an Event was not posted: %s: %s", error.reason, error.message)
