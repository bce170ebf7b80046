"""The watch of the real process goes silent: nothing arrives on its connections, and nobody says that they are dead."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cluster import preflight
from tests.cluster.layout import ALONE, LOOPBACK
from tests.faults.control_plane import ONE_PROCESS, TEAM, ControlPlane, control_plane
from tests.faults.proxy import FaultProxy, before
from tests.faults.running_operator import NAME, START_S, Running, operator
from tests.faults.table import Row
from tests.support.awaited import awaited

pytestmark = [pytest.mark.cluster, pytest.mark.faults, pytest.mark.timeout(1200), ONE_PROCESS]

SILENT_S = 600.0
HEARD_S = 60.0


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    reason = preflight.why_not()
    if reason is not None:
        pytest.skip(reason)
    with control_plane(tmp_path_factory.mktemp("plane")) as started:
        yield started


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    port = urlsplit(ALONE.api_url).port
    assert port is not None
    with before(port) as made:
        yield made


def suspend(plane: ControlPlane, suspended: bool) -> None:
    """A person edits the baseline."""
    changed = json.dumps({"spec": {"suspend": suspended}})
    plane.kubectl.run("patch", "trainingbaseline", NAME, f"--namespace={TEAM}", "--type=merge", f"--patch={changed}")


def generation_heard(running: Running) -> int:
    """The newest generation that is acted upon."""
    return int(running.stored["status"]["observedGeneration"])


def hears(running: Running, generation: int, within_s: float) -> bool:
    return awaited(lambda: generation_heard(running), lambda heard: heard == generation, within_s) == generation


def test_edits_made_while_the_watch_was_silent_for_ten_minutes_are_heard_within_a_minute_of_its_return(
    plane: ControlPlane, proxy: FaultProxy, tmp_path: Path, row: Row
) -> None:
    kubeconfig, through = tmp_path / "watch.kubeconfig", f"https://{LOOPBACK}:{proxy.port}"
    kubeconfig.write_text(plane.operator_kubeconfig.read_text().replace(ALONE.api_url, through))
    with operator(plane, tmp_path, watches=kubeconfig) as running:
        assert awaited(lambda: running.has_proposed, bool, START_S), running.log
        suspend(plane, True)
        assert hears(running, 2, HEARD_S), running.log
        proxy.silence()
        suspend(plane, False)
        assert not hears(running, 3, SILENT_S)
        proxy.speak()
        begun_s = time.monotonic()
        assert hears(running, 3, HEARD_S), running.log
        row.note(stories=1, heard_s=round(time.monotonic() - begun_s, 1))
        assert running.process.poll() is None
