"""The stories of the matrix: what made a job slow in which layout, and how its pull request ends.

Each is told in three parts and pauses between them, because the profiles of one are a gate for the readings of all: its
job is deployed and known to be well; it is made slow, and a pull request is there; the pull request ends.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.matrix import layouts
from tests.matrix.layouts import ARGS, NO_WORKERS, TRAIN, WORKERS
from tests.matrix.place import Place, Run, Status, proposed, recovered, settled, together

ROBOT = "renovate[bot]"


@dataclass
class Told:
    """What was there in the end. `proposed` is the status with the open pull request, by namespace; `marks` are commits
    by what they are."""

    layout: str
    ending: str
    run: Run
    marks: dict[str, str] = field(default_factory=dict)
    proposed: dict[str, Status] = field(default_factory=dict)
    status: dict[str, Status] = field(default_factory=dict)
    request: Mapping[str, Any] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    requests: int = 0
    diff: str = ""
    reasons: list[str] = field(default_factory=list)

    def open(self, *runs: Run) -> None:
        """Wait for the pull request of each run, and keep what it proposes."""
        for run in runs or (self.run,):
            self.proposed[run.namespace] = run.until("the pull request", proposed)
        self.diff = str(self.proposed[self.run.namespace]["incident"]["proposal"].get("diff", ""))

    def end(self, *runs: Run) -> "Told":
        """Keep what is there now."""
        for run in runs or (self.run,):
            self.status[run.namespace] = run.place.status(run.namespace)
        requests = self.run.requests()
        self.request, self.requests = requests[0], len(requests)
        self.comments, self.branches, self.reasons = self.run.comments(), self.run.branches(), self.run.reasons()
        return self

    @property
    def incident(self) -> Mapping[str, Any]:
        """The one incident of the run, open or of the past."""
        status = self.status[self.run.namespace]
        assert status["incidents"] == 1, status.get("history")
        found: Mapping[str, Any] = status.get("incident") or status["history"][0]
        return found

    @property
    def state(self) -> str:
        """Where it ended, in a line: what was proposed, and what became of the request and of the incident."""
        incident, proposal = self.incident, self.proposed[self.run.namespace]["incident"]["proposal"]
        request = "merged" if self.request["merged"] else str(self.request["state"])
        ended = "recovered" if "recovery" in incident else "exonerated" if "exonerated" in incident else "open"
        blocked = incident.get("blocked", {}).get("reason", "")
        return ", ".join(filter(None, [str(proposal["kind"]), f"request {request}", f"incident {ended}", blocked]))


Story = Generator[None, None, Told]


def git(url: str, path: str = "gpt") -> dict[str, Any]:
    """A source of an Application."""
    return {"repoURL": url, "path": path, "targetRevision": "main"}


def is_told(status: Status) -> bool:
    """The recovery is there, and what became of it was said on the pull request."""
    return recovered(status) and "noted" in status["history"][0].get("proposal", {})


def merge(told: Told) -> None:
    """Merge the pull request, and wait until the recovery was said on it."""
    told.marks["merge"] = told.run.merge()
    told.run.until("the recovery, told", is_told)


def plain_merged(place: Place) -> Story:
    """A commit to a manifest, under two that did no harm; merged."""
    run = Run(place, "plain-merged", "plain-merged-config")
    url = place.repository(run.repository, layouts.plain(place.workers))
    run.deploy(layouts.application(run.namespace, run.namespace, git(url)))
    run.until("the healthy job", settled)
    yield
    told = Told("plain manifests", "revert, merged", run)
    inline = ARGS.replace("workers=2", "workers=0")
    told.marks["guilty"], *_ = run.push(
        ("Debug the loader in one process", {"gpt/job.yaml": layouts.job(place.workers, inline)}),
        ("Say who owns this", {"README.md": "Owner: platform\n"}),
        ("Say where the data is", {"docs/data.md": "In the store.\n"}),
    )
    told.open()
    yield
    merge(told)
    run.until(
        "the proof", lambda status: {"afterMilliseconds", "missing"} & status["history"][0]["proof"].keys() != set()
    )
    return told.end()


def kustomize_closed(place: Place) -> Story:
    """A commit to a generated ConfigMap; a person closes the pull request."""
    run = Run(place, "kustomize-closed", "kustomize-closed-config")
    url = place.repository(run.repository, layouts.kustomize(place.workers))
    run.deploy(layouts.application(run.namespace, run.namespace, git(url, "overlays/prod")))
    run.until("the healthy job", settled)
    yield
    told = Told("Kustomize", "revert, closed", run)
    path = "overlays/prod/train.yaml"
    told.marks["guilty"] = run.commit("Try without workers", {path: TRAIN.replace(WORKERS, NO_WORKERS)})
    told.open()
    yield
    [request] = run.requests()
    run.forge("PATCH", f"pulls/{request['number']}", {"state": "closed"})
    run.until("the answer", lambda status: bool(status.get("refused")))
    return told.end()


def helm_pushed(place: Place) -> Story:
    """A commit to values of a chart beside them; a person pushes to the pull request's branch, mends main and leaves
    the request open."""
    run = Run(place, "helm-pushed", "helm-pushed-config")
    image = place.tag("v1", place.workers)
    files = {**layouts.chart(), "charts/gpt/values-prod.yaml": layouts.values(image)}
    url = place.repository(run.repository, files)
    source = {**git(url, "charts/gpt"), "helm": {"valueFiles": ["values-prod.yaml"]}}
    run.deploy(layouts.application(run.namespace, run.namespace, source))
    run.until("the healthy job", settled)
    yield
    told = Told("Helm chart in the repository", "revert, a person pushes", run)
    path, slow = "charts/gpt/values-prod.yaml", layouts.values(image, f"loader:\n  {NO_WORKERS}\n")
    told.marks["guilty"] = run.commit("Save memory", {path: slow})
    told.open()
    yield
    [branch] = run.branches()
    more = {"branch": branch, "message": "Say why", "content": "V2h5Lgo="}
    run.forge("POST", "contents/docs/why.md", more)
    run.until("the taking over", lambda status: bool(status["incident"]["proposal"].get("theirs")))
    run.commit("Bring the workers back by hand", {path: layouts.values(image)})
    run.until("the recovery", recovered)
    return told.end()


def values_recovered(place: Place) -> Story:
    """A chart from a chart repository with values from Git; a person mends main before anybody merges."""
    run = Run(place, "values-recovered", "values-recovered-config")
    image, charts = place.tag("v1", place.workers), place.publish(layouts.chart("", "1.0.0"))
    url = place.repository(run.repository, {"gpt/values.yaml": layouts.values(image)})
    chart = {"repoURL": charts, "chart": "gpt", "targetRevision": "1.0.0"}
    sources: list[Mapping[str, Any]] = [
        {**chart, "helm": {"valueFiles": ["$values/gpt/values.yaml"]}},
        {"repoURL": url, "targetRevision": "main", "ref": "values"},
    ]
    run.deploy(layouts.application(run.namespace, run.namespace, sources))
    run.until("the healthy job", settled)
    yield
    told = Told("chart plus values repository", "revert, recovered while open", run)
    slow = layouts.values(image, f"loader:\n  {NO_WORKERS}\n")
    told.marks["guilty"] = run.commit("Save memory", {"gpt/values.yaml": slow})
    told.open()
    yield
    run.commit("Bring the workers back by hand", {"gpt/values.yaml": layouts.values(image)})
    run.until(
        "the withdrawal",
        lambda status: recovered(status) and "withdrawn" in status["history"][0]["proposal"],
    )
    return told.end()


def monorepo_shared(place: Place) -> Story:
    """Three applications of one repository, of which two share a base; one commit makes these two slow; merged."""
    red, green, *others = (Run(place, name, "mono-red-config") for name in ("mono-red", "mono-green", "mono-blue"))
    runs = [red, green, *others]
    base = layouts.kustomize(place.workers)
    name, _, digest = place.workers.partition("@")
    images = f"images:\n  - name: trainer\n    newName: {name}\n    digest: {digest}\n"
    generated = "configMapGenerator:\n  - name: gpt-config\n    files: [train.yaml]\n"
    replaced = generated.replace("    files", "    behavior: replace\n    files")
    files = {
        "base/kustomization.yaml": f"resources: [job.yaml]\n{generated}",
        "base/job.yaml": base["base/job.yaml"],
        "base/train.yaml": TRAIN,
        "apps/mono-red/kustomization.yaml": f"resources: [../../base]\n{images}",
        "apps/mono-green/kustomization.yaml": f"resources: [../../base]\n{images}",
        "apps/mono-blue/kustomization.yaml": f"resources: [../../base]\n{images}{replaced}",
        "apps/mono-blue/train.yaml": TRAIN,
    }
    url = place.repository(red.repository, files)
    for run in runs:
        source = git(url, f"apps/{run.namespace}")
        run.deploy(layouts.application(run.namespace, run.namespace, source))
    together(runs, "the healthy job", settled)
    yield
    told = Told("monorepo with three apps", "two baselines, one commit: joined, merged", red)
    told.marks["guilty"] = red.commit("Save memory", {"base/train.yaml": TRAIN.replace(WORKERS, NO_WORKERS)})
    told.open(red, green)
    red.until("the comment of both", lambda _: any("mono-green" in each for each in red.comments()))
    told.comments = red.comments()
    yield
    told.marks["merge"] = red.merge()
    together([red, green], "the recovery", recovered)
    red.until("the comment on both", lambda _: any(each.count("**recovered**") == 2 for each in red.comments()))
    return told.end(*runs)


def plain_minimal(place: Place) -> Story:
    """A commit of two lines, of which the harmless one was changed again since: a revert conflicts; merged."""
    run = Run(place, "plain-minimal", "plain-minimal-config")
    url = place.repository(run.repository, layouts.plain(place.workers))
    run.deploy(layouts.application(run.namespace, run.namespace, git(url)))
    run.until("the healthy job", settled)
    yield
    told = Told("plain manifests", "minimal revert, merged", run)
    both = ARGS.replace("workers=2", "workers=0").replace("every=200", "every=250")
    told.marks["guilty"], *_ = run.push(
        ("Debug the loader, log less", {"gpt/job.yaml": layouts.job(place.workers, both)}),
        ("Log even less", {"gpt/job.yaml": layouts.job(place.workers, both.replace("every=250", "every=400"))}),
    )
    told.open()
    yield
    merge(told)
    return told.end()


def pin_undone(place: Place) -> Story:
    """An updater writes a newer image, its pull request pins the last good one and is merged; the updater writes the
    newer one again."""
    run = Run(place, "pin-undone", "pin-undone-config")
    image, newer = place.tag("v1", place.workers), place.tag("v2", place.inline)
    path = "charts/gpt/values-prod.yaml"
    files = {**layouts.chart(workers=None), path: layouts.values(image, "")}
    url = place.repository(run.repository, files)
    source = {**git(url, "charts/gpt"), "helm": {"valueFiles": ["values-prod.yaml"]}}
    run.deploy(layouts.application(run.namespace, run.namespace, source))
    run.until("the healthy job", settled)
    yield
    told = Told("Helm chart in the repository", "pin, merged, undone by an updater", run)
    update = ("Update trainer to v2", {path: layouts.values(newer, "")}, ROBOT)
    told.marks["guilty"] = run.commit(*update)
    told.open()
    yield
    told.marks["merge"] = run.merge()
    place.environment.argocd.await_synced(run.namespace, told.marks["merge"], timeout_s=300)
    told.marks["again"] = run.commit(*update)
    run.until("the undoing", lambda status: "blocked" in status["incident"] or "exonerated" in status["incident"])
    return told.end()


def tag_moved(place: Place) -> Story:
    """An image that is rebuilt under its tag, with no commit at all; merged."""
    run = Run(place, "tag-moved", "tag-moved-config")
    image = place.tag("stable", place.workers)
    args = "            - --log-every=200\n"
    url = place.repository(run.repository, layouts.plain(image, args=args))
    run.deploy(layouts.application(run.namespace, run.namespace, git(url)))
    run.until("the healthy job", settled)
    yield
    told = Told("plain manifests", "moving tag: pin without a commit, merged", run)
    place.tag("stable", place.inline)
    run.restart()
    told.open()
    yield
    merge(told)
    return told.end()


def plain_not_recovered(place: Place) -> Story:
    """The storage gets slow when a suspicious commit is deployed; its revert is merged and does not help."""
    run = Run(place, "plain-lasting", "plain-lasting-config")
    url = place.repository(run.repository, layouts.plain(place.workers))
    run.deploy(layouts.application(run.namespace, run.namespace, git(url)))
    run.until("the healthy job", settled)
    yield
    told = Told("plain manifests", "revert, merged, not recovered", run)
    storage = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "storage", "namespace": run.namespace}}
    place.environment.kubectl.apply({**storage, "data": {"delay": "1.2"}})
    args = ARGS.replace("workers=2", "workers=1")
    told.marks["guilty"] = run.commit("One worker is enough", {"gpt/job.yaml": layouts.job(place.workers, args)})
    told.open()
    yield
    told.marks["merge"] = run.merge()
    run.until("the exoneration", lambda status: bool(status["incident"].get("exonerated")))
    run.until("the comment", lambda _: any("not recovered" in each for each in run.comments()))
    return told.end()


def chart_moved(place: Place) -> Story:
    """An application that asks for a range of a chart's versions gets a newer one, with no commit; an app of apps holds
    it; merged."""
    run = Run(place, "chart-moved", "chart-moved-config")
    image, charts = place.tag("v1", place.workers), place.publish(layouts.chart("", "1.0.0"))
    url = place.environment.gitea.clone_url(run.repository)
    sources: list[Mapping[str, Any]] = [
        {
            "repoURL": charts,
            "chart": "gpt",
            "targetRevision": "1.*",
            "helm": {"valueFiles": ["$values/gpt/values.yaml"]},
        },
        {"repoURL": url, "targetRevision": "main", "ref": "values"},
    ]
    child = layouts.application(run.namespace, run.namespace, sources)
    files = {"gpt/values.yaml": layouts.values(image, ""), "apps/gpt.yaml": yaml.safe_dump(child, sort_keys=False)}
    place.repository(run.repository, files)
    run.deploy(layouts.application(f"{run.namespace}-root", "argocd", git(url, "apps")))
    run.until("the healthy job", settled)
    yield
    told = Told("chart plus values repository", "moving chart: pin without a commit, merged", run)
    place.publish(layouts.chart("", "1.1.0", workers=0))
    told.open()
    yield
    merge(told)
    return told.end()


STORIES: Mapping[str, tuple[tuple[str, ...], Callable[[Place], Story]]] = {
    "plain_merged": (("plain-merged",), plain_merged),
    "kustomize_closed": (("kustomize-closed",), kustomize_closed),
    "helm_pushed": (("helm-pushed",), helm_pushed),
    "values_recovered": (("values-recovered",), values_recovered),
    "monorepo_shared": (("mono-red", "mono-green", "mono-blue"), monorepo_shared),
    "plain_minimal": (("plain-minimal",), plain_minimal),
    "pin_undone": (("pin-undone",), pin_undone),
    "tag_moved": (("tag-moved",), tag_moved),
    "plain_not_recovered": (("plain-lasting",), plain_not_recovered),
    "chart_moved": (("chart-moved",), chart_moved),
}
"""By name: the namespaces that it needs, and the story."""
