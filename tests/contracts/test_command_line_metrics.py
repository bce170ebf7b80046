"""The commands that ask a real Prometheus: replay of a job's history, and doctor."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from mfu_operator.cli.doctor.command import doctor_command
from mfu_operator.cli.replay.command import replay_command
from mfu_operator.errors import MfuError
from tests.support.certificates import Authority
from tests.support.prometheus_server import NEEDS_PROMETHEUS, Guard, sample, serving

MANIFEST = """
apiVersion: mfu-operator.io/v1alpha1
kind: TrainingBaseline
metadata: {name: gpt, namespace: team-a}
spec:
  workload: {apiVersion: batch/v1, kind: Job, name: gpt}
  comparable: {model: gpt, globalBatch: 512}
  baseline: {values: {mfu: 0.46}}
"""
pytestmark = NEEDS_PROMETHEUS
TARGET = {"namespace": "team-a", "job_name": "gpt", "pod": "gpt-abcde", "instance": "10.0.0.1:9400"}
HOUR = 3600.0
SWEPT = pytest.approx(240, abs=1)
"""Readings of two hours at a sweep each 30 s."""


PASSWORD = "reading"
PASSWORD_BCRYPT = "$2b$04$abcdefghijklmnopqrstuunlU.WldpuNAbnWBAkfWLvuSdDznuaLO"


def two_hours() -> list[tuple[str, str, list[str]]]:
    """Of a job that became 12 % slower an hour ago."""
    end_s = time.time()
    times = [end_s - 2 * HOUR + 15.0 * index for index in range(480)]
    mfu = [sample("mfu_probe_mfu_ratio", TARGET, 0.46 if t < end_s - HOUR else 0.405, t) for t in times]
    steps = [sample("mfu_probe_steps_total", TARGET, float(10 * index), t) for index, t in enumerate(times)]
    info = [sample("mfu_probe_info", TARGET | {"model": "gpt", "global_batch": "512"}, 1.0, t) for t in times]
    return [
        ("mfu_probe_mfu_ratio", "gauge", mfu),
        ("mfu_probe_steps", "counter", steps),
        ("mfu_probe_info", "gauge", info),
    ]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Anybody may ask."""
    with serving(two_hours(), tmp_path_factory.mktemp("prometheus")) as url:
        yield url


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Behind a private authority, a client certificate, a user and a password: the address, and a folder with them."""
    authority = Authority(tmp_path_factory.mktemp("authority"))
    client, folder = authority.issue("client"), tmp_path_factory.mktemp("credentials")
    for name, content in (
        ("username", "operator"),
        ("password", PASSWORD),
        ("ca.crt", authority.certificate.read_text()),
        ("tls.crt", client.certificate.read_text()),
        ("tls.key", client.key.read_text()),
    ):
        (folder / name).write_text(content)
    guard = Guard(authority.issue("server"), authority.certificate, "operator", PASSWORD_BCRYPT)
    with serving(two_hours(), tmp_path_factory.mktemp("guarded"), guard) as url:
        yield url, folder


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "baseline.yaml"
    path.write_text(MANIFEST)
    return str(path)


@pytest.fixture
def unlike(tmp_path: Path) -> str:
    """Of half the global batch that the job says it has."""
    path = tmp_path / "unlike.yaml"
    path.write_text(MANIFEST.replace("globalBatch: 512", "globalBatch: 256"))
    return str(path)


def test_replay_reads_the_jobs_history(address: str, manifest: str) -> None:
    arguments = ["--baseline", manifest, "--prometheus", address, "--since", "3h", "-o", "json"]
    result = CliRunner().invoke(replay_command, arguments, catch_exceptions=False)
    told = json.loads(result.output)
    assert [event["event"] for event in told["events"]] == ["Regressed", "Confirmed"]
    assert told["events"][0]["drop"] == pytest.approx(1 - 0.405 / 0.46, abs=1e-4)
    assert told["summary"]["readings"] == SWEPT


def test_replay_says_nothing_of_a_history_of_another_configuration(address: str, unlike: str) -> None:
    arguments = ["--baseline", unlike, "--prometheus", address, "--since", "3h", "-o", "json"]
    told = json.loads(CliRunner().invoke(replay_command, arguments, catch_exceptions=False).output)
    assert (told["events"], told["summary"]["readings"]) == ([], SWEPT)


def test_replay_and_doctor_show_a_guarded_server_what_a_folder_holds(guarded: tuple[str, Path], manifest: str) -> None:
    url, folder = guarded
    asked = ["--baseline", manifest, "--prometheus", url, "--credentials", str(folder)]
    told = CliRunner().invoke(replay_command, [*asked, "--since", "3h", "-o", "json"], catch_exceptions=False)
    assert json.loads(told.output)["summary"]["readings"] == SWEPT
    assert "ok  mfu" in CliRunner().invoke(doctor_command, asked, catch_exceptions=False).output
    with pytest.raises(MfuError):
        CliRunner().invoke(replay_command, asked[:4], catch_exceptions=False)


def test_doctor_tells_what_came_back_and_what_differs(address: str, unlike: str) -> None:
    arguments = ["--baseline", unlike, "--prometheus", address]
    output = CliRunner().invoke(doctor_command, arguments, catch_exceptions=False).output
    assert "ok  mfu          1 series of 1 pods, 0.405 … 0.405" in output
    assert "no series is called mfu_probe_phase" in output
    assert "→ NotComparable: global batch 512 instead of 256" in output
