"""States of a repository in memory, compared: plain manifests, rendered without a program."""

from collections.abc import Sequence
from typing import Any

from mfu_operator.adapters.render.renderer import Renderer
from mfu_operator.gitops.rendered.workload import Wanted
from mfu_operator.gitops.sources.plan import Part, Plan, Source
from mfu_operator.investigate.compare import Comparison
from mfu_operator.investigate.request import Request
from mfu_operator.investigate.sources import Opened
from tests.support.memory_store import MemoryStore

URL = "https://git.example/ml/models"


def request_of(good: str = "good", bad: str = "bad", **fields: Any) -> Request:
    """A question about Job/gpt."""
    return Request(**{"repository": "models", "wanted": Wanted("Job", "gpt"), "cause": "DataLoaderWorkers",
                      "good": good, "bad": bad, **fields})  # fmt: skip


def opened_of(store: MemoryStore, good: str, bad: str, **fields: Any) -> Opened:
    """A source between two of its commits."""
    steps = store.window(good, bad, 1000)
    trees = store.tree(good), store.tree(bad)
    return Opened(**{"source": Source(URL, "main"), "name": URL, "store": store, "good": good, "bad": bad,
                     "steps": steps, "trees": trees, "main": True, **fields})  # fmt: skip


def comparison_of(
    opened: Opened | Sequence[Opened], parts: Sequence[Part] = (Part(),), request: Request | None = None, **fields: Any
) -> Comparison:
    """What the workload gets of these sources' manifests."""
    every = [opened] if isinstance(opened, Opened) else list(opened)
    plan = Plan(tuple(each.source for each in every), tuple(parts))
    renderer = Renderer(plan, [each.blob for each in every])
    return Comparison(request or request_of(every[0].good, every[0].bad), every, renderer, **fields)
