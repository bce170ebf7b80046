"""Every query of the dashboard, asked of a real Prometheus that holds what the operator exports of an open incident."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from mfu_operator.model.vitals import Ailment, Symptom
from mfu_operator.process.telemetry import Baselines, Loss
from tests.support import worlds
from tests.support.prometheus_server import NEEDS_PROMETHEUS, sample, serving

pytestmark = NEEDS_PROMETHEUS

CHART = Path(__file__).parents[2] / "charts" / "mfu-operator"
DASHBOARD = json.loads((CHART / "files" / "dashboard.json").read_text())
QUERIES = {
    each.get("title") or each["name"]: [target["expr"] for target in each.get("targets", [each])]
    for each in (*DASHBOARD["panels"], *DASHBOARD["annotations"]["list"])
}
OF_A_BASELINE = {
    title: queries for title, queries in QUERIES.items() if all('name=~"$name"' in each for each in queries)
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    now_s = time.time()
    shown = Baselines(clock=lambda: now_s)
    explained = replace(worlds.INCIDENT, diagnosis=worlds.STARVED, suspect=worlds.SUSPECT, proposal=worlds.PROPOSED)
    shown.show(worlds.IDENTITY, worlds.judgement())
    shown.loses(worlds.UID, Loss(explained, 8))
    shown.ails(worlds.UID, (Symptom(Ailment.HOST_MEMORY_LEAK, "full", 1.0, 0.9, "gpt-0", full_at=now_s + 3600),))
    families = [
        (each.name, "gauge", [sample(each.name, found.labels, found.value, now_s - 10) for found in each.samples])
        for each in shown.collect()
        if each.samples
    ]
    with serving(families, tmp_path_factory.mktemp("prometheus")) as served:
        yield served


@pytest.mark.parametrize("title", OF_A_BASELINE)
def test_a_panel_of_a_baseline_shows_its_open_incident(address: str, title: str) -> None:
    for query in OF_A_BASELINE[title]:
        chosen = query.replace("$namespace", "team-a").replace("$name", "gpt-small")
        answer = httpx.get(f"{address}/api/v1/query", params={"query": chosen}, trust_env=False).json()
        if "NoData" not in chosen:
            assert answer["data"]["result"], chosen
        assert answer["status"] == "success"


def test_every_metric_of_a_baseline_is_in_a_panel() -> None:
    asked = " ".join(query for queries in QUERIES.values() for query in queries)
    known = {each.name for each in Baselines().describe()} - {
        "mfu_operator_baselines",
        "mfu_operator_incident_drop_ratio",
    }
    assert {name for name in known if name not in asked} == set()
