"""Four pods with a real torch on the cluster, captured while they train: by hand, and from a commit on."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mfu_operator.api import salvage
from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.diagnosis import Diagnosis
from mfu_operator.trace.analyze import profile
from mfu_operator.trace.diagnosis.diagnose import diagnose
from tests.cluster.layout import NODE_NAME
from tests.conftest import LIVE
from tests.demo.environment import Environment
from tests.demo.story import has_baseline, has_incident, has_pull_request, is_settled
from tests.live.conftest import Table
from tests.live.pods import PATIENCE_S, RANKS, LiveRun

pytestmark = [pytest.mark.cluster, pytest.mark.torch]
WAY = "capture, on the cluster"


@pytest.fixture(scope="module")
def run(environment: Environment) -> LiveRun:
    """The run with its baseline recorded and its healthy step captured."""
    run = LiveRun(environment, LIVE)
    run.deploy()
    run.serving()
    run.watch()
    run.await_status("the recorded baseline", has_baseline, timeout_s=PATIENCE_S)
    run.await_status("the healthy profile", is_settled, timeout_s=PATIENCE_S)
    return run


def healthy(run: LiveRun) -> StepAccount:
    """The step of the healthy run, as the status keeps it."""
    profile = salvage.decode(run.status()).healthy_profile
    assert profile is not None and profile.account is not None
    return profile.account


def told(run: LiveRun, table: Table, fault: str) -> tuple[StepAccount, Diagnosis]:
    """Capture the run now, and say what is slower than when it was healthy."""
    account = run.capture()
    found = diagnose(account, healthy(run))
    table.row(
        fault, WAY, RANKS, f"{found.bottleneck}/{found.cause} {found.confidence:.0%}; {account.mean_ns / 1e6:.0f} ms"
    )
    return account, found


def test_every_rank_of_the_healthy_run_is_in_its_account(run: LiveRun) -> None:
    account = healthy(run)
    assert account.facts.number(facts.RANKS_RECORDED) == RANKS
    assert account.facts.number(facts.WORLD_SIZE) == RANKS


def test_the_traces_of_a_capture_are_kept_and_have_its_account(run: LiveRun, tmp_path: Path) -> None:
    account = run.capture(f"--keep={tmp_path}")
    traces = sorted(tmp_path.iterdir())
    assert [each.name for each in traces] == [f"rank-{rank}.json.gz" for rank in range(RANKS)]
    assert profile(traces).mean_ns == pytest.approx(account.mean_ns, rel=1e-3)


def test_a_control_is_not_slower(run: LiveRun, table: Table) -> None:
    _, found = told(run, table, "none")
    assert found.confidence < 0.7 or found.bottleneck is None, found


def test_a_late_rank_is_named_with_its_node(run: LiveRun, table: Table) -> None:
    run.change(late_s={"2": 0.4})
    account, found = told(run, table, "rank 2 late by 400 ms in forward")
    run.change(late_s={"2": 0.0})
    assert found.bottleneck == "Straggler", found
    assert account.facts.number(facts.SLOWEST_RANK) == 2
    assert account.facts.word(facts.SLOWEST_NODE) == NODE_NAME


@contextmanager
def limited(run: LiveRun, rank: int, rate: str) -> Iterator[None]:
    """The link of a rank's pod with less bandwidth."""
    device = ["dev", run.link(rank), "root"]
    subprocess.run(
        ["tc", "qdisc", "add", *device, "tbf", "rate", rate, "burst", "32kb", "latency", "400ms"], check=True
    )
    try:
        yield
    finally:
        subprocess.run(["tc", "qdisc", "del", *device], check=True)


def test_a_limited_link_is_communication(run: LiveRun, table: Table) -> None:
    with limited(run, 3, "80mbit"):
        run.change()
        _, found = told(run, table, "link of rank 3 at 80 Mbit/s")
    assert (found.bottleneck, found.cause) == ("CommsBound", "HostCollectives"), found


def test_buckets_of_a_sixtieth_are_small_messages(run: LiveRun, table: Table) -> None:
    run.change(bucket_cap_mb=0.02)
    _, found = told(run, table, "buckets of 20 KB for 1.2 MB")
    run.change(bucket_cap_mb=1.2)
    assert (found.bottleneck, found.cause) == ("CommsBound", "SmallMessages"), found


def test_gradients_reduced_after_the_backward_pass_are_lost_overlap(run: LiveRun, table: Table) -> None:
    run.change(overlaps=False)
    _, found = told(run, table, "gradients reduced after the backward pass")
    run.change(overlaps=True)
    assert (found.bottleneck, found.cause) == ("CommsBound", "LostOverlap"), found


def test_nothing_of_that_is_a_pull_request(run: LiveRun) -> None:
    assert run.pull_requests() == []


def test_a_commit_is_found_and_reverted_without_a_restart_for_the_capture(run: LiveRun, table: Table) -> None:
    run.await_status("the losses of before to be over", lambda status: not has_incident(status), timeout_s=PATIENCE_S)
    commits = run.regress()
    run.synced(commits.elsewhere)
    run.serving()
    run.await_status("the incident", has_incident, timeout_s=PATIENCE_S)
    before = trainers(run)
    status = run.await_status("the pull request", has_pull_request, timeout_s=PATIENCE_S)
    assert trainers(run) == before
    incident = status["incident"]
    table.row(
        "loader workers off, by a commit", "operator, on the cluster", RANKS, str(incident["diagnosis"]["bottleneck"])
    )
    assert incident["diagnosis"]["bottleneck"] == "InputStarved", incident["diagnosis"]
    assert incident["suspect"]["sha"] == commits.guilty
    assert len(run.pull_requests()) == 1


def trainers(run: LiveRun) -> list[str]:
    """The pods that train, by uid: one that restarted is another."""
    return sorted(pod["metadata"]["uid"] for pod in run.pods() if pod["status"].get("phase") == "Running")
