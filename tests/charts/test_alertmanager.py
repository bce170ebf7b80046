"""The example for Alertmanager in the chart's README names annotations that the alerts have, in closed templates.

Alertmanager itself is not asked (`amtool check-config`). Its source is fetched with that of Prometheus, which depends
on it, but its packages `config` and `cli` need nine modules and theirs (memberlist, go-openapi/runtime, franz-go, …)
that Prometheus does not need and no go.sum here pins: too much for one page of an example.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

CHART = Path(__file__).parents[2] / "charts" / "mfu-operator"
README = (CHART / "README.md").read_text()
FIELDS = {
    "slack_configs": {"api_url_file", "title", "text"},
    "pagerduty_configs": {"routing_key_file", "description", "details"},
}
"""What the example uses of https://prometheus.io/docs/alerting/latest/configuration: no secret is written into it."""


def example() -> Mapping[str, Any]:
    [block] = [each for each in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if each.startswith("receivers:")]
    loaded: Mapping[str, Any] = yaml.safe_load(block)
    return loaded


def annotations(alert: str) -> Mapping[str, str]:
    groups = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"]
    [found] = [rule for group in groups for rule in group["rules"] if rule.get("alert") == alert]
    named: Mapping[str, str] = found["annotations"]
    return named


@pytest.mark.parametrize("kind", FIELDS)
def test_a_receiver_has_the_fields_of_its_kind_and_reads_secrets_from_files(kind: str) -> None:
    [receiver] = example()["receivers"]
    [configured] = receiver[kind]
    assert configured.keys() == FIELDS[kind]


def test_the_messages_use_annotations_that_the_alert_has() -> None:
    text = yaml.safe_dump(example())
    used = set(re.findall(r"\.(?:Common)?Annotations\.(\w+)", text))
    assert {"now", "baseline", "bottleneck", "commit", "pull_request", "gpu_hours_per_hour"} <= used
    assert used - annotations("MfuTrainingRegressed").keys() == set()


def test_every_template_is_closed() -> None:
    text = yaml.safe_dump(example())
    assert text.count("{{") == text.count("}}") > 0
    assert len(re.findall(r"\{\{-? *range\b", text)) == len(re.findall(r"\{\{-? *end\b", text))
