"""The published manifests of tests/data/manifests: what a person read in each, and the plan that is made of it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from mfu_operator.profiling.plan import Plan, plan_of

FOLDER = Path(__file__).parents[3] / "data" / "manifests"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Published:
    """A manifest, and the truth about it: role and container that train, how many pods, whether one may be copied."""

    project: str
    name: str
    trains: str | None
    pods: int | None
    copied: bool
    workload: tuple[str, str] | None

    @property
    def documents(self) -> Sequence[Mapping[str, Any]]:
        """Its objects."""
        return _documents(FOLDER / self.project / f"{self.name}.yaml")

    @property
    def plan(self) -> Plan:
        """What the operator would do."""
        return plan_of(self.documents, named=self.workload)


def every() -> Iterator[Published]:
    """All of them, in the order of the truth."""
    truth = yaml.safe_load((FOLDER / "truth.yaml").read_text())
    for project, manifests in truth.items():
        for name, row in manifests.items():
            kind, _, called = row.get("workload", "").partition("/")
            named = (kind, called) if kind else None
            yield Published(project, name, row["trains"], row.get("pods"), row.get("copy", False), named)


def told(plan: Plan) -> str | None:
    """The role and the container that a plan takes for those that train."""
    return None if plan.training is None else f"{plan.training.role.name}/{plan.training.container_name}"


def table() -> Iterator[str]:
    """Project × kind × way, as counts, with what is wrong."""
    rows: Counter[tuple[str, str, str]] = Counter()
    wrong = unsafe = 0
    for each in every():
        plan = each.plan
        rows[each.project, str(plan.workload["kind"]), _way(plan)] += 1
        wrong += told(plan) not in (None, each.trains)
        unsafe += plan.way == "Copy" and not each.copied
    yield f"{'project':20} {'kind':20} {'way today':34} manifests"
    for (project, kind, way), count in sorted(rows.items()):
        yield f"{project:20} {kind:20} {way:34} {count:9}"
    yield f"{sum(rows.values())} manifests, {wrong} wrong roles, {unsafe} unsafe copies"


def _way(plan: Plan) -> str:
    if plan.way is not None:
        return f"{plan.way} ({plan.recorder})"
    return "none: " + ("instrument it" if plan.training is not None else plan.refused[0].reason)


@cache
def _documents(path: Path) -> Sequence[Mapping[str, Any]]:
    return tuple(each for each in yaml.load_all(path.read_text(), LOADER) if isinstance(each, Mapping))
