"""Three hundred baselines on a real API server and a real Prometheus; the operator is a process with its chart's roles.

What the benchmark (`make bench-fleet`) measures for ten thousand, as true or false for a few.
"""

import os
import signal
import time
from collections.abc import Iterator
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
SLOW = range(3)
SCRAPE_S = 5
RULE = {"sustain": "20s", "confirm": "20s", "recover": "20s", "warmup": "5s"}
METRICS_URL = f"http://127.0.0.1:{METRICS_PORT}/metrics"
STATUS = {"resource": "trainingbaselines", "subresource": "status", "verb": "PATCH"}


class Fleet:
    """The stage with its fleet, and what is seen of it."""

    def __init__(self, folder: Path) -> None:
        self.stage = Stage(folder, COUNT, SCRAPE_S)
        self.stage.start()
        self.watch = Watch(self.stage.api_url, self.stage.context())
        self.watch.start()
        create(self.stage.api_url, self.stage.context(), range(COUNT), lambda _: RULE)

    def run(self) -> None:
        """Start the operator, and wait until it has judged every baseline."""
        self.stage.operator.start()
        self.wait("every verdict", lambda: series(exposition(METRICS_URL), "mfu_operator_verdict") == COUNT, 90)

    def wait(self, what: str, check: object, timeout_s: float) -> None:
        assert callable(check)
        await_condition(what, check, timeout_s, log_tail=self.stage.operator.log_tail)

    def writes(self) -> float:
        """Statuses that were patched, as the API server counts them."""
        url, context = f"{self.stage.api_url}/metrics", self.stage.context()
        return series(httpx.get(url, verify=context, trust_env=False).text, "apiserver_request_total", **STATUS)

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
        fleet.run()
        fleet.wait("every status", lambda: fleet.watch.judged() == COUNT, 90)
        yield fleet
    finally:
        fleet.close()


def test_a_loss_is_in_every_status_that_it_belongs_to(fleet: Fleet) -> None:
    body = {"jobs": list(SLOW), "loss": 0.2}
    httpx.post(f"{fleet.stage.exporter_url}/slow", json=body, trust_env=False).raise_for_status()
    fleet.wait("the losses", lambda: len(fleet.watch.regressed(range(COUNT))) >= len(SLOW), 60)
    assert sorted(fleet.watch.regressed(range(COUNT))) == list(SLOW)


def test_after_a_kill_all_are_judged_again_and_nothing_is_written_that_was_known(fleet: Fleet) -> None:
    fleet.wait("confirmations", lambda: fleet.watch.verdicts()["Regressed"] == len(SLOW), 60)
    pid, before = fleet.stage.operator.pid, fleet.writes()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    fleet.wait("its end", lambda: not fleet.stage.operator.running(), 10)
    begun_s = time.monotonic()
    fleet.run()
    assert time.monotonic() - begun_s < 90
    assert fleet.writes() - before < COUNT / 10
    assert fleet.watch.verdicts()["Regressed"] == len(SLOW)


def test_no_write_left_a_status_as_it_was(fleet: Fleet) -> None:
    assert fleet.watch.writes >= COUNT
    assert fleet.watch.idle == 0
