"""The chart's files agree with each other and with the operator. No helm needed."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from mfu_operator import __version__
from mfu_operator.adapters.cluster.lease import REQUEST_TIMEOUT_S
from mfu_operator.cli.reasons import reasons
from mfu_operator.handlers import startup
from mfu_operator.process import telemetry
from mfu_operator.process.leader import RENEW_S
from mfu_operator.settings import Settings, from_environment

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "mfu-operator"
README = (CHART / "README.md").read_text()
SCHEMA: Mapping[str, Any] = json.loads((CHART / "values.schema.json").read_text())
VALUES: Mapping[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
ALERTS = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((CHART / "files" / "dashboard.json").read_text())
ENVIRONMENT = re.findall(r"name: (MFU_\w+)", (CHART / "templates" / "deployment.yaml").read_text())
METRIC = re.compile(r"\bmfu_operator_\w+")
REASON = "{{ $labels.reason }}"
REASON_S_ANCHOR = "{{ $labels.reason | toLower }}"
PROBE_METRIC = re.compile(r"\bmfu_probe_\w+")


def exported() -> set[str]:
    """Our own metrics, as Prometheus names their series."""
    kinds = MetricWrapperBase | telemetry.Baselines
    collectors = [each for each in vars(telemetry).values() if isinstance(each, kinds)]
    families = [family for each in collectors for family in each.describe()]
    names = {f"{family.name}_total" if family.type == "counter" else family.name for family in families}
    return names | {f"{family.name}_bucket" for family in families if family.type == "histogram"}


def leaves(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every value with its path."""
    for name, node in schema["properties"].items():
        where = f"{path}.{name}".lstrip(".")
        if "properties" in node:
            yield from leaves(node, where)
        elif where != "global":
            yield where, node


def test_the_definition_is_the_canonical_one() -> None:
    copy, canonical = CHART / "crds" / "trainingbaseline.yaml", ROOT / "crds" / "trainingbaseline.yaml"
    assert copy.read_text() == canonical.read_text(), "run make generate"


def test_the_version_is_the_operator_s() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == __version__


@pytest.mark.parametrize(
    ("path", "node"), list(leaves(SCHEMA)), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_value_has_a_default_and_is_explained(path: str, node: Mapping[str, Any]) -> None:
    value: Any = VALUES
    for name in path.split("."):
        value = value[name]
    assert node.get("description")
    assert f"| `{path}` |" in README


def test_there_is_no_value_without_a_schema() -> None:
    def check(values: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> None:
        for name, value in values.items():
            assert name in schema["properties"], f"{path}.{name}"
            if "properties" in schema["properties"][name]:
                check(value, schema["properties"][name], f"{path}.{name}")

    check(VALUES, SCHEMA, "values")


def test_the_deployment_sets_every_setting() -> None:
    """A setting that the operator does not know would be ignored in silence; one that it does must be settable."""
    numbers = dict.fromkeys(ENVIRONMENT, "7") | dict.fromkeys(("MFU_METRIC_NAMES", "MFU_METRIC_LABELS"), "mfu=seven")
    numbers |= {
        "MFU_EGRESS_REFUSED": "10.0.0.0/8",
        "MFU_LABORATORY": "true",
        "MFU_ACCEPT_UNGUARDED": "true",
        "MFU_PROFILING_PERMITS": "team-a=hostPath",
        "MFU_REMEDIATION_MODES": "team-a=DryRun",
    }
    settings, defaults = from_environment(numbers), Settings()
    untouched = [name for name in Settings.__slots__ if getattr(settings, name) == getattr(defaults, name)]
    assert untouched == []
    source = (ROOT / "operator" / "mfu_operator" / "settings.py").read_text()
    assert set(ENVIRONMENT) == set(re.findall(r'"(MFU_[A-Z_]+)"', source))


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_has_a_runbook_and_asks_for_metrics_that_exist(alert: Mapping[str, Any]) -> None:
    page = alert["annotations"]["runbook_url"].removeprefix("RUNBOOKS/")
    by_reason = alert["alert"] == "MfuStepFailing"
    assert page == (f"reasons.md#{REASON_S_ANCHOR}" if by_reason else f"{reasons().alerts[alert['alert']]}.md")
    assert alert["annotations"]["runbook"] == f"kubectl mfu runbook {REASON if by_reason else alert['alert']}"
    assert (ROOT / "runbooks" / page.partition("#")[0]).is_file()
    asked = METRIC.findall(alert["expr"])
    shown = METRIC.findall(" ".join(alert["annotations"].values()))
    assert asked and {*asked, *shown} <= exported()


def test_the_dashboard_asks_for_metrics_that_exist() -> None:
    queries = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    queries += [each["expr"] for each in DASHBOARD["annotations"]["list"]]
    assert {name for query in queries for name in METRIC.findall(query)} <= exported()
    probe = (ROOT / "operator" / "mfu_probe" / "metrics.py").read_text()
    for query in queries:
        for name in PROBE_METRIC.findall(query):
            assert f'"{name}"' in probe


def test_the_pod_has_the_time_to_end_what_is_under_way_and_to_give_the_lease_back() -> None:
    deployment = (CHART / "templates" / "deployment.yaml").read_text()
    found = re.search(r"terminationGracePeriodSeconds: (\d+)", deployment)
    assert found is not None
    given_back_s = 2 * RENEW_S + 2 * REQUEST_TIMEOUT_S
    assert int(found[1]) >= startup.GRACE_S + given_back_s + startup.SWEEP_GRACE_S + 5


def test_panels_do_not_overlap() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        mine = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not mine & cells and place["x"] + place["w"] <= 24, panel["title"]
        cells |= mine
