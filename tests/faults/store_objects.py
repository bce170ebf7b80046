"""Writes a baseline's status as one release of the operator stores it at each stage of an incident.

Run with that release's checkout on PYTHONPATH, so that its code ticks:

    PYTHONPATH=checkout/operator:checkout python tests/faults/store_objects.py tests/data/stored/RELEASE.json MODULE

MODULE is where that checkout has `Stage`: `tests.support.adapters_double`, in fffb414 `tests.support.hands_double`.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfu_operator.api import decode
from tests.support import worlds
from tests.support.stored_object import stored_object

if TYPE_CHECKING:
    from tests.support.adapters_double import Stage

REMEDIATION = {
    "mode": "PullRequest",
    "forge": {"kind": "Gitea", "address": "https://git.example", "secretRef": {"name": "forge"}},
}
TICKS, LONG = 14, 50
"""Of 15 s, as `Story` has them between two things that people do."""


def settle(stage: Stage) -> None:
    stage.ticks(TICKS)
    finish_jobs(stage)
    stage.ticks(TICKS + LONG - 10)


def slow_down(stage: Stage) -> None:
    for path, text, subject in (
        ("train.yaml", "num_workers: 0\n", "Save memory"),
        ("README.md", "Thanks.\n", "Say thanks"),
        ("notes.md", "None.\n", "Take notes"),
    ):
        stage.repository.commit({f"apps/gpt/{path}": text}, subject)
    stage.deploy(stage.now_s)
    stage.sweep.says = worlds.regressed(onset_s=stage.now_s + 20)
    stage.ticks(TICKS)


def explain(stage: Stage) -> None:
    finish_jobs(stage)
    stage.ticks(TICKS)


def confirm(stage: Stage) -> None:
    stage.confirm()
    stage.ticks(TICKS)


def merge(stage: Stage) -> None:
    stage.forge.merge(1, at_s=stage.now_s)
    stage.ticks(TICKS)


def recover(stage: Stage) -> None:
    stage.repository.commit({"apps/gpt/train.yaml": "num_workers: 4\n"}, "Revert Save memory")
    stage.deploy(stage.now_s)
    stage.sweep.says = worlds.judgement(value=0.458, recovered=True)
    stage.ticks(TICKS)


def finish_jobs(stage: Stage) -> None:
    for (_, name), job in list(stage.cluster.jobs.items()):
        if job.result is None:
            stage.finish(name, worlds.FAST_STEP if "-healthy-" in name else worlds.SLOW_STEP)


def stored(stage: Stage) -> dict[str, Any]:
    """The status after each step, by the step's name."""
    found = {}
    for step in (settle, slow_down, explain, confirm, merge, recover):
        step(stage)
        found[step.__name__] = stage.stored
    return found


if __name__ == "__main__":
    declared = decode.spec(stored_object(remediation=REMEDIATION))
    found = stored(importlib.import_module(sys.argv[2]).Stage(declared))
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
