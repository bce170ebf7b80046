"""The example for Alertmanager in the chart's README, given to a real one: what arrives at Slack and at PagerDuty holds
the numbers of the loss. The alert is the one that `promtool test rules` sees fire (alerts_test.yaml)."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import yaml

from tests.cluster.toolchain import go_binaries
from tests.support.awaited import awaited
from tests.support.built import built
from tests.support.held_port import held_port

CHART = Path(__file__).parents[2] / "charts" / "mfu-operator"
README = (CHART / "README.md").read_text()
FIELDS = {
    "slack_configs": {"api_url_file", "title", "text"},
    "pagerduty_configs": {"routing_key_file", "description", "details"},
}
"""What the example uses of https://prometheus.io/docs/alerting/latest/configuration: no secret is written into it."""
KEY = "k" * 32
pytestmark = [] if built("alertmanager", "alertmanager") else [pytest.mark.cluster]
"""Where it is not built yet, the tests wait for the cluster's programs, which are compiled with it."""
READY_S = 60.0


def example() -> dict[str, Any]:
    [block] = [each for each in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if each.startswith("receivers:")]
    loaded: dict[str, Any] = yaml.safe_load(block)
    return loaded


def fired() -> Mapping[str, Any]:
    """The alert of an explained loss, as Prometheus sends it."""
    tests = yaml.safe_load((Path(__file__).parent / "alerts_test.yaml").read_text())["tests"]
    *_, last = tests[0]["alert_rule_test"]
    [alert] = last["exp_alerts"]
    labels = {"alertname": last["alertname"], **alert["exp_labels"]}
    return {"labels": labels, "annotations": alert["exp_annotations"]}


@contextmanager
def receiving() -> Iterator[tuple[str, dict[str, Any]]]:
    """The address of a stand-in for Slack and PagerDuty, and what was posted to it, by path."""
    posted: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted[self.path] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = b"ok" if self.path == "/slack" else b'{"status": "success"}'
            self.send_response(200 if self.path == "/slack" else 202)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}", posted
        listening.shutdown()


def configured(stand_in: str, folder: Path) -> Path:
    """The example, with its files here, a route to it, and PagerDuty where the stand-in is."""
    made = example()
    [receiver] = made["receivers"]
    for kind, name, content in (
        ("slack_configs", "api_url_file", f"{stand_in}/slack"),
        ("pagerduty_configs", "routing_key_file", KEY),
    ):
        secret = folder / name
        secret.write_text(content)
        receiver[kind][0][name] = str(secret)
    route = {"receiver": receiver["name"], "group_wait": "0s", "group_by": ["alertname", "namespace", "name"]}
    file = folder / "alertmanager.yml"
    file.write_text(yaml.safe_dump({"global": {"pagerduty_url": f"{stand_in}/pagerduty"}, "route": route, **made}))
    return file


@contextmanager
def running(config: Path) -> Iterator[str]:
    """The address of an Alertmanager with this configuration."""
    with ExitStack() as stack:
        address = f"127.0.0.1:{stack.enter_context(held_port())}"
        log = stack.enter_context((config.parent / "log").open("w"))
        arguments = [f"--config.file={config}", f"--storage.path={config.parent / 'data'}"]
        arguments += [f"--web.listen-address={address}", "--cluster.listen-address="]
        process = subprocess.Popen([str(go_binaries("alertmanager") / "alertmanager"), *arguments], stderr=log)
        stack.callback(process.wait, 30)
        stack.callback(process.terminate)
        awaited(lambda: ready(f"http://{address}"), bool, READY_S)
        yield f"http://{address}"


def ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/-/ready", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.parametrize("kind", FIELDS)
def test_a_receiver_has_the_fields_of_its_kind_and_reads_secrets_from_files(kind: str) -> None:
    [receiver] = example()["receivers"]
    [configured] = receiver[kind]
    assert configured.keys() == FIELDS[kind]


def test_the_messages_use_annotations_that_the_alert_has() -> None:
    used = set(re.findall(r"\.(?:Common)?Annotations\.(\w+)", yaml.safe_dump(example())))
    assert {"now", "baseline", "bottleneck", "commit", "pull_request", "gpu_hours_per_hour"} <= used
    assert used - fired()["annotations"].keys() == set()


def test_alertmanagers_own_tool_takes_the_example(tmp_path: Path) -> None:
    tool = str(go_binaries("alertmanager") / "amtool")
    command = [tool, "check-config", str(configured("http://127.0.0.1:9", tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 receivers" in done.stdout


def test_slack_and_pagerduty_are_told_the_numbers_of_the_loss(tmp_path: Path) -> None:
    with receiving() as (stand_in, posted), running(configured(stand_in, tmp_path)) as address:
        httpx.post(f"{address}/api/v2/alerts", json=[fired()], trust_env=False).raise_for_status()
        awaited(lambda: posted.keys(), lambda paths: paths >= {"/slack", "/pagerduty"}, READY_S)
    [message] = posted["/slack"]["attachments"]
    assert message["title"] == "Training of team-a/gpt is 17.2% slower than its baseline"
    for said in (
        "now mfu 0.381, baseline mfu 0.46; InputStarved (DataLoaderWorkers)",
        "commit 27f5881af6ca, pull request https://git.example/pulls/7",
        "1.376 GPU-hours an hour, `kubectl mfu runbook MfuTrainingRegressed`",
    ):
        assert said in message["text"]
    event = posted["/pagerduty"]
    assert (event["routing_key"], event["event_action"]) == (KEY, "trigger")
    assert event["payload"]["summary"] == message["title"]
    details = event["payload"]["custom_details"]
    assert details["bottleneck"] == "InputStarved (DataLoaderWorkers)"
    assert details["pull_request"] == "https://git.example/pulls/7"
