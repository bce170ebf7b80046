"""What Prometheus sees of a baseline and of its open incident."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from mfu_operator.model.diagnosis import Diagnosis
from mfu_operator.model.incident import Incident
from mfu_operator.process.telemetry import Baselines, Loss
from tests.support import worlds

AT = {"namespace": "team-a", "name": "gpt-small"}
UNEXPLAINED = Loss(worlds.INCIDENT, devices=8)
EXPLAINED = replace(
    worlds.INCIDENT, diagnosis=worlds.STARVED, suspect=worlds.SUSPECT, proposal=worlds.PROPOSED, devices=8
)


@pytest.fixture
def baselines() -> Baselines:
    return Baselines(clock=lambda: worlds.ONSET_S + 3600)


def series(baselines: Baselines, family: str) -> Iterator[tuple[Mapping[str, str], float]]:
    return ((each.labels, each.value) for found in baselines.collect() for each in found.samples if each.name == family)


def one(baselines: Baselines, family: str) -> tuple[Mapping[str, str], float]:
    (found,) = series(baselines, f"mfu_operator_{family}")
    return found


def test_a_judgement_shows_the_reading_the_baseline_and_the_limit_of_its_signal(baselines: Baselines) -> None:
    baselines.show(worlds.IDENTITY, worlds.judgement())
    of_signal = {**AT, "signal": "mfu"}
    assert one(baselines, "reading") == (of_signal, 0.46)
    assert one(baselines, "baseline_reading") == (of_signal, 0.46)
    assert one(baselines, "limit_reading") == (of_signal, 0.451)
    assert one(baselines, "verdict") == ({**AT, "verdict": "Healthy"}, 1)
    assert one(baselines, "change_ratio") == (AT, 0.0)


def test_what_is_not_known_has_no_series(baselines: Baselines) -> None:
    unknown = worlds.judgement(value=None, baseline=None, limit=None, change=None)
    baselines.show(worlds.IDENTITY, unknown)
    for family in ("reading", "baseline_reading", "limit_reading", "change_ratio"):
        assert list(series(baselines, f"mfu_operator_{family}")) == []


def test_a_tick_without_a_judgement_leaves_the_last_one(baselines: Baselines) -> None:
    baselines.show(worlds.IDENTITY, worlds.judgement())
    baselines.show(worlds.IDENTITY, None)
    assert one(baselines, "reading")[1] == 0.46


def test_an_open_incident_costs_more_with_every_hour_that_its_pods_run(baselines: Baselines) -> None:
    baselines.show(worlds.IDENTITY, worlds.judgement())
    baselines.loses(worlds.UID, UNEXPLAINED)
    assert one(baselines, "incident_open") == (AT, 1)
    assert one(baselines, "incident_drop_ratio") == (AT, 0.172)
    assert one(baselines, "incident_gpu_hours_per_hour")[1] == pytest.approx(0.172 * 8)
    assert one(baselines, "incident_gpu_hours_lost")[1] == pytest.approx(0.172 * 8)


@pytest.mark.parametrize(
    ("incident", "labels"),
    [
        (worlds.INCIDENT, ("", "", "", "")),
        (replace(worlds.INCIDENT, diagnosis=Diagnosis(None, None, 0.5, ())), ("NothingGrew", "", "", "")),
        (
            EXPLAINED,
            ("InputStarved", "DataLoaderWorkers", worlds.SUSPECT.sha[:12], worlds.PROPOSED.url),
        ),
    ],
    ids=["not explained yet", "nothing grew", "explained"],
)
def test_an_incident_shows_what_is_found_out_so_far(
    baselines: Baselines, incident: Incident, labels: tuple[str, ...]
) -> None:
    baselines.show(worlds.IDENTITY, None)
    baselines.loses(worlds.UID, Loss(incident, 8))
    named = dict(zip(("bottleneck", "cause", "commit", "pull_request"), labels, strict=True))
    assert one(baselines, "incident_info") == ({**AT, "incident": "gpt-small-3f2a91c0-1", **named}, 1)


def test_an_incident_that_ended_and_a_baseline_that_is_gone_have_no_series(baselines: Baselines) -> None:
    baselines.show(worlds.IDENTITY, worlds.judgement())
    baselines.loses(worlds.UID, UNEXPLAINED)
    baselines.loses(worlds.UID, None)
    assert one(baselines, "incident_open") == (AT, 0)
    assert list(series(baselines, "mfu_operator_incident_info")) == []
    baselines.forget(worlds.UID)
    assert [name for name in baselines.collect() for _ in name.samples if name.name != "mfu_operator_baselines"] == []
