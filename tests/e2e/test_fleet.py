"""Three hundred baselines on a real API server and a real Prometheus; the operator is a process with its chart's roles.

What the benchmark (`make bench-fleet`) measures for ten thousand, as true or false for a few.
"""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.bench.fleet.api import Watch, create
from tests.bench.fleet.meter import exposition, series
from tests.bench.fleet.stage import METRICS_PORT, Stage
from tests.cluster import preflight
from tests.cluster.process import await_condition

pytestmark = pytest.mark.cluster

COUNT = 300
PATIENCE_S = 300.0
SLOW = range(3)
SCRAPE_S = 5
RULE = {"sustain": "20s", "confirm": "20s", "recover": "20s", "warmup": "5s"}
METRICS_URL = f"http://127.0.0.1:{METRICS_PORT}/metrics"
STATUS = {"resource": "trainingbaselines", "subresource": "status", "verb": "PATCH"}


class Fleet:
    """The stage with its fleet, and what is seen of it."""

    def __init__(self, folder: Path) -> None:
        self.stage = Stage(folder, COUNT, SCRAPE_S)
        self.watch = Watch(self.stage.api_url, self.stage.context())

    def start(self) -> None:
        """Start the stage, make the fleet, and run the operator until every status has a verdict."""
        self.stage.start()
        self.watch.start()
        create(self.stage.api_url, self.stage.context(), range(COUNT), lambda _: RULE)
        self.run()
        self.wait("every status", lambda: self.watch.judged() == COUNT)

    def run(self) -> None:
        """Start the operator, and wait until it has judged every baseline."""
        self.stage.operator.start()
        self.wait("every verdict", lambda: series(exposition(METRICS_URL), "mfu_operator_verdict") == COUNT)

    def wait(self, what: str, check: Callable[[], bool]) -> None:
        await_condition(what, check, PATIENCE_S, log_tail=self.stage.operator.log_tail)

    def writes(self) -> float:
        """Statuses that were patched, as the API server counts them."""
        url, context = f"{self.stage.api_url}/metrics", self.stage.context()
        answer = httpx.get(url, verify=context, trust_env=False, timeout=60)
        return series(answer.text, "apiserver_request_total", **STATUS)

    def close(self) -> None:
        self.watch.stop()
        self.stage.stop()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    reason = preflight.why_not()
    if reason is not None:
        pytest.skip(reason)
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    try:
        fleet.start()
        yield fleet
    finally:
        fleet.close()


@pytest.fixture(scope="module")
def losing(fleet: Fleet) -> Fleet:
    """The fleet once some of its jobs have lost a fifth of their speed, and the operator says so of as many."""
    body = {"jobs": list(SLOW), "loss": 0.2}
    httpx.post(f"{fleet.stage.exporter_url}/slow", json=body, trust_env=False).raise_for_status()
    fleet.wait("the losses", lambda: len(fleet.watch.regressed(range(COUNT))) >= len(SLOW))
    return fleet


def test_a_loss_is_in_every_status_that_it_belongs_to(losing: Fleet) -> None:
    assert sorted(losing.watch.regressed(range(COUNT))) == list(SLOW)


def test_after_a_kill_all_are_judged_again_and_nothing_is_written_that_was_known(losing: Fleet) -> None:
    pid, before = losing.stage.operator.pid, losing.writes()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    losing.wait("its end", lambda: not losing.stage.operator.running())
    losing.run()
    assert losing.writes() - before < COUNT / 10
    assert losing.watch.verdicts()["Regressed"] == len(SLOW)


def test_no_write_left_a_status_as_it_was(losing: Fleet) -> None:
    assert losing.watch.writes >= COUNT
    assert losing.watch.idle == 0
