"""States of a repository in memory, compared: plain manifests, rendered without a program."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from mfu_operator.adapters.render.renderer import Renderer
from mfu_operator.gitops.blame.model import Blame, Judged, Step, Verdict, Window
from mfu_operator.gitops.rendered.difference import Difference
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


def manifest(name: str = "gpt", *, kind: str = "Job", image: str = "registry.example/gpt:v1", config: str = "",
             namespace: str = "", **env: object) -> str:  # fmt: skip
    """A workload with these variables, and the ConfigMap that it reads others from."""
    variables = [{"name": key, "value": str(value)} for key, value in env.items()]
    container = {"name": "trainer", "image": image, "env": variables,
                 **({"envFrom": [{"configMapRef": {"name": config}}]} if config else {})}  # fmt: skip
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    template = {"spec": {"containers": [container]}}
    return json.dumps({"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": {"template": template}})


def config(name: str = "gpt-config", **data: object) -> str:
    """A ConfigMap."""
    entries = {key: str(value) for key, value in data.items()}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": entries})


def told(found: Iterable[Difference] | None) -> list[str] | None:
    """Differences as sentences."""
    return None if found is None else [str(each) for each in found]


def blamed(window: Window, subject: str | None, *names: str, **found: Any) -> Blame:
    """The commit of this subject blamed for those of its changes that hold one of the names; without names for all."""
    judged = {step.commit.subject: Judged(step, Verdict.SUSPECTED, 1.0, (), (), _guilty(step, names))
              for step in window.steps}  # fmt: skip
    return Blame(tuple(judged.values()), judged[subject] if subject else None, "because", **found)


def _guilty(step: Step, names: Sequence[str]) -> tuple[Difference, ...]:
    return tuple(each for each in step.changed or () if not names or any(name in str(each) for name in names))
