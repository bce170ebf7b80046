"""The main job from beginning to end, once, with the times of its stages."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.progress import progress
from tests.demo.scenario import Commits, Scenario

NAMESPACE = "training"

PATIENCE_S = 600.0
"""For each stage. On two quiet cores none takes a minute; a busy or slower machine is waited for."""


@dataclass
class Story:
    """What happened, stage by stage."""

    scenario: Scenario
    stages: list[tuple[str, float]] = field(default_factory=list)
    commits: Commits | None = None
    healthy: Mapping[str, Any] = field(default_factory=dict)
    proposed: Mapping[str, Any] = field(default_factory=dict)
    recovered: Mapping[str, Any] = field(default_factory=dict)
    pull_request: Mapping[str, Any] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show a stage and keep how long it took."""
        began_s = time.monotonic()
        with progress(name):
            yield
        self.stages.append((name, time.monotonic() - began_s))


def tell(scenario: Scenario, between: Mapping[str, Callable[[], None]] | None = None) -> Story:
    """Run the main job.

    Args:
        scenario: where.
        between: what else to do once the `baseline` is recorded, the job is `regressed`, the revert `proposed`.

    Raises:
        NotReady: something did not happen in its time; the notes hold the status and the operator's log.
    """
    story = Story(scenario)
    interludes = dict(between or {})
    with story.stage("Argo CD deploys the training Job from Git"):
        scenario.deploy()
    with story.stage("the operator records the baseline from the running job"):
        scenario.watch()
        scenario.await_status("the recorded baseline", has_baseline, timeout_s=PATIENCE_S)
        interludes.get("baseline", _nothing)()
    with story.stage("… and profiles the healthy job once"):
        story.healthy = scenario.await_status("the healthy profile", is_settled, timeout_s=PATIENCE_S)
    with story.stage("a commit turns the loader's workers off; two harmless ones follow; Argo CD syncs"):
        story.commits = scenario.regress()
        scenario.synced(story.commits.elsewhere)
    with story.stage("the loss is sustained: Regressed"):
        scenario.await_status("the verdict Regressed", has_incident, timeout_s=PATIENCE_S)
        interludes.get("regressed", _nothing)()
    with story.stage("a profiling Job records the slow step under nsys, and the account is diagnosed"):
        scenario.await_status("the diagnosis", has_diagnosis, timeout_s=PATIENCE_S)
    with story.stage("the loss is confirmed, the commit found, the pull request opened"):
        story.proposed = scenario.await_status("the pull request", has_pull_request, timeout_s=PATIENCE_S)
        story.pull_request = scenario.pull_requests()[0]
        interludes.get("proposed", _nothing)()
    with story.stage("a person merges; Argo CD rolls back"):
        scenario.synced(scenario.merge(story.pull_request["number"]))
    with story.stage("the readings hold the same baseline again: recovered"):
        story.recovered = scenario.await_status("the recovery", is_closed, timeout_s=PATIENCE_S)
    return story


def _nothing() -> None:
    return None


def has_baseline(status: Mapping[str, Any]) -> bool:
    """A baseline is recorded."""
    return "baseline" in status


def is_settled(status: Mapping[str, Any]) -> bool:
    """The healthy profile is there, a good revision is known, and nothing is gated any more."""
    profiled = "account" in status.get("healthyProfile", {})
    gates = status.get("judgement", {}).get("gates", [])
    return profiled and "revision" in status.get("knownGood", {}) and not gates


def has_incident(status: Mapping[str, Any]) -> bool:
    """An incident is open."""
    return "incident" in status


def has_diagnosis(status: Mapping[str, Any]) -> bool:
    """The open incident is diagnosed."""
    return "diagnosis" in status.get("incident", {})


def has_pull_request(status: Mapping[str, Any]) -> bool:
    """The open incident has a pull request."""
    return "url" in status.get("incident", {}).get("proposal", {})


def is_closed(status: Mapping[str, Any]) -> bool:
    """The incident is closed with a recovery on record."""
    return "incident" not in status and bool(status.get("history"))
