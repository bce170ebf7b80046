"""What every source of readings does, on the real Prometheus and on the double."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx
import pytest

from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.model.baseline import MetricsSource, Signal, WorkloadRef
from mfu_operator.model.series import Phase, Reading
from mfu_operator.ports import Metrics
from tests.support.metrics_double import MetricsDouble

BEGIN_S = 1_700_000_000.0
EVERY_S = 15.0
SCRAPES = 40
OFFSET_S = 3.25
"""Scrapes happen between the round moments that queries ask for."""

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
SAME_NAME_ELSEWHERE = WorkloadRef("batch/v1", "Job", "team-b", "gpt")
SET = WorkloadRef("jobset.x-k8s.io/v1alpha2", "JobSet", "team-a", "llama")
ABSENT = WorkloadRef("batch/v1", "Job", "team-a", "absent")
INFO = {"model": "gpt-7b", "gpu": "H100", "world_size": "2", "global_batch": "256"}


def _readings(mfus: Sequence[float], pods: Sequence[str], info: Mapping[str, str]) -> list[Reading]:
    return [
        Reading(
            time_s=BEGIN_S + OFFSET_S + EVERY_S * index,
            values={Signal.MFU: sum(mfus) / len(mfus), Signal.STEP_TIME: 2.0},
            phase=Phase.CHECKPOINT if index % 8 == 7 else Phase.RUNNING,
            step=float(10 * index),
            incarnation=",".join(sorted(pods)),
            info=info,
            running_ratio=1.0,
            rank_step_s=dict.fromkeys(pods, 2.0) if len(pods) > 1 else {},
        )
        for index in range(SCRAPES)
    ]


RUNS = {
    JOB: ((0.44, 0.48), ("gpt-0-abcde", "gpt-1-fghij")),
    SAME_NAME_ELSEWHERE: ((0.30,), ("gpt-x",)),
    SET: ((0.40,), ("llama-workers-0-0-k2x",)),
}


def _exposition() -> str:
    """The same readings as OpenMetrics text with time stamps, one sample per scrape and pod."""
    families: dict[str, list[str]] = {}

    def add(family: str, sample: str, labels: Mapping[str, str], value: float, time_s: float) -> None:
        text = ",".join(f'{name}="{label}"' for name, label in labels.items())
        families.setdefault(family, []).append(f"{sample}{{{text}}} {value} {time_s:.3f}")

    for workload, (mfus, pods) in RUNS.items():
        for mfu, pod in zip(mfus, pods, strict=True):
            target = {"namespace": workload.namespace, "pod": pod, "instance": f"{pod}:9400"}
            if workload.kind == "Job":
                target["job_name"] = workload.name
            for index in range(SCRAPES):
                at_s = BEGIN_S + OFFSET_S + EVERY_S * index
                now = "checkpoint" if index % 8 == 7 else "running"
                add("mfu_probe_mfu_ratio", "mfu_probe_mfu_ratio", target, mfu, at_s)
                add("mfu_probe_step_seconds", "mfu_probe_step_seconds", target, 2.0, at_s)
                add("mfu_probe_window_running_ratio", "mfu_probe_window_running_ratio", target, 1.0, at_s)
                add("mfu_probe_steps", "mfu_probe_steps_total", target, 10.0 * index, at_s)
                add("mfu_probe_info", "mfu_probe_info", target | INFO | {"rank": "0"}, 1.0, at_s)
                for phase in ("running", "checkpoint"):
                    add("mfu_probe_phase", "mfu_probe_phase", target | {"phase": phase}, float(phase == now), at_s)
    kinds = {family: "counter" if family == "mfu_probe_steps" else "gauge" for family in families}
    blocks = [f"# TYPE {family} {kinds[family]}\n" + "\n".join(rows) for family, rows in families.items()]
    return "\n".join(blocks) + "\n# EOF\n"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metrics]:
    """The real server over a database made of the readings."""
    server, tool = shutil.which("prometheus"), shutil.which("promtool")
    if server is None or tool is None:
        pytest.skip("prometheus and promtool are not installed")
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "samples.om").write_text(_exposition())
    (folder / "empty.yml").write_text("global: {}\n")
    data = folder / "data"
    subprocess.run(
        [tool, "tsdb", "create-blocks-from", "openmetrics", str(folder / "samples.om"), str(data)],
        check=True,
        capture_output=True,
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [
            server,
            f"--config.file={folder / 'empty.yml'}",
            f"--storage.tsdb.path={data}",
            "--storage.tsdb.retention.time=100y",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=(folder / "log").open("w"),
    )
    try:
        _wait_until_ready(address, process, folder / "log")
        sources = PrometheusSources(address)
        yield sources.open(MetricsSource(), None)
        sources.close()
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_ready(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{address}/-/ready", timeout=2).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"prometheus did not become ready: {log.read_text()[-2000:]}")


@pytest.fixture
def double() -> Metrics:
    return MetricsDouble({workload: _readings(mfus, pods, INFO) for workload, (mfus, pods) in RUNS.items()})


@pytest.fixture(params=["prometheus", "double"])
def metrics(request: pytest.FixtureRequest) -> Metrics:
    source: Metrics = request.getfixturevalue(request.param)
    return source


def test_the_latest_reading_carries_the_time_of_its_scrape(metrics: Metrics) -> None:
    reading = metrics.latest([JOB], BEGIN_S + 10 * EVERY_S + 10)[JOB][-1]
    assert reading.time_s == pytest.approx(BEGIN_S + OFFSET_S + 10 * EVERY_S)


def test_a_reading_is_the_mean_over_the_ranks(metrics: Metrics) -> None:
    reading = metrics.latest([JOB], BEGIN_S + 100)[JOB][-1]
    assert reading.values[Signal.MFU] == pytest.approx(0.46)
    assert reading.values[Signal.STEP_TIME] == pytest.approx(2.0)
    assert reading.rank_step_s == {"gpt-0-abcde": 2.0, "gpt-1-fghij": 2.0}
    assert reading.incarnation == "gpt-0-abcde,gpt-1-fghij"


def test_phase_step_and_info_come_with_it(metrics: Metrics) -> None:
    reading = metrics.latest([JOB], BEGIN_S + 7 * EVERY_S + 5)[JOB][-1]
    assert reading.phase is Phase.CHECKPOINT
    assert reading.step == 70
    assert reading.info == INFO
    assert reading.running_ratio == 1.0
    assert metrics.latest([JOB], BEGIN_S + 8 * EVERY_S + 5)[JOB][-1].phase is Phase.RUNNING


def test_workloads_of_one_name_in_two_namespaces_are_kept_apart(metrics: Metrics) -> None:
    latest = metrics.latest([JOB, SAME_NAME_ELSEWHERE], BEGIN_S + 100)
    assert latest[SAME_NAME_ELSEWHERE][-1].values[Signal.MFU] == pytest.approx(0.30)
    assert latest[JOB][-1].values[Signal.MFU] == pytest.approx(0.46)


def test_other_kinds_are_found_by_their_pods_names(metrics: Metrics) -> None:
    latest = metrics.latest([JOB, SET], BEGIN_S + 100)
    assert latest[SET][-1].values[Signal.MFU] == pytest.approx(0.40)
    assert latest[JOB][-1].values[Signal.MFU] == pytest.approx(0.46)


def test_a_workload_without_series_is_absent(metrics: Metrics) -> None:
    assert set(metrics.latest([JOB, ABSENT], BEGIN_S + 100)) == {JOB}
    assert metrics.latest([], BEGIN_S) == {}


def test_a_time_without_scrapes_is_empty(metrics: Metrics) -> None:
    assert metrics.latest([JOB], BEGIN_S - 3600) == {}


def test_history_holds_each_scrape_once_and_the_oldest_first(metrics: Metrics) -> None:
    end_s = BEGIN_S + SCRAPES * EVERY_S
    readings = metrics.history([JOB], BEGIN_S, end_s, 5.0)[JOB]
    times = [reading.time_s for reading in readings]
    assert times == pytest.approx([BEGIN_S + OFFSET_S + EVERY_S * index for index in range(SCRAPES)])
    assert [reading.step for reading in readings] == [10.0 * index for index in range(SCRAPES)]
