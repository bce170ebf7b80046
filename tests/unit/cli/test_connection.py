"""What every command of a cluster takes (--context, --kubeconfig, -n, -o), and what a baseline that waits says."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from mfu_operator.api.quantities import rfc3339
from mfu_operator.cli.main import cli
from mfu_operator.cli.printing.page import as_page
from mfu_operator.errors import Stall
from mfu_operator.model.condition import Condition
from mfu_operator.model.incident import Status
from tests.support import worlds
from tests.support.worlds import ailing, explained, incident
from tests.unit.cli.api_server import ApiServer

OF_CLUSTERS = (
    *("status", "explain", "timeline", "report", "doctor", "rerecord", "approve", "reject"),
    *("snooze", "close", "reset", "capture", "replay"),
)


def said(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("word", OF_CLUSTERS)
def test_every_command_of_a_cluster_takes_its_context_and_kubeconfig(word: str) -> None:
    assert {"--context", "--kubeconfig"} <= set(said(word, "--help").split())


def test_a_context_brings_its_namespace_and_a_namespace_wins(api: ApiServer) -> None:
    api.keep(worlds.SETTLED, "mine", "team-a")
    api.keep(worlds.SETTLED, "theirs", "team-b")
    assert "mine" in said("status") and "theirs" not in said("status")
    assert "theirs" in said("status", "--context", "there")
    assert "mine" in said("status", "--context", "there", "-n", "team-a")


def test_a_context_that_is_not_there_is_said(api: ApiServer) -> None:
    with pytest.raises(Stall, match="nowhere"):
        said("status", "--context", "nowhere")


def test_a_kubeconfig_of_one_s_own_is_used(api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.keep(worlds.SETTLED, "mine", "team-a")
    own = tmp_path / "own"
    (tmp_path / "kubeconfig").rename(own)
    assert "mine" in said("status", "--kubeconfig", str(own))


def test_the_object_is_printed_for_programs(api: ApiServer) -> None:
    api.keep(ailing(explained()))
    held = api.objects["team-a", "gpt-small"]
    assert json.loads(said("status", "gpt-small", "-o", "json")) == held
    assert yaml.safe_load(said("status", "gpt-small", "-o", "yaml")) == held
    assert json.loads(said("status", "-o", "json")) == {"apiVersion": "v1", "kind": "List", "items": [held]}


def test_wide_has_more_columns(api: ApiServer) -> None:
    api.keep(worlds.SETTLED)
    api.objects["team-a", "gpt-small"]["spec"]["workload"] = {"kind": "Job", "name": "gpt"}
    heading, line = said("status", "-o", "wide").splitlines()
    assert heading.split()[-3:] == ["WORKLOAD", "READY", "MODE"]
    assert "Job/gpt" in line


def test_an_explanation_has_every_format(api: ApiServer) -> None:
    api.keep(ailing(explained()))
    told = json.loads(said("explain", "gpt-small", "-o", "json"))
    assert told["diagnosis"]["cause"] == "DataLoaderWorkers"
    assert yaml.safe_load(said("explain", "gpt-small", "-o", "yaml")) == told
    assert "| **step** |" in said("explain", "gpt-small", "-o", "markdown")
    page = said("explain", "gpt-small", "-o", "html")
    assert "<strong>step</strong>" in page and "<table>" in page


def test_a_report_is_a_page_of_its_own(api: ApiServer) -> None:
    api.keep(ailing(explained()))
    page = said("report", "gpt-small", "-o", "html")
    assert page.startswith("<!doctype html>") and "<h1>" in page
    assert yaml.safe_load(said("report", "gpt-small", "-o", "yaml")) == json.loads(
        said("report", "gpt-small", "-o", "json")
    )


def test_a_report_s_page_has_the_step_as_bars_every_moment_and_the_change(api: ApiServer) -> None:
    proposed = replace(worlds.PROPOSED, diff="- workers: 4\n+ workers: <0>")
    api.keep(ailing(explained(suspect=worlds.SUSPECT, proposal=proposed)))
    api.events = [{"reason": "LeftOpen", "message": "<script>", "eventTime": rfc3339(worlds.NOW_S - 90)}]
    page = said("report", "gpt-small", "--html")
    assert page == said("report", "gpt-small", "-o", "html")
    assert re.search(r'title="[^"]*: 64.00 ms"', page)
    assert re.findall(r"<b>([0-9.]+ ms)</b>", page) == ["21.2 ms", "85.0 ms"]
    assert "HardwareRuledOut" in page and "&lt;script" in page and "<script" not in page
    assert "+ workers: &lt;0&gt;" in page
    assert page.count("<h2>When</h2>") == 1
    assert not re.search(r"(src|href)=", page) and "default-src 'none'" in page


def test_a_report_is_a_page_where_events_may_not_be_listed_too(api: ApiServer) -> None:
    api.keep(ailing(incident()))
    api.of_events = 403
    assert "Opened" in said("report", "gpt-small", "--html")


def test_a_page_shows_html_of_others_and_does_not_obey_it() -> None:
    page = as_page("<b>", "<script>alert(1)</script> [x](javascript:alert(1))")
    assert "<script" not in page and 'href="javascript' not in page
    assert "<title>&lt;b&gt;</title>" in page


@pytest.mark.parametrize("word", ["status", "explain", "timeline", "report"])
def test_a_cluster_that_falls_silent_for_a_while_ends_no_watch(
    word: str, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.keep(ailing(explained()))
    looks: list[float] = []

    def look(pause_s: float) -> None:
        looks.append(pause_s)
        api.answers = 503 if len(looks) in (1, 2) else 200
        if len(looks) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("mfu_operator.cli.printing.options.time.sleep", look)
    result = CliRunner().invoke(cli, [word, "gpt-small", "-w"])
    assert result.stderr.count("ClusterUnreachable") == 1
    assert result.stdout.count("DataLoaderWorkers") == said(word, "gpt-small").count("DataLoaderWorkers")


def test_watching_prints_what_changed_and_nothing_twice(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    api.keep(worlds.SETTLED)
    looks: list[float] = []

    def look(pause_s: float) -> None:
        looks.append(pause_s)
        if len(looks) == 2:
            api.keep(ailing(explained()))
        if len(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("mfu_operator.cli.printing.options.time.sleep", look)
    told = CliRunner().invoke(cli, ["status", "-w"]).output
    assert told.count("NAME") == 2
    assert told.index("Healthy") < told.index("Regressed")


@pytest.mark.parametrize(
    ("minutes", "says"),
    [(0.2, "The operator looks at it within a minute"), (30, "No operator has looked at this baseline in 30 min")],
)
def test_a_baseline_that_no_operator_has_looked_at_says_so(api: ApiServer, minutes: float, says: str) -> None:
    api.keep(None)
    created = datetime.now(UTC) - timedelta(minutes=minutes)
    api.objects["team-a", "gpt-small"]["metadata"]["creationTimestamp"] = created.strftime("%Y-%m-%dT%H:%M:%SZ")
    told = said("status", "gpt-small")
    assert says in told
    assert ("kubectl get pods -A -l app.kubernetes.io/name=mfu-operator" in told) == (minutes > 1)


def waiting(kind: str, value: str, reason: str) -> Status:
    return Status(conditions=(Condition(kind, value, reason, "as it is", 1, 0.0),))


@pytest.mark.parametrize(
    ("found", "next_step"),
    [
        (waiting("Ready", "False", "NoSeries"), "kubectl mfu runbook NoSeries"),
        (waiting("Ready", "Unknown", "NotMeasured"), "kubectl mfu doctor gpt-small -n team-a"),
        (waiting("Stalled", "True", "InvalidSpec"), "kubectl mfu runbook InvalidSpec"),
        (waiting("Deprecated", "True", "OldValue"), "OldValue: Write what the message says"),
        (waiting("ProfilingFailed", "True", "NotInstrumented"), "Next: kubectl mfu onboard Job/gpt -n team-a"),
    ],
)
def test_what_has_not_begun_says_what_to_do_next(api: ApiServer, found: Status, next_step: str) -> None:
    api.keep(found)
    api.objects["team-a", "gpt-small"]["spec"]["workload"] = {"kind": "Job", "name": "gpt"}
    assert any(next_step in line for line in said("status", "gpt-small").splitlines() if line.startswith("→"))


def test_what_runs_well_has_no_next_step(api: ApiServer) -> None:
    api.keep(worlds.SETTLED)
    kept: dict[str, Any] = api.objects["team-a", "gpt-small"]["status"]
    kept["conditions"] = [{"type": "Ready", "status": "True", "reason": "Measuring", "message": "measured"}]
    assert "→" not in said("status", "gpt-small")
